//! What references cost on a machine under first touch, one charge at a time: for whoever looks at when and where costs arise.
use crate::SimError;
use crate::evaluation::Totals;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::{ReplayOptions, Setup};
use homenode_analysis::UNKNOWN_SITE;
use homenode_base::spaces::{home as lies, tag, unflatten};
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Location};
use homenode_placement::{Access, AccessKind};
use homenode_threads::ThreadBinding;
use homenode_trace::Merged;

/// Where the data of a charge was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Served {
    /// In the memory of this node, where the block is under first touch.
    Memory(NodeId),
    /// In the cache of another processor.
    Transfer,
    /// In the last level of the node's own caches, where a hit has a price.
    LastLevel,
}

/// One cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Thread that waits; none for write-backs, for which nobody does.
    pub thread: Option<u32>,
    /// Code location; `UNKNOWN_SITE` for write-backs.
    pub site: u32,
    /// Node of the processor, or of the cache that writes back.
    pub node: NodeId,
    /// Where the data was.
    pub served: Served,
    /// Address space in which it lies.
    pub space: u32,
    /// First byte, in that space.
    pub addr: u64,
    /// Whether memory is written.
    pub writes: bool,
    /// Accesses of memory that this stands for: the weight of a sample, words on machines without caches, else 1.
    pub accesses: u32,
    /// Bytes that memory serves for it: lines on machines with caches, else words. 0 where the data was in a cache.
    pub bytes: u64,
    /// What all of it costs, in the machine's unit.
    pub cost: Cost,
}

/// Hands on every charge, in order.
pub struct Charges<'m> {
    replay: Replay<'m, (), ChargeCollector>,
}

impl<'m> Charges<'m> {
    /// Caches that are empty, and nobody has touched anything.
    ///
    /// # Errors
    /// The block or the caches are not usable.
    pub fn new(setup: Setup<'m>) -> Result<Charges<'m>, SimError> {
        let options = ReplayOptions { unfolded: true, ..setup.options };
        let caches = setup.machine.sections.caches.as_ref();
        let unit_bytes = caches.map_or(setup.machine.shape.word_bytes, |c| c.line_bytes);
        let collector = ChargeCollector {
            charges: Vec::new(),
            by_line: caches.is_some(),
            unit_bytes: unit_bytes.into(),
            current: Merged::default(),
            node: NodeId(0),
            space: 0,
        };
        Ok(Charges { replay: Replay::new(Setup { options, ..setup }, (setup.machine, setup.waits), (), collector)? })
    }

    /// What this reference, the next in order, costs; nothing if it hits a cache whose hits are free, or is a spin.
    pub fn reference(&mut self, r: &Merged) -> &[Charge] {
        self.replay.observer().charges.clear();
        self.replay.refs(std::slice::from_ref(r));
        &self.replay.observer().charges
    }

    /// Ends the replay.
    ///
    /// # Errors
    /// There were more blocks than indices.
    pub fn finish(self) -> Result<Totals, SimError> {
        self.replay.finish().map(|done| done.totals)
    }
}

struct ChargeCollector {
    charges: Vec<Charge>,
    /// Whether memory serves lines and not words.
    by_line: bool,
    /// Bytes of a line or a word.
    unit_bytes: u64,
    /// The reference that is being replayed, its node and address space.
    current: Merged,
    node: NodeId,
    space: u32,
}

impl ChargeCollector {
    /// A cost of the current reference that no memory has a part in.
    fn cached(&mut self, flat: u64, served: Served, cost: Cost) {
        let (space, addr) = lies(self.space, flat ^ tag(self.space));
        let Merged { thread, site, .. } = self.current;
        let (thread, node, writes) = (Some(thread), self.node, self.current.op.writes());
        self.charges.push(Charge { thread, site, node, served, space, addr, writes, accesses: 0, bytes: 0, cost });
    }
}

impl Observer for ChargeCollector {
    const WANTS_CHARGES: bool = true;

    fn reference(&mut self, r: &Merged, binding: ThreadBinding, _: u64) {
        (self.current, self.node, self.space) = (*r, binding.node, binding.space);
    }

    fn charge(&mut self, flat: u64, _: u32, access: &Access, home: Location, cost: Cost) {
        let Location::Node(home) = home else { return };
        let ((space, addr), thread, site) = match access.class {
            AccessClass::WriteBack => (unflatten(flat), None, UNKNOWN_SITE),
            _ => (lies(self.space, flat ^ tag(self.space)), Some(self.current.thread), self.current.site),
        };
        self.charges.push(Charge {
            thread,
            site,
            node: access.node,
            served: Served::Memory(home),
            space,
            addr,
            // A line that is going to be written is read first.
            writes: access.class == AccessClass::WriteBack || !self.by_line && access.kind == AccessKind::Write,
            accesses: access.weight,
            bytes: u64::from(access.weight) * self.unit_bytes,
            cost,
        });
    }

    fn hit(&mut self, flat: u64, cost: Cost) {
        self.cached(flat, Served::LastLevel, cost);
    }

    fn transfer(&mut self, flat: u64, _: u32, cost: Cost) {
        self.cached(flat, Served::Transfer, cost);
    }
}
