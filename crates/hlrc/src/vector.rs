//! Vectors: how many notices of each writer somebody has applied.
use crate::host::{Count, Host, Wake};
use crate::memory::Words;
use homenode_base::NodeId;
use smallvec::{SmallVec, smallvec};
use std::sync::atomic::Ordering;

/// Most nodes of a cluster.
pub const MAX_NODES: usize = 1024;
/// Most nodes of a cluster whose vectors are all on the stack: where traps are handled no memory may be asked for.
pub const MAX_LIVE_NODES: usize = 64;

/// One number a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vector(SmallVec<[u64; MAX_LIVE_NODES]>);

impl Vector {
    pub(crate) fn zero(nodes: u16) -> Vector {
        Vector(smallvec![0; nodes.into()])
    }
    /// A copy of words that may change meanwhile.
    pub(crate) fn of<H: Host>(words: Words<'_, H>) -> Vector {
        Vector(words.iter().map(|word| word.load(Ordering::Acquire)).collect())
    }
    /// Words of this node's region from `word` on.
    pub(crate) fn here<H: Host>(host: &H, word: usize) -> Vector {
        Vector::of(Words::region(host, word, host.cluster().nodes.into()))
    }
    /// What this node has applied, and of itself, made.
    pub(crate) fn applied<H: Host>(host: &H) -> Vector {
        Vector::here(host, host.layout().applied(NodeId(0)))
    }
    pub(crate) fn store<H: Host>(&self, words: Words<'_, H>) {
        for (word, count) in words.iter().zip(self.words()) {
            word.store(*count, Ordering::Release);
        }
    }
    /// Words of a peer's region from `word` on.
    pub(crate) async fn at<H: Host>(host: &H, node: NodeId, word: usize) -> Vector {
        let mut vector = Vector::zero(host.cluster().nodes);
        count(host, node, 1);
        host.get(node, word, vector.words_mut()).await;
        vector
    }
    /// Writes it into a peer's region.
    pub(crate) async fn put<H: Host>(&self, host: &H, node: NodeId, word: usize) {
        count(host, node, 1);
        host.put(node, word, self.words(), Wake::Nobody).await;
    }
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
    pub(crate) fn get(&self, writer: NodeId) -> u64 {
        self.0[writer.index()]
    }
    pub(crate) fn set(&mut self, writer: NodeId, count: u64) {
        self.0[writer.index()] = count;
    }
    /// Whether each number is at least that of `other`.
    pub(crate) fn covers(&self, other: &Vector) -> bool {
        self.words().iter().zip(other.words()).all(|(mine, others)| mine >= others)
    }
    /// The greater number of each writer.
    pub(crate) fn join(&mut self, other: &Vector) {
        for (mine, others) in self.0.iter_mut().zip(other.words()) {
            *mine = (*mine).max(*others);
        }
    }
}

/// Counts vectors that go to a peer, or come from one.
pub(crate) fn count<H: Host>(host: &H, peer: NodeId, vectors: u64) {
    if peer != host.cluster().me {
        host.count(Count::Vector, vectors);
    }
}
