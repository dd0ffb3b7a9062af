//! What happens at each event.
use super::error::TimedError;
use super::grants::{Deed, Grants, Object};
use super::memory::{Access, Effects, Gaps, Memory};
use super::messages::{Messages, Moved, Role, Waits};
use super::phases::{Phase, Phases};
use super::queue::{self, Queue};
use super::thread::{Doing, Thread, Times};
use homenode_base::spaces::tag;
use homenode_trace::DatasetReader;
use homenode_trace::event::{Event, EventKind};
use homenode_trace::order::{Feeds, Granted, Next};

/// References of a piece.
const PIECE_REFS: usize = 4096;

/// How a run ended.
pub(super) enum End {
    /// All threads came to their ends.
    Over(Box<Ran>),
    /// Nobody can go on because of these objects, which are to be granted in their recorded order.
    Circle(Vec<Object>),
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    pub(super) times: Vec<Times>,
    pub(super) phases: Vec<Phase>,
    pub(super) spans: Vec<Option<(u64, u64)>>,
    pub(super) waits: Vec<Waits>,
    pub(super) spins: u64,
    pub(super) refs: u64,
}

pub(super) struct Engine<'d, 'm, M: Memory> {
    data: &'d DatasetReader,
    granted: Granted,
    feeds: Feeds<'d>,
    pub(super) threads: Vec<Thread>,
    pub(super) memory: &'m mut M,
    gaps: &'m mut dyn Gaps,
    pub(super) messages: Messages,
    grants: Grants,
    pub(super) queue: Queue,
    pub(super) effects: Effects,
    /// Threads let go by what happens now.
    let_go: Vec<u32>,
    hits_max: usize,
    phase: Option<String>,
    phases: Phases,
    refs: u64,
    /// Accesses of threads up to this number have happened at the present time; all of them once a message has.
    pub(super) happened: u32,
}

impl<'d, 'm, M: Memory> Engine<'d, 'm, M> {
    pub(super) fn new(
        data: &'d DatasetReader,
        granted: Granted,
        processors: &[u32],
        (memory, gaps): (&'m mut M, &'m mut dyn Gaps),
        (hits_max, phase): (usize, Option<String>),
    ) -> Result<Engine<'d, 'm, M>, TimedError> {
        let feeds = Feeds::new(data, Some(granted.clone()))?;
        let thread = |(t, &processor): (u32, &u32)| Thread::new(processor, data.address_space(t), phase.is_none());
        let threads: Vec<Thread> = (0..).zip(processors).map(thread).collect();
        (0..memory.processors()).for_each(|p| memory.counting(p, phase.is_none()));
        let messages = Messages::new(memory.servers(), threads.len());
        Ok(Engine {
            data,
            granted,
            feeds,
            phases: Phases::new(threads.len()),
            threads,
            memory,
            gaps,
            messages,
            grants: Grants::default(),
            queue: Queue::default(),
            effects: Effects::default(),
            let_go: Vec::new(),
            hits_max,
            phase,
            refs: 0,
            happened: 0,
        })
    }

    /// Until all threads are at their ends.
    pub(super) fn run(mut self) -> Result<End, TimedError> {
        let mut now = 0;
        self.wake(now);
        loop {
            let Some(next) = self.queue.pop() else {
                if self.feeds.give_up_turns() {
                    self.wake(now);
                    continue;
                }
                return self.stuck();
            };
            let time = next.time();
            debug_assert!(time >= now, "time runs forward");
            if time > now {
                self.happened = 0;
            }
            now = time;
            match next.thread() {
                None => {
                    self.happened = u32::MAX;
                    self.message(next.number as u32, now);
                }
                Some(thread) if self.threads[thread as usize].turn == next.number => {
                    self.happened = self.happened.max(thread);
                    self.turn(thread, now)?;
                }
                Some(_) => {}
            }
        }
    }

    /// The thread goes on at a time.
    pub(super) fn schedule(&mut self, thread: u32, time: u64) {
        let t = &mut self.threads[thread as usize];
        t.turn += 1;
        self.queue.push(queue::Event::turn(time, thread, t.turn));
    }

