//! Who uses which page how often, behind the caches of a machine: what a placement is decided by.
//!
//! The counts of all threads of a node add up to exactly what the engine charges to that node, so the price of a
//! placement computed from them equals that of a replay.
use crate::SimError;
use crate::consumers::AccessConsumer;
use crate::evaluation::Totals;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use homenode_base::spaces::unflatten;
use homenode_base::{Cost, NodeId, ThreadId};
use homenode_machine::{AccessClass, Location};
use homenode_placement::counts::{Counts, PageKey};
use homenode_placement::{Access, Step};
use homenode_threads::ThreadBinding;
use homenode_trace::{DataSource, Merged};

/// One pass that counts.
pub struct Profile<'m>(Replay<'m, NoConsumer, ByThread>);

/// What it counted.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// Memory accesses by page, thread and class; pages are the blocks of the setup.
    pub counts: Counts,
    /// What was replayed.
    pub totals: Totals,
    /// References of threads that have no binding.
    pub strangers: u64,
}

struct NoConsumer;

impl AccessConsumer for NoConsumer {
    fn steps(&mut self, _: &[Step], _: &[u64]) {}
}

/// Attributes each access to a thread of the node that makes it.
struct ByThread {
    counts: Counts,
    shift: u32,
    /// Thread and node of the current reference.
    now: (ThreadId, NodeId),
    /// Whether a store stands for the write-back that follows it too: samples show none, and behind caches every dirty line
    /// leaves once.
    dirty: bool,
    /// The last thread seen on each node: a line that another node's cache writes back meanwhile counts as its.
    last_of: Vec<ThreadId>,
}

impl Observer for ByThread {
    const WANTS_CHARGES: bool = true;

    #[inline]
    fn reference(&mut self, r: &Merged, binding: ThreadBinding, flat: u64) {
        self.now = (ThreadId(r.thread), binding.node);
        self.last_of[binding.node.index()] = ThreadId(r.thread);
        if r.source == DataSource::FirstTouch {
            let (space, addr) = unflatten(flat);
            self.counts.add_counts(PageKey { space, page: addr >> self.shift }, ThreadId(r.thread), &[0; 3]);
        }
    }

    #[inline]
    fn charge(&mut self, flat: u64, _: u32, access: &Access, _: Location, _: Cost) {
        let thread = if self.now.1 == access.node { self.now.0 } else { self.last_of[access.node.index()] };
        let (space, addr) = unflatten(flat);
        let mut counts = [0; 3];
        counts[access.class.at_latency() as usize] = u64::from(access.weight);
        if self.dirty && access.class.at_latency() == AccessClass::Write {
            counts[AccessClass::WriteBack as usize] = u64::from(access.weight);
        }
        self.counts.add_counts(PageKey { space, page: addr >> self.shift }, thread, &counts);
    }

    fn transfer(&mut self, _: u64, _: u32, _: Cost) {}
}

impl<'m> Profile<'m> {
    /// A pass that has seen nothing.
    ///
    /// # Errors
    /// As [`Engine::new`](crate::Engine::new).
    pub fn new(setup: Setup<'m>) -> Result<Profile<'m>, SimError> {
        let bad = || SimError::Block {
            block_bytes: setup.block_bytes,
            machine: setup.machine.name.clone(),
            what: "a block is a power of two of bytes".into(),
        };
        let counts = Counts::new(setup.block_bytes).ok_or_else(bad)?;
        let watch = ByThread {
            counts,
            shift: setup.block_bytes.trailing_zeros(),
            now: (ThreadId(0), NodeId(0)),
            dirty: setup.options.sampled.is_some() && setup.machine.sections.caches.is_some(),
            last_of: vec![ThreadId(0); setup.machine.nodes()],
        };
        Ok(Profile(Replay::new(setup, (setup.machine, setup.waits), NoConsumer, watch)?))
    }
    /// The next references of the merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        self.0.refs(refs);
    }
    /// Ends the pass.
    ///
    /// # Errors
    /// More blocks than can be numbered.
    pub fn finish(self) -> Result<Profiled, SimError> {
        let done = self.0.finish()?;
        Ok(Profiled { counts: done.observer.counts, totals: done.totals, strangers: done.strangers })
    }
}
