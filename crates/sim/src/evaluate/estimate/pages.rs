//! What a recording of some pages says of all: its pages are replayed in caches that are as much smaller as they are fewer
//! (miniature simulation: Waldspurger, Saemundsson, Ahmad and Park, Cache Modeling and Optimization using Miniature Simulations,
//! USENIX ATC 2017, section 3), and groups of them are priced apart, as their differences say how far the sum can be trusted.
use super::costs::ObjectCost;
use super::{Estimate, Looked, Part, Seen, handover};
use crate::SimError;
use crate::consumers::AccessConsumer;
use crate::engine::{Besides, Consumers, Priced};
use crate::evaluate::lookup::Lookup;
use crate::evaluate::{EvalContext, Objects, in_registry_order};
use crate::front::Front;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::split::Pieces;
use homenode_analysis::inference::{Certain, References, Sample};
use homenode_analysis::{BlockReference, Locked};
use homenode_base::pages::Drawn;
use homenode_base::spaces::unflatten;
use homenode_base::{Cost, TotalCost};
use homenode_machine::{CacheGeometry, Location, Machine};
use homenode_placement::{Access, Step};
use homenode_threads::ThreadBinding;
use homenode_trace::manifest::CertainPages;
use homenode_trace::order::{Source, Stream};
use homenode_trace::{Event, Merged, Op};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Groups of pages: enough that the spread of their sums is known, few enough that each has many pages.
const GROUPS: u32 = 16;

/// Capacities at which a miniature cache is tried, beside what is in proportion to the pages: as far as these differ, what caches barely
/// hold decides, and no miniature is right.
const CAPACITIES: [f64; 3] = [1.0, 0.8, 1.25];

/// How fast the time of policies goes in each of these, as a fraction: where a page is used for a while, references to it stand for others
/// that are not there at that time.
const CLOCKS: [(u64, u64); 3] = [(1, 1), (1, 4), (4, 1)];

/// How much fewer and more pages may have been drawn than one in so many, as far as capacities follow their references.
const PART_OF_DRAWN: (f64, f64) = (0.8, 1.25);

/// Pages drawn for a recording, and those that it has besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDraw {
    /// Which pages.
    pub drawn: Drawn,
    /// References to other pages that the recording does not have.
    pub left_out: u64,
    /// Buckets of pages that it has whether they were drawn or not, ascending.
    pub certain: Vec<CertainPages>,
    /// Bytes by which addresses are displaced before their pages are drawn, a multiple of the page's: of a whole recording, each
    /// displacement draws other pages. 0 for what the recorder drew.
    pub displaced: u64,
}

/// Pages that were drawn and pages that are certain are looked at apart.
pub(super) const LOTS: usize = 2;

