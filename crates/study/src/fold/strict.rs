//! Folding that keeps the order of all accesses: for policies, and for solvers that want single accesses.
use super::{Levels, Visitor};
use crate::partition::record::{Format, MEANING, Record};
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::AccessClass;
use homenode_placement::{Access, Step};
use homenode_sim::Seen;

/// An access of a unit.
#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    weight: u32,
    t: u64,
    node: u16,
    code: u8,
}

/// Accesses in order, with the run of equal ones at the end.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// Node and code of the last entry, as the run is called in the stamps.
    run: u32,
}

/// Where a unit is in the current run.
#[derive(Clone, Copy, Default)]
struct Stamp {
    run: u32,
    at: u32,
}

/// Folds regions one after another.
pub(crate) struct Strict {
    levels: Levels,
    format: Format,
    /// Node of each thread of the stream.
    nodes: Vec<u16>,
    /// Whether equal units of a run may be added up: not if times matter, nor where hits are left out block by block.
    merge: bool,
    /// Across multiples of these nothing is folded, if times matter.
    periods: Vec<u64>,
    /// Whether the stream has hits, most of which change nothing.
    hits: bool,
    halves: Vec<[List; 2]>,
    whole: List,
    stamps: Vec<Stamp>,
    runs: u32,
    steps: Vec<Step>,
    /// Accesses charged so far: reads, and writes with write-backs.
    pub(crate) accesses: [u64; 2],
}

impl Strict {
    /// `hits`: whether the stream is one of cache events. `periods`: those of the policies if times matter.
    pub(crate) fn new(
        levels: Levels,
        format: Format,
        nodes: Vec<u16>,
        hits: bool,
        periods: Option<Vec<u64>>,
    ) -> Strict {
        Strict {
            halves: (0..format.unit_bits()).map(|_| Default::default()).collect(),
            merge: !hits && periods.is_none(),
            periods: periods.unwrap_or_default(),
            stamps: vec![Stamp::default(); format.units()],
            whole: List::default(),
            steps: Vec::new(),
            runs: 0,
            accesses: [0; 2],
            levels,
            format,
            nodes,
            hits,
        }
    }

    /// More records of the region. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, words: &[u32]) {
        let Strict { format, nodes, merge, whole, stamps, runs, accesses, .. } = self;
        let before = std::mem::replace(runs, fresh(*runs, words.len() * 2, stamps));
        if *runs < before {
            // The run that goes on is the first one of the new numbers.
            (*runs, whole.run) = (1, 1);
        }
        format.for_each(words, |r: Record| {
            let Some(&node) = nodes.get(r.by as usize) else { return };
            match MEANING[usize::from(r.code)].1 {
                AccessClass::Free => {}
                AccessClass::Read => accesses[0] += u64::from(r.weight),
                _ => accesses[1] += u64::from(r.weight),
            }
            let entry = Entry { unit: r.unit, weight: r.weight, t: r.t, node, code: r.code };
            whole.push(entry, *merge, stamps, runs);
        });
    }

    /// Ends the region: visits all its blocks. `number` is that of the region.
    pub(crate) fn region(&mut self, number: u64, visitor: &mut impl Visitor) {
        let whole = std::mem::take(&mut self.whole);
        self.block(&whole, self.format.unit_bits(), number, visitor);
        self.whole = whole.emptied();
    }

    fn block(&mut self, list: &List, bits: u32, number: u64, visitor: &mut impl Visitor) {
        if list.entries.is_empty() {
            return;
        }
        if let Some(level) = self.levels.place(bits) {
            self.gather(list);
            visitor.block(level, number, &self.steps);
        }
        if !self.levels.below(bits) {
            return;
        }
        let half = bits - 1;
        let mut halves = std::mem::take(&mut self.halves[half as usize]);
        self.split(list, half, &mut halves);
        for (i, list) in halves.iter().enumerate() {
            self.block(list, half, number << 1 | i as u64, visitor);
        }
        self.halves[half as usize] = halves.map(List::emptied);
    }

    fn split(&mut self, list: &List, bit: u32, halves: &mut [List; 2]) {
        let Strict { merge, stamps, runs, .. } = self;
        *runs = fresh(*runs, list.entries.len() + 1, stamps);
        for entry in &list.entries {
            halves[(entry.unit >> bit & 1) as usize].push(*entry, *merge, stamps, runs);
        }
    }

    /// The accesses of a block, equal ones in a row as one, exactly as the plain engine folds them.
    fn gather(&mut self, list: &List) {
        self.steps.clear();
        let mut seen = self.hits.then(Seen::default);
        for e in &list.entries {
            let (kind, class) = MEANING[usize::from(e.code)];
            let node = NodeId(e.node);
            if seen.as_mut().is_some_and(|s| !s.note(node, kind, class)) {
                continue;
            }
            let access = Access { node, kind, class, weight: e.weight, t: VirtualTime(e.t) };
            if let Some(Step { access: last, .. }) = self.steps.last_mut()
                && (last.node, last.kind, last.class) == (node, kind, class)
                && self.periods.iter().all(|p| last.t.0 / p == e.t / p)
                && let Some(weight) = last.weight.checked_add(e.weight)
            {
                last.weight = weight;
                continue;
            }
            self.steps.push(Step { slot: 0, access });
        }
    }
}

/// Run numbers for `more` runs: those of earlier lists are forgotten before they come again.
fn fresh(runs: u32, more: usize, stamps: &mut [Stamp]) -> u32 {
    if (runs as usize).saturating_add(more) < u32::MAX as usize {
        return runs;
    }
    stamps.fill(Stamp::default());
    0
}

impl List {
    fn emptied(mut self) -> List {
        self.entries.clear();
        self
    }
    #[inline]
    fn push(&mut self, entry: Entry, merge: bool, stamps: &mut [Stamp], runs: &mut u32) {
        if !merge {
            return self.entries.push(entry);
        }
        let same = self.entries.last().is_some_and(|last| (last.node, last.code) == (entry.node, entry.code));
        if !same {
            *runs += 1;
            self.run = *runs;
        }
        let stamp = &mut stamps[entry.unit as usize];
        if stamp.run == self.run {
            let known = &mut self.entries[stamp.at as usize];
            if let Some(weight) = known.weight.checked_add(entry.weight) {
                known.weight = weight;
                return;
            }
        }
        *stamp = Stamp { run: self.run, at: self.entries.len() as u32 };
        self.entries.push(entry);
    }
}
