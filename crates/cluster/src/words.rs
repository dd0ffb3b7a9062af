//! Words of a node's memory: zero until something is done to them, and only then there. A region of a thousand nodes has a stamp a page and a
//! writer, and a ring for each peer; what a run touches of it are few.
use homenode_hlrc::access::Does;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words that come into being together, and such groups a table.
const GROUP: usize = 32;

type Group = [AtomicU64; GROUP];
type Table = [OnceCell<Box<Group>>; GROUP];

/// Consecutive words.
pub(crate) struct Words {
    tables: Vec<OnceCell<Box<Table>>>,
}

impl Words {
    /// So many that are zero.
    pub(crate) fn zero(words: usize) -> Words {
        Words { tables: (0..words.div_ceil(GROUP * GROUP)).map(|_| OnceCell::new()).collect() }
    }
    /// One of them.
    #[inline]
    pub(crate) fn load(&self, at: usize) -> u64 {
        let group = self.tables[at / (GROUP * GROUP)].get().and_then(|table| table[at / GROUP % GROUP].get());
        group.map_or(0, |words| words[at % GROUP].load(Ordering::Relaxed))
    }
    /// Some of them, from `first` on.
    pub(crate) fn read(&self, first: usize, len: usize) -> Vec<u64> {
        (first..first + len).map(|at| self.load(at)).collect()
    }
    /// Writes some of them, from `first` on.
    pub(crate) fn write(&self, first: usize, values: &[u64]) {
        for (at, value) in (first..).zip(values) {
            self.there(at).store(*value, Ordering::Relaxed);
        }
    }
    /// Does something to one.
    #[inline]
    pub(crate) fn does(&self, at: usize, does: Does) -> u64 {
        match does {
            Does::Load(_) => self.load(at),
            does => does.on(self.there(at)),
        }
    }
    #[inline]
    fn there(&self, at: usize) -> &AtomicU64 {
        let table = self.tables[at / (GROUP * GROUP)].get_or_init(|| Box::new([const { OnceCell::new() }; GROUP]));
        let group = table[at / GROUP % GROUP].get_or_init(|| Box::new([const { AtomicU64::new(0) }; GROUP]));
        &group[at % GROUP]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zero_until_something_is_done_to_them() {
        let words = Words::zero(5000);
        assert_eq!((words.load(4999), words.read(1022, 4)), (0, vec![0; 4]));
        words.write(1022, &[1, 2, 3]);
        assert_eq!(words.does(1023, Does::Add(5, Ordering::SeqCst)), 2);
        assert_eq!(words.does(4999, Does::CompareSwap(0, 9)), 0);
        assert_eq!((words.read(1021, 5), words.load(4999), words.load(0)), (vec![0, 1, 7, 3, 0], 9, 0));
        assert_eq!(words.tables.iter().filter(|t| t.get().is_some()).count(), 3);
    }
}
