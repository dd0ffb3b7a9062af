//! Groups of pages of a lot, each priced by itself though they share caches.
use super::Together;
use crate::consumers::AccessConsumer;
use crate::engine::{Consumers, Priced};
use crate::evaluate::estimate::Part;
use crate::evaluate::estimate::costs::ObjectCost;
use crate::evaluate::first_pass::FirstPassObserver;
use crate::evaluate::lookup::Lookup;
use crate::observer::Observer;
use homenode_analysis::BlockReference;
use homenode_base::{Cost, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::{Access, Step};
use homenode_threads::ThreadBinding;
use homenode_trace::{Event, Merged};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Policies and bounds of each group of pages.
pub(super) struct Grouped<'m> {
    groups: Vec<Consumers<'m>>,
    together: Arc<Together>,
    shift: u32,
    /// By slot, its group and its slot there.
    slots: Vec<(usize, u32)>,
    /// By group, the numbers of its blocks, and steps on their way to it.
    numbers: Vec<Vec<u64>>,
    steps: Vec<Vec<Step>>,
}

impl<'m> Grouped<'m> {
    pub(super) fn new(groups: Vec<Consumers<'m>>, together: Arc<Together>, shift: u32) -> Grouped<'m> {
        let n = groups.len();
        Grouped { groups, together, shift, slots: Vec::new(), numbers: vec![Vec::new(); n], steps: vec![Vec::new(); n] }
    }
    pub(super) fn priced(self, machine: &Machine, block_bytes: u64) -> Vec<Priced> {
        let groups = self.groups.into_iter().zip(self.numbers);
        groups.map(|(group, numbers)| group.priced(machine, block_bytes, numbers)).collect()
    }
}

impl AccessConsumer for Grouped<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.slots.len()..] {
            let group = self.together.group(number << self.shift);
            self.slots.push((group, self.numbers[group].len() as u32));
            // Interleaved pages lie where the numbers that they have in the program put them.
            self.numbers[group].push(self.together.flat(number << self.shift) >> self.shift);
        }
        for step in steps {
            let (group, slot) = self.slots[step.slot as usize];
            self.steps[group].push(Step { slot, ..*step });
        }
        for (group, (steps, numbers)) in self.groups.iter_mut().zip(self.steps.iter_mut().zip(&self.numbers)) {
            group.steps(steps, numbers);
            steps.clear();
        }
    }
    fn periods(&self) -> Vec<u64> {
        self.groups.first().map_or_else(Vec::new, AccessConsumer::periods)
    }
}

/// What objects cost under first touch in each group of pages, and each page alone.
pub(super) struct GroupCosts<'a> {
    pub(super) objects: Lookup<'a>,
    together: Arc<Together>,
    pub(super) groups: Vec<BTreeMap<u32, ObjectCost>>,
    pub(super) pages: BTreeMap<u64, TotalCost>,
    /// Where changes of the program are looked for: what proposes them, of pages where they lie in the program.
    pub(super) analysis: Option<FirstPassObserver<'a>>,
}

impl<'a> GroupCosts<'a> {
    pub(super) fn new(
        objects: Lookup<'a>,
        together: Arc<Together>,
        analysis: Option<FirstPassObserver<'a>>,
    ) -> GroupCosts<'a> {
        let groups = vec![BTreeMap::new(); together.groups()];
        GroupCosts { objects, groups, pages: BTreeMap::new(), together, analysis }
    }
    fn at(&mut self, addr: u64, cost: Cost) -> &mut ObjectCost {
        let flat = self.together.flat(addr);
        *self.pages.entry(addr / self.together.bytes()).or_default() += cost;
        let group = self.together.group(addr);
        let object = self.groups[group].entry(self.objects.at(flat)).or_default();
        object.cost += cost;
        object
    }
}

impl Observer for GroupCosts<'_> {
    const WANTS_CHARGES: bool = true;

    fn event(&mut self, event: &Event) {
        self.objects.event(event);
        if let Some(analysis) = &mut self.analysis {
            analysis.event(event);
        }
    }
    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
    fn block_reference(&mut self, r: &BlockReference) {
        if let Some(analysis) = &mut self.analysis {
            analysis.block_reference(&BlockReference { addr: self.together.flat(r.addr), ..*r });
        }
    }
    fn charge(&mut self, addr: u64, slot: u32, access: &Access, home: Location, cost: Cost) {
        let object = self.at(addr, cost);
        if home != Location::Node(access.node) {
            object.remote += cost;
        }
        if let Some(analysis) = &mut self.analysis {
            analysis.charge(self.together.flat(addr), slot, access, home, cost);
        }
    }
    fn hit(&mut self, addr: u64, cost: Cost) {
        if let Some(analysis) = &mut self.analysis {
            analysis.hit(self.together.flat(addr), cost);
        }
    }
    fn transfer(&mut self, addr: u64, slot: u32, cost: Cost) {
        self.at(addr, cost).transfer += cost;
        if let Some(analysis) = &mut self.analysis {
            analysis.transfer(self.together.flat(addr), slot, cost);
        }
    }
}

/// The prices of groups of pages.
pub(super) fn priced(
    groups: Grouped<'_>,
    (machine, block_bytes): (&Machine, u64),
    objects: Vec<BTreeMap<u32, ObjectCost>>,
) -> Vec<Part> {
    groups
        .priced(machine, block_bytes)
        .into_iter()
        .zip(objects)
        .map(|(p, objects)| with_transfers(p, objects))
        .collect()
}

/// The prices of a group of pages, with what its lines cost that come from other caches.
fn with_transfers(mut priced: Priced, objects: BTreeMap<u32, ObjectCost>) -> Part {
    priced.totals.transfer_cost = objects.values().map(|o| o.transfer).sum();
    (priced, objects)
}
