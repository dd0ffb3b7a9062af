//! Nodes that an mpirun starts, one a rank. Rank 0 is the launcher and starts node 0; each other rank is the agent of its node. They
//! meet by MPI, which is in these processes and never in the program.
mod carrier;
mod environment;
mod library;
mod speed;

use crate::hosts::{Host, Out, Plan, attend};
use crate::options::{MPI, SvmRequest};
use carrier::Carrier;
use environment::Started;
use homenode_command::Failure;
use homenode_svm::transports::ranks::{self, Known};
use homenode_sys::{mpi, net};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What nodes have between them where the MPI needs the other side's help to read and write its memory.
const OTHERWISE: &str = "tcp";
/// How long a rank calls no MPI while it is tried whether others reach its memory.
const TRIED: Duration = Duration::from_millis(100);
/// What a reader of the run should know.
const NOTES: [&str; 2] = [
    "mpi: the MPI reads and writes memory of a rank only with that rank's help, so tcp goes between the nodes",
    "mpi: pages go by one-sided operations of the MPI, stamps and what wakes by sockets",
];
/// Bytes in which a rank says where it is.
const PLACE: usize = 256;
/// Bytes in which rank 0 says where it listens.
const ANNOUNCED: usize = 2048;
/// Most addresses of rank 0 that are said.
const ADDRESSES: usize = 16;
/// How long a rank that has nothing to say leaves the word to another one of its host: the mpirun ends all when one ends.
const SILENT: Duration = Duration::from_secs(2);

/// What a process is for a request.
#[derive(Debug)]
pub enum Joined {
    /// The launcher of what is no run on ranks.
    Alone,
    /// Rank 0, the launcher.
    First(Ranks),
    /// Another rank, which is to be served.
    Other(Ranks),
    /// A rank that cannot go on; another one of its host says why. The status to end with.
    Silent(u8),
}

/// A process among the ranks of an mpirun.
#[derive(Debug)]
pub struct Ranks {
    /// Until memory is exposed.
    ranks: Option<mpi::Ranks>,
    carrier: Option<Carrier>,
    me: u16,
    places: Vec<Place>,
    /// Whether ranks reach each other's memory without each other's help.
    are_one_sided: bool,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The host's name, for people.
    host: String,
    /// What processes have in common that reach each other over loopback: the system that was started, and its network.
    network: String,
}

/// Where rank 0 listens.
#[derive(Serialize, Deserialize)]
struct Announced {
    addresses: Vec<SocketAddr>,
    secret: [u8; 32],
}

