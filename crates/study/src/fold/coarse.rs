//! Folding for the optimum: between two writes only who reads how often matters, and in which order does not.
//!
//! Accesses that a half does not have in common with any other node cost no more than anywhere, whatever the machine and
//! the size of blocks below, and are left out: so are blocks that are only read, where nobody asks for an optimum that
//! could pay for them.
use super::Levels;
use crate::partition::record::{Code, Format, Record};

/// What an access of a coarse list is: a read, a write, or a write that costs nothing.
pub(crate) const READ: u8 = 0;
pub(crate) const WRITE: u8 = 1;
pub(crate) const FREE_WRITE: u8 = 2;

/// Places per unit in the stamps. Nodes that share a place only fold less.
const PLACES: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    count: u32,
    node: u16,
    kind: u8,
    /// Whether it is this unit and the next one, both so often. They part where blocks are units.
    pair: bool,
}

impl Entry {
    /// What an access must have in common with its neighbour to be of the same run.
    #[inline(always)]
    fn run(&self) -> u32 {
        if self.kind == READ { u32::MAX } else { u32::from(self.kind) << 16 | u32::from(self.node) }
    }
}

#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    run: u32,
    number: u32,
    /// Whether two nodes or more use it.
    shared: bool,
    written: bool,
}

#[derive(Clone, Copy, Default)]
struct Stamp {
    number: u32,
    at: u32,
}

/// Reads by one node between two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) node: u16,
    pub(crate) count: u64,
}

/// A write, or several equal ones in a row, and where its reads end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The reads since the write before end here in [`Ops::reads`].
    pub(crate) reads_end: u32,
    pub(crate) count: u64,
    pub(crate) node: u16,
    pub(crate) free: bool,
    /// If the write before is by the same node and that node alone read since: how often it read. Else 0.
    pub(crate) own: u64,
    /// How many times over, reads and write; more than once only where `own` is not 0.
    pub(crate) times: u64,
}

/// A block's accesses: reads, write, reads, write, and reads at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ops {
    pub(crate) reads: Vec<Reads>,
    pub(crate) writes: Vec<Write>,
    /// Place of each node in `reads`, right if that is of the current run and names the node.
    place: Vec<u32>,
}

/// What is done with the blocks that may cost something.
pub(crate) trait Shared {
    /// The accesses of a block of this level that several nodes use.
    fn block(&mut self, level: usize, ops: &Ops);
}

/// Folds regions one after another.
pub(crate) struct Coarse {
    levels: Levels,
    format: Format,
    nodes: Vec<u16>,
    /// Whether blocks that are only read cost something.
    reads_cost: bool,
    whole: List,
    halves: Vec<[List; 2]>,
    stamps: Vec<Stamp>,
    numbers: u32,
    ops: Ops,
    used: Vec<u64>,
    /// Accesses so far: reads and writes.
    pub(crate) accesses: [u64; 2],
    /// Blocks touched so far, by level.
    pub(crate) touched: Vec<u64>,
}

impl Coarse {
    pub(crate) fn new(levels: Levels, places: usize, format: Format, nodes: Vec<u16>, reads_cost: bool) -> Coarse {
        let most = nodes.iter().max().map_or(0, |n| usize::from(*n) + 1);
        Coarse {
            halves: (0..format.unit_bits()).map(|_| Default::default()).collect(),
            stamps: vec![Stamp::default(); format.units() * PLACES as usize],
            used: vec![0; format.units().div_ceil(64)],
            ops: Ops { place: vec![0; most], ..Ops::default() },
            whole: List::default(),
            numbers: 0,
            accesses: [0; 2],
            touched: vec![0; places],
            levels,
            format,
            nodes,
            reads_cost,
        }
    }

    /// More records of the region. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, words: &[u32]) {
        let Coarse { format, nodes, whole, stamps, numbers, used, accesses, .. } = self;
        let before = std::mem::replace(numbers, fresh(*numbers, words.len() * 2, stamps));
        if *numbers < before {
            // The run that goes on is the first one of the new numbers.
            (*numbers, whole.number) = (1, 1);
        }
        format.for_each_pair(words, |r: Record, pair: bool| {
            let Some(&node) = nodes.get(r.by as usize) else { return };
            used[r.unit as usize / 64] |= (1 | u64::from(pair) << 1) << (r.unit % 64);
            let kind = match r.code {
                c if c == Code::Read as u8 => READ,
                c if c == Code::Write as u8 => WRITE,
                _ => FREE_WRITE,
            };
            if kind != FREE_WRITE {
                accesses[usize::from(kind)] += u64::from(r.weight) << u32::from(pair);
            }
            whole.push(Entry { unit: r.unit, count: r.weight, node, kind, pair }, stamps, numbers);
        });
    }

    /// Ends the region.
    pub(crate) fn region(&mut self, visitor: &mut impl Shared) {
        self.count_blocks();
        let whole = std::mem::take(&mut self.whole);
        self.block(&whole, self.format.unit_bits(), visitor);
        self.whole = whole.emptied();
    }

    /// Blocks of every level that were touched, from a bit per unit.
    fn count_blocks(&mut self) {
        let mut used = std::mem::take(&mut self.used);
        for level in 0..=self.format.unit_bits() {
            if let Some(place) = self.levels.place(level) {
                self.touched[place] += used.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
            }
            let pairs = |w: u64| even_bits((w | w >> 1) & 0x5555_5555_5555_5555);
            let word = |w: &[u64]| pairs(w[0]) | w.get(1).map_or(0, |w| pairs(*w)) << 32;
            used = used.chunks(2).map(word).collect();
        }
        self.used = vec![0; self.format.units().div_ceil(64)];
    }

    fn block(&mut self, list: &List, bits: u32, visitor: &mut impl Shared) {
        if !list.shared || !(list.written || self.reads_cost) {
            return;
        }
        if let Some(level) = self.levels.place(bits) {
            self.ops.gather(&list.entries);
            visitor.block(level, &self.ops);
        }
        if !self.levels.below(bits) {
            return;
        }
        let half = bits - 1;
        let mut halves = std::mem::take(&mut self.halves[half as usize]);
        let Coarse { stamps, numbers, .. } = self;
        *numbers = fresh(*numbers, 2 * list.entries.len(), stamps);
        if half == 0 {
            part(list, &mut halves, stamps, numbers);
        } else {
            for entry in &list.entries {
                halves[(entry.unit >> half & 1) as usize].push(*entry, stamps, numbers);
            }
        }
        for list in &halves {
            self.block(list, half, visitor);
        }
        self.halves[half as usize] = halves.map(List::emptied);
    }
}

