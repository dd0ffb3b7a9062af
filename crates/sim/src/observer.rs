//! What is watched during a replay besides the placement: references, charges under first touch, transfers.
use homenode_analysis::BlockReference;
use homenode_base::{Cost, NodeId};
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_threads::ThreadBinding;
use homenode_trace::{Event, Merged};

/// Watches a replay. All addresses are flat: those of different address spaces differ.
pub(crate) trait Observer {
    /// Whether [`Observer::charge`] does anything; its arguments are not computed otherwise.
    const WANTS_CHARGES: bool;
    /// A reference that is replayed (no spins, unless they are charged), before anything that it causes.
    fn reference(&mut self, r: &Merged, binding: ThreadBinding, flat: u64);
    /// As [`Observer::reference`], where blocks are replayed by colour.
    fn block_reference(&mut self, _: &BlockReference) {}
    /// The next event.
    fn event(&mut self, _: &Event) {}
    /// An access that policies are told of, with the block's home under first touch. `flat` as in [`Observer::charge`].
    #[inline]
    fn access(&mut self, _flat: u64, _access: &Access, _home: NodeId) {}
    /// An access that reaches memory, with its cost where the block is under first touch. `flat` is the first byte of the
    /// piece of the reference, or of the line written back.
    fn charge(&mut self, flat: u64, slot: u32, access: &Access, home: Location, cost: Cost);
    /// A hit of the current reference in the last level, where that has a price; `flat` as in [`Observer::charge`].
    #[inline]
    fn hit(&mut self, _flat: u64, _cost: Cost) {}
    /// A cache-to-cache transfer caused by the current reference.
    fn transfer(&mut self, flat: u64, slot: u32, cost: Cost);
}

/// Nobody watches.
impl Observer for () {
    const WANTS_CHARGES: bool = false;
    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
    fn charge(&mut self, _: u64, _: u32, _: &Access, _: Location, _: Cost) {}
    fn transfer(&mut self, _: u64, _: u32, _: Cost) {}
}
