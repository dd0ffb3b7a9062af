//! Folding that keeps the order of all accesses: for policies, and for solvers that want single accesses.
use super::{Levels, Visitor};
use crate::partition::record::{Format, MEANING, Record};
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::AccessClass;
use homenode_placement::{Access, Step};
use homenode_sim::Seen;

/// Accesses of a unit, equal ones in a row.
#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    weight: u32,
    node: u16,
    code: u8,
}

/// Accesses in order, with the run of equal ones at the end.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// Virtual time of each entry, if times matter.
    times: Vec<u64>,
    /// Node and code of the last entry, as the run is called in the stamps.
    run: u32,
}

/// Where a unit is in the current run.
#[derive(Clone, Copy, Default)]
struct Stamp {
    run: u32,
    at: u32,
}

/// What a unit is, and where those of the current runs are.
struct Units {
    /// A unit here is `1 << shift` units of the format: smaller blocks are not asked for.
    shift: u32,
    /// Whether equal units of a run may be added up: not if times matter, nor where hits are left out block by block.
    merge: bool,
    /// Whether times matter.
    timed: bool,
    stamps: Vec<Stamp>,
    runs: u32,
}

/// Folds regions one after another.
pub(crate) struct Strict {
    levels: Levels,
    format: Format,
    /// Node of each thread of the stream.
    nodes: Vec<u16>,
    /// Across multiples of these nothing is folded, if times matter.
    periods: Vec<u64>,
    /// Whether the stream has hits, most of which change nothing.
    hits: bool,
    /// Blocks of the largest size that is asked for.
    tops: Vec<List>,
    halves: Vec<[List; 2]>,
    units: Units,
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
        let (top, shift) = (levels.top(), levels.least().min(format.unit_bits()));
        let (merge, timed) = (!hits && periods.is_none(), periods.is_some());
        let stamps = vec![Stamp::default(); if merge { format.units() >> shift } else { 0 }];
        Strict {
            tops: (0..1 << (format.unit_bits() - top)).map(|_| List::default()).collect(),
            halves: (0..top).map(|_| Default::default()).collect(),
            units: Units { shift, merge, timed, stamps, runs: 0 },
            periods: periods.unwrap_or_default(),
            steps: Vec::new(),
            accesses: [0; 2],
            levels,
            format,
            nodes,
            hits,
        }
    }

    /// More records of the region. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, words: &[u32]) {
        self.units.number(words.len() * 2, &mut self.tops);
        let Strict { levels, format, nodes, tops, units, accesses, hits, .. } = self;
        let (top, shift) = (levels.top() - units.shift, units.shift);
        // Two units that lie in the same one of the larger units are one access of twice the weight; of hits, each counts.
        let joined = shift > 0 && !*hits;
        format.for_each_pair(words, |r: Record, pair: bool| {
            let Some(&node) = nodes.get(r.by as usize) else { return };
            match MEANING[usize::from(r.code)].1 {
                AccessClass::Free => {}
                AccessClass::Read => accesses[0] += u64::from(r.weight) << u32::from(pair),
                _ => accesses[1] += u64::from(r.weight) << u32::from(pair),
            }
            let mut put = |unit: u32, weight: u32| {
                let entry = Entry { unit: unit >> shift, weight, node, code: r.code };
                if let Some(list) = tops.get_mut((entry.unit >> top) as usize) {
                    list.push(entry, r.t, units);
                }
            };
            match r.weight.checked_mul(2) {
                Some(twice) if pair && joined => put(r.unit, twice),
                _ if pair => {
                    put(r.unit, r.weight);
                    put(r.unit + 1, r.weight);
                }
                _ => put(r.unit, r.weight),
            }
        });
    }

    /// Ends the region: visits all its blocks. `number` is that of the region.
    pub(crate) fn region(&mut self, number: u64, visitor: &mut impl Visitor) {
        let top = self.levels.top();
        let mut tops = std::mem::take(&mut self.tops);
        for (i, list) in tops.iter_mut().enumerate() {
            self.block(list, top, number << (self.format.unit_bits() - top) | i as u64, visitor);
            list.empty();
        }
        self.tops = tops;
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
        for (i, list) in halves.iter_mut().enumerate() {
            self.block(list, half, number << 1 | i as u64, visitor);
            list.empty();
        }
        self.halves[half as usize] = halves;
    }

    fn split(&mut self, list: &List, half: u32, halves: &mut [List; 2]) {
        let Strict { units, .. } = self;
        units.number(list.entries.len() + 1, &mut []);
        let bit = half - units.shift;
        for (i, entry) in list.entries.iter().enumerate() {
            let t = if units.timed { list.times[i] } else { 0 };
            halves[(entry.unit >> bit & 1) as usize].push(*entry, t, units);
        }
    }

    /// The accesses of a block, equal ones in a row as one, exactly as the plain engine folds them.
    fn gather(&mut self, list: &List) {
        self.steps.clear();
        let mut seen = self.hits.then(Seen::default);
        for (i, e) in list.entries.iter().enumerate() {
            let (kind, class) = MEANING[usize::from(e.code)];
            let (node, t) = (NodeId(e.node), list.times.get(i).copied().unwrap_or(0));
            if seen.as_mut().is_some_and(|s| !s.note(node, kind, class)) {
                continue;
            }
            let access = Access { node, kind, class, weight: e.weight, t: VirtualTime(t) };
            if let Some(Step { access: last, .. }) = self.steps.last_mut()
                && (last.node, last.kind, last.class) == (node, kind, class)
                && self.periods.iter().all(|p| last.t.0 / p == t / p)
                && let Some(weight) = last.weight.checked_add(e.weight)
            {
                last.weight = weight;
                continue;
            }
            self.steps.push(Step { slot: 0, access });
        }
    }
}

impl Units {
    /// Makes room for `more` run numbers: those of earlier lists are forgotten before they come again. `open`: lists whose
    /// runs go on.
    fn number(&mut self, more: usize, open: &mut [List]) {
        if (self.runs as usize).saturating_add(more) < u32::MAX as usize {
            return;
        }
        self.stamps.fill(Stamp::default());
        self.runs = 0;
        for list in open {
            self.runs += 1;
            list.run = self.runs;
        }
    }
}

impl List {
    fn empty(&mut self) {
        self.entries.clear();
        self.times.clear();
    }
    #[inline]
    fn push(&mut self, entry: Entry, t: u64, units: &mut Units) {
        if !units.merge {
            if units.timed {
                self.times.push(t);
            }
            return self.entries.push(entry);
        }
        let same = self.entries.last().is_some_and(|last| (last.node, last.code) == (entry.node, entry.code));
        if !same {
            units.runs += 1;
            self.run = units.runs;
        }
        let stamp = &mut units.stamps[entry.unit as usize];
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
