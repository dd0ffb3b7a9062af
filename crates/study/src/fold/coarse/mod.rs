//! Folding for the optimum: between two writes only who reads how often matters, and in which order does not.
//!
//! Accesses that a half does not have in common with any other node cost no more than anywhere, whatever the machine and
//! the size of blocks below, and are left out: so are blocks that are only read, where nobody asks for an optimum that
//! could pay for them. A block whose accesses all are of the whole of it has halves that are alike, and one is enough.
mod hot;
mod list;
mod ops;

pub(crate) use ops::{Ops, Reads, Write};

use super::Levels;
use crate::partition::record::{Code, Format, Record};
use hot::Hot;
use list::{Entry, FREE_WRITE, List, READ, Table, WRITE};
use ops::NOTHING;

/// Entries that are gathered at a time.
const PIECE_ENTRIES: usize = 512;
/// Words of records between two looks at how long lists have become.
const PIECE_WORDS: usize = 1 << 12;

/// What is done with the blocks that may cost something.
pub(crate) trait Shared {
    /// The accesses of a block of this level that several nodes use; or the next ones, if it is given in parts.
    fn block(&mut self, level: usize, ops: &Ops);
}

/// Folds regions one after another.
pub(crate) struct Coarse {
    levels: Levels,
    format: Format,
    nodes: Vec<u16>,
    /// Whether blocks that are only read cost something.
    reads_cost: bool,
    /// Blocks of the largest size that is asked for.
    tops: Vec<List>,
    halves: Vec<[List; 2]>,
    /// What is given before the region ends.
    hot: Hot,
    table: Table,
    ops: Ops,
    used: Vec<u64>,
    /// Accesses so far: reads and writes.
    pub(crate) accesses: [u64; 2],
    /// Blocks touched so far, by level.
    pub(crate) touched: Vec<u64>,
}

impl Coarse {
    /// `places`: number of levels. `fold_bytes`: memory to fold a region in, as far as that can be kept to.
    pub(crate) fn new(
        levels: Levels,
        places: usize,
        format: Format,
        nodes: Vec<u16>,
        reads_cost: bool,
        fold_bytes: usize,
    ) -> Coarse {
        let most = nodes.iter().max().map_or(0, |n| usize::from(*n) + 1);
        let top = levels.top();
        Coarse {
            tops: (0..1 << (format.unit_bits() - top)).map(|_| List::default()).collect(),
            halves: (0..top).map(|_| Default::default()).collect(),
            used: vec![0; format.units().div_ceil(64)],
            hot: Hot::new(places, fold_bytes),
            ops: Ops::new(most),
            table: Table::default(),
            accesses: [0; 2],
            touched: vec![0; places],
            levels,
            format,
            nodes,
            reads_cost,
        }
    }

    /// More records of the region. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, words: &[u32], visitor: &mut impl Shared) {
        for piece in words.chunks(PIECE_WORDS / self.format.words() * self.format.words()) {
            self.piece(piece);
            self.cool(visitor);
        }
    }

    fn piece(&mut self, words: &[u32]) {
        let top = self.levels.top();
        let Coarse { format, nodes, tops, table, used, accesses, .. } = self;
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
            let entry = Entry { unit: r.unit, count: r.weight, node, kind, span: u8::from(pair) };
            if let Some(list) = tops.get_mut((r.unit >> top) as usize) {
                list.push_cut(entry, top, table);
            }
            // Where units are blocks, the second one of two is another block.
            if let (true, 0, Some(list)) = (pair, top, tops.get_mut(r.unit as usize + 1)) {
                list.push_cut(Entry { unit: r.unit + 1, span: 0, ..entry }, top, table);
            }
        });
    }

    /// Ends the region.
    pub(crate) fn region(&mut self, visitor: &mut impl Shared) {
        self.count_blocks();
        let mut tops = std::mem::take(&mut self.tops);
        for (index, list) in tops.iter_mut().enumerate() {
            list.end(&mut self.table);
            self.finish(list, self.levels.top(), index, visitor);
            list.clear();
        }
        self.tops = tops;
        self.hot.clear();
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

    /// `blocks` blocks of `1 << bits` units with these accesses.
    fn block(&mut self, list: &List, bits: u32, blocks: u64, visitor: &mut impl Shared) {
        if !list.shared || !(list.written || self.reads_cost) {
            return;
        }
        if let Some(level) = self.levels.place(bits) {
            self.ops.begin(blocks, 0, &NOTHING);
            self.give(level, list, bits, visitor);
            self.ops.last = true;
            visitor.block(level, &self.ops);
        }
        if !self.levels.below(bits) {
            return;
        }
        let half = bits - 1;
        if list.is_whole(bits) {
            return self.block(list, half, 2 * blocks, visitor);
        }
        let mut halves = std::mem::take(&mut self.halves[half as usize]);
        list.split(half, &mut halves, &mut self.table);
        for list in &mut halves {
            self.block(list, half, blocks, visitor);
            list.clear();
        }
        self.halves[half as usize] = halves;
    }

    /// Gives the accesses of a list but for the last ones.
    fn give(&mut self, level: usize, list: &List, bits: u32, visitor: &mut impl Shared) {
        for piece in list.entries.chunks(PIECE_ENTRIES) {
            self.ops.gather(piece, bits);
            if self.ops.is_full() {
                visitor.block(level, &self.ops);
                self.ops.forget();
            }
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
