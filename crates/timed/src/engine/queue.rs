//! The event queue.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A message or a thread's turn, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Time; threads before messages; number of the thread or place of the message.
    key: u128,
    /// Turn of the thread, or number of the message.
    pub(super) number: u64,
}

const MESSAGE: u64 = 1 << 63;

impl Event {
    /// A thread's turn.
    #[inline]
    pub(super) fn turn(time: u64, thread: u32, turn: u64) -> Event {
        Event { key: u128::from(time) << 64 | u128::from(thread), number: turn }
    }
    /// A message, by its number, at its next stage; `order` is its place among messages of one time, below 2^63.
    #[inline]
    pub(super) fn message(time: u64, order: u64, number: u32) -> Event {
        Event { key: u128::from(time) << 64 | u128::from(MESSAGE | order), number: number.into() }
    }
    /// When.
    #[inline]
    pub(super) fn time(self) -> u64 {
        (self.key >> 64) as u64
    }
    /// The thread; none of a message.
    #[inline]
    pub(super) fn thread(self) -> Option<u32> {
        (self.key as u64 & MESSAGE == 0).then_some(self.key as u32)
    }
}

/// Events that are kept in order, at most: more than processors of the study have under way.
const NEAR: usize = 64;

/// Events in order. The next ones stand in a row, the very next at its end: of few processors few are under way, and most of what is
/// put in comes soon, so that few have to give way. None of the row comes after one of the heap.
#[derive(Default)]
pub(super) struct Queue {
    near: Vec<Event>,
    far: BinaryHeap<Reverse<Event>>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if !self.far.is_empty() && self.near.first().is_none_or(|last| *last < event) {
            return self.far.push(Reverse(event));
        }
        let sooner = self.near.iter().rev().take_while(|e| **e < event).count();
        self.near.insert(self.near.len() - sooner, event);
        if self.near.len() > NEAR {
            self.far.extend(self.near.drain(..NEAR / 2).map(Reverse));
        }
    }

    /// Whether an event would be the next one.
    #[inline]
    pub(super) fn is_next(&self, event: Event) -> bool {
        match self.near.last() {
            Some(next) => event.key < next.key,
            None => self.far.is_empty(),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let next = self.near.pop();
        if next.is_some() { next } else { self.pop_far() }
    }

    /// The next event, from the heap; others move into the row.
    fn pop_far(&mut self) -> Option<Event> {
        let next = self.far.pop()?.0;
        let more = std::iter::from_fn(|| self.far.pop()).take(NEAR / 4);
        self.near.extend(more.map(|e| e.0));
        self.near.reverse();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn events_come_in_the_order_of_time_kind_and_number() {
        let mut nexts = 0;
        for (seed, spread, most) in [(3, 50, 4), (4, 3000, 6), (5, 5, 4)] {
            let mut rng = Rng::new(seed);
            let (mut queue, mut slow, mut now) = (Queue::default(), Vec::new(), 0);
            for n in 0..20_000u32 {
                for _ in 0..rng.below(most) {
                    let far = if rng.below(20) == 0 { rng.below(1 << 40) } else { 0 };
                    let (time, id) = (now + rng.below(spread) + far, rng.below(9));
                    let message = rng.chance(1, 2);
                    let event = match message {
                        true => Event::message(time, id << 40, n),
                        false => Event::turn(time, id as u32, n.into()),
                    };
                    assert_eq!((event.time(), event.thread()), (time, (!message).then_some(id as u32)));
                    let place = (time, message, if message { id << 40 } else { id });
                    let first = slow.iter().all(|s: &(u64, bool, u64, u64)| (s.0, s.1, s.2) > place);
                    assert!(first || !queue.is_next(event), "{place:?}");
                    nexts += u32::from(queue.is_next(event));
                    queue.push(event);
                    slow.push((place.0, place.1, place.2, event.number));
                }
                for _ in 0..rng.below(4) {
                    slow.sort_unstable_by_key(|e| Reverse(*e));
                    let got = queue.pop().map(|e| (e.time(), e.thread().is_none(), e.key as u64 & !MESSAGE, e.number));
                    assert_eq!(got, slow.pop());
                    now = got.map_or(now, |g| g.0);
                }
            }
        }
        assert!(nexts > 100, "{nexts}");
    }
}
