//! Locks and barriers, granted in virtual time.
use hashbrown::HashMap;
use homenode_trace::EventKind;
use homenode_trace::event::SyncKind;
use std::collections::VecDeque;

/// A synchronisation object: address space and address.
pub type Object = (u32, u64);

/// What a thread does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Takes a lock.
    Take {
        /// Alone, or beside other readers.
        alone: bool,
    },
    /// Gives a lock back.
    Give,
    /// Arrives at a barrier of so many threads.
    Arrive(u32),
    /// Leaves a barrier.
    Leave,
}

impl Deed {
    /// What an event of a granted kind is.
    pub(super) fn of(kind: &EventKind, sync: SyncKind) -> Deed {
        let acquires = matches!(kind, EventKind::Acquire { .. });
        match (sync, acquires) {
            (SyncKind::Barrier { .. }, true) => Deed::Leave,
            (SyncKind::Barrier { parties }, false) => Deed::Arrive(parties),
            (_, true) => Deed::Take { alone: sync != SyncKind::RwRead },
            (_, false) => Deed::Give,
        }
    }
    fn is_barriers(self) -> bool {
        matches!(self, Deed::Arrive(_) | Deed::Leave)
    }
}

/// A mutex or a reader-writer lock.
#[derive(Debug, Default)]
struct Lock {
    /// Threads that hold it, and how often.
    holders: Vec<(u32, u32)>,
    alone: bool,
    queue: VecDeque<(u32, bool)>,
}

/// A barrier.
#[derive(Debug, Default)]
struct Barrier {
    parties: u32,
    arrived: u32,
    generation: u64,
    /// The generation in which each thread has arrived that has not left.
    tickets: HashMap<u32, u64>,
    waiting: Vec<u32>,
}

/// A thread that waits and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) object: Object,
    pub(super) thread: u32,
    /// Of a barrier: threads that it takes, threads that have come.
    pub(super) barrier: Option<(u32, u32)>,
}

/// All objects that are granted.
#[derive(Debug, Default)]
pub(super) struct Grants {
    locks: HashMap<Object, Lock>,
    barriers: HashMap<Object, Barrier>,
}

impl Grants {
    /// A thread does something to an object. Whether it may go on; others that now may are appended to `granted`.
    pub(super) fn act(&mut self, object: Object, thread: u32, deed: Deed, granted: &mut Vec<u32>) -> bool {
        if deed.is_barriers() {
            self.barriers.entry(object).or_default().act(thread, deed, granted)
        } else {
            self.locks.entry(object).or_default().act(thread, deed, granted)
        }
    }

    /// Everybody who waits, by object and thread.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let locks = self.locks.iter().flat_map(|(&object, lock)| {
            lock.queue.iter().map(move |&(thread, _)| Waiting { object, thread, barrier: None })
        });
        let barriers = self.barriers.iter().flat_map(|(&object, b)| {
            let barrier = Some((b.parties, b.arrived));
            b.waiting.iter().map(move |&thread| Waiting { object, thread, barrier })
        });
        let mut all: Vec<Waiting> = locks.chain(barriers).collect();
        all.sort_by_key(|w| (w.object, w.thread));
        all
    }

    /// Locks that somebody holds.
    pub(super) fn held(&self) -> Vec<Object> {
        let mut all: Vec<Object> = self.locks.iter().filter(|(_, l)| !l.holders.is_empty()).map(|(o, _)| *o).collect();
        all.sort_unstable();
        all
    }
}

impl Lock {
    fn act(&mut self, thread: u32, deed: Deed, granted: &mut Vec<u32>) -> bool {
        let Deed::Take { alone } = deed else {
            self.give(thread, granted);
            return true;
        };
        if let Some(own) = self.holders.iter_mut().find(|h| h.0 == thread) {
            // Writers acquire both epochs of a reader-writer lock, owners of a recursive mutex the same again.
            own.1 += 1;
            return true;
        }
        let free = self.holders.is_empty() || !self.alone && !alone && self.queue.is_empty();
        if free {
            self.holders.push((thread, 1));
            self.alone = alone;
        } else {
            self.queue.push_back((thread, alone));
        }
        free
    }

    fn give(&mut self, thread: u32, granted: &mut Vec<u32>) {
        let Some(at) = self.holders.iter().position(|h| h.0 == thread) else { return };
        self.holders[at].1 -= 1;
        if self.holders[at].1 > 0 {
            return;
        }
        self.holders.swap_remove(at);
        while let Some(&(next, alone)) = self.queue.front()
            && (self.holders.is_empty() || !self.alone && !alone)
        {
            self.queue.pop_front();
            self.holders.push((next, 1));
            self.alone = alone;
            granted.push(next);
        }
    }
}

impl Barrier {
    fn act(&mut self, thread: u32, deed: Deed, granted: &mut Vec<u32>) -> bool {
        let Deed::Arrive(parties) = deed else {
            let gone = self.tickets.get(&thread).is_none_or(|&ticket| ticket < self.generation);
            if gone {
                self.tickets.remove(&thread);
            } else {
                self.waiting.push(thread);
            }
            return gone;
        };
        self.parties = parties;
        self.tickets.insert(thread, self.generation);
        self.arrived += 1;
        if self.arrived >= parties {
            self.arrived = 0;
            self.generation += 1;
            for thread in self.waiting.drain(..) {
                self.tickets.remove(&thread);
                granted.push(thread);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Object = (0, 0x100);

    fn act(grants: &mut Grants, thread: u32, deed: Deed) -> (bool, Vec<u32>) {
        let mut granted = Vec::new();
        (grants.act(LOCK, thread, deed, &mut granted), granted)
    }

    #[test]
    fn readers_go_together_and_writers_alone_in_order_of_arrival() {
        let (mut g, read, write) = (Grants::default(), Deed::Take { alone: false }, Deed::Take { alone: true });
        assert!(act(&mut g, 0, read).0 && act(&mut g, 1, read).0);
        assert!(!act(&mut g, 2, write).0 && !act(&mut g, 3, read).0, "nobody passes a writer that waits");
        assert_eq!(act(&mut g, 0, Deed::Give), (true, vec![]));
        assert_eq!(act(&mut g, 1, Deed::Give), (true, vec![2]));
        assert!(act(&mut g, 2, write).0, "both epochs");
        assert!(act(&mut g, 2, Deed::Give).1.is_empty(), "it still holds the lock once");
        assert_eq!((act(&mut g, 2, Deed::Give).1, g.waiting()), (vec![3], vec![]));
    }

    #[test]
    fn a_barrier_lets_go_when_all_have_come() {
        let mut g = Grants::default();
        assert!(act(&mut g, 0, Deed::Arrive(2)).0 && !act(&mut g, 0, Deed::Leave).0);
        assert_eq!(g.waiting(), [Waiting { object: LOCK, thread: 0, barrier: Some((2, 1)) }]);
        assert_eq!(act(&mut g, 1, Deed::Arrive(2)), (true, vec![0]));
        assert!(act(&mut g, 1, Deed::Leave).0);
        assert!(act(&mut g, 0, Deed::Arrive(2)).0 && !act(&mut g, 0, Deed::Leave).0, "the next generation");
    }
}
