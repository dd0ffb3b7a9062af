//! Who initialises: references before the first one of any other thread are given to the block's user.
use crate::blocks::NumberMap;
use crate::split::Pieces;
use homenode_trace::Merged;

/// The blocks of one [`InitialiseInParallel`](super::Transform::InitialiseInParallel) that are still being initialised.
#[derive(Clone, Debug)]
pub(crate) struct Initialised {
    initialiser: u32,
    /// Block number to user; a block leaves when another thread touches it.
    users: NumberMap<u32>,
    /// Lowest and highest block at the start: most references elsewhere need no look-up.
    hull: (u64, u64),
}

impl Initialised {
    pub(crate) fn new(initialiser: u32, blocks: &[(u64, u32)], threads: usize) -> Initialised {
        let known = blocks.iter().filter(|(_, user)| (*user as usize) < threads).copied();
        let users: NumberMap<u32> = known.collect();
        let hull = (users.keys().min().copied().unwrap_or(1), users.keys().max().copied().unwrap_or(0));
        Initialised { initialiser, users, hull }
    }
    #[inline]
    fn may_hold(&self, first: u64, last: u64) -> bool {
        !self.users.is_empty() && last >= self.hull.0 && first <= self.hull.1
    }
    /// The thread that makes a reference of `thread` to this block.
    fn maker(&mut self, block: u64, thread: u32) -> u32 {
        if thread == self.initialiser {
            return self.users.get(&block).copied().unwrap_or(thread);
        }
        self.users.remove(&block);
        thread
    }
}

/// Gives one reference to whoever makes it, in pieces per block where that matters. A block of several initialisers is
/// decided by the first one that knows it.
#[inline]
pub(crate) fn attribute(all: &mut [Initialised], block_shift: u32, r: Merged, out: &mut impl FnMut(Merged)) {
    let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
    let (low, high) = if last < r.addr { (0, u64::MAX) } else { (r.addr, last) };
    if !all.iter().any(|i| i.may_hold(low >> block_shift, high >> block_shift)) {
        return out(r);
    }
    for piece in Pieces::new(r.addr, r.size, block_shift) {
        let block = piece.addr >> block_shift;
        let mut thread = r.thread;
        for initialised in all.iter_mut() {
            let maker = initialised.maker(block, r.thread);
            thread = if thread == r.thread { maker } else { thread };
        }
        out(Merged { addr: piece.addr, size: (piece.last - piece.addr) as u32 + 1, thread, ..r });
    }
}