impl PageDraw {
    /// What the recorder drew.
    pub fn recorded(drawn: Drawn, left_out: u64) -> PageDraw {
        PageDraw { drawn, left_out, certain: Vec::new(), displaced: 0 }
    }
    /// Which lot has the page of an address, and which of its groups.
    #[inline]
    pub(super) fn group(&self, flat: u64) -> Option<(usize, usize)> {
        let addr = unflatten(flat).1.wrapping_add(self.displaced);
        if !self.certain.is_empty()
            && let Ok(number) = self.certain.binary_search_by_key(&self.drawn.bucket(addr), |c| c.bucket)
        {
            return Some((1, number));
        }
        self.drawn.group(addr, GROUPS).map(|group| (0, group))
    }
    /// So many groups has a lot.
    fn groups(&self, lot: usize) -> usize {
        if lot == 0 { GROUPS as usize } else { self.certain.len() }
    }
    /// By lot, the machine with caches of the capacities that are tried. Those of drawn pages are in proportion to the references that they have
    /// of all but those to certain ones, as far as that is not too unlike one in so many: pages are often as many more, or fewer.
    fn machines(&self, machine: &Machine, census: &Census) -> [[Machine; CAPACITIES.len()]; LOTS] {
        let before: u64 = self.certain.iter().map(|c| c.left_out).sum();
        let rest = (census.all + self.left_out).saturating_sub(before + census.refs(1)) as f64;
        let share = census.refs(0) as f64 / rest.max(1.0);
        let one_in = f64::from(self.drawn.one_in());
        let part = (share * one_in).clamp(PART_OF_DRAWN.0, PART_OF_DRAWN.1) / one_in;
        [part, 1.0].map(|part| CAPACITIES.map(|capacity| smaller(machine, part * capacity)))
    }
    /// For how many references one to a page of a lot stands.
    fn stands_for(&self, lot: usize) -> u32 {
        if lot == 0 { self.drawn.one_in() } else { 1 }
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
    let (setup, one_in) = (context.setup, draw.drawn.one_in());
    let refused = || SimError::FewColours { block_bytes: setup.block_bytes, machine: setup.machine.name.clone() };
    // Without caches all are the same.
    let tried = if setup.machine.sections.caches.is_some() { CAPACITIES.len() } else { 1 };
    let forks: Option<Vec<_>> = (0..LOTS * tried).map(|_| objects.fork()).collect();
    let Some(mut forks) = forks.filter(|_| setup.block_bytes <= draw.drawn.page_bytes()) else { return Err(refused()) };
    let choices = in_registry_order(context.policies, setup)?;
    let shift = setup.block_bytes.trailing_zeros();
    let draw = Rc::new(draw);
    let census = Census::new(&mut *source.stream(0)?, (setup.bindings, shift), &draw)?;
    let smaller = draw.machines(setup.machine, &census);
    let mut lots = Vec::new();
    for ((lot, smaller), forks) in smaller.iter().enumerate().zip(forks.chunks_mut(tried)) {
        let together = Rc::new(Together::new(&draw, lot, &census.pages[lot]));
        let mut replays = Vec::new();
        for (small, fork) in smaller.iter().zip(forks) {
            let setup = Setup { machine: small, ..setup };
            let group = || Consumers::new(small, setup.block_bytes, &choices, Besides::bounds(context.options.start));
            let groups = (0..together.groups()).map(|_| group()).collect::<Result<Vec<_>, SimError>>()?;
            let costs = GroupCosts::new(Lookup::new(&mut **fork), together.clone());
            replays.push(Replay::new(setup, (small, &[]), Grouped::new(groups, together.clone(), shift), costs)?);
        }
        lots.push(Lot::new(together, replays, &census.pages[lot]));
    }
    let mut pass = Pass { front: Front::new(setup.bindings), draw: draw.clone(), lots, shift, replayed: 0, time: 0 };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        piece.refs.iter().for_each(|r| pass.reference(r));
        if let Some((event, _)) = piece.event {
            pass.lots.iter_mut().flat_map(|lot| &mut lot.replays).for_each(|replay| replay.observer().event(event));
        }
    }
    drop(stream);
    let Pass { front, lots, replayed, .. } = pass;
    let all = u64::from(GROUPS) * u64::from(one_in);
    let before = draw.certain.iter().map(|c| c.left_out);
    let refs = front.time + draw.left_out;
    let certain = Certain { refs: lots[1].refs_of_groups().into_iter().zip(before).collect(), all: refs };
    let rest = refs.saturating_sub(certain.sum());
    let pages: Vec<_> = lots[0].refs_of_pages().collect();
    let references = References::new(pages.iter().copied(), (GROUPS, one_in), rest);
    let seen = Seen { front: &front, colours: all, looked_at: u64::from(GROUPS), replayed };
    let mut found: Option<Estimate> = None;
    let [drawn, sure] = <[Lot<'_, '_>; LOTS]>::try_from(lots).map_err(|_| refused())?;
    for (i, (drawn, sure)) in drawn.replays.into_iter().zip(sure.replays).enumerate() {
        let (drawn, sure) = (drawn.finish()?, sure.finish()?);
        let cost = |number| drawn.observer.pages.get(&number).map_or(0.0, |cost| cost.as_f64());
        let costs: Vec<_> = (0..).zip(&pages).map(|(number, (_, refs))| (cost(number), *refs as f64)).collect();
        let objects = drawn.observer.objects.into_inner();
        let mut parts = priced(drawn.consumers, (&smaller[0][i], setup.block_bytes), drawn.observer.groups);
        parts.extend(priced(sure.consumers, (&smaller[1][i], setup.block_bytes), sure.observer.groups));
        let sample = Sample::of_pages(all as usize, &costs, &references, certain.clone());
        let handover = handover(setup.machine, setup.block_bytes);
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

/// The prices of groups of pages.
fn priced(
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

/// The machine with caches of such a part of the sets; where that is less than one set, of fewer ways.
fn smaller(machine: &Machine, part: f64) -> Machine {
    let mut small = machine.clone();
    if let Some(caches) = &mut small.sections.caches {
        let line_bytes = u64::from(caches.line_bytes);
        let shrink = |g: &mut CacheGeometry| {
            let sets = (g.bytes / (u64::from(g.ways) * line_bytes).max(1)) as f64 * part;
            if sets < 1.0 {
                g.ways = (f64::from(g.ways) * sets).ceil().max(1.0) as u32;
            }
            g.bytes = (sets as u64).max(1) * u64::from(g.ways) * line_bytes;
        };
        shrink(&mut caches.private);
        shrink(&mut caches.shared);
    }
    small
}

/// What a stream has, counted before it is replayed.
struct Census {
    /// By lot, references by page.
    pages: [HashMap<u64, u64>; LOTS],
    /// References to any page.
    all: u64,
}

impl Census {
    fn new(
        stream: &mut dyn Stream,
        (bindings, shift): (&[ThreadBinding], u32),
        draw: &PageDraw,
    ) -> Result<Census, SimError> {
        let (mut front, mut pages) = (Front::new(bindings), [HashMap::new(), HashMap::new()]);
        // References to the last page, of its lot, that are not in its count yet.
        let (mut last, mut of, mut run) = (u64::MAX, 0, 0);
        while let Some(piece) = stream.pull()? {
            for r in piece.refs {
                let mut begins = true;
                pieces(&mut front, draw, shift, r, |lot, addr, _| {
                    let page = addr & !(draw.drawn.page_bytes() - 1);
                    if page != last {
                        if last != u64::MAX {
                            *pages[of].entry(last).or_default() += run;
                        }
                        (last, of, run) = (page, lot, 0);
                    }
                    run += u64::from(begins);
                    begins = false;
                });
            }
        }
        if last != u64::MAX {
            *pages[of].entry(last).or_default() += run;
        }
        Ok(Census { pages, all: front.time })
    }
    fn refs(&self, lot: usize) -> u64 {
        self.pages[lot].values().sum()
    }
}

/// Pages of a lot side by side in the order of their addresses: as arrays fill the sets of a cache evenly, and those of their pages that
/// were drawn at random would not.
struct Together {
    draw: Rc<PageDraw>,
    lot: usize,
    /// By their number, the flat addresses of pages.
    pages: Vec<u64>,
}

impl Together {
    fn new(draw: &Rc<PageDraw>, lot: usize, counts: &HashMap<u64, u64>) -> Together {
        let mut pages: Vec<u64> = counts.keys().copied().collect();
        pages.sort_unstable();
        Together { draw: draw.clone(), lot, pages }
    }
    fn bytes(&self) -> u64 {
        self.draw.drawn.page_bytes()
    }
    fn groups(&self) -> usize {
        self.draw.groups(self.lot)
    }
    /// The flat address of one among the pages side by side.
    fn flat(&self, addr: u64) -> u64 {
        let (number, offset) = (addr / self.bytes(), addr % self.bytes());
        self.pages.get(number as usize).copied().unwrap_or(0) | offset
    }
    /// The group of an address among the pages side by side.
    fn group(&self, addr: u64) -> usize {
        self.draw.group(self.flat(addr)).map_or(0, |(_, group)| group)
    }
}

/// Calls `each` with the lots and flat addresses of a reference's parts in pages that count, block by block, and so many bytes beyond each.
#[inline]
fn pieces(front: &mut Front, draw: &PageDraw, shift: u32, r: &Merged, mut each: impl FnMut(usize, u64, u64)) {
    let Some((place, _)) = front.reference(r) else { return };
    if r.op == Op::Spin {
        return;
    }
    for piece in Pieces::new(r.addr, r.size, shift) {
        let flat = piece.addr ^ place.space_tag;
        if let Some((lot, _)) = draw.group(flat) {
            each(lot, flat, piece.last - piece.addr);
        }
    }
}

/// Replays of the pages of a lot, with caches of several capacities.
struct Lot<'m, 'a> {
    replays: Vec<Replay<'m, Grouped<'m>, GroupCosts<'a>>>,
    together: Rc<Together>,
    numbers: HashMap<u64, u64>,
    /// By page, its references.
    refs: Vec<u64>,
}

impl<'m, 'a> Lot<'m, 'a> {
    fn new(
        together: Rc<Together>,
        replays: Vec<Replay<'m, Grouped<'m>, GroupCosts<'a>>>,
        counts: &HashMap<u64, u64>,
    ) -> Lot<'m, 'a> {
        let numbers: HashMap<u64, u64> = together.pages.iter().copied().zip(0..).collect();
        let refs = together.pages.iter().map(|page| counts[page]).collect();
        Lot { replays, refs, together, numbers }
    }
    /// Of each page its group and its references.
    fn refs_of_pages(&self) -> impl Iterator<Item = (usize, u64)> {
        let groups = self.together.pages.iter().map(|page| self.together.draw.group(*page).map_or(0, |(_, g)| g));
        groups.zip(self.refs.iter().copied())
    }
    fn refs_of_groups(&self) -> Vec<u64> {
        let mut sums = vec![0; self.together.groups()];
        self.refs_of_pages().for_each(|(group, refs)| sums[group] += refs);
        sums
    }
}

/// A replay of the pages that were drawn and of those that are certain; what is recorded of others, locks and atomics, is left out.
struct Pass<'m, 'a> {
    front: Front,
    draw: Rc<PageDraw>,
    lots: Vec<Lot<'m, 'a>>,
    shift: u32,
    replayed: u64,
    /// References that those which were replayed stand for: the time of policies.
    time: u64,
}

impl Pass<'_, '_> {
    #[inline]
    fn reference(&mut self, r: &Merged) {
        let Pass { front, draw, lots, replayed, time, shift } = self;
        let mut begins = true;
        pieces(front, draw, *shift, r, |lot, flat, beyond| {
            *replayed += u64::from(begins);
            *time += u64::from(draw.stands_for(lot)) * u64::from(begins);
            let Lot { replays, together, numbers, .. } = &mut lots[lot];
            let offset = flat & (together.bytes() - 1);
            let Some(page) = numbers.get(&(flat - offset)) else { return };
            let (addr, number) = (page * together.bytes() + offset, *time);
            let (site, thread, op, locked) = (r.site, r.thread, r.op, Locked::default());
            let piece = BlockReference { addr, number, locked, size: beyond as u32 + 1, site, thread, op, begins };
            for (replay, (times, of)) in replays.iter_mut().zip(CLOCKS) {
                replay.block_reference(&BlockReference { number: number * times / of, ..piece });
            }
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
        GroupCosts { objects, groups: vec![BTreeMap::new(); together.groups()], pages: BTreeMap::new(), together }
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
