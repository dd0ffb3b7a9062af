//! From sparse numbers to dense indices.
use hashbrown::HashMap;

const GROUP: u64 = 8;
const CACHED: usize = 1024;

/// Place of a number in a direct-mapped table of `size` entries, a power of two. Threads tend to work at distances of
/// powers of two, which must not meet in one place.
#[inline]
pub(crate) fn place(number: u64, size: usize) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (size - 1)
}

/// Dense indices for sparse numbers that come in clusters, in order of first appearance: 5 to 9 bytes a number where
/// clusters are full, 80 where every number stands alone.
#[derive(Debug)]
pub(crate) struct Index {
    groups: HashMap<u64, [u32; GROUP as usize]>,
    /// Direct-mapped copy of recent answers: programs come back to the same lines.
    recent: Vec<(u64, u32)>,
    count: u32,
}

const NONE: u32 = u32::MAX;

impl Index {
    pub(crate) fn new() -> Index {
        Index { groups: HashMap::new(), recent: vec![(0, NONE); CACHED], count: 0 }
    }
    /// The index of `number` and whether it is new.
    #[inline]
    pub(crate) fn intern(&mut self, number: u64) -> (usize, bool) {
        let slot = place(number, CACHED);
        let (n, i) = self.recent[slot];
        if n == number && i != NONE {
            return (i as usize, false);
        }
        let (i, new) = self.look_up(number);
        self.recent[slot] = (number, i);
        (i as usize, new)
    }
    fn look_up(&mut self, number: u64) -> (u32, bool) {
        let group = self.groups.entry(number / GROUP).or_insert([NONE; GROUP as usize]);
        let cell = &mut group[(number % GROUP) as usize];
        let new = *cell == NONE;
        if new {
            // 2^32 lines are 256 GiB of touched memory: their records would need terabytes first.
            assert!(self.count < NONE, "more than 2^32 - 1 touched units");
            *cell = self.count;
            self.count += 1;
        }
        (*cell, new)
    }
    /// The index of `number` if it has one.
    pub(crate) fn get(&self, number: u64) -> Option<usize> {
        let (n, recent) = self.recent[place(number, CACHED)];
        if n == number && recent != NONE {
            return Some(recent as usize);
        }
        let i = self.groups.get(&(number / GROUP))?[(number % GROUP) as usize];
        (i != NONE).then_some(i as usize)
    }
    /// All numbers with their indices, ascending by number.
    pub(crate) fn sorted(&self) -> Vec<(u64, usize)> {
        let cells = |(&g, group): (&u64, &[u32; GROUP as usize])| {
            (0..GROUP).map(|k| (g * GROUP + k, group[k as usize])).filter(|c| c.1 != NONE).collect::<Vec<_>>()
        };
        let mut all: Vec<(u64, usize)> =
            self.groups.iter().flat_map(cells).map(|(number, i)| (number, i as usize)).collect();
        all.sort_unstable();
        all
    }
    /// How many numbers have an index.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }
    /// Bytes held, about.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.capacity() * (8 + 4 * GROUP as usize + 1) + CACHED * 16
    }
}

/// A vector that grows without copying: at most one chunk is unused.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<T>>,
}

const CHUNK: usize = 4096;

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { chunks: Vec::new() }
    }
    /// Adds a value; its index.
    pub(crate) fn push(&mut self, value: T) -> usize {
        match self.chunks.last_mut() {
            Some(c) if c.len() < CHUNK => c.push(value),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        let last = self.chunks.len() - 1;
        last * CHUNK + self.chunks[last].len() - 1
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
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
