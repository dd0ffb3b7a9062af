//! What a recording of some pages says of all: its pages are replayed in caches that are as much smaller as they are fewer
//! (miniature simulation: Waldspurger, Saemundsson, Ahmad and Park, Cache Modeling and Optimization using Miniature Simulations,
//! USENIX ATC 2017, section 3), and groups of them are priced apart, as their differences say how far the sum can be trusted.
use super::costs::ObjectCost;
use super::inference::{References, Sample};
use super::{Estimate, Looked, Seen, handover};
use crate::SimError;
use crate::binding::ThreadBinding;
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
use homenode_trace::order::{Source, Stream};
use homenode_trace::{Event, Merged, Op};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Groups of pages: enough that the spread of their sums is known, few enough that each has many pages.
const GROUPS: u32 = 16;

/// Capacities at which a miniature cache is tried, in hundredths of what is in proportion to the pages: as far as these differ, what
/// caches barely hold decides, and no miniature is right.
const CAPACITIES: [u32; 3] = [100, 80, 125];

/// Pages drawn for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageDraw {
    /// Which pages.
    pub drawn: Drawn,
    /// References to other pages that the recording does not have.
    pub left_out: u64,
    /// Bytes by which addresses are displaced before their pages are drawn, a multiple of the page's: of a whole recording, each
    /// displacement draws other pages. 0 for what the recorder drew.
    pub displaced: u64,
}

impl PageDraw {
    /// What the recorder drew.
    pub fn recorded(drawn: Drawn, left_out: u64) -> PageDraw {
        PageDraw { drawn, left_out, displaced: 0 }
    }
    #[inline]
    fn holds(&self, flat: u64) -> bool {
        self.drawn.holds(unflatten(flat).1.wrapping_add(self.displaced))
    }
    fn group(&self, flat: u64) -> usize {
        self.drawn.group(unflatten(flat).1.wrapping_add(self.displaced), GROUPS).unwrap_or(0)
    }
}

/// Estimates what an evaluation of all pages would find, from a recording of these.
///
/// # Errors
/// As [`evaluate`](crate::evaluate()); blocks are larger than the pages that were drawn, or the objects cannot be asked twice.
pub fn estimate_pages(
    source: &mut dyn Source,
    objects: &dyn Objects,
    context: &EvalContext<'_>,
    draw: PageDraw,
) -> Result<Estimate, SimError> {
    let (setup, drawn) = (context.setup, draw.drawn);
    let forks: Option<Vec<_>> = CAPACITIES.iter().map(|_| objects.fork()).collect();
    let Some(mut forks) = forks.filter(|_| setup.block_bytes <= drawn.page_bytes()) else {
        return Err(SimError::FewColours { block_bytes: setup.block_bytes, machine: setup.machine.name.clone() });
    };
    let smaller = CAPACITIES.map(|capacity| smaller(setup.machine, drawn.one_in(), capacity));
    // Without caches all are the same.
    let tried = if setup.machine.sections.caches.is_some() { CAPACITIES.len() } else { 1 };
    let choices = in_registry_order(context.policies, setup)?;
    let shift = setup.block_bytes.trailing_zeros();
    let together = Rc::new(Together::new(&mut *source.stream(0)?, (setup.bindings, shift), draw)?);
    let mut replays = Vec::new();
    for (small, fork) in smaller.iter().zip(&mut forks).take(tried) {
        let setup = Setup { machine: small, ..setup };
        let group = || Consumers::new(small, setup.block_bytes, &choices, Some(context.options.start));
        let groups = (0..GROUPS).map(|_| group()).collect::<Result<Vec<_>, SimError>>()?;
        let costs = GroupCosts::new(Lookup::new(&mut **fork), together.clone());
        replays.push(Replay::new(setup, (small, &[]), Grouped::new(groups, together.clone(), shift), costs)?);
    }
    let numbers: HashMap<u64, u64> = together.pages.iter().copied().zip(0..).collect();
    let refs = vec![0; numbers.len()];
    let mut pass = Pass { front: Front::new(setup.bindings), replays, together, numbers, shift, replayed: 0, refs };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        piece.refs.iter().for_each(|r| pass.reference(r));
        if let Some((event, _)) = piece.event {
            pass.replays.iter_mut().for_each(|replay| replay.observer().event(event));
        }
    }
    drop(stream);
    let Pass { front, replays, replayed, together, refs, .. } = pass;
    let all = u64::from(GROUPS) * u64::from(drawn.one_in());
    let seen = Seen { front: &front, colours: all, replayed };
    let groups = together.pages.iter().map(|page| draw.group(*page));
    let references = References::new(groups.zip(refs), (GROUPS, drawn.one_in()), front.time + draw.left_out);
    let mut found: Option<Estimate> = None;
    for (replay, small) in replays.into_iter().zip(&smaller) {
        let done = replay.finish()?;
        let GroupCosts { objects, groups, pages, .. } = done.observer;
        let objects = objects.into_inner();
        let priced = done.consumers.priced(small, setup.block_bytes);
        let parts: Vec<_> = priced.into_iter().zip(groups).map(|(p, objects)| with_transfers(p, objects)).collect();
        let sample = Sample::of_pages(all as usize, pages.values().map(|cost| cost.as_f64()), &references);
        let handover = handover(small, setup.block_bytes);
        let one = Looked { choices: &choices, sample, parts, handover }.estimate(&seen, &*objects);
        match &mut found {
            None => found = Some(one),
            Some(found) => found.widen(&one),
        }
    }
    let mut found = found.unwrap_or_default();
    found.unlike = references.unlike() as u64;
    Ok(found)
}

