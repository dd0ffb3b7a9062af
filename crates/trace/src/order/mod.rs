//! **The order**: the one place that decides in which sequence references of different threads are replayed.
//!
//! *Model order* is Kahn's algorithm over program order and synchronisation edges with priority (virtual time, thread,
//! index): it depends on the program and its synchronisation, not on how the host scheduled it. Virtual time is the number
//! of references of the thread so far, spins excepted; an acquire raises it to that of the releases it follows, and a
//! thread begins at that of its spawn. In sampled recordings, and where
//! the manifest says that stamps are the order, virtual time is what was stamped. *As-recorded order* is a legal merge drawn by a seed: program order,
//! synchronisation edges and batches that do not overlap in time are kept. [`Feeds`] go by clocks of the caller's.
//! `docs/design/order.md` gives the reasons.
mod apart;
mod chance;
mod cursor;
mod families;
mod feeds;
mod granted;
mod model;
mod output;
mod peers;
mod recorded;
mod releases;
mod stamped;
mod state;
mod sync;
mod turns;

use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::Event;
use crate::record::Merged;
pub use apart::Apart;
pub use feeds::{Feeds, Next};
pub use granted::Granted;
use homenode_base::VirtualTime;

/// Which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OrderKind {
    /// The model order: the same for every recording of one execution.
    #[default]
    Model,
    /// A legal merge of what was recorded.
    Recorded {
        /// Chooses among the legal merges.
        seed: u64,
    },
}

impl OrderKind {
    /// A further merge: of the as-recorded order the one of another seed. There is one model order.
    #[must_use]
    pub fn merge(self, number: u32) -> OrderKind {
        match self {
            OrderKind::Model => OrderKind::Model,
            OrderKind::Recorded { seed } => OrderKind::Recorded { seed: seed.wrapping_add(number.into()) },
        }
    }
}

/// The next part of a stream. It may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'p> {
    /// References in order.
    pub refs: &'p [Merged],
    /// The event after these references, and the virtual time of its thread, after it was raised if the event is an acquire.
    pub event: Option<(&'p Event, VirtualTime)>,
}

/// References and events in order, pulled piece by piece. Who has enough stops pulling.
pub trait Stream {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// A damaged frame, or [`TraceError::Cycle`] if no order is possible; what came before has then been given.
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError>;
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        (**self).pull()
    }
}

/// What can be streamed again and again.
pub trait Source {
    /// The stream from its beginning. The number chooses the merge: 0 is the one that everything is computed from, others are
    /// further legal merges where there are several; the same number gives the same order each time.
    ///
    /// # Errors
    /// A damaged dataset.
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError>;
}

/// What was pulled of an order so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// References, spins included.
    pub refs: u64,
    /// Busy-wait references.
    pub spins: u64,
    /// Events.
    pub events: u64,
    /// Largest virtual time of any thread at its end: the length of the program in references of its critical path; in a
    /// sampled recording in ticks of its clock.
    pub span: VirtualTime,
    /// Threads that the recording put one after the other, though nothing in the program does; only of the model order.
    pub apart: Option<Apart>,
}

/// A dataset in an order. Memory: one decoded frame a thread, and the events.
#[derive(Debug)]
pub struct Order<'a> {
    state: state::State<'a>,
    clock: Clock,
    output: output::Output<'a>,
    over: bool,
    by_turns: bool,
}

/// Who waits for whom in one dataset, found by one pass and used by the next: with tens of millions of events that takes minutes.
#[derive(Debug, Default)]
pub struct SyncCache(Option<(bool, sync::Sync)>);

/// What decides which node comes next.
#[derive(Debug)]
enum Clock {
    Model(model::Model),
    Stamped(stamped::Stamped),
    Recorded(recorded::Draw),
}

