//! Who uses which words, over a whole recording.
use crate::NumberMap;
use homenode_base::NodeId;
use homenode_base::spaces::tag;
use homenode_sim::shared::{Here, Start};
use homenode_threads::ThreadBinding;
use homenode_trace::order::Source;
use homenode_trace::{Merged, Op, TraceError};
use std::collections::BTreeMap;

/// Shift from an address to its word, of 4 bytes as in the source.
pub(super) const WORD_SHIFT: u32 = 2;
/// Most frequent users of a word that are counted (Misra and Gries 1982): counts of others than the most frequent one are
/// too low by a fourth of all at most, so that what looks as if it had one user has one.
const COUNTED: usize = 3;

/// Uses of a word of one object row.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordUse {
    /// The first user, as long as it only writes before anybody else comes: what it wrote is no use but an initialisation.
    opener: Option<NodeId>,
    opening: u32,
    users: [(NodeId, u32); COUNTED],
    /// References that are no initialisation.
    pub(super) refs: u32,
    /// Of these, writes.
    pub(super) writes: u32,
    /// Bytes of the widest reference from the word's first byte on.
    pub(super) bytes: u32,
    /// Whether it was only written, by one processor: initialised for somebody who never came, or a result.
    pub(super) only_written: bool,
}

impl WordUse {
    fn new(by: NodeId) -> WordUse {
        let users = [(by, 0); COUNTED];
        let bytes = 1 << WORD_SHIFT;
        WordUse { opener: Some(by), opening: 0, users, refs: 0, writes: 0, bytes, only_written: false }
    }

    fn add(&mut self, by: NodeId, r: &Merged) {
        let writes = r.op.writes();
        let end = (r.addr & ((1 << WORD_SHIFT) - 1)) as u32 + r.size.max(1);
        self.bytes = self.bytes.max(end);
        if self.opener == Some(by) && r.op == Op::Write {
            self.opening = self.opening.saturating_add(1);
            return;
        }
        if let Some(opener) = self.opener.take()
            && opener == by
        {
            // The first user works with what it wrote.
            self.count(by, self.opening, self.opening);
        }
        self.count(by, 1, u32::from(writes));
    }

    fn count(&mut self, by: NodeId, refs: u32, writes: u32) {
        self.refs = self.refs.saturating_add(refs);
        self.writes = self.writes.saturating_add(writes);
        if let Some(user) = self.users.iter_mut().find(|u| u.1 > 0 && u.0 == by) {
            user.1 = user.1.saturating_add(refs);
        } else if let Some(free) = self.users.iter_mut().find(|u| u.1 == 0) {
            *free = (by, refs);
        } else {
            let least = self.users.iter().map(|u| u.1).min().unwrap_or(0).min(refs);
            self.users.iter_mut().for_each(|u| u.1 -= least);
            if refs > least
                && let Some(free) = self.users.iter_mut().find(|u| u.1 == 0)
            {
                *free = (by, refs - least);
            }
        }
    }

    /// Ends the count: what nobody else came to belongs to who wrote it.
    fn finish(&mut self) {
        if let Some(opener) = self.opener.take() {
            self.count(opener, self.opening, self.opening);
            self.only_written = true;
        }
    }

    /// The most frequent user, the lowest number of several, and how many references are its own at least.
    pub(super) fn owner(&self) -> (NodeId, u32) {
        let best = self.users.iter().max_by_key(|u| (u.1, std::cmp::Reverse(u.0.0)));
        best.copied().unwrap_or((NodeId(0), 0))
    }
}

/// Uses of all words of shared memory, by object row and flat word.
#[derive(Clone, Debug, Default)]
pub struct Census {
    pub(super) rows: BTreeMap<u32, Vec<(u64, WordUse)>>,
}

impl Census {
    /// Reads one stream of a source. Private memory and spins count for nothing: whether there are any is chance.
    ///
    /// # Errors
    /// Those of the source.
    pub fn of(
        source: &mut dyn Source,
        merge: u32,
        objects: &Start<'_>,
        bindings: &[ThreadBinding],
    ) -> Result<Census, TraceError> {
        let spaces: Vec<u32> = bindings.iter().map(|b| b.space).collect();
        let mut here = Here::new(objects(), &spaces);
        let mut rows: BTreeMap<u32, NumberMap<WordUse>> = BTreeMap::new();
        let mut stream = source.stream(merge)?;
        while let Some(piece) = stream.pull()? {
            for r in piece.refs.iter().filter(|r| r.op != Op::Spin) {
                let Some(binding) = bindings.get(r.thread as usize) else { continue };
                let (row, is_private) = here.at(r);
                if is_private {
                    continue;
                }
                let word = (r.addr ^ tag(binding.space)) >> WORD_SHIFT;
                let uses = rows.entry(row).or_default().entry(word).or_insert_with(|| WordUse::new(binding.node));
                uses.add(binding.node, r);
            }
            piece.event.iter().for_each(|(event, _)| here.event(event));
        }
        let sorted = |words: NumberMap<WordUse>| {
            let mut words: Vec<(u64, WordUse)> = words.into_iter().collect();
            words.sort_unstable_by_key(|w| w.0);
            words.iter_mut().for_each(|w| w.1.finish());
            words
        };
        Ok(Census { rows: rows.into_iter().map(|(row, words)| (row, sorted(words))).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(refs: &[(u16, Op)]) -> WordUse {
        let mut uses = WordUse::new(NodeId(refs[0].0));
        refs.iter().for_each(|(by, op)| uses.add(NodeId(*by), &Merged { op: *op, size: 4, ..Merged::default() }));
        uses.finish();
        uses
    }

    #[test]
    fn an_initialisation_is_no_use() {
        let mut refs = vec![(0, Op::Write), (0, Op::Write)];
        assert_eq!((uses(&refs).owner(), uses(&refs).refs), ((NodeId(0), 2), 2), "nobody else came");
        refs.push((3, Op::Read));
        assert_eq!((uses(&refs).owner(), uses(&refs).refs, uses(&refs).writes), ((NodeId(3), 1), 1, 0));
        refs.insert(2, (0, Op::Read));
        assert_eq!((uses(&refs).owner(), uses(&refs).refs), ((NodeId(0), 3), 4), "it worked with it first");
    }

    #[test]
    fn the_most_frequent_user_is_found_among_many() {
        let refs: Vec<(u16, Op)> =
            (0..4000u16).map(|i| (if i % 10 == 0 { i / 10 % 60 } else { 77 }, Op::Atomic)).collect();
        let (owner, least) = uses(&refs).owner();
        assert_eq!((owner, uses(&refs).refs), (NodeId(77), 4000));
        assert!((3400..=3600).contains(&least), "{least} of 3600");
    }
}