    /// Schedules whom the recording lets go on.
    fn wake(&mut self, now: u64) {
        while let Some((thread, time)) = self.feeds.woken() {
            self.schedule(thread, time.max(now));
        }
    }

    /// A thread's turn: whatever it was at is over.
    fn turn(&mut self, thread: u32, now: u64) -> Result<(), TimedError> {
        let t = &mut self.threads[thread as usize];
        match t.doing {
            Doing::Follows => {
                let since = t.since;
                t.doing = Doing::Goes;
                t.spend(now - since, now, |t| &mut t.synchronisation);
            }
            Doing::Goes => {
                t.settle(self.memory);
                if let Some((access, at)) = t.next::<M>() {
                    self.access(thread, access, at);
                    return Ok(());
                }
            }
            // Its messages move it.
            Doing::Misses { .. }
            | Doing::Asks(..)
            | Doing::Blocked(_)
            | Doing::Hears
            | Doing::Suspended { .. }
            | Doing::Ended => {
                return Ok(());
            }
        }
        let done = self.program(thread, now);
        self.wake(now);
        done
    }

    /// What the program does next.
    fn program(&mut self, thread: u32, now: u64) -> Result<(), TimedError> {
        loop {
            match self.feeds.next(thread, now, PIECE_REFS)? {
                Next::Refs(refs, first) => {
                    self.refs += refs.len() as u64;
                    let shift = self.memory.line_shift();
                    self.threads[thread as usize].fill(refs, (first, now), self.gaps, shift)?;
                    self.go(thread);
                    return Ok(());
                }
                Next::Event(e, _) => {
                    let e = e.clone();
                    if self.event(thread, &e, now) {
                        return Ok(());
                    }
                    self.wake(now);
                }
                Next::Later(time) => {
                    self.follow(thread, now);
                    self.schedule(thread, time);
                    return Ok(());
                }
                Next::Waits => {
                    self.follow(thread, now);
                    return Ok(());
                }
                Next::End => {
                    self.threads[thread as usize].doing = Doing::Ended;
                    return Ok(());
                }
            }
        }
    }

    fn follow(&mut self, thread: u32, now: u64) {
        let t = &mut self.threads[thread as usize];
        (t.doing, t.since) = (Doing::Follows, now);
    }

    /// Runs over hits and schedules what comes after them.
    pub(super) fn go(&mut self, thread: u32) {
        let t = &mut self.threads[thread as usize];
        t.doing = Doing::Goes;
        let time = t.run(&*self.memory, self.hits_max);
        self.schedule(thread, time);
    }

    /// The access at the end of a run, now: a miss unless the run ended for other reasons.
    fn access(&mut self, thread: u32, access: Access, at: u64) {
        let t = &mut self.threads[thread as usize];
        let gap = at - t.end.time;
        let mut effects = std::mem::take(&mut self.effects);
        effects.clear();
        if self.memory.hits(access) {
            self.memory.touched(access);
        } else {
            self.memory.miss(access, at, &mut effects);
        }
        self.withdraw(at, &effects.withdrawn);
        for path in &effects.posted {
            let begun = self.messages.begin(thread, path, Role::Posted);
            self.sent(begun, at);
        }
        if M::GOES_ON && effects.suspends {
            self.threads[thread as usize].suspend();
            self.take(at, &effects);
            self.effects = effects;
            return;
        }
        if M::GOES_ON {
            self.take(at, &effects);
        }
        let t = &mut self.threads[thread as usize];
        t.spend(gap, at, |t| &mut t.instructions);
        let begins = at + effects.before.cycles();
        t.spend(effects.before.base, at + effects.before.base, |t| &mut t.kernel_base);
        t.spend(effects.before.overhead, begins, |t| &mut t.kernel_overhead);
        if effects.first.stages().is_empty() && effects.then.is_empty() {
            t.spend(1, begins + 1, |t| &mut t.instructions);
            let ends = begins + 1 + effects.after.cycles();
            t.spend(effects.after.base, ends, |t| &mut t.kernel_base);
            t.spend(effects.after.overhead, ends, |t| &mut t.kernel_overhead);
            t.done(ends);
            self.go(thread);
        } else {
            t.done(begins);
            t.after = effects.after;
            let first = self.ask(thread, Doing::Misses { private: effects.private }, &effects, begins);
            match begins == at {
                true => self.sent(first, at),
                false => self.queue.push(queue::Event::message(begins, first.1, first.0)),
            }
        }
        self.effects = effects;
    }

