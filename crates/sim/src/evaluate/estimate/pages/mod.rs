//! What a recording of some pages says of all: its pages are replayed in caches that are as much smaller as they are fewer
//! (miniature simulation: Waldspurger, Saemundsson, Ahmad and Park, Cache Modeling and Optimization using Miniature Simulations,
//! USENIX ATC 2017, section 3), and groups of them are priced apart, as their differences say how far the sum can be trusted.
mod changes;
mod draw;
mod groups;

use super::{Estimate, Looked, Seen, handover};
use crate::SimError;
use crate::blocks::NumberMap;
use crate::engine::{Besides, Consumers};
use crate::evaluate::batches::{Pass, Routes, Shard, replay};
use crate::evaluate::first_pass::FirstPassObserver;
use crate::evaluate::lookup::Lookup;
use crate::evaluate::objects::FlatNames;
use crate::evaluate::shards::see;
use crate::evaluate::{EvalContext, Objects, analysis_setup, in_registry_order};
use crate::front::Front;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
pub use draw::PageDraw;
use draw::{CAPACITIES, Census, GROUPS, LOTS, Together, pieces};
use groups::{GroupCosts, Grouped, priced};
use homenode_analysis::inference::{Certain, References, Sample};
use homenode_analysis::{Analysed, Analysis, BlockReference, Locked, Overview};
use homenode_base::NodeId;
use homenode_base::spaces::tag;
use homenode_machine::Machine;
use homenode_placement::policies::Choice;
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged};
use std::collections::HashMap;
use std::sync::Arc;

/// How fast the time of policies goes in each of these, as a fraction: where a page is used for a while, references to it stand for others
/// that are not there at that time.
const CLOCKS: [(u64, u64); CAPACITIES.len()] = [(1, 1), (1, 4), (4, 1)];

/// Estimates what an evaluation of all pages would find, from a recording of these. Changes of the program are looked at, in a pass of
/// their own, unless [`candidates_max`](crate::EvalOptions::candidates_max) is 0.
///
/// # Errors
/// As [`evaluate`](crate::evaluate()); blocks are larger than the pages that were drawn, or the objects cannot be asked twice.
pub fn estimate_pages(
    source: &mut dyn Source,
    objects: &dyn Objects,
    context: &EvalContext<'_>,
    draw: PageDraw,
) -> Result<Estimate, SimError> {
    let (setup, options) = (context.setup, context.options);
    let refused = || SimError::FewColours { block_bytes: setup.block_bytes, machine: setup.machine.name.clone() };
    if setup.block_bytes > draw.drawn.page_bytes() {
        return Err(refused());
    }
    let choices = in_registry_order(context.policies, setup)?;
    let pages = Pages::new(source, context, draw)?;
    let tried = pages.machines[0].len();
    let (nodes, cpus): (Vec<NodeId>, Vec<u16>) = setup.bindings.iter().map(|s| (s.node, s.cpu)).unzip();
    let each = tried + usize::from(options.candidates_max > 0);
    let forks: Option<Vec<_>> = (0..LOTS * each).map(|_| objects.fork()).collect();
    let mut forks = forks.ok_or_else(refused)?;
    let analysis = || Analysis::of_colours(analysis_setup(&setup, (&nodes, &cpus)));
    let mut shards = Vec::new();
    for (lot, forks) in forks.chunks_mut(each).enumerate() {
        let (forks, rest) = forks.split_at_mut(tried);
        let mut analysis = rest.first_mut().map(|o| FirstPassObserver::new(analysis(), &mut **o, setup.bindings));
        for ((small, objects), clock) in pages.machines[lot].iter().zip(forks).zip(CLOCKS) {
            let watch = (Lookup::new(&mut **objects), analysis.take());
            shards.push(Shard::new(Small { replay: pages.replay((lot, small), context, &choices, watch)?, clock }));
        }
    }
    let mut router = Router::new(context, &pages, objects);
    replay(&mut *source.stream(0)?, &mut router, &mut shards, context.workers)?;
    let Found { mut estimate, looked, analysed, refs } = router.finish(shards, context, &choices)?;
    if let Some(analysed) = analysed {
        let (candidates, untried) = changes::candidates(analysed, &looked[0], &pages, &options);
        let savings = changes::replay(&candidates, source, context, (&pages, &looked))?;
        estimate.least_saving = estimate.least_saving(context, refs);
        estimate.changes = Some(changes::worth(candidates, savings, estimate.least_saving));
        estimate.untried = untried;
    }
    Ok(estimate)
}