impl Ranks {
    /// Joins the ranks of the mpirun that started this process, if the request is to run on them; waits until all have come.
    ///
    /// # Errors
    /// There is no mpirun, or it started other ranks than the request wants; its MPI cannot be used.
    pub fn join(request: &SvmRequest) -> Result<Joined, Failure> {
        request.check_ways()?;
        if request.transport.as_deref() != Some(MPI) {
            return Ok(Joined::Alone);
        }
        let started = environment::started(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()));
        let Some(started) = started? else { return Err(request.without_mpirun()) };
        match Ranks::of(started, request) {
            Ok(ranks) if started.rank == 0 => Ok(Joined::First(ranks)),
            Ok(ranks) => Ok(Joined::Other(ranks)),
            Err(why) if started.speaks => Err(why),
            Err(why) => {
                std::thread::sleep(SILENT);
                Ok(Joined::Silent(why.class.exit_status()))
            }
        }
    }

    fn of(started: Started, request: &SvmRequest) -> Result<Ranks, Failure> {
        let Started { family, size, rank, .. } = started;
        if let Some(nodes) = request.nodes.filter(|nodes| *nodes != size) {
            return Err(Failure::usage(format!(
                "-n {nodes}: mpirun started {size} ranks, and each is a node: give both the same number, or mpirun alone"
            )));
        }
        let library = library::library(request.mpicc.as_deref(), family)?;
        let mut ranks = mpi::Ranks::join(&library).map_err(|e| unusable(&e))?;
        if (ranks.size(), ranks.rank()) != (size.into(), rank.into()) {
            let (there, name) = (ranks.size(), family.compiler());
            return Err(Failure::usage(format!(
                "--transport mpi: mpirun started {size} ranks, and the MPI of the compiler finds {there}: it is another MPI than mpirun's; name \
                 the one of mpirun's with --mpicc, as --mpicc {name}"
            )));
        }
        let places = place().and_then(|place| ranks.gather::<PLACE>(&padded(&place)?));
        let places =
            places.and_then(|all| all.iter().map(|bytes| unpadded(bytes)).collect()).map_err(|e| unusable(&e))?;
        let are_one_sided = size > 1 && ranks.are_one_sided(TRIED).map_err(|e| unusable(&e))?;
        Ok(Ranks { ranks: Some(ranks), carrier: None, me: rank, places, are_one_sided })
    }

    /// The request as one on as many nodes as there are ranks, with what goes between them.
    pub(crate) fn request(&self, request: &SvmRequest) -> SvmRequest {
        let transport = if self.are_one_sided { MPI } else { OTHERWISE };
        let nodes = u16::try_from(self.places.len()).ok();
        SvmRequest { nodes, transport: Some(transport.to_owned()), ..request.clone() }
    }
    /// What a reader of the run should know; nothing of a single node.
    pub(crate) fn note(&self) -> Option<String> {
        (self.places.len() > 1).then(|| NOTES[usize::from(self.are_one_sided)].to_owned())
    }
    /// Lets the other ranks reach the heap of this one's node, if they can. The node's mailbox. Waits until all ranks do so.
    pub(crate) fn expose(&mut self, heap: &File) -> io::Result<Option<File>> {
        let Some(ranks) = self.ranks.take_if(|_| self.are_one_sided) else { return Ok(None) };
        let (carrier, mailbox) = Carrier::start(ranks, heap)?;
        self.carrier = Some(carrier);
        Ok(Some(mailbox))
    }
    fn broadcast(&mut self, said: &mut [u8]) -> Result<(), Failure> {
        let ranks = self.ranks.as_mut().ok_or_else(|| io::Error::other("it serves a node already"));
        ranks.and_then(|ranks| ranks.broadcast(said)).map_err(|e| unusable(&e))
    }

    /// At rank 0, lets the others connect: where nodes are, and the connections of the other ranks in their order.
    pub(crate) fn meet(&mut self, clears: bool) -> Result<(Plan, Vec<TcpStream>), Failure> {
        let failed = |e: io::Error| Failure::work(format!("the ranks cannot reach rank 0: {e}"));
        let is_one_network = self.places.iter().all(|place| place.network == self.places[0].network);
        let (socket, addresses) = listen(is_one_network).map_err(failed)?;
        let known = Known::random().map_err(failed)?;
        let mut said: [u8; ANNOUNCED] = padded(&Announced { addresses, secret: *known.bytes() }).map_err(failed)?;
        self.broadcast(&mut said)?;
        let came = ranks::accept(socket, self.places.len() as u16, &known).map_err(failed)?;
        let is_near: Vec<bool> = self.places[1..].iter().map(|p| p.network == self.places[0].network).collect();
        let addresses = addresses_of(&came, &is_near).map_err(failed)?;
        let hosts = self.places.iter().zip(addresses).zip(0..).map(|((place, address), node)| Host {
            name: place.host.clone(),
            address,
            nodes: vec![node],
        });
        Ok((Plan::of_ranks(hosts.collect(), clears), came))
    }

    /// At another rank, looks after its node until the launcher ends; the status to end with.
    ///
    /// # Errors
    /// Rank 0 cannot be reached.
    pub fn serve(mut self) -> Result<u8, Failure> {
        let mut said = [0; ANNOUNCED];
        self.broadcast(&mut said)?;
        let announced: Announced = unpadded(&said).map_err(|e| unusable(&e))?;
        let failed = |e: io::Error| Failure::work(format!("rank {} cannot reach rank 0: {e}", self.me));
        let to = ranks::connect(self.me, &announced.addresses, &Known::of(announced.secret)).map_err(failed)?;
        let out: Out = Arc::new(Mutex::new(to.try_clone().map_err(failed)?));
        // Whatever went wrong, the launcher has been told.
        attend(to.try_clone().map_err(failed)?, out, |heap| self.expose(heap))?;
        // It waits for that, and may have gone first.
        let _ = to.shutdown(Shutdown::Both);
        self.leave();
        Ok(0)
    }
    /// Leaves the other ranks, when all do: what ends without it has failed, and the mpirun ends the rest.
    pub(crate) fn leave(self) {
        // What MPI has to say it says itself; the run is over.
        let _ = self.carrier.map_or(self.ranks, Carrier::end).map(mpi::Ranks::end);
    }
}

