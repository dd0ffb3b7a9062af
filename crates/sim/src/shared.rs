//! References to shared memory alone: what protocols of page coherence are asked about.
//!
//! Shared is what a program allocates for all its threads: globals, heap, mappings, and memory of which nothing is known.
//! Stacks are private. Whether a word of it is ever touched by two processors is another question, whose answer stands
//! beside the rows of a study.
use crate::evaluate::Objects;
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_threads::ThreadBinding;
use homenode_trace::event::EventKind;
use homenode_trace::order::{Piece, Source, Stream};
use homenode_trace::{Event, Merged, TraceError};

/// Gives what lies where, each time from the start of the trace.
pub type Start<'a> = dyn Fn() -> Box<dyn Objects + 'a> + 'a;

/// The kind of objects that are private.
const PRIVATE: &str = "stack";

/// A source without the references to private memory; their events are kept.
pub struct SharedRefs<'a> {
    source: &'a mut dyn Source,
    objects: &'a Start<'a>,
    spaces: Vec<u32>,
}

impl<'a> SharedRefs<'a> {
    /// What is shared of this source. Of the bindings only the address spaces of threads matter.
    pub fn new(source: &'a mut dyn Source, objects: &'a Start<'a>, bindings: &[ThreadBinding]) -> SharedRefs<'a> {
        SharedRefs { source, objects, spaces: bindings.iter().map(|b| b.space).collect() }
    }
}

impl Source for SharedRefs<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        let here = Here::new((self.objects)(), &self.spaces);
        Ok(Box::new(Shared { stream: self.source.stream(merge)?, here, refs: Vec::new() }))
    }
}

/// What is remembered of the last answers, by a few bits of the address.
const SLOTS: usize = 1 << 10;

#[derive(Clone, Copy, Default)]
struct Known {
    generation: u64,
    from: u64,
    last: u64,
    space: u32,
    row: u32,
    private: bool,
}

/// What lies where now.
pub struct Here<'a> {
    objects: Box<dyn Objects + 'a>,
    spaces: &'a [u32],
    known: Vec<Known>,
    /// Raised by every event that may change an answer.
    generation: u64,
}

impl<'a> Here<'a> {
    /// At the start of the trace.
    pub fn new(objects: Box<dyn Objects + 'a>, spaces: &'a [u32]) -> Here<'a> {
        Here { objects, spaces, known: vec![Known::default(); SLOTS], generation: 1 }
    }

    /// Whether memory is private that this reference is to.
    #[inline]
    pub fn is_private(&mut self, r: &Merged) -> bool {
        self.at(r).1
    }

    /// The object row that a reference is to, and whether it is private.
    #[inline]
    pub fn at(&mut self, r: &Merged) -> (u32, bool) {
        let Some(&space) = self.spaces.get(r.thread as usize) else { return (UNKNOWN_OBJECT, false) };
        let slot = ((r.addr >> 12) ^ (r.addr >> 22) ^ u64::from(space)) as usize % SLOTS;
        let known = &self.known[slot];
        if known.generation == self.generation && known.space == space && (known.from..=known.last).contains(&r.addr) {
            return (known.row, known.private);
        }
        self.look_up(space, r.addr, slot)
    }

    fn look_up(&mut self, space: u32, addr: u64, slot: usize) -> (u32, bool) {
        let range = self.objects.at(space, addr);
        let private = range.object != UNKNOWN_OBJECT && self.objects.object(range.object).kind == PRIVATE;
        let (generation, row) = (self.generation, range.object);
        self.known[slot] = Known { generation, from: range.from, last: range.last, space, row, private };
        (row, private)
    }

    /// The next event.
    pub fn event(&mut self, event: &Event) {
        self.objects.event(event);
        let sync = matches!(
            event.kind,
            EventKind::Release { .. } | EventKind::Acquire { .. } | EventKind::AcqRel { .. } | EventKind::Exit
        );
        self.generation += u64::from(!sync);
    }
}

struct Shared<'s> {
    stream: Box<dyn Stream + 's>,
    here: Here<'s>,
    /// References of the piece at hand that are shared.
    refs: Vec<Merged>,
}

impl Stream for Shared<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let Shared { stream, here, refs } = self;
        let Some(piece) = stream.pull()? else { return Ok(None) };
        refs.clear();
        refs.extend(piece.refs.iter().filter(|r| !here.is_private(r)));
        if let Some((event, _)) = piece.event {
            here.event(event);
        }
        Ok(Some(Piece { refs, event: piece.event }))
    }
}