/// What is replayed, and in what caches.
struct Pages {
    draw: Arc<PageDraw>,
    census: Census,
    /// Binary logarithm of a block's bytes.
    shift: u32,
    /// By lot, with caches of the capacities that are tried; without caches there is one.
    machines: [Vec<Machine>; LOTS],
    together: [Arc<Together>; LOTS],
}

impl Pages {
    fn new(source: &mut dyn Source, context: &EvalContext<'_>, draw: PageDraw) -> Result<Pages, SimError> {
        let (setup, draw) = (context.setup, Arc::new(draw));
        let shift = setup.block_bytes.trailing_zeros();
        let census = Census::new(&mut *source.stream(0)?, (setup.bindings, shift), &draw)?;
        let tried = if setup.machine.sections.caches.is_some() { CAPACITIES.len() } else { 1 };
        let machines = draw.machines(setup.machine, &census).map(|of| of.into_iter().take(tried).collect());
        let together = [0, 1].map(|lot| Arc::new(Together::new(&draw, lot, &census.pages[lot])));
        Ok(Pages { draw, census, shift, machines, together })
    }

    /// A replay of one lot, with who watches it.
    fn replay<'m, 'a>(
        &self,
        (lot, small): (usize, &'m Machine),
        context: &EvalContext<'_>,
        choices: &[Choice],
        (objects, analysis): (Lookup<'a>, Option<FirstPassObserver<'a>>),
    ) -> Result<Replay<'m, Grouped<'m>, GroupCosts<'a>>, SimError> {
        let (setup, together) = (context.setup, &self.together[lot]);
        let group = || Consumers::new(small, setup.block_bytes, choices, Besides::bounds(context.options.start));
        let groups = (0..together.groups()).map(|_| group()).collect::<Result<Vec<_>, SimError>>()?;
        let grouped = Grouped::new(groups, together.clone(), self.shift);
        let costs = GroupCosts::new(objects, together.clone(), analysis);
        Replay::new(Setup { machine: small, waits: &[], ..setup }, (small, &[]), grouped, costs)
    }
}

/// What a pass found.
struct Found<'c> {
    estimate: Estimate,
    /// By capacity.
    looked: Vec<Looked<'c>>,
    /// By lot, where changes are looked for and there is a first touch that they would save something of.
    analysed: Option<[Analysed; LOTS]>,
    /// References to all pages.
    refs: u64,
}

/// A replay of the pages of a lot in caches of one capacity.
struct Small<'m, 'a> {
    replay: Replay<'m, Grouped<'m>, GroupCosts<'a>>,
    /// See [`CLOCKS`].
    clock: (u64, u64),
}

impl Pass for Small<'_, '_> {
    fn block_reference(&mut self, r: &BlockReference) {
        let (times, of) = self.clock;
        self.replay.block_reference(&BlockReference { number: r.number * times / of, ..*r });
    }
    fn event(&mut self, event: &Event) {
        self.replay.observer().event(event);
    }
}

/// What is known of the pages of a lot besides.
struct Lot {
    numbers: NumberMap<u64>,
    /// By page, its group and its references.
    refs: Vec<(usize, u64)>,
    /// What the analysis wants to know of all references.
    overview: Overview,
}

impl Lot {
    fn new(together: &Together, counts: &HashMap<u64, u64>) -> Lot {
        let numbers = together.pages.iter().copied().zip(0..).collect();
        let group = |page| together.draw.group(page).map_or(0, |(_, group)| group);
        let refs = together.pages.iter().map(|page| (group(*page), counts[page])).collect();
        Lot { numbers, refs, overview: Overview::default() }
    }
}

/// Sends on references to pages that were drawn and to those that are certain; what is recorded of others, locks and atomics, is left out.
struct Router<'p> {
    front: Front,
    pages: &'p Pages,
    lots: [Lot; LOTS],
    objects: &'p dyn Objects,
    /// Whether somebody looks for changes.
    analyses: bool,
    space_tags: Vec<u64>,
    replayed: u64,
    /// References that those which were replayed stand for: the time of policies.
    time: u64,
}

