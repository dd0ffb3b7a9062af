//! Running sums of rows: of objects, and of code locations on objects.
use homenode_base::TotalCost;

/// Running sums of one object row.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectSums {
    pub(crate) id: u32,
    pub(crate) transfer: TotalCost,
    users: Vec<u64>,
}

impl ObjectSums {
    pub(crate) fn new(id: u32) -> ObjectSums {
        ObjectSums { id, ..ObjectSums::default() }
    }
    #[inline]
    pub(crate) fn add_user(&mut self, thread: u32) {
        let word = thread as usize / 64;
        if word >= self.users.len() {
            self.users.resize(word + 1, 0);
        }
        self.users[word] |= 1 << (thread % 64);
    }
    /// Adds those of other blocks.
    pub(crate) fn add(&mut self, other: &ObjectSums) {
        self.transfer += other.transfer;
        self.users.resize(self.users.len().max(other.users.len()), 0);
        self.users.iter_mut().zip(&other.users).for_each(|(mine, more)| *mine |= more);
    }
    /// Bytes of memory held, about.
    pub(crate) fn bytes(&self) -> usize {
        self.users.capacity() * 8 + size_of::<ObjectSums>()
    }
    /// Threads that referenced it, ascending.
    pub(crate) fn users(&self) -> Vec<u32> {
        let bits = |(w, &bits): (usize, &u64)| {
            (0..64).filter(move |b| bits >> b & 1 == 1).map(move |b| w as u32 * 64 + b).collect::<Vec<_>>()
        };
        self.users.iter().enumerate().flat_map(bits).collect()
    }
}

/// Running sums of one site on one object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair {
    pub(crate) site: u32,
    /// Index into [`Attribution::objects`].
    pub(crate) object: u32,
    pub(crate) refs: u64,
    pub(crate) cost: TotalCost,
    pub(crate) remote: TotalCost,
    /// Hits in the last level, which are in no other cost.
    pub(crate) hits: TotalCost,
}

impl Pair {
    /// Adds those of other blocks.
    pub(crate) fn add(&mut self, other: &Pair) {
        self.refs += other.refs;
        self.cost += other.cost;
        self.remote += other.remote;
        self.hits += other.hits;
    }
}
