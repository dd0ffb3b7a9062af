//! Who initialises: references before the first one of any other thread are given to the block's user.
use super::together::Together;
use crate::blocks::NumberMap;
use crate::split::Pieces;
use homenode_trace::{Merged, Op};

/// The blocks of one [`InitialiseInParallel`](super::Transform::InitialiseInParallel) that are still being initialised.
#[derive(Clone, Debug)]
pub(super) struct Initialised {
    initialiser: u32,
    /// Block number to user; a block leaves when another thread touches it.
    users: NumberMap<u32>,
    /// Lowest and highest block at the start: most references elsewhere need no look-up.
    hull: (u64, u64),
    /// Whether another thread has touched a block: the initialiser is a user like others from then on.
    used: bool,
}

impl Initialised {
    pub(super) fn new(initialiser: u32, blocks: &[(u64, u32)], threads: usize) -> Initialised {
        let known = blocks.iter().filter(|(_, user)| (*user as usize) < threads).copied();
        let users: NumberMap<u32> = known.collect();
        let hull = (users.keys().min().copied().unwrap_or(1), users.keys().max().copied().unwrap_or(0));
        Initialised { initialiser, users, hull, used: false }
    }
    #[inline]
    fn may_hold(&self, first: u64, last: u64) -> bool {
        !self.users.is_empty() && last >= self.hull.0 && first <= self.hull.1
    }
    /// The thread that makes a reference of `thread` to this block, if this is part of the initialisation.
    fn maker(&mut self, block: u64, thread: u32) -> Option<u32> {
        if thread == self.initialiser {
            // What lies between the blocks of others is the initialiser's own share.
            let own = !self.used && self.hull.0 <= block && block <= self.hull.1;
            return self.users.get(&block).copied().or(own.then_some(thread));
        }
        self.used |= self.users.remove(&block).is_some();
        None
    }
}

/// All initialisations of one what-if.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    all: Vec<Initialised>,
    block_shift: u32,
    together: Option<Together>,
}

impl Attribution {
    /// `line_shift` is that of the machine's cache lines, if there are some: only then does it matter which references
    /// to different blocks are made at the same time.
    pub(super) fn new(all: Vec<Initialised>, block_shift: u32, line_shift: Option<u32>) -> Attribution {
        Attribution { all, block_shift, together: line_shift.map(Together::new) }
    }

    /// Gives one reference to whoever makes it, in pieces per block where that matters. A block of several
    /// initialisations is decided by the first one that knows it.
    #[inline]
    pub(super) fn push(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        if self.all.is_empty() {
            return out(r);
        }
        if r.op != Op::Spin && !self.all.iter().any(|i| i.initialiser == r.thread) {
            self.finish(&mut *out);
        }
        let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
        let (low, high) = if last < r.addr { (0, u64::MAX) } else { (r.addr, last) };
        if !self.all.iter().any(|i| i.may_hold(low >> self.block_shift, high >> self.block_shift)) {
            return out(r);
        }
        for piece in Pieces::new(r.addr, r.size, self.block_shift) {
            let block = piece.addr >> self.block_shift;
            let mut maker = None;
            for initialised in &mut self.all {
                let found = initialised.maker(block, r.thread);
                maker = maker.filter(|m| *m != r.thread).or(found).or(maker);
            }
            let thread = maker.unwrap_or(r.thread);
            let part = Merged { addr: piece.addr, size: (piece.last - piece.addr) as u32 + 1, thread, ..r };
            match (&mut self.together, maker) {
                (Some(together), Some(_)) => together.push(part, &mut *out),
                _ => out(part),
            }
        }
    }

    /// Hands on what is held back.
    #[inline]
    pub(super) fn finish(&mut self, out: &mut impl FnMut(Merged)) {
        if let Some(together) = &mut self.together {
            together.flush(out);
        }
    }
}
