//! A source with its words moved: one window in memory.
use super::words::Realigner;
use super::{Counted, Moves, RealignError, Realignment};
use homenode_base::VirtualTime;
use homenode_sim::shared::{Here, Start};
use homenode_threads::ThreadBinding;
use homenode_trace::order::{Piece, Source, Stream};
use homenode_trace::{Event, Merged, Op, TraceError};

/// References of a piece, at most.
const PIECE_REFS: usize = 1 << 14;

/// References of a window that do not fill it, at most: it is in memory as a whole.
const OTHERS_MAX: u64 = 1 << 22;

/// What becomes of references to private memory, which never moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// References left out, as by [`SharedRefs`](crate::SharedRefs).
    LeftOut,
    /// References kept where they are, in order.
    Kept,
}

/// A source whose shared words are realigned; events stay between the same references.
pub struct Realigned<'a> {
    source: &'a mut dyn Source,
    objects: &'a Start<'a>,
    spaces: Vec<u32>,
    /// As it is at the beginning of each stream.
    realigner: Realigner,
    private: Private,
    moves: Moves,
}

impl<'a> Realigned<'a> {
    /// A source realigned. `objects` says which memory is private: [`NoObjects`](crate::NoObjects) if none is. Processors are
    /// the nodes of the bindings.
    ///
    /// # Errors
    /// As [`Realignment::check`].
    pub fn new(
        source: &'a mut dyn Source,
        objects: &'a Start<'a>,
        bindings: &[ThreadBinding],
        how: Realignment,
        private: Private,
    ) -> Result<Realigned<'a>, RealignError> {
        let realigner = Realigner::new(how, bindings)?;
        let spaces = bindings.iter().map(|b| b.space).collect();
        Ok(Realigned { source, objects, spaces, realigner, private, moves: Moves::default() })
    }

    /// What moved in the last stream, as far as it was pulled.
    pub fn moves(&self) -> Moves {
        self.moves
    }
}

impl Source for Realigned<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        self.moves = Moves::default();
        Ok(Box::new(Windows {
            stream: self.source.stream(merge)?,
            here: Here::new((self.objects)(), &self.spaces),
            realigner: self.realigner.clone(),
            private: self.private,
            moves: &mut self.moves,
            window: Window::default(),
            pending: Pending::default(),
            over: false,
        }))
    }
}

/// A window, and how much of it was given.
#[derive(Default)]
struct Window {
    refs: Vec<Merged>,
    /// Which of them are to private memory, ascending.
    stays: Vec<u32>,
    /// Each after so many references, ascending.
    events: Vec<(usize, Event, VirtualTime)>,
    given: usize,
    events_given: usize,
}

impl Window {
    fn is_over(&self) -> bool {
        self.given == self.refs.len() && self.events_given == self.events.len()
    }
    fn clear(&mut self) {
        self.refs.clear();
        self.stays.clear();
        self.events.clear();
        (self.given, self.events_given) = (0, 0);
    }
}

/// The last piece, of which the window had no room for everything.
#[derive(Default)]
struct Pending {
    refs: Vec<Merged>,
    taken: usize,
    event: Option<(Event, VirtualTime)>,
}

/// References that a window may still have: those that fill it, and others.
struct Room {
    counted: u64,
    others: u64,
}

impl Room {
    fn is_left(&self) -> bool {
        self.counted > 0 && self.others > 0
    }
}

struct Windows<'s> {
    stream: Box<dyn Stream + 's>,
    here: Here<'s>,
    realigner: Realigner,
    private: Private,
    moves: &'s mut Moves,
    window: Window,
    pending: Pending,
    /// Whether the source gave all.
    over: bool,
}

impl Windows<'_> {
    /// The next window, rewritten.
    fn fill(&mut self) -> Result<(), TraceError> {
        self.window.clear();
        let mut room = Room { counted: self.realigner.how().window, others: OTHERS_MAX };
        while room.is_left() && !self.over {
            if self.pending.taken == self.pending.refs.len() && self.pending.event.is_none() {
                match self.stream.pull()? {
                    None => self.over = true,
                    Some(piece) => {
                        self.pending.refs.clear();
                        self.pending.refs.extend_from_slice(piece.refs);
                        self.pending.event = piece.event.map(|(event, time)| (event.clone(), time));
                        self.pending.taken = 0;
                    }
                }
            }
            self.take(&mut room);
        }
        let Window { refs, stays, .. } = &mut self.window;
        if !refs.is_empty() {
            self.realigner.window(refs, stays);
        }
        *self.moves = self.realigner.counts();
        Ok(())
    }

    /// Takes of the piece what there is room for.
    fn take(&mut self, room: &mut Room) {
        let Windows { here, realigner, private, window, pending, .. } = self;
        let counted = realigner.how().counted;
        for r in &pending.refs[pending.taken..] {
            if !room.is_left() {
                return;
            }
            pending.taken += 1;
            let is_private = here.is_private(r);
            let counts = r.op != Op::Spin && (counted == Counted::All || !is_private);
            *if counts { &mut room.counted } else { &mut room.others } -= 1;
            if is_private && *private == Private::LeftOut {
                continue;
            }
            if is_private {
                window.stays.push(window.refs.len() as u32);
            }
            window.refs.push(*r);
        }
        if let Some((event, time)) = pending.event.take() {
            here.event(&event);
            window.events.push((window.refs.len(), event, time));
        }
    }
}

impl Stream for Windows<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        while self.window.is_over() {
            if self.over {
                return Ok(None);
            }
            self.fill()?;
        }
        let Window { refs, events, given, events_given, .. } = &mut self.window;
        let event = events.get(*events_given).filter(|(at, ..)| *at <= *given + PIECE_REFS);
        let end = event.map_or(refs.len().min(*given + PIECE_REFS), |(at, ..)| *at);
        let refs = &refs[*given..end];
        *given = end;
        *events_given += usize::from(event.is_some());
        Ok(Some(Piece { refs, event: event.map(|(_, event, time)| (event, *time)) }))
    }
}
