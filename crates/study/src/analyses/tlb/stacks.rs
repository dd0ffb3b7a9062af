//! LRU stacks: one walk down the stack of a set answers for every number of ways at once, since what a smaller LRU set
//! holds is always the top of what a larger one holds (Mattson, Gecsei, Slutz and Traiger 1970).
use super::models::Level;

/// No translation. Page numbers are below 2^64 / page size and address spaces below 2^32, so no key has this value.
const EMPTY: (u32, u64) = (u32::MAX, u64::MAX);

/// Sets of one processor, each a stack with the most recently used page on top.
#[derive(Clone, Debug)]
pub(super) struct Stacks {
    mask: u64,
    ways: usize,
    cells: Vec<(u32, u64)>,
}

impl Stacks {
    pub(super) fn new(level: Level) -> Stacks {
        let (sets, ways) = (level.sets as usize, level.ways as usize);
        Stacks { mask: u64::from(level.sets) - 1, ways, cells: vec![EMPTY; sets * ways] }
    }
    /// Puts a page of an address space on top of its set; returns how many pages of the set were used since it was used
    /// last, or the number of ways if it is not there.
    #[inline]
    pub(super) fn touch(&mut self, space: u32, page: u64) -> usize {
        let from = (page & self.mask) as usize * self.ways;
        let set = &mut self.cells[from..from + self.ways];
        let key = (space, page);
        let depth = set.iter().position(|c| *c == key);
        let end = depth.unwrap_or(self.ways - 1);
        set.copy_within(0..end, 1);
        set[0] = key;
        depth.unwrap_or(self.ways)
    }
}
