//! Sets of nodes as bitsets: one word up to 64 nodes, more words beyond, no fixed limit.
use crate::ids::NodeId;

/// A set of nodes. Machines up to 64 nodes never allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet {
    low: u64,
    high: Vec<u64>,
}

impl NodeSet {
    /// The empty set.
    pub const fn new() -> NodeSet {
        NodeSet { low: 0, high: Vec::new() }
    }
    /// The set with one member.
    pub fn single(n: NodeId) -> NodeSet {
        let mut s = NodeSet::new();
        s.insert(n);
        s
    }
    /// Adds `n`; true if it was not a member.
    #[inline]
    pub fn insert(&mut self, n: NodeId) -> bool {
        let (word, bit) = self.word_mut(n);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
    /// Removes `n`; true if it was a member.
    #[inline]
    pub fn remove(&mut self, n: NodeId) -> bool {
        if !self.contains(n) {
            return false;
        }
        let (word, bit) = self.word_mut(n);
        *word &= !bit;
        while self.high.last() == Some(&0) {
            self.high.pop();
        }
        true
    }
    /// Whether `n` is a member.
    #[inline]
    pub fn contains(&self, n: NodeId) -> bool {
        let i = n.index();
        let word = if i < 64 { self.low } else { self.high.get(i / 64 - 1).copied().unwrap_or(0) };
        word >> (i % 64) & 1 == 1
    }
    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.low.count_ones() as usize + self.high.iter().map(|w| w.count_ones() as usize).sum::<usize>()
    }
    /// Whether there is no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_empty()
    }
    /// Removes every member.
    #[inline]
    pub fn clear(&mut self) {
        self.low = 0;
        self.high.clear();
    }
    /// The member with the lowest number.
    pub fn first(&self) -> Option<NodeId> {
        self.iter().next()
    }
    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::once(self.low)
            .chain(self.high.iter().copied())
            .enumerate()
            .flat_map(|(w, bits)| members(bits).map(move |b| NodeId((w * 64) as u16 + b)))
    }
    #[inline]
    fn word_mut(&mut self, n: NodeId) -> (&mut u64, u64) {
        let i = n.index();
        if i < 64 {
            return (&mut self.low, 1 << i);
        }
        if self.high.len() < i / 64 {
            self.high.resize(i / 64, 0);
        }
        (&mut self.high[i / 64 - 1], 1 << (i % 64))
    }
}

/// The bits that are set, from the lowest.
fn members(mut bits: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as u16;
        let some = bits != 0;
        bits &= bits.wrapping_sub(1);
        some.then_some(lowest)
    })
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(iter: I) -> NodeSet {
        let mut s = NodeSet::new();
        iter.into_iter().for_each(|n| {
            s.insert(n);
        });
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_a_btreeset_across_word_borders() {
        let (mut s, mut oracle, mut rng) = (NodeSet::new(), BTreeSet::new(), crate::Rng::new(7));
        for _ in 0..20_000 {
            let n = NodeId(rng.below(300) as u16);
            if rng.below(2) == 0 {
                assert_eq!(s.insert(n), oracle.insert(n));
            } else {
                assert_eq!(s.remove(n), oracle.remove(&n));
            }
            assert_eq!((s.len(), s.is_empty(), s.first()), (oracle.len(), oracle.is_empty(), oracle.first().copied()));
        }
        assert!(s.iter().eq(oracle.iter().copied()));
        assert_eq!(s, oracle.into_iter().collect(), "equality must not depend on how the set was reached");
    }
}
