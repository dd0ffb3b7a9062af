//! Folding that keeps the order of all accesses: for policies, and for solvers that want single accesses.
//!
//! If times matter, an entry has the time of its first access, and a run of equal ones ends at multiples of the periods.
use super::{Levels, Visitor};
use crate::partition::record::{Format, MEANING};
use homenode_base::{NodeId, VirtualTime};
use homenode_placement::{Access, Step};
use homenode_sim::Seen;

/// Accesses of a unit, equal ones in a row.
#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    weight: u32,
    node: u16,
    code: u8,
    /// Whether a run begins here.
    begins: bool,
}

/// Accesses in order, with the run of equal ones at the end.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// Time of the first access of each entry, if times matter.
    times: Vec<u64>,
    /// The run of the last entry, as it is called in the stamps.
    run: u32,
    /// When that run ends, if times matter.
    until: u64,
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
    /// Whether equal units of a run may be added up: not where hits are left out block by block.
    merge: bool,
    /// Whether times matter.
    timed: bool,
    /// At multiples of these runs end, if times matter.
    periods: Vec<u64>,
    stamps: Vec<Stamp>,
    runs: u32,
}

/// Folds regions one after another.
pub(crate) struct Strict {
    levels: Levels,
    format: Format,
    /// Node of each thread of the stream.
    nodes: Vec<u16>,
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
        let (merge, timed) = (!hits, periods.is_some());
        let stamps = vec![Stamp::default(); if merge { format.units() >> shift } else { 0 }];
        Strict {
            tops: (0..1 << (format.unit_bits() - top)).map(|_| List::default()).collect(),
            halves: (0..top).map(|_| Default::default()).collect(),
            units: Units { shift, merge, timed, periods: periods.unwrap_or_default(), stamps, runs: 0 },
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
        super::accesses((format, words), (nodes, joined), accesses, |r, node| {
            let entry = Entry { unit: r.unit >> shift, weight: r.weight, node, code: r.code, begins: false };
            if let Some(list) = tops.get_mut((entry.unit >> top) as usize) {
                list.push(entry, r.t, units);
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
        let Units { periods, timed, .. } = &self.units;
        let mut seen = self.hits.then(Seen::default);
        for (i, e) in list.entries.iter().enumerate() {
            let (kind, class) = MEANING[usize::from(e.code)];
            let node = NodeId(e.node);
            if seen.as_mut().is_some_and(|s| !s.note(node, kind, class)) {
                continue;
            }
            let time = || if *timed { list.times[i] } else { 0 };
            if let Some(Step { access: last, .. }) = self.steps.last_mut()
                && (last.node, last.kind, last.class) == (node, kind, class)
                // Of hits those that begin runs may have been left out.
                && (!(e.begins || self.hits) || periods.iter().all(|p| last.t.0 / p == time() / p))
                && let Some(weight) = last.weight.checked_add(e.weight)
            {
                last.weight = weight;
                continue;
            }
            let access = Access { node, kind, class, weight: e.weight, t: VirtualTime(time()) };
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
    /// One more access, or some at once, at a time.
    #[inline]
    fn push(&mut self, entry: Entry, t: u64, units: &mut Units) {
        let same = self.entries.last().is_some_and(|last| (last.node, last.code) == (entry.node, entry.code))
            && (!units.timed || t < self.until);
        if !same {
            self.begin(t, units);
        }
        if units.merge {
            let stamp = &mut units.stamps[entry.unit as usize];
            if stamp.run == self.run {
                let known = &mut self.entries[stamp.at as usize];
                if let Some(weight) = known.weight.checked_add(entry.weight) {
                    known.weight = weight;
                    return;
                }
            }
            *stamp = Stamp { run: self.run, at: self.entries.len() as u32 };
        }
        if units.timed {
            self.times.push(t);
        }
        self.entries.push(Entry { begins: !same, ..entry });
    }
    /// A run begins.
    #[inline]
    fn begin(&mut self, t: u64, units: &mut Units) {
        units.runs += 1;
        self.run = units.runs;
        if units.timed {
            let next = |p: &u64| (t / p + 1).saturating_mul(*p);
            self.until = units.periods.iter().map(next).min().unwrap_or(u64::MAX);
        }
    }
}
