//! From sparse numbers to dense indices.
use hashbrown::HashMap;

/// Numbers of a group: lines of a page of 4 KiB.
const GROUP: u64 = 64;
const CACHED: usize = 4096;

/// Place of a number in a direct-mapped table of `size` entries, a power of two. Threads tend to work at distances of
/// powers of two, which must not meet in one place.
#[inline]
pub(crate) fn place(number: u64, size: usize) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (size - 1)
}

/// Dense indices for sparse numbers that come in clusters, in order of first appearance: 5 bytes a number where clusters are
/// full, 270 where every number stands alone.
#[derive(Debug)]
pub(crate) struct Index {
    groups: HashMap<u64, u32>,
    cells: Slab<[u32; GROUP as usize]>,
    /// Direct-mapped copy of recent answers: programs come back to the same pages.
    recent: Vec<(u64, u32)>,
    count: u32,
}

const NONE: u32 = u32::MAX;

impl Index {
    pub(crate) fn new() -> Index {
        Index { groups: HashMap::new(), cells: Slab::new(), recent: vec![(0, NONE); CACHED], count: 0 }
    }
    /// The index of `number` and whether it is new.
    #[inline]
    pub(crate) fn intern(&mut self, number: u64) -> (usize, bool) {
        let group = self.group(number / GROUP);
        let cell = &mut self.cells[group as usize][(number % GROUP) as usize];
        let new = *cell == NONE;
        if new {
            // 2^32 lines are 256 GiB of touched memory: their records would need terabytes first.
            assert!(self.count < NONE, "more than 2^32 - 1 touched units");
            *cell = self.count;
            self.count += 1;
        }
        (*cell as usize, new)
    }
    #[inline]
    fn group(&mut self, group: u64) -> u32 {
        let (known, index) = self.recent[place(group, CACHED)];
        if known == group && index != NONE { index } else { self.find_group(group) }
    }
    #[inline(never)]
    fn find_group(&mut self, group: u64) -> u32 {
        let cells = &mut self.cells;
        let index = *self.groups.entry(group).or_insert_with(|| cells.push([NONE; GROUP as usize]) as u32);
        self.recent[place(group, CACHED)] = (group, index);
        index
    }
    /// The index of `number` if it has one.
    pub(crate) fn get(&self, number: u64) -> Option<usize> {
        let (known, recent) = self.recent[place(number / GROUP, CACHED)];
        let is_recent = known == number / GROUP && recent != NONE;
        let group = if is_recent { recent } else { *self.groups.get(&(number / GROUP))? };
        let i = self.cells[group as usize][(number % GROUP) as usize];
        (i != NONE).then_some(i as usize)
    }
    /// All numbers with their indices, ascending by number.
    pub(crate) fn sorted(&self) -> Vec<(u64, usize)> {
        let mut groups: Vec<(u64, u32)> = self.groups.iter().map(|(&number, &group)| (number, group)).collect();
        groups.sort_unstable();
        let mut all = Vec::with_capacity(self.count as usize);
        for (number, group) in groups {
            let cells = self.cells[group as usize].iter().zip(0..);
            all.extend(cells.filter(|(i, _)| **i != NONE).map(|(&i, k)| (number * GROUP + k, i as usize)));
        }
        all
    }
    /// How many numbers have an index.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }
    /// Bytes held, about.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.capacity() * 13 + self.cells.bytes() + CACHED * 16
    }
}

/// A vector that grows without copying: at most one chunk is unused.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    /// The last one is filled up with its first value.
    chunks: Vec<Box<[T; CHUNK]>>,
    len: usize,
}

const CHUNK: usize = 4096;

impl<T: Clone> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { chunks: Vec::new(), len: 0 }
    }
    /// Adds a value; its index.
    pub(crate) fn push(&mut self, value: T) -> usize {
        let at = self.len;
        self.len += 1;
        if at / CHUNK == self.chunks.len() {
            let Ok(chunk) = vec![value; CHUNK].try_into() else { unreachable!("its length is that of a chunk") };
            self.chunks.push(chunk);
        } else {
            self[at] = value;
        }
        at
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|c| c.iter()).take(self.len)
    }
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<T>()
    }
}

impl<T> std::ops::Index<usize> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: usize) -> &T {
        &self.chunks[i / CHUNK][i % CHUNK]
    }
}
impl<T> std::ops::IndexMut<usize> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.chunks[i / CHUNK][i % CHUNK]
    }
}
