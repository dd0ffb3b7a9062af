//! Policies behind one object-safe trait: a table of block states, and the counting of what the policy decides.
//!
//! [`Policy::State`] differs from policy to policy, so a `dyn Policy` cannot exist. [`BlockEngine`] hides the state
//! instead: [`Table`] keeps the states of all blocks in one dense vector and is compiled once per policy, so a batch of
//! accesses costs one virtual call.
use crate::access::Access;
use crate::events::{COPY, EventCounts, MOVE};
use crate::policy::{BlockContext, Outcome, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::{Location, Machine};

/// One access to one block of a [`BlockEngine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Slot, as returned by [`BlockEngine::open`].
    pub slot: u32,
    /// The access.
    pub access: Access,
}

/// A sink in which everything succeeds and is counted.
pub struct Meter<'a> {
    /// Where it is counted.
    pub counts: &'a mut EventCounts,
}

impl Sink for Meter<'_> {
    fn place(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        self.counts.add(COPY, from, to, 1);
        Outcome::Done
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.counts.add(MOVE, from, to, 1);
        Outcome::Done
    }
    fn drop_copy(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
}

/// A policy with the states of all blocks it has seen. Object-safe; one per (policy, machine, block size).
pub trait BlockEngine: Send {
    /// Adds a block, in the state before its first access, and returns its slot: 0, 1, 2 and so on. `home` is what the
    /// block's [`BlockContext::home`] will say.
    fn open(&mut self, block: u64, home: Option<Location>) -> u32;
    /// As [`open`](BlockEngine::open), with a home for each phase: what [`BlockContext::phases`] will say.
    fn open_phased(&mut self, block: u64, phases: &[Location]) -> u32;
    /// One access; returns the location that served it, or the last of those it stands for. Panics if the slot was never
    /// opened, as slices do.
    fn step(&mut self, slot: u32, access: &Access, sink: &mut dyn Sink) -> Location;
    /// Many accesses in order, all actions succeeding, each counted with what it entails. `counts` are of
    /// [`POLICIES`](crate::events::POLICIES). Panics if a slot was never opened.
    fn run(&mut self, steps: &[Step], counts: &mut EventCounts);
    /// What would happen to a block at these accesses, in order, from its present state, which stays as it is. Returns
    /// the location that would serve the last one; `None` for no accesses. The live loop asks this before it acts.
    fn probe(&self, slot: u32, accesses: &[Access], sink: &mut dyn Sink) -> Option<Location>;
    /// What [`Policy::settled`] says of a block and a node. Panics if the slot was never opened.
    fn settled(&self, slot: u32, node: NodeId) -> Option<Location>;
    /// Makes a slot that of another block, or of the same one again, in the state before its first access: the live loop
    /// forgets blocks, and learns that others have moved them.
    fn reopen(&mut self, slot: u32, block: u64, home: Option<Location>);
    /// Number of blocks opened.
    fn blocks(&self) -> usize;
}

struct Slot<S> {
    block: u64,
    home: Option<Location>,
    state: S,
}

/// The [`BlockEngine`] of a policy.
pub struct Table<'m, P: Policy> {
    policy: P,
    machine: &'m Machine,
    block_bytes: u64,
    slots: Vec<Slot<P::State>>,
    /// Homes by phase, by slot; shorter than `slots` where no block after that has any.
    phases: Vec<Box<[Location]>>,
}