    /// A thread's request; its number, and its place among messages of one time.
    fn ask(&mut self, thread: u32, doing: Doing, effects: &Effects, now: u64) -> (u32, u64) {
        let t = &mut self.threads[thread as usize];
        (t.doing, t.since) = (doing, now);
        t.outstanding = 1;
        let first = self.messages.begin(thread, &effects.first, Role::First);
        // They go out when it is through, as the next ones of this thread, which does nothing else meanwhile.
        t.then.clear();
        for path in &effects.then {
            t.then.push(self.messages.begin(thread, path, Role::Awaited));
        }
        first
    }

    /// A message goes out now, and nothing is still to be done now that comes before it but what is in the queue: if there is nothing
    /// either, it need not stand there itself.
    fn sent(&mut self, (number, order): (u32, u64), now: u64) {
        let event = queue::Event::message(now, order, number);
        if self.queue.is_next(event) {
            self.happened = u32::MAX;
            self.message(number, now);
        } else {
            self.queue.push(event);
        }
    }

    /// Cuts the runs of those that lose lines.
    pub(super) fn withdraw(&mut self, now: u64, withdrawn: &[(u32, u64)]) {
        for &(processor, line) in withdrawn {
            for n in 0..self.threads.len() {
                let t = &mut self.threads[n];
                if t.processor != processor || t.doing != Doing::Goes {
                    continue;
                }
                if M::GOES_ON {
                    // Whoever took the line may want to know what was written to it.
                    t.settle_until(n as u32, (now, self.happened), self.memory);
                }
                if let Some(time) = t.cut(n as u32, line, (now, self.happened)) {
                    self.schedule(n as u32, time);
                }
            }
        }
    }

    /// A message is where it was going.
    fn message(&mut self, number: u32, now: u64) {
        let (thread, role) = match self.messages.step(number, now) {
            Moved::On(time, order) => return self.queue.push(queue::Event::message(time, order, number)),
            Moved::Over(thread, role) => (thread, role),
        };
        match role {
            Role::Posted => return,
            Role::Call(token) => return self.called(token, now),
            Role::First | Role::Awaited => {}
        }
        let t = &mut self.threads[thread as usize];
        t.outstanding -= 1;
        if role == Role::First {
            let then = std::mem::take(&mut t.then);
            t.outstanding += then.len() as u32;
            then.iter().for_each(|&begun| self.sent(begun, now));
            self.threads[thread as usize].then = then;
        }
        if self.threads[thread as usize].outstanding == 0 {
            self.answered(thread, now);
        }
    }

    /// All that a thread waited for has come.
    fn answered(&mut self, thread: u32, now: u64) {
        let t = &mut self.threads[thread as usize];
        let took = now - t.since;
        match t.doing {
            Doing::Misses { private } => {
                t.spend(took, now, |t| if private { &mut t.private } else { &mut t.shared });
                let after = std::mem::take(&mut t.after);
                let owed = std::mem::take(&mut t.owed);
                t.spend(owed, now + owed, |t| &mut t.kernel_overhead);
                let ends = now + owed + after.cycles();
                t.spend(after.base, ends, |t| &mut t.kernel_base);
                t.spend(after.overhead, ends, |t| &mut t.kernel_overhead);
                t.resume(ends);
                self.go(thread);
            }
            Doing::Asks(object, deed) => {
                t.spend(took, now, |t| &mut t.synchronisation);
                self.act(thread, object, deed, now);
            }
            Doing::Hears => {
                t.spend(took, now, |t| &mut t.synchronisation);
                self.leave(thread, now);
            }
            _ => {}
        }
    }

    /// A thread goes on with its program.
    pub(super) fn leave(&mut self, thread: u32, now: u64) {
        let t = &mut self.threads[thread as usize];
        t.doing = Doing::Follows;
        t.since = now;
        self.schedule(thread, now);
    }