/// The prices of a group of pages, with what its lines cost that come from other caches.
fn with_transfers(mut priced: Priced, objects: BTreeMap<u32, ObjectCost>) -> (Priced, BTreeMap<u32, ObjectCost>) {
    priced.totals.transfer_cost = objects.values().map(|o| o.transfer).sum();
    (priced, objects)
}

/// The machine with caches of one in so many sets, times so many hundredths; where that is less than one set, of fewer ways.
fn smaller(machine: &Machine, one_in: u32, hundredths: u32) -> Machine {
    let mut small = machine.clone();
    if let Some(caches) = &mut small.sections.caches {
        let line_bytes = u64::from(caches.line_bytes);
        let shrink = |g: &mut CacheGeometry| {
            let sets = g.bytes / (u64::from(g.ways) * line_bytes).max(1) * u64::from(hundredths);
            let one_in = u64::from(one_in) * 100;
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

/// Drawn pages side by side in the order of their addresses: as arrays fill the sets of a cache evenly, and those of their pages that
/// were drawn at random would not.
struct Together {
    draw: PageDraw,
    /// By their number, the flat addresses of pages.
    pages: Vec<u64>,
}

impl Together {
    /// All pages that a stream has.
    fn new(
        stream: &mut dyn Stream,
        (bindings, shift): (&[ThreadBinding], u32),
        draw: PageDraw,
    ) -> Result<Together, SimError> {
        let (mut front, mut last, mut pages) = (Front::new(bindings), u64::MAX, HashSet::new());
        while let Some(piece) = stream.pull()? {
            for r in piece.refs {
                drawn_pieces(&mut front, &draw, shift, r, |addr, _| {
                    let page = addr & !(draw.drawn.page_bytes() - 1);
                    if page != last {
                        pages.insert(page);
                        last = page;
                    }
                });
            }
        }
        let mut pages: Vec<u64> = pages.into_iter().collect();
        pages.sort_unstable();
        Ok(Together { draw, pages })
    }
    fn bytes(&self) -> u64 {
        self.draw.drawn.page_bytes()
    }
    /// The flat address of one among the pages side by side.
    fn flat(&self, addr: u64) -> u64 {
        let (number, offset) = (addr / self.bytes(), addr % self.bytes());
        self.pages.get(number as usize).copied().unwrap_or(0) | offset
    }
    /// The group of an address among the pages side by side.
    fn group(&self, addr: u64) -> usize {
        self.draw.group(self.flat(addr))
    }
}

/// Calls `each` with the flat addresses in drawn pages of a reference, block by block, and so many bytes beyond each.
#[inline]
fn drawn_pieces(front: &mut Front, draw: &PageDraw, shift: u32, r: &Merged, mut each: impl FnMut(u64, u64)) {
    let Some((place, _)) = front.reference(r) else { return };
    if r.op == Op::Spin {
        return;
    }
    for piece in Pieces::new(r.addr, r.size, shift) {
        let flat = piece.addr ^ place.space_tag;
        if draw.holds(flat) {
            each(flat, piece.last - piece.addr);
        }
    }
}

/// A replay of the pages that were drawn, with caches of several capacities; what is recorded of others, locks and atomics, is left out.
struct Pass<'m, 'a> {
    front: Front,
    replays: Vec<Replay<'m, Grouped<'m>, GroupCosts<'a>>>,
    together: Rc<Together>,
    numbers: HashMap<u64, u64>,
    shift: u32,
    replayed: u64,
    /// By page, its references.
    refs: Vec<u64>,
}

impl Pass<'_, '_> {
    #[inline]
    fn reference(&mut self, r: &Merged) {
        let Pass { front, replays, together, numbers, refs, replayed, shift } = self;
        let (page_bytes, one_in) = (together.bytes(), u64::from(together.draw.drawn.one_in()));
        let mut begins = true;
        drawn_pieces(front, &together.draw, *shift, r, |flat, beyond| {
            *replayed += u64::from(begins);
            let offset = flat & (page_bytes - 1);
            let Some(page) = numbers.get(&(flat - offset)) else { return };
            refs[*page as usize] += u64::from(begins);
            // It stands for so many references in the time of policies.
            let (addr, number) = (page * page_bytes + offset, *replayed * one_in);
            let (site, thread, op, locked) = (r.site, r.thread, r.op, Locked::default());
            let piece = BlockReference { addr, number, locked, size: beyond as u32 + 1, site, thread, op, begins };
            replays.iter_mut().for_each(|replay| replay.block_reference(&piece));
            begins = false;
        });
    }
}

/// Policies and bounds of each group of pages.
struct Grouped<'m> {
    groups: Vec<Consumers<'m>>,
    together: Rc<Together>,
    shift: u32,
    /// By slot, its group and its slot there.
    slots: Vec<(usize, u32)>,
    /// By group, the numbers of its blocks, and steps on their way to it.
    numbers: Vec<Vec<u64>>,
    steps: Vec<Vec<Step>>,
}

impl<'m> Grouped<'m> {
    fn new(groups: Vec<Consumers<'m>>, together: Rc<Together>, shift: u32) -> Grouped<'m> {
        let n = groups.len();
        Grouped { groups, together, shift, slots: Vec::new(), numbers: vec![Vec::new(); n], steps: vec![Vec::new(); n] }
    }
    fn priced(self, machine: &Machine, block_bytes: u64) -> Vec<Priced> {
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
struct GroupCosts<'a> {
    objects: Lookup<'a>,
    together: Rc<Together>,
    groups: Vec<BTreeMap<u32, ObjectCost>>,
    pages: BTreeMap<u64, TotalCost>,
}

impl<'a> GroupCosts<'a> {
    fn new(objects: Lookup<'a>, together: Rc<Together>) -> GroupCosts<'a> {
        GroupCosts { objects, together, groups: vec![BTreeMap::new(); GROUPS as usize], pages: BTreeMap::new() }
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
    }
    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
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
