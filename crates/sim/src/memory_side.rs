//! The replay behind the cache filter: first-touch homes and costs, what may be left out, folding, consumers.
use crate::cache::{CacheEvent, CacheEventKind as Kind};
use crate::consumers::{AccessConsumer, Batch};
use crate::evaluation::Totals;
use crate::fold::Fold;
use crate::observer::Observer;
use crate::seen::Seen;
use crate::setup::{ReplayOptions, Shifts};
use homenode_base::{Cost, NodeId, TotalCost, VirtualTime};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::{Access, AccessKind, Step};

/// Replay behind the cache filter: first-touch homes and costs, folding, consumers.
pub(crate) struct MemorySide<'m, L, O> {
    machine: &'m Machine,
    shifts: Shifts,
    options: ReplayOptions,
    /// Node that touched each block first, by slot.
    homes: Vec<NodeId>,
    seen: Vec<Seen>,
    fold: Fold,
    batch: Batch,
    pub(crate) consumers: L,
    pub(crate) observer: O,
    transfers: u64,
    transfer_cost: TotalCost,
    memory_accesses: u64,
}

impl<'m, L: AccessConsumer, O: Observer> MemorySide<'m, L, O> {
    pub(crate) fn new(machine: &'m Machine, shifts: Shifts, options: ReplayOptions, consumers: L, observer: O) -> Self {
        MemorySide {
            machine,
            shifts,
            options,
            homes: Vec::new(),
            seen: Vec::new(),
            fold: Fold::new(consumers.periods()),
            batch: Batch::default(),
            consumers,
            observer,
            transfers: 0,
            transfer_cost: TotalCost::ZERO,
            memory_accesses: 0,
        }
    }

    /// One access of a block that costs something or may change its state.
    #[inline]
    pub(crate) fn access(&mut self, slot: u32, flat: u64, access: Access, numbers: &[u64]) {
        // Slots are dense and each is first used by the access that made it.
        if slot as usize >= self.homes.len() {
            self.homes.resize(slot as usize + 1, access.node);
        }
        self.observer.access(flat, &access, self.homes[slot as usize]);
        if access.class != AccessClass::Free {
            self.memory_accesses += u64::from(access.weight);
            if O::WANTS_CHARGES {
                let home = Location::Node(self.homes[slot as usize]);
                let each = self.first_touch_access(access.class, access.node, home);
                let cost = Cost(each.0.saturating_mul(i64::from(access.weight)));
                self.observer.charge(flat, slot, &access, home, cost);
            }
        }
        if self.options.unfolded {
            return self.batch.push(Step { slot, access }, &mut self.consumers, numbers);
        }
        if let Some(step) = self.fold.push(slot, access) {
            self.batch.push(step, &mut self.consumers, numbers);
        }
    }

    /// Cost of one access under first touch; as if it were local where the machine cannot make it.
    #[inline]
    fn first_touch_access(&self, class: AccessClass, node: NodeId, home: Location) -> Cost {
        let cost = self.machine.access(class, node, home);
        if cost < Cost::INFINITE { cost } else { self.machine.access(class, node, Location::Node(node)) }
    }

    /// Whether a hit of this node in this block can be left out.
    #[inline(always)]
    pub(crate) fn is_known(&self, node: NodeId, block: u32, writes: bool) -> bool {
        self.seen.get(block as usize).is_some_and(|seen| seen.is_known(node, writes)) && !self.options.report_all_hits
    }

    /// What the cache filter says about a reference to flat address `flat`; with all blocks so far, the class that the reference has if it
    /// misses, unless each miss costs its latency.
    #[inline]
    pub(crate) fn cache_event(
        &mut self,
        event: CacheEvent,
        flat: u64,
        t: VirtualTime,
        (numbers, missing): (&[u64], Option<AccessClass>),
    ) {
        let (kind, class) = match event.kind {
            Kind::ReadHit => (AccessKind::Read, AccessClass::Free),
            Kind::WriteHit => (AccessKind::Write, AccessClass::Free),
            Kind::ReadMiss => (AccessKind::Read, missing.unwrap_or(AccessClass::Read)),
            Kind::WriteMiss => (AccessKind::Write, missing.unwrap_or(AccessClass::Write)),
            Kind::WriteBack => (AccessKind::Write, AccessClass::WriteBack),
            Kind::TransferNear | Kind::TransferFar => return self.transfer(event, flat, missing),
        };
        let node = NodeId(event.node);
        let slot = event.block as usize;
        if slot >= self.seen.len() {
            self.seen.resize(slot + 1, Seen::default());
        }
        if self.seen[slot].note(node, kind, class) || self.options.report_all_hits {
            let at = if event.kind == Kind::WriteBack { event.line << self.shifts.line } else { flat };
            self.access(event.block, at, Access { node, kind, class, weight: 1, t }, numbers);
        }
    }

    #[inline(never)]
    fn transfer(&mut self, event: CacheEvent, flat: u64, missing: Option<AccessClass>) {
        let Some(caches) = &self.machine.sections.caches else { return };
        let far = event.kind == Kind::TransferFar;
        let whole = if far { caches.transfer_far } else { caches.transfer_near };
        let cost = missing.map_or(whole, |class| self.share_of(whole, class, NodeId(event.node)));
        self.transfers += 1;
        self.transfer_cost += cost;
        self.observer.transfer(flat, event.block, cost);
    }

    /// What is waited for of a cost by a reference of this class: the share that it waits for of the latency of its node's own memory. How many
    /// lines a core has under way does not depend on where they come from.
    fn share_of(&self, whole: Cost, class: AccessClass, node: NodeId) -> Cost {
        let own = |class| self.machine.access(class, node, Location::Node(node)).0;
        let (part, latency) = (own(class), own(class.at_latency()).max(1));
        Cost((i128::from(whole.0) * i128::from(part) / i128::from(latency)) as i64)
    }

    /// What `words` reads by `node` would cost where the block is under first touch (there, if nobody touched it yet).
    pub(crate) fn first_touch_cost(&self, slot: Option<u32>, node: NodeId, words: u32) -> TotalCost {
        let home = slot.and_then(|s| self.homes.get(s as usize)).copied().unwrap_or(node);
        self.first_touch_access(AccessClass::Read, node, Location::Node(home)).times(u64::from(words))
    }

    /// Hands on everything that is still held.
    pub(crate) fn finish(&mut self, numbers: &[u64], totals: &mut Totals) {
        for step in self.fold.finish() {
            self.batch.push(step, &mut self.consumers, numbers);
        }
        self.batch.flush(&mut self.consumers, numbers);
        totals.memory_accesses = self.memory_accesses;
        totals.transfers = self.transfers;
        totals.transfer_cost = self.transfer_cost;
    }
}
