//! How connections begin. Each node has a listening socket, where every other node connects once; who knows the job's secret is accepted.
//! Strangers may connect, say anything or nothing: there is room for some at a time, the one that has been there longest goes when
//! somebody else comes, and none is waited for. When all nodes have connected, the socket is closed.
use super::secret::{BYTES, Nonce, Said, Secret, Side};
use homenode_base::NodeId;
use homenode_sys::net::{self, Poller, Ready, Signal};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long nodes may take to find each other.
pub(super) const MEET_MOST: Duration = Duration::from_secs(30);
/// How long who has connected may take to say who it is.
const GREETING_MOST: Duration = Duration::from_secs(5);
/// How long a connection may take to be made.
const CONNECT_MOST: Duration = Duration::from_secs(2);
/// How often who waits looks whether it is worth it.
const LOOK: Duration = Duration::from_millis(50);
/// Strangers at a time.
const HALF_OPEN: usize = 128;
/// First bytes of who asks: the language that follows.
const MAGIC: [u8; 8] = *b"HNSVM\x01\r\n";
/// Bytes of the first words: magic, who asks, whom, random bytes.
const HELLO: usize = MAGIC.len() + 4 + BYTES;
/// Bytes of the answer: random bytes and a proof.
const ANSWER: usize = 2 * BYTES;
/// What who asks hears last: requests may follow.
const ACCEPTED: [u8; 1] = [1];

fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what.into())
}

/// A connection of somebody who has not proved who it is.
struct HalfOpen {
    socket: TcpStream,
    since: Instant,
    bytes: [u8; HELLO],
    filled: usize,
    /// What was said, once the first words have come.
    said: Option<Said>,
}

/// What became of such a connection for now.
enum Became {
    Waiting,
    Accepted(NodeId),
    Gone,
}

/// A node's listening socket, and what it must know to accept the others.
pub(super) struct Listening {
    pub(super) socket: TcpListener,
    pub(super) me: NodeId,
    pub(super) nodes: u16,
    pub(super) secret: Secret,
}

impl Listening {
    /// Accepts all other nodes; their connections, by node. Ends early, with what there is, if `stop` is given.
    ///
    /// # Errors
    /// They have not come in time, or the system refuses something.
    pub(super) fn accept_all(self, stop: &Signal) -> io::Result<Vec<Option<TcpStream>>> {
        const STOP: u64 = HALF_OPEN as u64 + 1;
        let mut came: Vec<Option<TcpStream>> = (0..self.nodes).map(|_| None).collect();
        let mut half_open: Vec<Option<HalfOpen>> = (0..HALF_OPEN).map(|_| None).collect();
        let mut poller = Poller::new(HALF_OPEN)?;
        self.socket.set_nonblocking(true)?;
        poller.add(&self.socket, HALF_OPEN as u64, Ready::Reading)?;
        poller.add(stop, STOP, Ready::Reading)?;
        let until = Instant::now() + MEET_MOST;
        let missing = |came: &[Option<TcpStream>]| {
            let is_missing = |n: &u16| *n != self.me.0 && came[usize::from(*n)].is_none();
            (0..self.nodes).find(is_missing)
        };
        while let Some(node) = missing(&came) {
            if Instant::now() > until {
                let (me, most) = (self.me, MEET_MOST.as_secs());
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("node {node} has not called node {me} for {most} s"),
                ));
            }
            let ready: Vec<u64> = poller.wait(LOOK)?.collect();
            for number in ready {
                match number {
                    STOP => return Ok(came),
                    number if number == HALF_OPEN as u64 => self.admit(&mut half_open, &poller),
                    number => self.hear(&mut half_open[number as usize], &mut came),
                }
            }
            for one in &mut half_open {
                one.take_if(|g| g.since.elapsed() > GREETING_MOST);
            }
        }
        Ok(came)
    }

    /// Takes one who has connected; the oldest one makes room.
    fn admit(&self, half_open: &mut [Option<HalfOpen>], poller: &Poller) {
        // Who has gone again, or for whom the system has no room, is a stranger who did.
        let Ok((socket, _)) = self.socket.accept() else { return };
        if socket.set_nonblocking(true).is_err() || socket.set_nodelay(true).is_err() {
            return;
        }
        let oldest = half_open.iter().enumerate().min_by_key(|(_, one)| one.as_ref().map(|g| g.since));
        let Some((place, _)) = oldest else { return };
        // A closed socket leaves the poller by itself.
        half_open[place] = None;
        if poller.add(&socket, place as u64, Ready::Reading).is_ok() {
            let since = Instant::now();
            half_open[place] = Some(HalfOpen { socket, since, bytes: [0; HELLO], filled: 0, said: None });
        }
    }

    /// Hears what somebody says.
    fn hear(&self, place: &mut Option<HalfOpen>, came: &mut [Option<TcpStream>]) {
        let Some(one) = place else { return };
        match self.advance(one) {
            Became::Waiting => {}
            Became::Gone => *place = None,
            Became::Accepted(node) => {
                if let (Some(one), None) = (place.take(), &came[node.index()]) {
                    came[node.index()] = Some(one.socket);
                }
            }
        }
    }

    fn advance(&self, one: &mut HalfOpen) -> Became {
        loop {
            // Not a byte more: what follows the proof are requests.
            let wanted = if one.said.is_none() { HELLO } else { BYTES };
            match net::receive(&one.socket, &mut one.bytes[one.filled..wanted]) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Became::Waiting,
                Err(_) | Ok(0) => return Became::Gone,
                Ok(bytes) => one.filled += bytes,
            }
            if one.filled < wanted {
                continue;
            }
            let Some(said) = one.said else {
                if !self.answer(one) {
                    return Became::Gone;
                }
                one.filled = 0;
                continue;
            };
            let holds = self.secret.holds(Side::Asking, &said, &one.bytes[..BYTES]);
            let is_in = holds && net::send(&one.socket, &ACCEPTED).is_ok_and(|sent| sent == ACCEPTED.len());
            return if is_in { Became::Accepted(NodeId(said.from)) } else { Became::Gone };
        }
    }

    /// Answers somebody's first words; false if they are none of a node's.
    fn answer(&self, one: &mut HalfOpen) -> bool {
        let (magic, rest) = one.bytes.split_at(MAGIC.len());
        let number = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]);
        let (from, to) = (number(0), number(2));
        if magic != MAGIC || to != self.me.0 || from == to || from >= self.nodes {
            return false;
        }
        let (Ok(mine), Ok(theirs)) = (Nonce::random(), rest[4..].try_into()) else { return false };
        let said = Said { from, to, nonces: [Nonce(theirs), mine] };
        one.said = Some(said);
        let mut bytes = [0; ANSWER];
        bytes[..BYTES].copy_from_slice(&mine.0);
        bytes[BYTES..].copy_from_slice(&self.secret.proof(Side::Serving, &said));
        // So few bytes always fit.
        net::send(&one.socket, &bytes).is_ok_and(|sent| sent == ANSWER)
    }
}