impl<'a> Order<'a> {
    /// The order `kind` of a dataset, from its beginning.
    ///
    /// # Errors
    /// A damaged frame, or synchronisation that contradicts itself.
    pub fn new(data: &'a DatasetReader, kind: OrderKind) -> Result<Order<'a>, TraceError> {
        Order::again(data, kind, &mut SyncCache::default())
    }

    /// As [`Order::new`], with what an earlier pass over the same dataset in the same order found, if that was [kept](Order::keep).
    ///
    /// # Errors
    /// As there.
    pub fn again(data: &'a DatasetReader, kind: OrderKind, cache: &mut SyncCache) -> Result<Order<'a>, TraceError> {
        let stamped = data.manifest().sampling.is_some() || data.manifest().in_order;
        let by_turns = kind == OrderKind::Model && !stamped;
        let mut state = match cache.0.take() {
            Some((of, sync)) if of == by_turns => state::State::with(data, sync)?,
            _ => state::State::new(data, by_turns, None)?,
        };
        let clock = match kind {
            OrderKind::Model if stamped => Clock::Stamped(stamped::Stamped::new(&mut state)),
            OrderKind::Model => Clock::Model(model::Model::new(&mut state)),
            OrderKind::Recorded { seed } => Clock::Recorded(recorded::Draw::new(&mut state, seed)),
        };
        Ok(Order { state, clock, output: output::Output::default(), over: false, by_turns })
    }

    /// Ends the pass and keeps what it found of the dataset's synchronisation.
    pub fn keep(self, cache: &mut SyncCache) {
        let mut sync = self.state.sync;
        sync.reset();
        cache.0 = Some((self.by_turns, sync));
    }

    /// What was pulled; of everything once a pull gave `None`.
    pub fn summary(&self) -> Summary {
        let span = self.state.cursors.iter().map(|c| c.time).max().unwrap_or(0);
        Summary {
            refs: self.output.refs,
            spins: self.state.spins,
            events: self.output.events,
            span: VirtualTime(span),
            apart: if self.by_turns { self.state.apart() } else { None },
        }
    }
}

impl Stream for Order<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        self.output.clear();
        while !self.over && !self.output.full() {
            let more = match &mut self.clock {
                Clock::Model(m) => m.step(&mut self.state, &mut self.output)?,
                Clock::Stamped(s) => s.step(&mut self.state, &mut self.output)?,
                Clock::Recorded(d) => d.step(&mut self.state, &mut self.output)?,
            };
            self.over = !more;
        }
        let piece = self.output.piece();
        if piece.is_none() {
            self.state.finished()?;
        }
        Ok(piece)
    }
}

/// References and events in memory, in the order in which they are listed.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    refs: &'a [Merged],
    /// Each after so many references, ascending.
    events: &'a [(usize, Event)],
    given: usize,
}

impl<'a> Listed<'a> {
    /// References alone.
    pub fn new(refs: &'a [Merged]) -> Listed<'a> {
        Listed { refs, events: &[], given: 0 }
    }
    /// References and events, each of which comes after so many references, ascending. All are of virtual time 0.
    pub fn with_events(refs: &'a [Merged], events: &'a [(usize, Event)]) -> Listed<'a> {
        Listed { refs, events, given: 0 }
    }
}

impl Listed<'_> {
    /// Whether everything was given.
    pub fn is_over(&self) -> bool {
        self.given == self.refs.len() && self.events.is_empty()
    }
}

impl Stream for Listed<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let end = self.refs.len().min(self.given + output::PIECE_REFS);
        let event = self.events.first().filter(|(at, _)| *at <= end);
        let refs = &self.refs[self.given..event.map_or(end, |(at, _)| *at)];
        self.given += refs.len();
        self.events = &self.events[usize::from(event.is_some())..];
        let piece = Piece { refs, event: event.map(|(_, event)| (event, VirtualTime(0))) };
        Ok((!refs.is_empty() || event.is_some()).then_some(piece))
    }
}

impl Source for Listed<'_> {
    fn stream(&mut self, _: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(*self))
    }
}

/// All references that are left of a stream, in memory.
///
/// # Errors
/// As [`Stream::pull`].
pub fn rest(stream: &mut dyn Stream) -> Result<Vec<Merged>, TraceError> {
    let mut refs = Vec::new();
    while let Some(piece) = stream.pull()? {
        refs.extend_from_slice(piece.refs);
    }
    Ok(refs)
}

/// A dataset read again and again in one order. Other merges of the as-recorded order have the seeds after its own.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The dataset.
    pub data: &'a DatasetReader,
    /// The order of merge 0.
    pub kind: OrderKind,
}

impl Source for Again<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(Order::new(self.data, self.kind.merge(merge))?))
    }
}
