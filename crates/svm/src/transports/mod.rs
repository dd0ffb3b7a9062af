//! Transports: how a node reads and changes the memory of its peers. A family, one file each.
mod memory;
#[cfg(test)]
mod tests;

pub use mpi::{carried, mailbox};
pub use tcp::{message, ranks};

use crate::shared::Shared;
use homenode_base::NodeId;
use homenode_hlrc::cluster::Layout;
use homenode_hlrc::host::Wake;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicU64;

/// Operations on the memory of peers. Words of a region and words of a heap are counted from its beginning.
///
/// *Order:* what one node writes to another (`put`, `put_page`, `put_run`, and words changed by `compare_swap` and `fetch_add`) is
/// seen there in the order in which it was written, whichever of the writer's threads wrote it, as long as these threads took turns.
/// Nothing else is promised: nothing about writes to different nodes, nor about the words of one read
/// but that `get_page` reads those of the region first.
///
/// *Ends:* `get`, `get_page`, `compare_swap` and `fetch_add` end with their result; the others may end as soon as their place in
/// that order is taken, and are done soon after [`Transport::flush`]. `put` and `fetch_add` wake threads of the peer
/// that wait, as they say; nothing else does but an interrupt.
///
/// *Signals:* operations are called by handlers of signals: none of them allocates or takes a lock that a thread may hold while the
/// program computes.
#[allow(async_fn_in_trait, reason = "futures are polled where they are made, by one thread")]
pub trait Transport {
    /// Reads words of a region.
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]);
    /// Writes words of a region.
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake);
    /// Sets a word of a region to `new` if it is `old`; the word before that.
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64;
    /// Adds to a word of a region; the word before that.
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64;
    /// Reads words of a region, and after these words of a heap.
    async fn get_page(&self, node: NodeId, region: (usize, &mut [u64]), heap: (usize, &[AtomicU64]));
    /// Writes words of a heap.
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]);
    /// Writes into words of a heap what [`merge`](homenode_hlrc::diff::merge) would: values and masks.
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]);
    /// Makes a thread of the node serve: a signal if none is inside, else the bell.
    async fn interrupt(&self, node: NodeId);
    /// Calls the first thread of the node.
    async fn call(&self, node: NodeId);
    /// Sends all that was written so far. Who waits for something, or leaves the library, does so before.
    fn flush(&self);
}

/// Which thread of a node an interrupt stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The first one that computes.
    First,
    /// One after the other.
    RoundRobin,
    /// None: a thread that each node has for it polls.
    Nobody,
}

impl Stopped {
    /// Every way.
    pub const ALL: [Stopped; 3] = [Stopped::First, Stopped::RoundRobin, Stopped::Nobody];
    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Stopped::First => "first",
            Stopped::RoundRobin => "round-robin",
            Stopped::Nobody => "polled",
        }
    }
}

/// What a transport is opened with.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'n> {
    /// The node that opens it.
    pub(crate) me: NodeId,
    /// Nodes.
    pub(crate) nodes: u16,
    /// Layout of every region.
    pub(crate) layout: &'n Layout,
    /// Memory of all nodes.
    pub(crate) files: &'n Files,
    /// Words of a heap.
    pub(crate) heap_words: usize,
    /// Threads a node.
    pub(crate) threads: u16,
    /// Which thread an interrupt stops.
    pub(crate) stopped: Stopped,
    /// What was made for all nodes to find each other.
    pub(crate) meeting: &'n Meeting,
    /// Times that a thread of the node looks, while it waits, before it sleeps.
    pub(crate) turns: u32,
    /// Says, while nodes are looked for, whether that is worth it.
    pub(crate) look: &'n dyn Fn() -> io::Result<()>,
}

/// What nodes find each other by, made before there are several.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    /// Listening sockets where the others connect, by node; of a node of another host there is none.
    pub(crate) listening: Vec<Option<TcpListener>>,
    /// Addresses of these.
    pub(crate) addresses: Vec<SocketAddr>,
    /// What all nodes know and nobody else.
    pub(crate) secret: tcp::Secret,
}

/// Memory of all nodes of one host, and what they share otherwise.
#[derive(Debug)]
pub struct Files {
    /// Heaps, one a node; only the node's own if it waits for a program of another host ([`Job::waits`](crate::job::Job::waits)).
    pub heaps: Vec<File>,
    /// Regions, as the heaps.
    pub regions: Vec<File>,
    /// The job's secret, if the transport needs one: [`SECRET_BYTES`](crate::job::SECRET_BYTES).
    pub secret: Option<File>,
    /// The list of homes, if there is one.
    pub plan: Option<File>,
    /// Journals, one a node, if nodes write them.
    pub journals: Vec<File>,
    /// Mailboxes, as the heaps, if the transport needs them ([`mailbox::Mailbox`]).
    pub mailboxes: Vec<File>,
    /// What there is besides if nodes run on several hosts.
    pub hosts: Option<HostFiles>,
}

