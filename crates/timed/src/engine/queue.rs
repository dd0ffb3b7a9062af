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
    pub(super) fn turn(time: u64, thread: u32, turn: u64) -> Event {
        Event { key: u128::from(time) << 64 | u128::from(thread), number: turn }
    }
    /// A message, by its number, at its next stage; `order` is its place among messages of one time, below 2^63.
    pub(super) fn message(time: u64, order: u64, number: u32) -> Event {
        Event { key: u128::from(time) << 64 | u128::from(MESSAGE | order), number: number.into() }
    }
    /// When.
    pub(super) fn time(self) -> u64 {
        (self.key >> 64) as u64
    }
    /// The thread; none of a message.
    pub(super) fn thread(self) -> Option<u32> {
        (self.key as u64 & MESSAGE == 0).then_some(self.key as u32)
    }
}

/// Events in order. The one that was put in first since the last one was taken stands aside: often it is the next, and where it
/// is not, it takes the place of the next one.
#[derive(Default)]
pub(super) struct Queue {
    aside: Option<Event>,
    heap: BinaryHeap<Reverse<Event>>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if self.aside.is_none() {
            self.aside = Some(event);
        } else {
            self.heap.push(Reverse(event));
        }
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let Some(aside) = self.aside.take() else { return self.heap.pop().map(|next| next.0) };
        match self.heap.peek_mut() {
            Some(mut next) if next.0 < aside => Some(std::mem::replace(&mut *next, Reverse(aside)).0),
            _ => Some(aside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn events_come_in_the_order_of_time_kind_and_number() {
        let mut rng = Rng::new(3);
        let (mut queue, mut slow) = (Queue::default(), Vec::new());
        for n in 0..20_000u32 {
            for _ in 0..rng.below(4) {
                let (time, id) = (u64::from(n) + rng.below(50), rng.below(9));
                let message = rng.chance(1, 2);
                let event = match message {
                    true => Event::message(time, id << 40, n),
                    false => Event::turn(time, id as u32, n.into()),
                };
                assert_eq!((event.time(), event.thread()), (time, (!message).then_some(id as u32)));
                queue.push(event);
                slow.push((time, message, if message { id << 40 } else { id }, event.number));
            }
            for _ in 0..rng.below(4) {
                slow.sort_unstable_by_key(|e| Reverse(*e));
                let got = queue.pop().map(|e| (e.time(), e.thread().is_none(), e.key as u64 & !MESSAGE, e.number));
                assert_eq!(got, slow.pop());
            }
        }
    }
}
