//! Transports: how a node reads and changes the memory of its peers. A family, one file each.
use crate::shared::Shared;
use homenode_base::NodeId;
use homenode_hlrc::cluster::Layout;
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

/// Operations on the memory of peers. Words of a region and words of a heap are counted from its beginning.
///
/// *Order:* what one node writes to another (`put`, `put_page`, `put_run`, and words changed by `compare_swap` and `fetch_add`) is
/// seen there in the order in which it was written, whichever of the writer's threads wrote it, as long as these threads took turns.
/// Nothing else is promised: nothing about writes to different nodes, nor about the words of one read.
///
/// *Ends:* `get`, `get_page`, `compare_swap` and `fetch_add` end with their result; the others may end as soon as their place in
/// that order is taken. What changes words of a region wakes the peer's threads that wait.
///
/// *Signals:* operations are called by handlers of signals: none of them allocates or takes a lock that a thread may hold while the
/// program computes.
#[allow(async_fn_in_trait, reason = "futures are polled where they are made, by one thread")]
pub trait Transport {
    /// Reads words of a region.
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]);
    /// Writes words of a region.
    async fn put(&self, node: NodeId, word: usize, values: &[u64]);
    /// Sets a word of a region to `new` if it is `old`; the word before that.
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64;
    /// Adds to a word of a region; the word before that.
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64) -> u64;
    /// Reads words of a heap into `into`.
    async fn get_page(&self, node: NodeId, first_word: usize, into: &[AtomicU64]);
    /// Writes words of a heap.
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]);
    /// Writes into words of a heap what [`merge`](homenode_hlrc::diff::merge) would: values and masks.
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]);
    /// Makes a thread of the node serve: a signal if none is inside, else the bell.
    async fn interrupt(&self, node: NodeId);
    /// Calls the first thread of the node.
    async fn call(&self, node: NodeId);
}

/// Which thread of a node an interrupt stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The first one that computes.
    First,
    /// One after the other.
    RoundRobin,
}

/// What a transport is opened with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'n> {
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
}

/// Memory of all nodes of one host.
#[derive(Debug)]
pub struct Files {
    /// Heaps, one a node.
    pub heaps: Vec<File>,
    /// Regions, one a node.
    pub regions: Vec<File>,
}

impl Files {
    /// Other descriptors for the same memory.
    pub(crate) fn try_clone(&self) -> io::Result<Files> {
        let again = |files: &[File]| files.iter().map(File::try_clone).collect::<io::Result<Vec<_>>>();
        Ok(Files { heaps: again(&self.heaps)?, regions: again(&self.regions)? })
    }
}

/// A transport as a member of the family.
#[derive(Debug)]
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists and reports.
    pub summary: &'static str,
    /// Opens it for a node.
    pub(crate) open: fn(&Opening<'_>) -> io::Result<Wire>,
}

homenode_base::registry!(
    /** Every transport. */ Spec;
    shm
);

/// The transport with this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    ALL.iter().copied().find(|s| s.name == name)
}

/// An open transport.
#[derive(Debug)]
pub(crate) enum Wire {
    /// Memory of one host.
    Shm(shm::Shm),
}

impl Transport for Wire {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        match self {
            Wire::Shm(t) => t.get(node, word, into).await,
        }
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64]) {
        match self {
            Wire::Shm(t) => t.put(node, word, values).await,
        }
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        match self {
            Wire::Shm(t) => t.compare_swap(node, word, old, new).await,
        }
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64) -> u64 {
        match self {
            Wire::Shm(t) => t.fetch_add(node, word, add).await,
        }
    }
    async fn get_page(&self, node: NodeId, first_word: usize, into: &[AtomicU64]) {
        match self {
            Wire::Shm(t) => t.get_page(node, first_word, into).await,
        }
    }
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        match self {
            Wire::Shm(t) => t.put_page(node, first_word, from).await,
        }
    }
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        match self {
            Wire::Shm(t) => t.put_run(node, first_word, run).await,
        }
    }
    async fn interrupt(&self, node: NodeId) {
        match self {
            Wire::Shm(t) => t.interrupt(node).await,
        }
    }
    async fn call(&self, node: NodeId) {
        match self {
            Wire::Shm(t) => t.call(node).await,
        }
    }
}

/// Words of a region that the host uses for itself.
pub(crate) fn shared<'r>(region: &'r [AtomicU64], layout: &Layout) -> Shared<'r> {
    Shared::of(region, layout.extra())
}