/// Whom a node calls, and what it must know for it.
pub(super) struct Caller<'c> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// Where it may be: who knows the secret is it.
    pub(super) addresses: &'c [SocketAddr],
    pub(super) secret: &'c Secret,
    /// Says whether it is worth going on.
    pub(super) look: &'c dyn Fn() -> io::Result<()>,
}

impl Caller<'_> {
    /// Connects to the other node's listening socket, which may have other things to do for a while.
    ///
    /// # Errors
    /// Whoever is there does not know the secret; nobody has answered in time.
    pub(super) fn call(&self) -> io::Result<TcpStream> {
        let until = Instant::now() + MEET_MOST;
        loop {
            let (mut failed, mut is_worth_it) = (Vec::new(), false);
            for address in self.addresses {
                match self.try_once(address, until) {
                    Ok(socket) => return Ok(socket),
                    Err(e) => {
                        is_worth_it |= e.kind() != io::ErrorKind::PermissionDenied;
                        failed.push((address, e));
                    }
                }
            }
            if is_worth_it && Instant::now() < until {
                (self.look)()?;
                std::thread::sleep(LOOK);
                continue;
            }
            let kind = failed.last().map_or(io::ErrorKind::AddrNotAvailable, |(_, e)| e.kind());
            let failed: Vec<String> = failed.iter().map(|(address, e)| format!(" at {address}: {e}")).collect();
            let what = format!("node {} cannot be reached{}", self.to, failed.join(";"));
            return Err(io::Error::new(kind, what));
        }
    }

    fn try_once(&self, address: &SocketAddr, until: Instant) -> io::Result<TcpStream> {
        let socket = TcpStream::connect_timeout(address, CONNECT_MOST)?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let mine = Nonce::random()?;
        let (from, to) = (self.from.0, self.to.0);
        let hello = [&MAGIC[..], &from.to_le_bytes(), &to.to_le_bytes(), &mine.0].concat();
        self.say(&socket, &hello)?;
        let mut answer = [0; ANSWER];
        self.hear(&socket, &mut answer, until)?;
        let (theirs, proof) = answer.split_at(BYTES);
        let theirs = Nonce(theirs.try_into().map_err(|_| io::ErrorKind::InvalidData)?);
        let said = Said { from, to, nonces: [mine, theirs] };
        if !self.secret.holds(Side::Serving, &said, proof) {
            return Err(refused("whoever is there does not know this job's secret"));
        }
        self.say(&socket, &self.secret.proof(Side::Asking, &said))?;
        // A stranger may have taken this connection's place meanwhile.
        self.hear(&socket, &mut [0; ACCEPTED.len()], until)?;
        Ok(socket)
    }

    /// Hears as much as fits.
    fn hear(&self, socket: &TcpStream, into: &mut [u8], until: Instant) -> io::Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match net::receive(socket, &mut into[filled..]) {
                Ok(0) => return Err(io::ErrorKind::ConnectionReset.into()),
                Ok(bytes) => filled += bytes,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                    (self.look)()?;
                    net::wait(socket, Ready::Reading, LOOK);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let what = format!("no answer for {} s", MEET_MOST.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Says some bytes, which always fit into a new connection.
    fn say(&self, socket: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        match net::send(socket, bytes)? {
            sent if sent == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }
}
