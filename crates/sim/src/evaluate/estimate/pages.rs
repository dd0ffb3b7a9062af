//! What a recording of some pages says of all: its pages are replayed in caches that are as much smaller as they are fewer
//! (miniature simulation: Waldspurger, Saemundsson, Ahmad and Park, Cache Modeling and Optimization using Miniature Simulations,
//! USENIX ATC 2017, section 3), and groups of them are priced apart, as their differences say how far the sum can be trusted.
use super::costs::ObjectCost;
use super::inference::Sample;
use super::{Estimate, Looked, Seen, handover};
use crate::SimError;
use crate::consumers::AccessConsumer;
use crate::engine::{Consumers, Priced};
use crate::evaluate::lookup::Lookup;
use crate::evaluate::{EvalContext, Objects, in_registry_order};
use crate::front::Front;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::split::Pieces;
use homenode_analysis::{BlockReference, Locked};
use homenode_base::pages::Drawn;
use homenode_base::spaces::unflatten;
use homenode_base::{Cost, TotalCost};
use homenode_machine::{CacheGeometry, Location, Machine};
use homenode_placement::{Access, Step};
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged, Op};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Groups of pages: enough that the spread of their sums is known, few enough that each has many pages.
const GROUPS: u32 = 16;

/// Estimates what an evaluation of all pages would find, from a recording of these.
///
/// # Errors
/// As [`evaluate`](crate::evaluate()); blocks are larger than the pages that were drawn, or the objects cannot be asked twice.
pub fn estimate_pages(
    source: &mut dyn Source,
    objects: &dyn Objects,
    context: &EvalContext<'_>,
    drawn: Drawn,
) -> Result<Estimate, SimError> {
    let setup = context.setup;
    let Some(mut fork) = objects.fork().filter(|_| setup.block_bytes <= drawn.page_bytes()) else {
        return Err(SimError::FewColours { block_bytes: setup.block_bytes, machine: setup.machine.name.clone() });
    };
    let small = smaller(setup.machine, drawn.one_in());
    let setup = Setup { machine: &small, ..setup };
    let choices = in_registry_order(context.policies, setup)?;
    let group = || Consumers::new(&small, setup.block_bytes, &choices, Some(context.options.start));
    let groups = (0..GROUPS).map(|_| group()).collect::<Result<Vec<_>, SimError>>()?;
    let shift = setup.block_bytes.trailing_zeros();
    let order = Rc::new(Together { drawn, pages: RefCell::default() });
    let costs = GroupCosts::new(Lookup::new(&mut *fork), order.clone());
    let replay = Replay::new(setup, (&small, &[]), Grouped::new(groups, order.clone(), shift), costs)?;
    let (front, numbers) = (Front::new(setup.bindings), HashMap::new());
    let mut pass = Pass { front, replay, drawn, order, numbers, shift, replayed: 0 };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        piece.refs.iter().for_each(|r| pass.reference(r));
        if let Some((event, _)) = piece.event {
            pass.replay.observer().event(event);
        }
    }
    drop(stream);
    let Pass { front, replay, replayed, .. } = pass;
    let done = replay.finish()?;
    let costs = done.observer;
    let priced = done.consumers.priced(&small, setup.block_bytes);
    let parts: Vec<_> = priced.into_iter().zip(costs.groups).map(|(p, objects)| with_transfers(p, objects)).collect();
    let all = u64::from(GROUPS) * u64::from(drawn.one_in());
    let sample = Sample::of_pages(all as usize, costs.pages.values().map(|cost| cost.as_f64()));
    let handover = handover(&small, setup.block_bytes);
    let seen = Seen { front: &front, colours: all, replayed };
    Ok(Looked { choices: &choices, sample, parts, handover }.estimate(&seen, &*fork))
}

/// The prices of a group of pages, with what its lines cost that come from other caches.
fn with_transfers(mut priced: Priced, objects: BTreeMap<u32, ObjectCost>) -> (Priced, BTreeMap<u32, ObjectCost>) {
    priced.totals.transfer_cost = objects.values().map(|o| o.transfer).sum();
    (priced, objects)
}

/// The machine with caches of one in so many sets; where that is less than one set, of fewer ways.
fn smaller(machine: &Machine, one_in: u32) -> Machine {
    let mut small = machine.clone();
    if let Some(caches) = &mut small.sections.caches {
        let line_bytes = u64::from(caches.line_bytes);
        let shrink = |g: &mut CacheGeometry| {
            let (sets, one_in) = (g.bytes / (u64::from(g.ways) * line_bytes).max(1), u64::from(one_in));
            if sets < one_in {
                g.ways = (u64::from(g.ways) * sets).div_ceil(one_in) as u32;
            }
            g.bytes = (sets / one_in).max(1) * u64::from(g.ways) * line_bytes;
        };
        shrink(&mut caches.private);
        shrink(&mut caches.shared);
    }
    small
}

/// Drawn pages side by side, in order of first use: as pages of a program fill the sets of a cache evenly, and those drawn of them
/// at random would not.
struct Together {
    drawn: Drawn,
    /// By their number, the flat addresses of pages.
    pages: RefCell<Vec<u64>>,
}

