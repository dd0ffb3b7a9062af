//! Vectors: how many notices of each writer somebody has applied.
use crate::host::Host;
use crate::memory::Words;
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Most nodes of a cluster.
pub const MAX_NODES: usize = 64;

/// One number a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vector {
    counts: [u64; MAX_NODES],
    nodes: usize,
}

impl Vector {
    pub(crate) fn zero(nodes: u16) -> Vector {
        Vector { counts: [0; MAX_NODES], nodes: usize::from(nodes) }
    }
    /// A copy of words that may change meanwhile.
    pub(crate) fn of<H: Host>(words: Words<'_, H>) -> Vector {
        let mut vector = Vector { counts: [0; MAX_NODES], nodes: words.len() };
        for (count, word) in vector.counts.iter_mut().zip(words.iter()) {
            *count = word.load(Ordering::Acquire);
        }
        vector
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
    pub(crate) fn words(&self) -> &[u64] {
        &self.counts[..self.nodes]
    }
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.counts[..self.nodes]
    }
    pub(crate) fn get(&self, writer: NodeId) -> u64 {
        self.counts[writer.index()]
    }
    pub(crate) fn set(&mut self, writer: NodeId, count: u64) {
        self.counts[writer.index()] = count;
    }
    /// Whether each number is at least that of `other`.
    pub(crate) fn covers(&self, other: &Vector) -> bool {
        self.words().iter().zip(other.words()).all(|(mine, others)| mine >= others)
    }
    /// The greater number of each writer.
    pub(crate) fn join(&mut self, other: &Vector) {
        for (mine, others) in self.counts.iter_mut().zip(other.words()) {
            *mine = (*mine).max(*others);
        }
    }
}
