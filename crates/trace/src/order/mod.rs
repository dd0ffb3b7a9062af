//! **The order**: the one place that decides in which sequence references of different threads are replayed.
//!
//! *Model order* is Kahn's algorithm over program order and synchronisation edges with priority (virtual time, thread,
//! index): it depends on the program and its synchronisation, not on how the host scheduled it. Virtual time is the number
//! of references of the thread so far, spins excepted; an acquire raises it to that of the releases it follows, and a
//! thread begins at that of its spawn. In sampled recordings virtual time is what was stamped. *As-recorded order* is a legal merge drawn by a seed: program order,
//! synchronisation edges and batches that do not overlap in time are kept. `docs/design/order.md` gives the reasons.
mod chance;
mod cursor;
mod families;
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
pub use chance::Apart;
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

/// Gets a dataset in order.
pub trait Consumer {
    /// The next references, one or more, in order.
    fn refs(&mut self, refs: &[Merged]);
    /// The next event; all references before it have been given. `time` is the virtual time of its thread, after it was
    /// raised if the event is an acquire.
    fn event(&mut self, event: &Event, time: VirtualTime);
}

/// What was given to a consumer.
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

/// Gives a whole dataset to `consumer` in the order `kind`. Memory: one decoded frame a thread, and the events. Errors:
/// a damaged frame, or [`TraceError::Cycle`] if no order is possible; the consumer has then seen a part.
pub fn drive(data: &DatasetReader, kind: OrderKind, consumer: &mut dyn Consumer) -> Result<Summary, TraceError> {
    let by_turns = kind == OrderKind::Model && data.manifest().sampling.is_none();
    let mut state = state::State::new(data, by_turns)?;
    let mut output = output::Output::new(consumer);
    match kind {
        OrderKind::Model if data.manifest().sampling.is_some() => stamped::run(&mut state, &mut output)?,
        OrderKind::Model => model::run(&mut state, &mut output)?,
        OrderKind::Recorded { seed } => recorded::run(&mut state, &mut output, seed)?,
    }
    output.flush();
    state.finished()?;
    let span = state.cursors.iter().map(|c| c.time).max().unwrap_or(0);
    let apart = if by_turns { state.apart() } else { None };
    Ok(Summary { refs: output.refs, spins: state.spins, events: output.events, span: VirtualTime(span), apart })
}
