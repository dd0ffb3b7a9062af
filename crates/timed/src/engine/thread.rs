//! One thread: its references, the run of hits that it is in, and what its time went into.
use super::grants::{Deed, Object};
use super::memory::{Access, Gaps, Kernel, Memory};
use homenode_base::spaces::tag;
use homenode_trace::{Merged, TraceError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a thread's cycles went into (Kuo and others 1998, section 5, footnotes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Instructions and hits: U-INSTR.
    pub instructions: u64,
    /// Misses to memory of one processor alone: U-LC-MEM.
    pub private: u64,
    /// Stalled on shared memory: U-SH-MEM.
    pub shared: u64,
    /// Kernel work that every architecture needs: K-BASE.
    pub kernel_base: u64,
    /// Kernel work of the architecture: K-OVERHD.
    pub kernel_overhead: u64,
    /// Synchronisation: SYNC.
    pub synchronisation: u64,
}

impl Times {
    /// All of them.
    pub fn cycles(&self) -> u64 {
        self.instructions + self.private + self.shared + self.kernel_base + self.kernel_overhead + self.synchronisation
    }
    /// Times without those that were there before.
    #[must_use]
    pub fn since(&self, before: &Times) -> Times {
        Times {
            instructions: self.instructions - before.instructions,
            private: self.private - before.private,
            shared: self.shared - before.shared,
            kernel_base: self.kernel_base - before.kernel_base,
            kernel_overhead: self.kernel_overhead - before.kernel_overhead,
            synchronisation: self.synchronisation - before.synchronisation,
        }
    }
    /// Adds others.
    pub fn add(&mut self, o: &Times) {
        self.instructions += o.instructions;
        self.private += o.private;
        self.shared += o.shared;
        self.kernel_base += o.kernel_base;
        self.kernel_overhead += o.kernel_overhead;
        self.synchronisation += o.synchronisation;
    }
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    /// Goes on with whatever comes next.
    #[default]
    Goes,
    /// Waits for its miss.
    Misses { private: bool },
    /// On the way to an object, to do something there.
    Asks(Object, Deed),
    /// Waits at an object, since then.
    Blocked(Object),
    /// Was let go; the news is on its way.
    Hears,
    /// Waits until the memory system lets it go on: for an access, which it makes again, or for what it did to an object.
    Suspended { operates: bool },
    /// Waits for what the recording says it waited for.
    Follows,
    /// Over.
    Ended,
}

/// A place among the steps of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    at: usize,
    /// Line of the step.
    part: u32,
    /// The time before its gap.
    pub(super) time: u64,
}

/// One reference.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// First line, times two; one more if it writes.
    first: u64,
    /// How many lines follow.
    more: u16,
    /// First and last word of 4 bytes in the first and the last line.
    words: [u8; 2],
    /// Instructions before it.
    gap: u32,
}

/// The words from one to another, a bit each.
#[inline]
fn words(from: u8, to: u8) -> u16 {
    u16::MAX >> (15 - to) & u16::MAX << from
}

/// Last word of 4 bytes in a line; of lines of more than 64 bytes, none is told from another.
fn last_word(line_shift: u32) -> u8 {
    ((1 << line_shift.clamp(2, 6)) / 4 - 1) as u8
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) processor: u32,
    space_tag: u64,
    pub(super) doing: Doing,
    /// When what it is doing began.
    pub(super) since: u64,
    /// Number of its event in the queue that counts; older ones do not.
    pub(super) turn: u64,
    /// Messages that it waits for.
    pub(super) outstanding: u32,
    /// Cycles that were taken from its processor while it waited for a miss.
    pub(super) owed: u64,
    /// Messages that go out when its request is through: numbers, and places among messages of one time.
    pub(super) then: Vec<(u32, u64)>,
    pub(super) after: Kernel,
    steps: Vec<Step>,
    /// Number of the last word of a line.
    last_word: u8,
    /// Where the run begins, and where it ends: the next access.
    begin: Place,
    pub(super) end: Place,
    pub(super) times: Times,
    pub(super) counts: bool,
    /// First and last time that counts.
    pub(super) span: Option<(u64, u64)>,
}

impl Thread {
    pub(super) fn new(processor: u32, space: u32, counts: bool) -> Thread {
        Thread {
            processor,
            space_tag: tag(space),
            doing: Doing::Goes,
            since: 0,
            turn: 0,
            outstanding: 0,
            owed: 0,
            then: Vec::new(),
            after: Kernel::default(),
            steps: Vec::new(),
            last_word: 0,
            begin: Place::default(),
            end: Place::default(),
            times: Times::default(),
            counts,
            span: None,
        }
    }

    /// Cycles until `now` went into something.
    #[inline]
    pub(super) fn spend(&mut self, cycles: u64, now: u64, into: impl FnOnce(&mut Times) -> &mut u64) {
        if self.counts {
            *into(&mut self.times) += cycles;
            let (first, last) = self.span.unwrap_or((now - cycles, now));
            self.span = Some((first.min(now - cycles), last.max(now)));
        }
    }

