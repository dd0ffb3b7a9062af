//! Memory systems that go on by themselves: they are told when what they began is over, suspend threads and let them go on, and take
//! processors for work of their own.
use super::events::Engine;
use super::grants::{Deed, Object};
use super::memory::{Effects, Memory};
use super::queue;
use super::thread::{Doing, Thread};

impl<M: Memory> Engine<'_, '_, M> {
    /// Whether the memory system sees to what a thread does to an object.
    pub(super) fn operate(&mut self, thread: u32, object: Object, deed: Deed, now: u64) -> bool {
        // It may go on at once.
        let t = &mut self.threads[thread as usize];
        let (processor, doing, since) = (t.processor, t.doing, t.since);
        (t.doing, t.since) = (Doing::Suspended { operates: true }, now);
        let takes = self.tell(now, |memory, effects| memory.operate(processor, object, deed, now, effects));
        if !takes {
            let t = &mut self.threads[thread as usize];
            (t.doing, t.since) = (doing, since);
        }
        takes
    }

    /// A call of the memory system is at its end.
    pub(super) fn called(&mut self, token: u32, now: u64) {
        self.tell(now, |memory, effects| memory.called(token, now, effects));
    }

    /// Tells the memory system something, and does what comes of it.
    fn tell<T>(&mut self, now: u64, what: impl FnOnce(&mut M, &mut Effects) -> T) -> T {
        let mut effects = std::mem::take(&mut self.effects);
        effects.clear();
        let said = what(self.memory, &mut effects);
        self.withdraw(now, &effects.withdrawn);
        self.take(now, &effects);
        self.effects = effects;
        said
    }

    /// What a memory system does by itself: sends, lets threads go on, takes processors from them.
    pub(super) fn take(&mut self, now: u64, effects: &Effects) {
        for call in &effects.calls {
            let (number, order) = self.messages.call(&call.path, call.token);
            self.queue.push(queue::Event::message(call.time.max(now), order, number));
        }
        for &(processor, cycles) in &effects.stolen {
            self.steal(processor, cycles, now);
        }
        for &(processor, time) in &effects.resumed {
            self.resume(processor, time.max(now));
        }
    }

    /// A suspended thread goes on.
    fn resume(&mut self, processor: u32, time: u64) {
        let suspended = |t: &Thread| t.processor == processor && matches!(t.doing, Doing::Suspended { .. });
        let Some(thread) = self.threads.iter().position(suspended) else { return };
        let t = &mut self.threads[thread];
        if t.doing == (Doing::Suspended { operates: true }) {
            t.spend(time - t.since, time, |t| &mut t.synchronisation);
            return self.leave(thread as u32, time);
        }
        let since = t.since;
        let until = t.make_again(time);
        t.spend(until - since, until, |t| &mut t.shared);
        self.go(thread as u32);
    }

    /// The thread of a processor stands still.
    fn steal(&mut self, processor: u32, cycles: u64, now: u64) {
        for n in 0..self.threads.len() {
            let t = &mut self.threads[n];
            match t.doing {
                Doing::Goes if t.processor == processor => {
                    t.cut_here(n as u32, (now, self.happened));
                    t.settle(self.memory);
                    t.spend(cycles, t.end.time + cycles, |t| &mut t.kernel_overhead);
                    t.resume(t.end.time + cycles);
                    self.go(n as u32);
                }
                Doing::Misses { .. } if t.processor == processor => t.owed += cycles,
                _ => {}
            }
        }
    }

    /// Numbers of the suspended threads.
    pub(super) fn suspended(&self) -> Vec<u32> {
        let is_suspended = |t: &Thread| matches!(t.doing, Doing::Suspended { .. });
        (0..).zip(&self.threads).filter(|(_, t)| is_suspended(t)).map(|(n, _)| n).collect()
    }
}
