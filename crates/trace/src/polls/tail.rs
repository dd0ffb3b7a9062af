//! The youngest nodes of a thread, with a mark of each by which equal ones are found fast.
use super::ROUND_MAX;
use super::node::Node;
use std::ops::{Deref, DerefMut, Range};

/// Of equal nodes before the last one so many of the nearest may begin a round: in a round that is not itself made of equal
/// rounds some node occurs seldom.
const TRIES: usize = 16;
/// Marks compared at once.
const TOGETHER: usize = 16;

/// Youngest nodes of a thread, which change in place only as long as code and address stay.
#[derive(Debug, Default)]
pub(super) struct Tail {
    nodes: Vec<Node>,
    /// Of each node; equal for nodes that are the same.
    marks: Vec<u32>,
}

impl Deref for Tail {
    type Target = [Node];
    fn deref(&self) -> &[Node] {
        &self.nodes
    }
}

impl DerefMut for Tail {
    fn deref_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }
}

impl Tail {
    pub(super) fn push(&mut self, node: Node) {
        // Of nodes with a reference the kind may still change.
        let kind = if node.at.is_none() { 1 + node.kind as u64 } else { 0 };
        let mark = (node.pc ^ node.addr.rotate_left(29) ^ kind << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.nodes.push(node);
        self.marks.push(mark as u32);
    }
    pub(super) fn pop(&mut self) -> Option<Node> {
        self.marks.pop();
        self.nodes.pop()
    }
    pub(super) fn clear(&mut self) {
        self.take(0..self.nodes.len());
    }
    pub(super) fn take(&mut self, range: Range<usize>) -> Vec<Node> {
        self.marks.drain(range.clone());
        self.nodes.drain(range).collect()
    }

    /// How far before the last node the nearest nodes are that are probably equal to it, ascending; at most [`ROUND_MAX`].
    pub(super) fn distances(&self) -> impl Iterator<Item = usize> + use<> {
        let mut found = [0; TRIES];
        let mut count = 0;
        if let Some((last, before)) = self.marks.split_last() {
            let before = &before[before.len().saturating_sub(ROUND_MAX)..];
            for (chunk, marks) in before.rchunks(TOGETHER).enumerate() {
                if !marks.iter().fold(false, |any, m| any | (m == last)) {
                    continue;
                }
                for (i, _) in marks.iter().rev().enumerate().filter(|(_, m)| *m == last) {
                    if count == TRIES {
                        break;
                    }
                    found[count] = chunk * TOGETHER + i + 1;
                    count += 1;
                }
            }
        }
        found.into_iter().take(count)
    }

    /// Whether the last `n` nodes are probably the same as the `n` before them; there are so many.
    pub(super) fn may_repeat(&self, n: usize) -> bool {
        let (_, last) = self.marks.split_at(self.marks.len() - 2 * n);
        last[..n] == last[n..]
    }
}