impl Routes for Router<'_> {
    #[inline]
    fn reference(&mut self, r: &Merged, mut send: impl FnMut(usize, BlockReference)) {
        let Router { front, pages, lots, analyses, replayed, time, .. } = self;
        let (mut begins, mut locked) = (true, Locked::default());
        pieces(front, &pages.draw, pages.shift, r, |lot, flat, beyond| {
            *replayed += u64::from(begins);
            *time += u64::from(pages.draw.stands_for(lot)) * u64::from(begins);
            let Lot { numbers, overview, .. } = &mut lots[lot];
            if *analyses && begins {
                locked = overview.reference((r.thread, r.site), flat, r.op, r.weight);
            }
            let page_bytes = pages.draw.drawn.page_bytes();
            let offset = flat & (page_bytes - 1);
            let Some(page) = numbers.get(&(flat - offset)) else { return };
            let (addr, number) = (page * page_bytes + offset, *time);
            let (site, thread, op) = (r.site, r.thread, r.op);
            let piece = BlockReference { addr, number, locked, size: beyond as u32 + 1, site, thread, op, begins };
            let tried = pages.machines[lot].len();
            (0..tried).for_each(|capacity| send(lot * tried + capacity, piece));
            begins = false;
        });
    }

    fn event(&mut self, event: &Event) {
        if self.analyses {
            let seen = (&*self.space_tags, self.objects);
            self.lots.iter_mut().for_each(|lot| see(&mut lot.overview, event, seen));
        }
    }
}

impl<'p> Router<'p> {
    fn new(context: &EvalContext<'_>, pages: &'p Pages, objects: &'p dyn Objects) -> Router<'p> {
        let setup = context.setup;
        Router {
            front: Front::new(setup.bindings),
            pages,
            lots: [0, 1].map(|lot| Lot::new(&pages.together[lot], &pages.census.pages[lot])),
            objects,
            analyses: context.options.candidates_max > 0,
            space_tags: setup.bindings.iter().map(|b| tag(b.space)).collect(),
            replayed: 0,
            time: 0,
        }
    }

    fn finish<'c>(
        self,
        shards: Vec<Shard<Small<'_, '_>>>,
        context: &EvalContext<'_>,
        choices: &'c [Choice],
    ) -> Result<Found<'c>, SimError> {
        let Router { front, pages, lots: [drawn, sure], analyses, replayed, time, .. } = self;
        let (setup, draw) = (context.setup, &pages.draw);
        let one_in = draw.drawn.one_in();
        let all = u64::from(GROUPS) * u64::from(one_in);
        let refs = front.time + draw.left_out;
        let before = draw.certain.iter().map(|c| c.left_out);
        let mut sums = vec![0; pages.together[1].groups()];
        sure.refs.iter().for_each(|(group, refs)| sums[*group] += refs);
        let certain = Certain { refs: sums.into_iter().zip(before).collect(), all: refs };
        let references =
            References::new(drawn.refs.iter().copied(), (GROUPS, one_in), refs.saturating_sub(certain.sum()));
        let seen = Seen { front: &front, colours: all, looked_at: u64::from(GROUPS), replayed };
        let handover = handover(setup.machine, setup.block_bytes);
        let (mut estimate, mut looked, mut analysed) = (None::<Estimate>, Vec::new(), Vec::new());
        let drawn_pages = drawn.refs;
        let mut overviews = [drawn.overview, sure.overview].into_iter();
        let mut of_drawn = shards;
        let of_sure = of_drawn.split_off(pages.machines[0].len());
        for (i, (drawn, sure)) in of_drawn.into_iter().zip(of_sure).enumerate() {
            let (drawn, sure) = (drawn.pass.replay.finish()?, sure.pass.replay.finish()?);
            let cost = |number| drawn.observer.pages.get(&number).map_or(0.0, |cost| cost.as_f64());
            let costs: Vec<_> =
                (0..).zip(&drawn_pages).map(|(number, (_, refs))| (cost(number), *refs as f64)).collect();
            let sample = Sample::of_pages(all as usize, &costs, &references, certain.clone());
            for analysis in [drawn.observer.analysis, sure.observer.analysis].into_iter().flatten() {
                let (analysis, names) = analysis.into_parts();
                let overview = overviews.next().unwrap_or_default();
                analysed.push(Analysis::finish_all(vec![analysis], overview, time, &FlatNames(names)));
            }
            let mut parts = priced(drawn.consumers, (&pages.machines[0][i], setup.block_bytes), drawn.observer.groups);
            parts.extend(priced(sure.consumers, (&pages.machines[1][i], setup.block_bytes), sure.observer.groups));
            let one = Looked { choices, sample, parts, handover };
            let more = one.estimate(&seen, &*drawn.observer.objects.into_inner());
            match &mut estimate {
                None => estimate = Some(more),
                Some(found) => found.widen(&more),
            }
            looked.push(one);
        }
        let estimate = Estimate { unlike: references.unlike() as u64, ..estimate.unwrap_or_default() };
        let wanted = analyses && looked.first().is_some_and(|l| l.base().is_some());
        let analysed = <[Analysed; LOTS]>::try_from(analysed).ok().filter(|_| wanted);
        Ok(Found { estimate, looked, analysed, refs })
    }
}