/// Blocks of two units become units.
fn part(list: &List, halves: &mut [List; 2], stamps: &mut [Stamp], numbers: &mut u32) {
    for entry in &list.entries {
        let one = Entry { pair: false, ..*entry };
        halves[(one.unit & 1) as usize].push(one, stamps, numbers);
        if entry.pair {
            halves[1].push(Entry { unit: one.unit + 1, ..one }, stamps, numbers);
        }
    }
}

/// The bits at even places, moved together.
fn even_bits(mut w: u64) -> u64 {
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0F0F_0F0F_0F0F_0F0F),
        (4, 0x00FF_00FF_00FF_00FF),
        (8, 0x0000_FFFF_0000_FFFF),
        (16, 0xFFFF_FFFF),
    ] {
        w = (w | w >> shift) & mask;
    }
    w
}

/// Run numbers for `more` runs: those of earlier lists are forgotten before they come again.
fn fresh(numbers: u32, more: usize, stamps: &mut [Stamp]) -> u32 {
    if (numbers as usize).saturating_add(more) < u32::MAX as usize {
        return numbers;
    }
    stamps.fill(Stamp::default());
    0
}

impl List {
    fn emptied(mut self) -> List {
        self.entries.clear();
        List { entries: self.entries, ..List::default() }
    }
    #[inline(always)]
    fn push(&mut self, entry: Entry, stamps: &mut [Stamp], numbers: &mut u32) {
        let run = entry.run();
        let stamp = &mut stamps[(entry.unit * PLACES + u32::from(entry.node) % PLACES) as usize];
        if run != self.run || self.entries.is_empty() {
            let first = self.entries.first().map_or(entry.node, |first| first.node);
            self.shared |= entry.node != first;
            self.written |= entry.kind != READ;
            *numbers += 1;
            (self.run, self.number) = (run, *numbers);
        } else {
            self.shared |= entry.node != self.entries[0].node;
            if stamp.number == self.number {
                let known = &mut self.entries[stamp.at as usize];
                if (known.node, known.pair) == (entry.node, entry.pair)
                    && let Some(count) = known.count.checked_add(entry.count)
                {
                    known.count = count;
                    return;
                }
            }
        }
        *stamp = Stamp { number: self.number, at: self.entries.len() as u32 };
        self.entries.push(entry);
    }
}

impl Ops {
    /// Reads after the last write.
    pub(crate) fn tail(&self) -> &[Reads] {
        &self.reads[self.writes.last().map_or(0, |w| w.reads_end as usize)..]
    }

    fn gather(&mut self, entries: &[Entry]) {
        let Ops { reads, writes, place } = self;
        reads.clear();
        writes.clear();
        let mut begin = 0;
        for e in entries {
            let count = u64::from(e.count) << u32::from(e.pair);
            if e.kind == READ {
                let at = &mut place[usize::from(e.node)];
                match reads.get_mut(*at as usize) {
                    Some(known) if *at >= begin && known.node == e.node => {
                        known.count = known.count.saturating_add(count);
                    }
                    _ => {
                        *at = reads.len() as u32;
                        reads.push(Reads { node: e.node, count });
                    }
                }
                continue;
            }
            let (reads_end, free) = (reads.len() as u32, e.kind == FREE_WRITE);
            match writes.last_mut() {
                Some(last) if reads_end == begin && (last.node, last.free) == (e.node, free) => {
                    last.count = last.count.saturating_add(count);
                }
                _ => writes.push(Write { reads_end, count, node: e.node, free, own: 0, times: 1 }),
            }
            begin = reads_end;
        }
        self.repeat();
    }

    /// Finds where a node goes on reading and writing by itself, and folds what repeats.
    fn repeat(&mut self) {
        let Ops { reads, writes, .. } = self;
        let mut kept = 0;
        for i in 1..writes.len() {
            let (last, mut write) = (writes[kept], writes[i]);
            let between = &reads[last.reads_end as usize..write.reads_end as usize];
            if let [only] = between
                && !write.free
                && !last.free
                && (only.node, last.node) == (write.node, write.node)
            {
                write.own = only.count;
                if (last.own, last.count) == (write.own, write.count) {
                    let times = last.times.saturating_add(1);
                    writes[kept] = Write { times, ..write };
                    continue;
                }
            }
            kept += 1;
            writes[kept] = write;
        }
        writes.truncate(kept + 1);
    }
}
