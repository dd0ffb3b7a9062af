//! Parameters of machines as lanes.
use super::limit;
use homenode_base::Cost;
use homenode_machine::Machine;
use std::ops::Deref;

/// What the kernels know of a machine at a block size. Excesses are capped at `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) nodes: usize,
    /// Cost of a read and of a write at home.
    pub(crate) near: [Cost; 2],
    /// Excess of a read and of a write from afar.
    pub(crate) far: [i64; 2],
    /// R.
    pub(crate) copy: i64,
    /// Excess of a read and of a write in global memory, and G.
    pub(crate) global: Option<([i64; 2], i64)>,
    /// K.
    pub(crate) limit: i64,
}

impl Parameters {
    /// Parameters of a machine with one remote cost, near <= global <= far, and G <= R <= 2G with global memory; `None`
    /// for others, on which equal accesses in a row are not one, and where costs are too large for 64 bits.
    pub(crate) fn new(machine: &Machine, block_bytes: u64) -> Option<Parameters> {
        let single = machine.single_remote(block_bytes)?;
        let copy = if single.nodes > 1 { single.copy.0 } else { 0 };
        let copy_global = single.copy_global.map(|c| c.0);
        let dearest = copy.max(copy_global.unwrap_or(0));
        if dearest > 1 << 45 || !machine.folds(block_bytes) {
            return None;
        }
        let limit = limit(single.nodes, dearest);
        let beyond = |class: usize, cost: Cost| {
            let excess = if cost >= Cost::INFINITE { limit } else { (cost.0 - single.near[class].0).min(limit) };
            (cost >= single.near[class]).then_some(excess)
        };
        let far = [beyond(0, single.far[0])?, beyond(1, single.far[1])?];
        let global = match (single.global, copy_global) {
            (Some(g), Some(copy)) => {
                if g[0] > single.far[0] || g[1] > single.far[1] {
                    return None;
                }
                Some(([beyond(0, g[0])?, beyond(1, g[1])?], copy))
            }
            _ => None,
        };
        let near = [single.near[0], single.near[1]];
        Some(Parameters { nodes: single.nodes, near, far, copy, global, limit })
    }
}

/// Numbers of a lane.
pub(crate) trait Num: Copy + Ord + Default + Send + 'static {
    /// Largest K.
    const LIMIT: i64;
    /// As large as 2 K s may become.
    const ROOM: i64;
    fn of(n: i64) -> Self;
    fn wide(self) -> i64;
    fn plus(self, o: Self) -> Self;
    fn minus(self, o: Self) -> Self;
    fn times(self, o: Self) -> Self;
}

