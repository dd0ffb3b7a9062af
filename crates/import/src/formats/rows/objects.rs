//! Names of data in a table as named ranges of memory, which a dataset has for all of its time.
use crate::report::ExactSink;
use homenode_table::read::TableReader;
use homenode_trace::symbols::Global;
use std::collections::BTreeMap;

/// Most ranges.
const RANGES_MAX: usize = 1 << 21;

/// Bytes from `start` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    last: u64,
    /// None of data without a name.
    name: Option<u32>,
}

/// Ranges that rows named.
#[derive(Debug, Default)]
pub(super) struct Objects {
    ranges: BTreeMap<u64, Range>,
    recent: Option<Range>,
    /// Rows that name data otherwise than a row before at the same address.
    pub(super) renamed: u64,
    /// Whether there were too many ranges: then nothing is named.
    pub(super) given_up: bool,
}

impl Objects {
    /// Takes the name that a row gives its bytes.
    pub(super) fn row(&mut self, addr: u64, size: u32, name: Option<u32>) {
        let last = addr.saturating_add(u64::from(size) - 1);
        if self.given_up || self.recent.is_some_and(|r| r.start <= addr && last <= r.last && r.name == name) {
            return;
        }
        let mut range = Range { start: addr, last, name };
        // Those that begin before its end, the last of them first, until one ends before its begin.
        let near = self.ranges.range(..=last.saturating_add(1)).rev().map(|(_, r)| *r);
        let near: Vec<Range> = near.take_while(|r| r.last.saturating_add(1) >= addr).collect();
        if near.iter().any(|r| r.name != name && r.start <= last && addr <= r.last) {
            self.renamed += 1;
            return;
        }
        for r in near.iter().filter(|r| r.name == name) {
            self.ranges.remove(&r.start);
            range = Range { start: range.start.min(r.start), last: range.last.max(r.last), name };
        }
        self.ranges.insert(range.start, range);
        self.recent = Some(range);
        if self.ranges.len() > RANGES_MAX {
            self.join();
            self.given_up = self.ranges.len() > RANGES_MAX / 2;
        }
    }

    /// Joins ranges of one name with nothing else between them.
    fn join(&mut self) {
        let mut joined: Vec<Range> = Vec::new();
        for r in std::mem::take(&mut self.ranges).into_values() {
            match joined.last_mut() {
                Some(before) if before.name == r.name => before.last = r.last,
                _ => joined.push(r),
            }
        }
        self.recent = None;
        self.ranges = joined.into_iter().map(|r| (r.start, r)).collect();
    }

    /// Names the data.
    pub(super) fn name(mut self, table: &TableReader<'_>, sink: &mut dyn ExactSink) {
        self.join();
        if self.given_up {
            return;
        }
        for r in self.ranges.into_values() {
            if let Some(name) = r.name {
                let bytes = (r.last - r.start).saturating_add(1);
                sink.global(Global { addr: r.start, bytes, name: table.word(name).to_owned(), ..Global::default() });
            }
        }
    }
}
