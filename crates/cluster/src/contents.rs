//! Contents of pages, to check the protocol by: a recording has none, so what a write leaves is its number.
//!
//! A program without data races must read what was written last; beside the copies of the nodes stands a memory that knows it.
use homenode_hlrc::cluster::PageId;
use homenode_hlrc::diff::merge;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of 4 bytes in one of the protocol's.
const HALVES: usize = 2;

/// Contents of all nodes.
pub(crate) struct Contents {
    /// Copies of pages, by node.
    nodes: Vec<Vec<AtomicU64>>,
    page_words: usize,
    line_words: usize,
    /// Number of the write that each word of 4 bytes was written by last.
    last: RefCell<Vec<u32>>,
    writes: Cell<u32>,
    /// Words read, and those that were not what was written last.
    pub(crate) read: Cell<u64>,
    pub(crate) stale: Cell<u64>,
}

impl Contents {
    /// Of so many nodes with so many pages; `page_words` and `line_words` are of 8 bytes.
    pub(crate) fn new(nodes: usize, pages: usize, page_words: usize, line_words: usize) -> Contents {
        let zeros = || (0..pages * page_words).map(|_| AtomicU64::new(0)).collect();
        Contents {
            nodes: (0..nodes).map(|_| zeros()).collect(),
            page_words,
            line_words,
            last: RefCell::new(vec![0; pages * page_words * HALVES]),
            writes: Cell::new(0),
            read: Cell::new(0),
            stale: Cell::new(0),
        }
    }

    pub(crate) fn word(&self, node: usize, at: usize) -> &AtomicU64 {
        &self.nodes[node][at]
    }
    fn copy(&self, node: usize, page: PageId) -> &[AtomicU64] {
        &self.nodes[node][page.index() * self.page_words..][..self.page_words]
    }
    /// A node's copy of a page, as it is now.
    pub(crate) fn page(&self, node: usize, page: PageId) -> Vec<u64> {
        self.copy(node, page).iter().map(|w| w.load(Ordering::Relaxed)).collect()
    }
    pub(crate) fn put_page(&self, node: usize, page: PageId, words: &[u64]) {
        self.copy(node, page).iter().zip(words).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
    }
    pub(crate) fn put_run(&self, node: usize, page: PageId, first: usize, run: &[(u64, u64)]) {
        for (to, (value, mask)) in self.copy(node, page)[first..].iter().zip(run) {
            merge(to, *value, *mask);
        }
    }

    /// The program of a node refers to words of 4 bytes of a line of a page.
    pub(crate) fn refer(&self, node: usize, page: u32, line: usize, words: u16, writes: bool) {
        let first = page as usize * self.page_words + line * self.line_words;
        if writes {
            self.writes.set(self.writes.get().wrapping_add(1));
        }
        for half in (0..self.line_words * HALVES).filter(|half| words >> half & 1 == 1) {
            let (word, shift) = (self.word(node, first + half / HALVES), 32 * (half % HALVES));
            let last = &mut self.last.borrow_mut()[first * HALVES + half];
            if writes {
                *last = self.writes.get();
                merge(word, u64::from(*last) << shift, 0xffff_ffff << shift);
            } else {
                let found = (word.load(Ordering::Relaxed) >> shift) as u32;
                self.read.set(self.read.get() + 1);
                self.stale.set(self.stale.get() + u64::from(found != *last));
            }
        }
    }
}
