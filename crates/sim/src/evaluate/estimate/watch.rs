//! Who watches the colours that are replayed: what objects cost under first touch and, where changes of the program are asked for, the
//! analysis that proposes them.
use super::costs::Costs;
use crate::evaluate::first_pass::FirstPassObserver;
use crate::observer::Observer;
use homenode_analysis::BlockReference;
use homenode_base::Cost;
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_threads::ThreadBinding;
use homenode_trace::{Event, Merged};

/// The observer of an estimate.
pub(super) struct Watch<'a> {
    pub(super) costs: Costs<'a>,
    pub(super) analysis: Option<FirstPassObserver<'a>>,
}

impl Observer for Watch<'_> {
    const WANTS_CHARGES: bool = true;

    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
    #[inline]
    fn block_reference(&mut self, r: &BlockReference) {
        if let Some(analysis) = &mut self.analysis {
            analysis.block_reference(r);
        }
    }
    fn event(&mut self, event: &Event) {
        self.costs.event(event);
        if let Some(analysis) = &mut self.analysis {
            analysis.event(event);
        }
    }
    fn charge(&mut self, flat: u64, slot: u32, access: &Access, home: Location, cost: Cost) {
        self.costs.charge(flat, slot, access, home, cost);
        if let Some(analysis) = &mut self.analysis {
            analysis.charge(flat, slot, access, home, cost);
        }
    }
    #[inline]
    fn hit(&mut self, flat: u64, cost: Cost) {
        if let Some(analysis) = &mut self.analysis {
            analysis.hit(flat, cost);
        }
    }
    fn transfer(&mut self, flat: u64, slot: u32, cost: Cost) {
        self.costs.transfer(flat, slot, cost);
        if let Some(analysis) = &mut self.analysis {
            analysis.transfer(flat, slot, cost);
        }
    }
}