macro_rules! num {
    ($t:ty, $limit:expr, $room:expr) => {
        impl Num for $t {
            const LIMIT: i64 = $limit;
            const ROOM: i64 = $room;
            #[inline(always)]
            fn of(n: i64) -> $t {
                n as $t
            }
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn plus(self, o: $t) -> $t {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn minus(self, o: $t) -> $t {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn times(self, o: $t) -> $t {
                self.wrapping_mul(o)
            }
        }
    };
}
num!(i32, 1 << 26, 1 << 29);
num!(i64, 1 << 56, 1 << 61);

/// Lanes worked on at once: a vector of 512 bits of 32-bit numbers.
pub(crate) const WIDTH: usize = 16;

/// One value per lane. Aligned to a line of the cache, since what is split between two is slow to read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Row<T>([T; WIDTH]);

impl<T> Deref for Row<T> {
    type Target = [T; WIDTH];
    #[inline(always)]
    fn deref(&self) -> &[T; WIDTH] {
        &self.0
    }
}

/// Sums over blocks.
#[derive(Clone, Default)]
pub(crate) struct Total {
    sum: [i128; WIDTH],
    /// Not yet in `sum`: of `blocks` results of at most 2^31, and `blocks` below 2^32, so that it does not wrap.
    small: Row<i64>,
    blocks: u64,
}

impl Total {
    /// Adds the result of each of so many blocks, at most 2^30.
    #[inline(always)]
    pub(crate) fn add<T: Num>(&mut self, row: &Row<T>, blocks: u64) {
        if T::LIMIT > i32::MAX.into() {
            return self.add_large(&row.map(|n| n.wide().into()), blocks);
        }
        self.small = each(|i| self.small[i].wrapping_add(row[i].wide().wrapping_mul(blocks as i64)));
        self.blocks += blocks;
        if self.blocks >= 1 << 31 {
            self.flush();
        }
    }
    #[inline(never)]
    pub(crate) fn add_large(&mut self, row: &[i128; WIDTH], blocks: u64) {
        self.sum.iter_mut().zip(row).for_each(|(sum, n)| *sum += n * i128::from(blocks));
    }
    fn flush(&mut self) {
        let small = std::mem::take(&mut self.small);
        self.add_large(&small.map(i128::from), 1);
        self.blocks = 0;
    }
    /// The sums, by lane.
    pub(crate) fn sums(&self) -> [i128; WIDTH] {
        let mut all = self.clone();
        all.flush();
        all.sum
    }
}

/// `f` of each lane.
#[inline(always)]
pub(crate) fn each<T: Num>(f: impl Fn(usize) -> T) -> Row<T> {
    let mut row = [T::default(); WIDTH];
    for (i, cell) in row.iter_mut().enumerate() {
        *cell = f(i);
    }
    Row(row)
}

/// Products of a cost and counts, capped: a table for small counts.
#[derive(Clone)]
pub(crate) struct Priced<T> {
    cost: Row<T>,
    cap: Row<T>,
    /// Count at which the product has passed the cap.
    enough: Row<T>,
    small: Vec<Row<T>>,
}

/// Counts in a table.
const SMALL: u64 = 16;

impl<T: Num> Priced<T> {
    pub(crate) fn new(cost: Row<T>, cap: Row<T>) -> Priced<T> {
        let enough = each(|i| T::of(cap[i].wide() / cost[i].wide().max(1) + 1));
        let mut priced = Priced { cost, cap, enough, small: Vec::new() };
        priced.small = (0..SMALL).map(|n| priced.product(n)).collect();
        priced
    }
    #[inline(always)]
    fn product(&self, count: u64) -> Row<T> {
        let count = T::of(count.min(T::ROOM as u64) as i64);
        each(|i| count.min(self.enough[i]).times(self.cost[i]).min(self.cap[i]))
    }
    /// `min(count * cost, cap)` in each lane.
    #[inline(always)]
    pub(crate) fn of(&self, count: u64) -> Row<T> {
        match self.small.get(count as usize) {
            Some(row) => *row,
            None => self.product(count),
        }
    }
}

/// Parameters of up to [`WIDTH`] machines; lanes without a machine repeat the first one.
#[derive(Clone)]
pub(crate) struct Machines<T> {
    pub(crate) copy: Row<T>,
    /// `min(n * excess of a read, R)`.
    pub(crate) share: Priced<T>,
    /// `min(n * excess of a write, K)`.
    pub(crate) write: Priced<T>,
    /// `min(n * excess of a read, K)`.
    pub(crate) read: Priced<T>,
    pub(crate) global: Option<Global<T>>,
    /// K.
    pub(crate) limit: Row<T>,
    /// Steps after which values are brought back.
    pub(crate) steps: u32,
}

/// Global memory of machines that all have some.
#[derive(Clone)]
pub(crate) struct Global<T> {
    pub(crate) copy: Row<T>,
    pub(crate) share: Priced<T>,
    pub(crate) write: Priced<T>,
    pub(crate) read: Priced<T>,
}

impl<T: Num> Machines<T> {
    /// Of these machines, at least one and at most [`WIDTH`], which all have global memory or all have none.
    pub(crate) fn new(of: &[Parameters]) -> Machines<T> {
        let row = |f: &dyn Fn(&Parameters) -> i64| each(|i| T::of(f(of.get(i).unwrap_or(&of[0]))));
        let largest = of.iter().map(|p| p.limit).max().unwrap_or(1);
        let (copy, cap) = (row(&|p| p.copy), row(&|p| p.limit));
        let [read, write] = [0, 1].map(|class: usize| row(&|p| p.far[class]));
        let global = of[0].global.map(|_| {
            let excess = |class: usize| row(&|p| p.global.map_or(0, |(e, _)| e[class]));
            let copy = row(&|p| p.global.map_or(0, |(_, copy)| copy));
            Global {
                copy,
                share: Priced::new(excess(0), copy),
                write: Priced::new(excess(1), cap),
                read: Priced::new(excess(0), cap),
            }
        });
        let steps = (T::ROOM / (2 * largest)).clamp(1, 1 << 30) as u32;
        Machines {
            copy,
            share: Priced::new(read, copy),
            write: Priced::new(write, cap),
            read: Priced::new(read, cap),
            global,
            limit: cap,
            steps,
        }
    }
}