/// Addresses of all ranks, by the connections of all but the first to that one, and whether they are of its network.
fn addresses_of(came: &[TcpStream], is_near: &[bool]) -> io::Result<Vec<IpAddr>> {
    let ip = |address: io::Result<SocketAddr>| Ok::<_, io::Error>(address?.ip().to_canonical());
    let far = (1..).zip(came).zip(is_near).filter(|(_, is_near)| !**is_near);
    let first =
        far.map(|((rank, c), _)| Ok((rank, ip(c.local_addr())?))).collect::<io::Result<Vec<(usize, IpAddr)>>>()?;
    let here = first.first().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |(_, address)| *address);
    if let Some((rank, other)) = first.iter().find(|(_, address)| *address != here) {
        let why =
            format!("rank {} comes to {here} and rank {rank} to {other}, so these are of several networks", first[0].0);
        return Err(io::Error::other(why));
    }
    let theirs = came.iter().zip(is_near).map(|(c, is_near)| if *is_near { Ok(here) } else { ip(c.peer_addr()) });
    [Ok(here)].into_iter().chain(theirs).collect()
}

/// Where the other ranks reach this one.
fn listen(is_one_network: bool) -> io::Result<(TcpListener, Vec<SocketAddr>)> {
    if is_one_network {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = socket.local_addr()?;
        return Ok((socket, vec![address]));
    }
    let any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    let socket = TcpListener::bind(&any.map(|address| SocketAddr::new(address, 0))[..])?;
    let port = socket.local_addr()?.port();
    let mut addresses = net::addresses()?;
    // A machine has one address of the old kind a network, and several of the new.
    addresses.sort_by_key(IpAddr::is_ipv6);
    Ok((socket, addresses.into_iter().take(ADDRESSES).map(|address| SocketAddr::new(address, port)).collect()))
}

/// Where this process is.
fn place() -> io::Result<Place> {
    let line = |file: &str| Ok::<_, io::Error>(fs::read_to_string(file)?.trim().to_owned());
    let (host, system) = (line("/proc/sys/kernel/hostname")?, line("/proc/sys/kernel/random/boot_id")?);
    let network = fs::read_link("/proc/self/ns/net")?;
    Ok(Place { host, network: format!("{system} {}", network.display()) })
}

/// A value as bytes of a fixed number.
fn padded<const N: usize>(value: &impl Serialize) -> io::Result<[u8; N]> {
    let (mut bytes, text) = ([0; N], serde_json::to_vec(value)?);
    bytes.get_mut(..text.len()).ok_or_else(|| io::Error::other("a rank has too much to say"))?.copy_from_slice(&text);
    Ok(bytes)
}
fn unpadded<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(serde_json::from_slice(&bytes[..end])?)
}

fn unusable(why: &io::Error) -> Failure {
    Failure::work(format!("--transport mpi: the MPI of mpirun cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_say_is_read_as_it_was_said() {
        let here = place().expect("known");
        let there: Place = unpadded(&padded::<PLACE>(&here).expect("short")).expect("whole");
        assert_eq!(there, here);
        assert!(padded::<8>(&here).is_err() && unpadded::<Place>(&[0; 8]).is_err());
        let addresses = vec!["[2001:db8:1111:2222:3333:4444:5555:6666]:65535".parse().expect("one"); ADDRESSES];
        let said = padded::<ANNOUNCED>(&Announced { addresses, secret: [255; 32] }).expect("it fits");
        assert_eq!(unpadded::<Announced>(&said).expect("whole").secret, [255; 32]);
    }

    #[test]
    fn ranks_are_where_their_connections_come_from() {
        let (socket, addresses) = listen(true).expect("it listens");
        assert!(addresses[0].ip().is_loopback());
        let connect = || TcpStream::connect(addresses[0]).expect("connected");
        let _held = [connect(), connect()];
        let came = [socket.accept().expect("one").0, socket.accept().expect("another").0];
        let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
        for is_near in [[true, true], [true, false], [false, false]] {
            assert_eq!(addresses_of(&came, &is_near).expect("one network"), [localhost; 3]);
        }
        let (_, addresses) = listen(false).expect("it listens");
        assert!(addresses.iter().all(|address| !address.ip().is_loopback()));
    }
}
