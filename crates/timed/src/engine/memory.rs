//! What the engine asks of a memory system, and of the gaps between references.
use super::grants::{Deed, Object};
use super::path::Path;
use homenode_trace::{Merged, TraceError};

/// One line referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Processor.
    pub processor: u32,
    /// Line number: flat address over line size.
    pub line: u64,
    /// Whether memory may change.
    pub writes: bool,
    /// Words of 4 bytes of the line that are referred to, a bit each, if the memory system looks at them ([`Memory::LOOKS_AT_WORDS`]); all of them in lines of more than 64 bytes.
    pub words: u16,
}

/// Something that a memory system begins by itself: it hears of its end ([`Memory::called`]).
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// When it begins, not in the past.
    pub time: u64,
    /// Way through servers; none: it ends at once.
    pub path: Path,
    /// What the memory system knows it by.
    pub token: u32,
}

/// Cycles of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// What every architecture needs.
    pub base: u64,
    /// What only this one needs.
    pub overhead: u64,
}

impl Kernel {
    /// Both.
    pub fn cycles(self) -> u64 {
        self.base + self.overhead
    }
}

/// What a miss brings about beside the change of state, which is done when it is asked for.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Kernel work before the request goes out.
    pub before: Kernel,
    /// Kernel work after the data has come.
    pub after: Kernel,
    /// The request, up to where it divides.
    pub first: Path,
    /// What goes on from there side by side; the processor waits for all of it. If neither has stages the access hits after all.
    pub then: Vec<Path>,
    /// Messages that nobody waits for.
    pub posted: Vec<Path>,
    /// Lines that other processors lost, or may no longer write.
    pub withdrawn: Vec<(u32, u64)>,
    /// Whether it is about memory of this processor alone.
    pub private: bool,
    /// The access is not done: its thread waits until the memory system says that it goes on, and makes it again then.
    pub suspends: bool,
    /// What begins beside that.
    pub calls: Vec<Call>,
    /// Processors whose suspended threads go on, and when, not in the past.
    pub resumed: Vec<(u32, u64)>,
    /// Processors that do something else for so many cycles from now on.
    pub stolen: Vec<(u32, u64)>,
}

impl Effects {
    /// Forgets all, keeping the allocations.
    pub fn clear(&mut self) {
        let Effects { then, posted, withdrawn, calls, resumed, stolen, .. } = self;
        then.clear();
        posted.clear();
        withdrawn.clear();
        calls.clear();
        resumed.clear();
        stolen.clear();
        (self.before, self.after, self.first, self.private, self.suspends) = Default::default();
    }
}

/// A memory system. Its state changes at misses only, so that hits can be found in advance: an access that hits goes on hitting until
/// the line is withdrawn or its own processor misses.
pub trait Memory {
    /// Whether it looks at [`Access::words`].
    const LOOKS_AT_WORDS: bool = false;
    /// Whether it goes on by itself: suspends threads, makes calls, lets threads go on, takes processors. The last four parts of [`Effects`] are not
    /// looked at else.
    const GOES_ON: bool = false;
    /// How many processors there are.
    fn processors(&self) -> u32;
    /// How many servers there are.
    fn servers(&self) -> usize;
    /// Line size as a power of two.
    fn line_shift(&self) -> u32;
    /// Whether an access hits in the processor's own cache, which takes one cycle.
    fn hits(&self, access: Access) -> bool;
    /// An access has hit: heard of at the end of a run of hits, or, by one that goes on by itself, after a line was withdrawn from the processor.
    fn touched(&mut self, access: Access);
    /// An access that does not hit, at the time `now`.
    fn miss(&mut self, access: Access, now: u64, effects: &mut Effects);
    /// A processor refers to a synchronisation object at this flat address.
    fn synchronise(&mut self, processor: u32, address: u64, effects: &mut Effects);
    /// A thread does something to a synchronisation object. True if the memory system sees to all of it, who waits and who goes on: the thread is
    /// suspended then.
    fn operate(&mut self, _processor: u32, _object: Object, _deed: Deed, _now: u64, _effects: &mut Effects) -> bool {
        false
    }
    /// One of its [`Call`]s is at its end.
    fn called(&mut self, _token: u32, _now: u64, _effects: &mut Effects) {}
    /// From now on what this processor does is counted, or not.
    fn counting(&mut self, processor: u32, counts: bool);
    /// From now on this processor is in a phase of the program, by the number that [`super::Simulated::phases`] has it at.
    fn phase(&mut self, _processor: u32, _phase: u32) {}
}

/// Instructions between references.
pub trait Gaps {
    /// Instructions of the thread between its reference before this one and this one; `index` counts its references, spins included.
    ///
    /// # Errors
    /// A damaged frame.
    fn before(&mut self, reference: &Merged, index: u64) -> Result<u32, TraceError>;
}

/// Nothing between references.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGaps;

impl Gaps for NoGaps {
    fn before(&mut self, _: &Merged, _: u64) -> Result<u32, TraceError> {
        Ok(0)
    }
}

impl<G: Gaps + ?Sized> Gaps for Box<G> {
    fn before(&mut self, reference: &Merged, index: u64) -> Result<u32, TraceError> {
        (**self).before(reference, index)
    }
}