impl Together {
    /// The flat address of one among the pages side by side.
    fn flat(&self, addr: u64) -> u64 {
        let (number, offset) = (addr / self.drawn.page_bytes(), addr % self.drawn.page_bytes());
        self.pages.borrow().get(number as usize).copied().unwrap_or(0) | offset
    }
    /// The group of an address among the pages side by side.
    fn group(&self, addr: u64) -> usize {
        self.drawn.group(unflatten(self.flat(addr)).1, GROUPS).unwrap_or(0)
    }
}

/// A replay of the pages that were drawn; what is recorded of others, locks and atomics, is left out.
struct Pass<'m, 'a> {
    front: Front,
    replay: Replay<'m, Grouped<'m>, GroupCosts<'a>>,
    drawn: Drawn,
    order: Rc<Together>,
    /// Numbers of pages by their flat addresses.
    numbers: HashMap<u64, u64>,
    shift: u32,
    replayed: u64,
}

impl Pass<'_, '_> {
    #[inline]
    fn reference(&mut self, r: &Merged) {
        let Some((place, _)) = self.front.reference(r) else { return };
        if r.op == Op::Spin {
            return;
        }
        let mut begins = true;
        for piece in Pieces::new(r.addr, r.size, self.shift) {
            let flat = piece.addr ^ place.space_tag;
            if self.drawn.holds(unflatten(flat).1) {
                self.piece(r, (flat, piece.last - piece.addr), begins);
                begins = false;
            }
        }
    }

    /// What lies in one block of a page that was drawn: a flat address and so many bytes beyond it. It stands for so many references in
    /// the time of policies.
    fn piece(&mut self, r: &Merged, (addr, beyond): (u64, u64), begins: bool) {
        self.replayed += u64::from(begins);
        let offset = addr & (self.drawn.page_bytes() - 1);
        let page = *self.numbers.entry(addr - offset).or_insert_with(|| {
            let mut pages = self.order.pages.borrow_mut();
            pages.push(addr - offset);
            pages.len() as u64 - 1
        });
        let addr = page * self.drawn.page_bytes() + offset;
        let number = self.replayed * u64::from(self.drawn.one_in());
        let (site, thread, op, locked) = (r.site, r.thread, r.op, Locked::default());
        let piece = BlockReference { addr, number, locked, size: beyond as u32 + 1, site, thread, op, begins };
        self.replay.block_reference(&piece);
    }
}

/// Policies and bounds of each group of pages.
struct Grouped<'m> {
    groups: Vec<Consumers<'m>>,
    order: Rc<Together>,
    shift: u32,
    /// By slot, its group and its slot there.
    slots: Vec<(usize, u32)>,
    /// By group, the numbers of its blocks, and steps on their way to it.
    numbers: Vec<Vec<u64>>,
    steps: Vec<Vec<Step>>,
}

impl<'m> Grouped<'m> {
    fn new(groups: Vec<Consumers<'m>>, order: Rc<Together>, shift: u32) -> Grouped<'m> {
        let n = groups.len();
        Grouped { groups, order, shift, slots: Vec::new(), numbers: vec![Vec::new(); n], steps: vec![Vec::new(); n] }
    }
    fn priced(self, machine: &Machine, block_bytes: u64) -> Vec<Priced> {
        let groups = self.groups.into_iter().zip(self.numbers);
        groups.map(|(group, numbers)| group.priced(machine, block_bytes, numbers)).collect()
    }
}

impl AccessConsumer for Grouped<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.slots.len()..] {
            let group = self.order.group(number << self.shift);
            self.slots.push((group, self.numbers[group].len() as u32));
            // Interleaved pages lie where the numbers that they have in the program put them.
            self.numbers[group].push(self.order.flat(number << self.shift) >> self.shift);
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
struct GroupCosts<'a> {
    objects: Lookup<'a>,
    order: Rc<Together>,
    groups: Vec<BTreeMap<u32, ObjectCost>>,
    pages: BTreeMap<u64, TotalCost>,
}

impl<'a> GroupCosts<'a> {
    fn new(objects: Lookup<'a>, order: Rc<Together>) -> GroupCosts<'a> {
        GroupCosts { objects, order, groups: vec![BTreeMap::new(); GROUPS as usize], pages: BTreeMap::new() }
    }
    fn at(&mut self, addr: u64, cost: Cost) -> &mut ObjectCost {
        let flat = self.order.flat(addr);
        *self.pages.entry(addr / self.order.drawn.page_bytes()).or_default() += cost;
        let group = self.order.group(addr);
        let object = self.groups[group].entry(self.objects.at(flat)).or_default();
        object.cost += cost;
        object
    }
}

impl Observer for GroupCosts<'_> {
    const WANTS_CHARGES: bool = true;

    fn event(&mut self, event: &Event) {
        self.objects.event(event);
    }
    fn reference(&mut self, _: &Merged, _: crate::binding::ThreadBinding, _: u64) {}
    fn charge(&mut self, flat: u64, _: u32, access: &Access, home: Location, cost: Cost) {
        let object = self.at(flat, cost);
        if home != Location::Node(access.node) {
            object.remote += cost;
        }
    }
    fn transfer(&mut self, flat: u64, _: u32, cost: Cost) {
        self.at(flat, cost).transfer += cost;
    }
}