    /// A thread's request has arrived at an object.
    fn act(&mut self, thread: u32, object: Object, deed: Deed, now: u64) {
        let mut let_go = std::mem::take(&mut self.let_go);
        let goes = self.grants.act(object, thread, deed, &mut let_go);
        for other in let_go.drain(..) {
            let t = &mut self.threads[other as usize];
            let waited = now - t.since;
            t.spend(waited, now, |t| &mut t.synchronisation);
            self.go_to(other, object, Doing::Hears, now);
        }
        self.let_go = let_go;
        if goes {
            return self.leave(thread, now);
        }
        let t = &mut self.threads[thread as usize];
        (t.doing, t.since) = (Doing::Blocked(object), now);
    }

    /// A message from a thread to an object and back.
    fn go_to(&mut self, thread: u32, object: Object, doing: Doing, now: u64) {
        let mut effects = std::mem::take(&mut self.effects);
        effects.clear();
        let processor = self.threads[thread as usize].processor;
        self.memory.synchronise(processor, object.1 ^ tag(object.0), &mut effects);
        // Who else is let go now may come before it.
        let (number, order) = self.ask(thread, doing, &effects, now);
        self.queue.push(queue::Event::message(now, order, number));
        self.effects = effects;
    }

    /// An event of the program. Whether the thread waits because of it.
    fn event(&mut self, thread: u32, e: &Event, now: u64) -> bool {
        let space = self.data.address_space(thread);
        if let Some((object, sync)) = self.granted.object(self.data.shared(), space, e) {
            let deed = Deed::of(&e.kind, sync);
            if self.operate(thread, object, deed, now) {
                return true;
            }
            self.go_to(thread, object, Doing::Asks(object, deed), now);
            return true;
        }
        let t = &self.threads[thread as usize];
        if let Some(phase) = self.phases.event(thread, &t.times, &e.kind) {
            self.memory.phase(t.processor, phase);
        }
        let counts = match &e.kind {
            EventKind::PhaseBegin { name } if Some(name) == self.phase.as_ref() => true,
            EventKind::PhaseEnd { name } if Some(name) == self.phase.as_ref() => false,
            _ => return false,
        };
        let t = &mut self.threads[thread as usize];
        t.counts = counts;
        self.memory.counting(t.processor, counts);
        false
    }

    /// Nothing can happen any more.
    fn stuck(self) -> Result<End, TimedError> {
        let waiting = self.grants.waiting();
        for w in &waiting {
            let Some((parties, arrived)) = w.barrier else { continue };
            let arrivals = self.arrivals(w.object);
            if !arrivals.is_multiple_of(parties.into()) {
                let threads: Vec<String> =
                    waiting.iter().filter(|o| o.object == w.object).map(|o| o.thread.to_string()).collect();
                let (object, threads) = (w.object.1, threads.join(", "));
                return Err(TimedError::Unmatched { object, parties, arrived, threads, arrivals });
            }
        }
        if !waiting.is_empty() {
            let mut objects: Vec<Object> = waiting.iter().map(|w| w.object).chain(self.grants.held()).collect();
            objects.sort_unstable();
            objects.dedup();
            return Ok(End::Circle(objects));
        }
        let suspended = self.suspended();
        if !suspended.is_empty() {
            return Err(TimedError::Suspended(suspended));
        }
        self.feeds.finished()?;
        let times: Vec<Times> = self.threads.iter().map(|t| t.times).collect();
        let ran = Ran {
            phases: self.phases.over(&times),
            times,
            spans: self.threads.iter().map(|t| t.span).collect(),
            waits: self.messages.waits(),
            spins: self.feeds.spins(),
            refs: self.refs,
        };
        Ok(End::Over(Box::new(ran)))
    }

    /// How often threads arrive at a barrier in the whole recording.
    fn arrivals(&self, object: Object) -> u64 {
        let arrives = |e: &Event| {
            let space = self.data.address_space(e.thread);
            matches!(e.kind, EventKind::Release { .. })
                && self.granted.object(self.data.shared(), space, e).is_some_and(|(o, s)| o == object && s.is_barrier())
        };
        self.data.events().iter().filter(|e| arrives(e)).count() as u64
    }
}