/// What [`Hosts`](crate::job::Hosts) names, open.
#[derive(Debug)]
pub struct HostFiles {
    /// The node.
    pub me: NodeId,
    /// The node's listening socket.
    pub listening: TcpListener,
    /// For the program's variables.
    pub image: File,
    /// Where a node other than the first waits.
    pub gate: Option<File>,
    /// Where each node listens.
    pub peers: Vec<SocketAddr>,
}

impl Files {
    /// The heap of a node.
    pub(crate) fn heap(&self, node: NodeId) -> io::Result<&File> {
        self.place(node).and_then(|at| self.heaps.get(at)).ok_or_else(|| io::Error::other("the node has no heap"))
    }
    /// The region of a node.
    pub(crate) fn region(&self, node: NodeId) -> io::Result<&File> {
        self.place(node).and_then(|at| self.regions.get(at)).ok_or_else(|| io::Error::other("the node has no region"))
    }
    /// The mailbox of a node.
    pub(crate) fn mailbox(&self, node: NodeId) -> io::Result<&File> {
        let found = self.place(node).and_then(|at| self.mailboxes.get(at));
        found.ok_or_else(|| io::Error::other("the node has no mailbox"))
    }
    fn place(&self, node: NodeId) -> Option<usize> {
        let first = self.hosts.as_ref().map_or(0, |hosts| hosts.me.index());
        node.index().checked_sub(first)
    }
}

/// A transport as a member of the family.
#[derive(Debug)]
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists and reports.
    pub summary: &'static str,
    /// Whether nodes have nothing of each other's memory, and find each other by a secret.
    pub is_apart: bool,
    /// Whether each node has a mailbox, and a process beside it that does what is asked there.
    pub has_mailbox: bool,
    /// Makes what nodes find each other by.
    pub(crate) meet: fn(&Files) -> io::Result<Meeting>,
    /// Opens it for a node, once all nodes exist or are about to.
    pub(crate) open: fn(&Opening<'_>) -> io::Result<Wire>,
}

homenode_base::registry!(
    /** Every transport. */ Spec;
    shm, tcp, mpi
);

/// The transport with this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    ALL.iter().copied().find(|s| s.name == name)
}

/// Opens the transport of a node that is alone: the memory of all nodes is its own until they exist.
pub(crate) fn alone(opening: &Opening<'_>) -> io::Result<Wire> {
    Ok(Wire::Shm(shm::Shm::open(opening)?))
}

/// An open transport.
#[derive(Debug)]
pub(crate) enum Wire {
    /// Memory of one host.
    Shm(shm::Shm),
    /// Sockets.
    Tcp(tcp::Tcp),
    /// One-sided operations, and sockets.
    Mpi(mpi::Mpi),
}

impl Wire {
    /// Whether the connection to a node is closed at its side; never over memory.
    pub(crate) fn is_gone(&self, node: NodeId) -> bool {
        match self {
            Wire::Shm(_) => false,
            Wire::Tcp(tcp) => tcp.is_gone(node),
            Wire::Mpi(mpi) => mpi.is_gone(node),
        }
    }
    /// Leaves memory of other nodes, if it has any: what is done from now on reaches nobody.
    pub(crate) fn detach(&self) -> io::Result<()> {
        match self {
            Wire::Shm(shm) => shm.detach(),
            Wire::Tcp(_) | Wire::Mpi(_) => Ok(()),
        }
    }
}

/// Declares operations of [`Wire`] as those of the transport that it is.
macro_rules! passed_on {
    ($(async $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {$(
        async fn $name(&self, $($argument: $type),*) $(-> $result)? {
            match self {
                Wire::Shm(t) => t.$name($($argument),*).await,
                Wire::Tcp(t) => t.$name($($argument),*).await,
                Wire::Mpi(t) => t.$name($($argument),*).await,
            }
        }
    )+};
}

impl Transport for Wire {
    passed_on! {
        async get(node: NodeId, word: usize, into: &mut [u64]);
        async put(node: NodeId, word: usize, values: &[u64], wake: Wake);
        async compare_swap(node: NodeId, word: usize, old: u64, new: u64) -> u64;
        async fetch_add(node: NodeId, word: usize, add: u64, wake: Wake) -> u64;
        async get_page(node: NodeId, region: (usize, &mut [u64]), heap: (usize, &[AtomicU64]));
        async put_page(node: NodeId, first_word: usize, from: &[AtomicU64]);
        async put_run(node: NodeId, first_word: usize, run: &[(u64, u64)]);
        async interrupt(node: NodeId);
        async call(node: NodeId);
    }
    fn flush(&self) {
        match self {
            Wire::Shm(t) => t.flush(),
            Wire::Tcp(t) => t.flush(),
            Wire::Mpi(t) => t.flush(),
        }
    }
}

/// Words of a region that the host uses for itself.
pub(crate) fn shared<'r>(region: &'r [AtomicU64], layout: &Layout) -> Shared<'r> {
    Shared::of(region, layout.extra())
}