impl<'m, P: Policy> Table<'m, P> {
    /// An engine without blocks. `block_bytes` is at least 1.
    pub fn new(policy: P, machine: &'m Machine, block_bytes: u64) -> Table<'m, P> {
        Table { policy, machine, block_bytes, slots: Vec::new(), phases: Vec::new() }
    }

    /// Asks the policy about one access; `served` gets its parts and what served them.
    #[inline]
    fn advance<S: Sink>(
        &mut self,
        slot: u32,
        access: &Access,
        sink: &mut S,
        served: impl FnMut(&mut S, &Access, Location),
    ) -> Location {
        let phases = self.phases.get(slot as usize).map_or(&[][..], |p| p);
        let slot = &mut self.slots[slot as usize];
        let context = BlockContext {
            machine: self.machine,
            block: slot.block,
            block_bytes: self.block_bytes,
            home: slot.home,
            phases,
        };
        decide(&self.policy, &context, &mut slot.state, access, sink, served)
    }

    fn push(&mut self, block: u64, home: Option<Location>, phases: &[Location]) -> u32 {
        let context = BlockContext { machine: self.machine, block, block_bytes: self.block_bytes, home, phases };
        let state = self.policy.begin(&context);
        self.slots.push(Slot { block, home, state });
        (self.slots.len() - 1) as u32
    }
}

/// Asks a policy about one access, in as many parts as it wants.
#[inline]
fn decide<P: Policy, S: Sink>(
    policy: &P,
    block: &BlockContext<'_>,
    state: &mut P::State,
    access: &Access,
    sink: &mut S,
    mut served: impl FnMut(&mut S, &Access, Location),
) -> Location {
    let mut rest = *access;
    loop {
        let together = policy.together(block, state, &rest).max(1);
        if together >= rest.weight {
            let at = policy.step(block, state, &rest, sink);
            served(sink, &rest, at);
            return at;
        }
        let part = Access { weight: together, ..rest };
        let at = policy.step(block, state, &part, sink);
        served(sink, &part, at);
        rest.weight -= together;
    }
}

impl<P: Policy> BlockEngine for Table<'_, P> {
    fn open(&mut self, block: u64, home: Option<Location>) -> u32 {
        self.push(block, home, &[])
    }
    fn open_phased(&mut self, block: u64, phases: &[Location]) -> u32 {
        let slot = self.push(block, None, phases);
        self.phases.resize(slot as usize, Box::default());
        self.phases.push(phases.into());
        slot
    }
    fn step(&mut self, slot: u32, access: &Access, mut sink: &mut dyn Sink) -> Location {
        self.advance(slot, access, &mut sink, |_, _, _| {})
    }
    fn run(&mut self, steps: &[Step], counts: &mut EventCounts) {
        let mut meter = Meter { counts };
        for step in steps {
            self.advance(step.slot, &step.access, &mut meter, |meter, part, at| meter.counts.served(part, at));
        }
    }
    fn probe(&self, slot: u32, accesses: &[Access], mut sink: &mut dyn Sink) -> Option<Location> {
        let phases = self.phases.get(slot as usize).map_or(&[][..], |p| p);
        let slot = &self.slots[slot as usize];
        let (machine, block_bytes) = (self.machine, self.block_bytes);
        let context = BlockContext { machine, block: slot.block, block_bytes, home: slot.home, phases };
        let mut state = slot.state.clone();
        let ask = |a| decide(&self.policy, &context, &mut state, a, &mut sink, |_, _, _| {});
        accesses.iter().map(ask).last()
    }
    fn settled(&self, slot: u32, node: NodeId) -> Option<Location> {
        let phases = self.phases.get(slot as usize).map_or(&[][..], |p| p);
        let slot = &self.slots[slot as usize];
        let (machine, block_bytes) = (self.machine, self.block_bytes);
        let context = BlockContext { machine, block: slot.block, block_bytes, home: slot.home, phases };
        self.policy.settled(&context, &slot.state, node)
    }
    fn reopen(&mut self, slot: u32, block: u64, home: Option<Location>) {
        let context = BlockContext { machine: self.machine, block, block_bytes: self.block_bytes, home, phases: &[] };
        self.slots[slot as usize] = Slot { block, home, state: self.policy.begin(&context) };
        if let Some(phases) = self.phases.get_mut(slot as usize) {
            *phases = Box::default();
        }
    }
    fn blocks(&self) -> usize {
        self.slots.len()
    }
}
