//! Who uses which page how often: all that affinity looks at.
//!
//! Counts are weights of whatever the evidence counts (references, misses, scan windows). Only their ratios mean
//! something for sampled evidence, so nothing here scales them by a sampling period (Thakkar 2008, section 4.1).
use hashbrown::HashMap;
use homenode_base::{NodeId, ThreadId};
use homenode_machine::AccessClass;

/// Reads, writes and write-backs, in the order of [`AccessClass`].
pub type ClassCounts = [u64; 3];

/// A page of one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// Address-space id.
    pub space: u32,
    /// Address / page size.
    pub page: u64,
}

/// One use of memory, as a sample or a trace gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Address space.
    pub space: u32,
    /// First byte.
    pub addr: u64,
    /// Bytes; 0 counts as 1.
    pub bytes: u64,
    /// Thread that uses the memory.
    pub thread: ThreadId,
    /// Class of the access; [`AccessClass::Free`] is not counted.
    pub class: AccessClass,
    /// How many units it stands for.
    pub weight: u64,
}

/// Uses of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageUse {
    /// The thread of the earliest use.
    pub first: ThreadId,
    /// Counts of each thread that used the page, by ascending thread.
    pub by_thread: Vec<(ThreadId, ClassCounts)>,
}

impl PageUse {
    /// Counts per node, one entry a node; threads on nodes from `nodes` on are left out.
    pub fn by_node(&self, nodes: usize, node_of: impl Fn(ThreadId) -> NodeId) -> Vec<ClassCounts> {
        let mut sum = vec![[0; 3]; nodes];
        for (thread, counts) in &self.by_thread {
            if let Some(cell) = sum.get_mut(node_of(*thread).index()) {
                add(cell, counts);
            }
        }
        sum
    }
    /// Sum over threads and classes.
    pub fn total(&self) -> u64 {
        self.by_thread
            .iter()
            .map(|(_, c)| c.iter().fold(0u64, |a, b| a.saturating_add(*b)))
            .fold(0, u64::saturating_add)
    }
    fn add(&mut self, thread: ThreadId, counts: &ClassCounts) {
        let i = match self.by_thread.binary_search_by_key(&thread, |(t, _)| *t) {
            Ok(i) => i,
            Err(i) => {
                self.by_thread.insert(i, (thread, [0; 3]));
                i
            }
        };
        add(&mut self.by_thread[i].1, counts);
    }
}

/// Weights come from outside: a hostile recording may not make sums wrap.
fn add(sum: &mut ClassCounts, more: &ClassCounts) {
    sum.iter_mut().zip(more).for_each(|(s, m)| *s = s.saturating_add(*m));
}

/// Page, thread and class to counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    shift: u32,
    pages: HashMap<PageKey, PageUse>,
}

impl Counts {
    /// No counts; `None` unless the page size is a power of two.
    pub fn new(page_bytes: u64) -> Option<Counts> {
        page_bytes.is_power_of_two().then(|| Counts { shift: page_bytes.trailing_zeros(), pages: HashMap::new() })
    }
    /// Page size in bytes.
    pub fn page_bytes(&self) -> u64 {
        1 << self.shift
    }
    /// Number of pages used.
    pub fn len(&self) -> usize {
        self.pages.len()
    }
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
    /// Counts one use on every page it touches; what would pass the end of memory is cut off.
    pub fn add(&mut self, u: &Use) {
        if u.class == AccessClass::Free {
            return;
        }
        let last = u.addr.saturating_add(u.bytes.clamp(1, 1 << 20) - 1);
        let mut counts = [0; 3];
        counts[u.class.at_latency() as usize] = u.weight;
        for page in u.addr >> self.shift..=last >> self.shift {
            self.add_counts(PageKey { space: u.space, page }, u.thread, &counts);
        }
    }
    /// Adds counts of one thread to one page; zeros only say that it was there, and first if nobody was before.
    pub fn add_counts(&mut self, key: PageKey, thread: ThreadId, counts: &ClassCounts) {
        let fresh = || PageUse { first: thread, by_thread: Vec::new() };
        self.pages.entry(key).or_insert_with(fresh).add(thread, counts);
    }
    /// Uses of one page, if there were any.
    pub fn get(&self, key: PageKey) -> Option<&PageUse> {
        self.pages.get(&key)
    }
    /// All pages, ascending.
    pub fn sorted(&self) -> Vec<(PageKey, &PageUse)> {
        let mut all: Vec<(PageKey, &PageUse)> = self.pages.iter().map(|(k, u)| (*k, u)).collect();
        all.sort_unstable_by_key(|(k, _)| *k);
        all
    }
    /// Counts of the uses on larger pages (huge pages): which of them is first is that of the lowest page in it. `None`
    /// unless the size is a power of two and not smaller than now.
    pub fn coarser(&self, page_bytes: u64) -> Option<Counts> {
        let mut out = Counts::new(page_bytes).filter(|c| c.shift >= self.shift)?;
        let by = out.shift - self.shift;
        for (key, uses) in self.sorted() {
            let large = PageKey { space: key.space, page: key.page >> by };
            let fresh = || PageUse { first: uses.first, by_thread: Vec::new() };
            let into = out.pages.entry(large).or_insert_with(fresh);
            uses.by_thread.iter().for_each(|(thread, counts)| into.add(*thread, counts));
        }
        Some(out)
    }
    /// Halves all counts and forgets pages without any: how old evidence fades.
    pub fn halve(&mut self) {
        for uses in self.pages.values_mut() {
            uses.by_thread.iter_mut().for_each(|(_, c)| c.iter_mut().for_each(|n| *n /= 2));
            uses.by_thread.retain(|(_, c)| *c != [0; 3]);
        }
        self.pages.retain(|_, u| !u.by_thread.is_empty());
    }
}
