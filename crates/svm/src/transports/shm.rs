//! Memory of one host: every node has the regions and the heaps of all nodes mapped, and operations are loads and stores. Page data
//! is always copied. What is written is there when the operation ends, in that order.
use super::memory::Memory;
use super::{Opening, Spec, Transport, Wire};
use homenode_base::NodeId;
use homenode_hlrc::host::Wake;
use std::io;
use std::sync::atomic::AtomicU64;

pub(crate) static SPEC: Spec = Spec {
    name: "shm",
    summary: "nodes of one host; data is copied between their memories",
    is_apart: false,
    has_mailbox: false,
    meet: |_| Ok(super::Meeting::default()),
    open: |opening| Ok(Wire::Shm(Shm::open(opening)?)),
};

/// The memories of all nodes, by node.
#[derive(Debug)]
pub(crate) struct Shm {
    memories: Vec<Memory>,
}

impl Shm {
    /// Maps all nodes' memory.
    pub(super) fn open(opening: &Opening<'_>) -> io::Result<Shm> {
        let map = |node| Memory::map(opening, NodeId(node));
        Ok(Shm { memories: (0..opening.nodes).map(map).collect::<io::Result<_>>()? })
    }
    /// Leaves the memory of all nodes.
    pub(super) fn detach(&self) -> io::Result<()> {
        self.memories.iter().try_for_each(Memory::detach)
    }
    fn at(&self, node: NodeId) -> &Memory {
        &self.memories[node.index()]
    }
}

impl Transport for Shm {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        self.at(node).get(word, into);
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        self.at(node).put(word, values);
        self.at(node).wake(wake);
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.at(node).compare_swap(word, old, new)
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.at(node).fetch_add(word, add, wake)
    }
    async fn get_page(&self, node: NodeId, region: (usize, &mut [u64]), heap: (usize, &[AtomicU64])) {
        self.at(node).get_page(region, heap);
    }
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        self.at(node).put_page(first_word, from);
    }
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        self.at(node).put_run(first_word, run);
    }
    async fn interrupt(&self, node: NodeId) {
        let to = self.at(node);
        to.interrupt(to.process());
    }
    async fn call(&self, node: NodeId) {
        self.at(node).call();
    }
    fn flush(&self) {}
}
