//! What objects cost under first touch, and nothing else.
use crate::evaluate::lookup::Lookup;
use crate::observer::Observer;
use homenode_base::{Cost, TotalCost};
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_threads::ThreadBinding;
use homenode_trace::{Event, Merged};
use std::collections::HashMap;

/// Of one object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectCost {
    /// All of it, transfers from other caches among it.
    pub(super) cost: TotalCost,
    /// What memory of other nodes has of that.
    pub(super) remote: TotalCost,
    /// What transfers have of that.
    pub(super) transfer: TotalCost,
}

impl ObjectCost {
    /// Adds what another colour found.
    pub(super) fn add(&mut self, more: &ObjectCost) {
        self.cost += more.cost;
        self.remote += more.remote;
        self.transfer += more.transfer;
    }
}

/// The observer of an estimate.
pub(super) struct Costs<'a> {
    objects: Lookup<'a>,
    /// By object row.
    index: HashMap<u32, usize>,
    rows: Vec<(u32, ObjectCost)>,
    /// Row of the last one.
    last: usize,
}

impl<'a> Costs<'a> {
    pub(super) fn new(objects: Lookup<'a>) -> Costs<'a> {
        Costs { objects, index: HashMap::new(), rows: Vec::new(), last: 0 }
    }

    /// Objects and what they cost, in no order.
    pub(super) fn rows(&self) -> &[(u32, ObjectCost)] {
        &self.rows
    }

    #[inline]
    fn at(&mut self, flat: u64) -> &mut ObjectCost {
        let object = self.objects.at(flat);
        if self.rows.get(self.last).is_none_or(|(last, _)| *last != object) {
            let rows = &mut self.rows;
            self.last = *self.index.entry(object).or_insert_with(|| {
                rows.push((object, ObjectCost::default()));
                rows.len() - 1
            });
        }
        &mut self.rows[self.last].1
    }
}

impl Observer for Costs<'_> {
    const WANTS_CHARGES: bool = true;

    fn event(&mut self, event: &Event) {
        self.objects.event(event);
    }
    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
    fn charge(&mut self, flat: u64, _: u32, access: &Access, home: Location, cost: Cost) {
        let object = self.at(flat);
        object.cost += cost;
        if home != Location::Node(access.node) {
            object.remote += cost;
        }
    }
    fn transfer(&mut self, flat: u64, _: u32, cost: Cost) {
        let object = self.at(flat);
        object.cost += cost;
        object.transfer += cost;
    }
}