    /// The next piece of references, from `now` on.
    pub(super) fn fill(
        &mut self,
        refs: &[Merged],
        (first, now): (u64, u64),
        gaps: &mut dyn Gaps,
        line_shift: u32,
    ) -> Result<(), TraceError> {
        self.steps.clear();
        self.last_word = last_word(line_shift);
        let wide = line_shift > 6;
        let word = |address: u64| (address % (1 << line_shift) / 4) as u8;
        for (r, index) in refs.iter().zip(first..) {
            let (mut gap, writes) = (gaps.before(r, index)?, r.op.writes());
            let (begin, end) =
                (r.addr ^ self.space_tag, r.addr.saturating_add(u64::from(r.size.max(1)) - 1) ^ self.space_tag);
            let (mut line, last) = (begin >> line_shift, end >> line_shift);
            let mut from = if wide { 0 } else { word(begin) };
            // What refers to more lines than a step has room for is several.
            loop {
                let more = last.saturating_sub(line).min(u16::MAX.into()) as u16;
                let is_last = line + u64::from(more) >= last;
                let to = if is_last && !wide { word(end) } else { self.last_word };
                self.steps.push(Step { first: line << 1 | u64::from(writes), more, words: [from, to], gap });
                if is_last {
                    break;
                }
                (line, from, gap) = (line + u64::from(more) + 1, 0, 0);
            }
        }
        self.begin = Place { time: now, ..Place::default() };
        self.end = self.begin;
        Ok(())
    }

    /// The access at a place and when it happens; none at the end of the piece.
    #[inline]
    fn access(&self, place: Place) -> Option<(Access, u64)> {
        let step = self.steps.get(place.at)?;
        let gap = if place.part == 0 { step.gap } else { 0 };
        let line = (step.first >> 1) + u64::from(place.part);
        let access = Access { processor: self.processor, line, writes: step.first & 1 == 1, words: 0 };
        Some((access, place.time + u64::from(gap)))
    }

    /// Words of the access at a place; none is asked for where nobody looks at them.
    #[inline]
    fn words<M: Memory>(&self, place: Place) -> u16 {
        if !M::LOOKS_AT_WORDS {
            return 0;
        }
        let step = &self.steps[place.at];
        let from = if place.part == 0 { step.words[0] } else { 0 };
        let to = if place.part == u32::from(step.more) { step.words[1] } else { self.last_word };
        words(from, to)
    }

    /// The place after one whose access is done at `time`.
    #[inline]
    fn after(&self, place: Place, time: u64) -> Place {
        match u32::from(self.steps[place.at].more) == place.part {
            true => Place { at: place.at + 1, part: 0, time },
            false => Place { part: place.part + 1, time, ..place },
        }
    }

    /// Goes over hits from the end of the run, at most so many, and says when it comes to what is none, or to the end of the piece.
    pub(super) fn run<M: Memory>(&mut self, memory: &M, hits_max: usize) -> u64 {
        let (mut place, mut left) = (self.end, hits_max);
        while let Some((access, time)) = self.access(place) {
            if left == 0 || !memory.hits(access) {
                self.end = place;
                return time;
            }
            left -= 1;
            place = self.after(place, time + 1);
        }
        self.end = place;
        place.time
    }

    /// Cuts the run before the first access to a line after the moment (`now`, `happened`): at `now` threads up to that number have
    /// made theirs. The time of the access at which the run now ends, if it was cut.
    pub(super) fn cut(&mut self, thread: u32, line: u64, (now, happened): (u64, u32)) -> Option<u64> {
        let mut place = self.begin;
        while place != self.end {
            let (access, time) = self.access(place)?;
            if access.line == line && (time, thread) > (now, happened) {
                self.end = place;
                return Some(time);
            }
            place = self.after(place, time + 1);
        }
        None
    }

    /// Cuts the run at a moment, as [`Thread::cut`] does, whatever the line.
    pub(super) fn cut_here(&mut self, thread: u32, (now, happened): (u64, u32)) {
        let mut place = self.begin;
        while place != self.end {
            let Some((_, time)) = self.access(place) else { return };
            if (time, thread) > (now, happened) {
                self.end = place;
                return;
            }
            place = self.after(place, time + 1);
        }
    }

    /// The run has happened: tells the memory, and begins the next one at its end.
    pub(super) fn settle<M: Memory>(&mut self, memory: &mut M) {
        let mut place = self.begin;
        while place != self.end {
            let Some((access, time)) = self.access(place) else { break };
            memory.touched(Access { words: self.words::<M>(place), ..access });
            place = self.after(place, time + 1);
        }
        self.spend(self.end.time - self.begin.time, self.end.time, |t| &mut t.instructions);
        self.begin = self.end;
    }

    /// As [`Thread::settle`], of the run up to a moment, as [`Thread::cut`] has it.
    pub(super) fn settle_until<M: Memory>(&mut self, thread: u32, (now, happened): (u64, u32), memory: &mut M) {
        let mut place = self.begin;
        while place != self.end {
            let Some((access, time)) = self.access(place) else { break };
            if (time, thread) > (now, happened) {
                break;
            }
            memory.touched(Access { words: self.words::<M>(place), ..access });
            place = self.after(place, time + 1);
        }
        self.spend(place.time - self.begin.time, place.time, |t| &mut t.instructions);
        self.begin = place;
    }

    /// The access after the run, and its time.
    #[inline]
    pub(super) fn next<M: Memory>(&self) -> Option<(Access, u64)> {
        let (access, time) = self.access(self.end)?;
        Some((Access { words: self.words::<M>(self.end), ..access }, time))
    }

    /// Waits for the memory system before the access after the run: the gap before it is gone through again.
    pub(super) fn suspend(&mut self) {
        (self.doing, self.since) = (Doing::Suspended { operates: false }, self.end.time);
    }

    /// Makes the access before which it was suspended at `time`; since when the gap before it is gone through.
    pub(super) fn make_again(&mut self, time: u64) -> u64 {
        let gap = self.access(self.end).map_or(0, |(_, at)| at - self.end.time);
        self.resume(time - gap);
        time - gap
    }

    /// Goes on at `time` with the access after the run.
    pub(super) fn resume(&mut self, time: u64) {
        self.end.time = time;
        self.begin = self.end;
    }

    /// The access after the run is done at `time`.
    pub(super) fn done(&mut self, time: u64) {
        self.end = self.after(self.end, time);
        self.begin = self.end;
    }
}
