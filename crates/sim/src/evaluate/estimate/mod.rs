//! A first answer: some of the colours of blocks (`colours.rs`) are replayed, exactly, and say what all of them come to.
mod changes;
mod costs;
mod known;
mod pages;
mod watch;

use super::batches::{Routes, Shard, replay};
use super::first_pass::FirstPassObserver;
use super::lookup::Lookup;
use super::objects::{FlatNames, Objects};
use super::shards::see;
use super::{EvalContext, FIRST_TOUCH, analysis_setup, in_registry_order, rows};
use crate::SimError;
use crate::colours::colours;
use crate::engine::{Besides, Priced, Watched};
use crate::front::Front;
use crate::split::Pieces;
pub use changes::ChangeEstimate;
use changes::Drawn;
use costs::{Costs, ObjectCost};
use homenode_analysis::inference::Sample;
use homenode_analysis::rows::Interval;
use homenode_analysis::{Analysis, BlockReference, Candidate, Locked, Names, Overview, UNKNOWN_OBJECT};
use homenode_base::spaces::tag;
use homenode_base::{Cost, NodeId, Rng, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::policies::Choice;
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged, Op};
use known::Known;
pub use pages::{PageDraw, estimate_pages};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use watch::Watch;

/// Fewer colours are no population to draw from.
pub const COLOURS_MIN: u64 = 8;
/// Colours that are replayed at least and at most.
const LOOKED_AT: (u64, u64) = (4, 8);
/// Objects that are told of.
const OBJECTS_MAX: usize = 12;
/// Of what was replayed, they cost so much at least.
const SHARE_MIN: f64 = 0.002;

/// What some colours say of a dataset on one machine at one block size. Costs are in the machine's unit; intervals are those of 95 %
/// confidence.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// References of all colours, busy waiting among them.
    pub refs: u64,
    /// Of these, busy waiting.
    pub spins: u64,
    /// References that were replayed.
    pub replayed: u64,
    /// References of threads that the dataset does not have.
    pub strangers: u64,
    /// Colours; of a recording of some pages, groups of as many pages as those that were recorded make.
    pub colours: u64,
    /// Of these, so many were replayed.
    pub looked_at: u64,
    /// Blocks touched, of the colours replayed.
    pub blocks: u64,
    /// References that are more than those to pages like the replayed ones can be; 0 unless some pages were recorded.
    pub unlike: u64,
    /// Policies in registry order.
    pub policies: Vec<EstimateRow>,
    /// Bounds; the lowest first.
    pub optimum: Vec<EstimateRow>,
    /// Cache-to-cache transfers as a share of the first-touch total; null without first touch.
    pub transfer: Option<Interval>,
    /// Data objects with the largest shares, largest first.
    pub objects: Vec<ObjectEstimate>,
    /// Changes of the program that may be worth it, those that save most first; null if none were asked for.
    pub changes: Option<Vec<ChangeEstimate>>,
    /// Changes that may be worth it, too, and were not tried.
    pub untried: u64,
    /// Share of the first-touch total that a change saves at least to be one of these; 0 if none were asked for.
    pub least_saving: f64,
}

/// A policy or bound.
#[derive(Clone, Debug)]
pub struct EstimateRow {
    /// Name, with parameters.
    pub name: String,
    /// Whether some placement reaches it; not where it is only a bound.
    pub reached: bool,
    /// Total, transfers among it.
    pub total: Interval,
    /// The total over that of first touch; null without first touch.
    pub ratio: Option<Interval>,
}

/// A data object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ObjectEstimate {
    /// What people call it.
    pub name: String,
    /// `global`, `heap`, `stack`, `map`, `shared`, `unknown`.
    pub kind: String,
    /// Share of the first-touch total that it costs.
    pub share: Interval,
    /// Part of its cost that memory of other nodes has, 0 to 1, as far as it was replayed.
    pub remote: f64,
    /// Part of its cost that lines from other caches have, 0 to 1, as far as it was replayed.
    pub transfer: f64,
}

impl Estimate {
    /// Every interval with what another replay of the same pages makes of it; its objects may be fewer.
    fn widen(&mut self, other: &Estimate) {
        let hull = |one: &mut Interval, more: &Interval| {
            *one = Interval { low: one.low.min(more.low), high: one.high.max(more.high) };
        };
        let both = |one: &mut Option<Interval>, more: &Option<Interval>| {
            one.iter_mut().zip(more).for_each(|(one, more)| hull(one, more));
        };
        for (mine, rows) in [(&mut self.policies, &other.policies), (&mut self.optimum, &other.optimum)] {
            for row in mine {
                for more in rows.iter().filter(|r| r.name == row.name) {
                    hull(&mut row.total, &more.total);
                    both(&mut row.ratio, &more.ratio);
                }
            }
        }
        both(&mut self.transfer, &other.transfer);
        for object in &mut self.objects {
            let same = other.objects.iter().filter(|o| (&o.name, &o.kind) == (&object.name, &object.kind));
            same.for_each(|o| hull(&mut object.share, &o.share));
        }
    }
}

/// Estimates what an evaluation would find, by some of the colours. `seed` draws them. Changes of the program are looked at, in a pass of
/// their own, unless [`candidates_max`](super::EvalOptions::candidates_max) is 0.
///
/// # Errors
/// As [`evaluate`](super::evaluate()); blocks have fewer than [`COLOURS_MIN`] colours ([`SimError::FewColours`]), as those of samples do.
pub fn estimate(
    source: &mut dyn Source,
    objects: &dyn Objects,
    context: &EvalContext<'_>,
    seed: u64,
) -> Result<Estimate, SimError> {
    let (setup, all) = (context.setup, colours(&context.setup));
    let drawn = draw(all, seed);
    let each = if context.options.candidates_max == 0 { 1 } else { 2 };
    let mut forks: Vec<_> = (0..drawn.len() * each).filter_map(|_| objects.fork()).collect();
    if all < COLOURS_MIN || forks.len() < drawn.len() * each {
        return Err(SimError::FewColours { block_bytes: setup.block_bytes, machine: setup.machine.name.clone() });
    }
    let choices = in_registry_order(context.policies, setup)?;
    let mut router = Router::new(context, (all, &drawn), objects);
    let (parts, candidates) = look(source, forks.chunks_mut(each), context, (&choices, &mut router))?;
    let handover = handover(setup.machine, setup.block_bytes);
    let Router { front, known, .. } = &router;
    let counts = |by_colour: &[u64]| {
        let seen = drawn.iter().map(|colour| by_colour[*colour] as f64);
        (by_colour.iter().map(|n| *n as f64).sum(), seen.collect())
    };
    let sample = Sample::new(all as usize, &counts(&known.accesses), &counts(&known.handovers));
    let seen = Seen { front, colours: all, looked_at: parts.len() as u64, replayed: router.replayed };
    let looked = Looked { choices: &choices, sample, parts, handover };
    let mut found = looked.estimate(&seen, &*forks[0]);
    if let Some((candidates, untried)) = candidates {
        found.untried = untried;
        let totals = changes::replay(&candidates, source, context, Drawn { all, colours: &drawn })?;
        let savings = totals.iter().map(|totals| looked.saving(totals));
        let changes = candidates.into_iter().zip(savings);
        found.least_saving = found.least_saving(context, found.refs - found.spins);
        found.changes = Some(changes::best(changes, found.least_saving));
    }
    Ok(found)
}

/// Replays the colours drawn, each with objects of its own, and twice where changes are looked for: what was looked at, the changes to
/// try, and how many more there are.
fn look<'a, 'f: 'a>(
    source: &mut dyn Source,
    forks: impl Iterator<Item = &'a mut [Box<dyn Objects + 'f>]>,
    context: &EvalContext<'_>,
    (choices, router): (&[Choice], &mut Router<'_>),
) -> Result<(Vec<Part>, Option<ToTry>), SimError> {
    let setup = context.setup;
    let nodes: Vec<NodeId> = setup.bindings.iter().map(|s| s.node).collect();
    let cpus: Vec<u16> = setup.bindings.iter().map(|s| s.cpu).collect();
    let analysis = || Analysis::of_colours(analysis_setup(&setup, (&nodes, &cpus)));
    let shard = |forks: &'a mut [Box<dyn Objects + 'f>]| -> Result<Shard<_>, SimError> {
        let mut forks = forks.iter_mut().map(|objects| &mut **objects as &mut dyn Objects);
        let costs = Costs::new(Lookup::new(forks.next().expect("there are objects for each shard")));
        let analysis = forks.next().map(|objects| FirstPassObserver::new(analysis(), objects, setup.bindings));
        let besides = Besides::bounds(context.options.start);
        Ok(Shard::new(Watched::new(setup, choices, besides, Watch { costs, analysis })?))
    };
    let mut shards = forks.map(shard).collect::<Result<Vec<_>, SimError>>()?;
    replay(&mut *source.stream(0)?, router, &mut shards, context.workers)?;
    let (mut parts, mut analyses, mut names) = (Vec::new(), Vec::new(), None);
    for shard in shards {
        let (priced, watch, _) = shard.pass.finish()?;
        parts.push((priced, watch.costs.rows().iter().copied().collect()));
        if let Some((analysis, objects)) = watch.analysis.map(FirstPassObserver::into_parts) {
            analyses.push(analysis);
            names.get_or_insert(objects);
        }
    }
    let base = choices.iter().position(|c| c.spec.name == FIRST_TOUCH);
    let candidates = names.zip(base).map(|(names, base)| {
        let overview = std::mem::take(&mut router.overview);
        let analysed = Analysis::finish_all(analyses, overview, router.front.time, &FlatNames(names));
        let base = parts.iter().map(|(priced, _): &Part| priced.total(base)).sum();
        changes::candidates(analysed, base, &context.options)
    });
    Ok((parts, candidates))
}

/// The colours to replay, ascending: a fixed part of them, one of each class of colours that agree in their low bits. Placements that deal
/// out blocks in turn put neighbours on different nodes; a draw from all colours may show those of one node alone.
fn draw(colours: u64, seed: u64) -> Vec<usize> {
    let classes = (colours / 4).clamp(LOOKED_AT.0, LOOKED_AT.1).min(colours);
    let mut rng = Rng::new(seed);
    let mut drawn: Vec<usize> =
        (0..classes).map(|class| (class + classes * rng.below(colours / classes)) as usize).collect();
    drawn.sort_unstable();
    drawn
}

/// Sees all references and sends on those of some colours.
struct Router<'a> {
    front: Front,
    known: Known,
    /// What the analysis wants to know of all references; unused where there is none.
    overview: Overview,
    analyses: bool,
    space_tags: Vec<u64>,
    objects: &'a dyn Objects,
    /// By colour, which shard has it.
    shard_of: Vec<Option<usize>>,
    block_shift: u32,
    replayed: u64,
}

impl<'a> Router<'a> {
    fn new(context: &EvalContext<'_>, (colours, drawn): (u64, &[usize]), objects: &'a dyn Objects) -> Router<'a> {
        let setup = context.setup;
        let line_shift = setup.machine.sections.caches.as_ref().map(|c| c.line_bytes.trailing_zeros());
        let mut shard_of = vec![None; colours as usize];
        drawn.iter().enumerate().for_each(|(shard, colour)| shard_of[*colour] = Some(shard));
        Router {
            front: Front::new(setup.bindings),
            known: Known::new(colours as usize, line_shift),
            overview: Overview::default(),
            analyses: context.options.candidates_max > 0,
            space_tags: setup.bindings.iter().map(|b| tag(b.space)).collect(),
            objects,
            shard_of,
            block_shift: setup.block_bytes.trailing_zeros(),
            replayed: 0,
        }
    }
}

impl Router<'_> {
    /// Notes what a reference touches of one block, from a flat address to so many bytes beyond it; which shard is to replay it, if
    /// any is.
    #[inline(always)]
    fn piece(
        &mut self,
        r: &Merged,
        (addr, beyond): (u64, u64),
        (number, locked): (u64, Locked),
    ) -> Option<(usize, BlockReference)> {
        let colour = (addr >> self.block_shift) as usize & (self.shard_of.len() - 1);
        self.known.reference(colour, (addr, addr.saturating_add(beyond)), r.thread, r.op);
        let shard = self.shard_of[colour]?;
        let (site, thread, op) = (r.site, r.thread, r.op);
        Some((shard, BlockReference { addr, number, locked, size: beyond as u32 + 1, site, thread, op, begins: true }))
    }
}

impl Routes for Router<'_> {
    #[inline(always)]
    fn reference(&mut self, r: &Merged, mut send: impl FnMut(usize, BlockReference)) {
        let Some((place, t)) = self.front.reference(r) else { return };
        if r.op == Op::Spin {
            return;
        }
        let locked = match self.analyses {
            true => self.overview.reference((r.thread, r.site), r.addr ^ place.space_tag, r.op, r.weight),
            false => Locked::default(),
        };
        // Almost every reference is to one block; a loop would cost more than all that is done here.
        let (shift, beyond) = (self.block_shift, u64::from(r.size.max(1)) - 1);
        match r.addr.checked_add(beyond) {
            Some(last) if last >> shift == r.addr >> shift => {
                if let Some((shard, piece)) = self.piece(r, (r.addr ^ place.space_tag, beyond), (t.0, locked)) {
                    self.replayed += 1;
                    send(shard, piece);
                }
            }
            _ => {
                let mut begins = true;
                for piece in Pieces::new(r.addr, r.size, shift) {
                    let bytes = (piece.addr ^ place.space_tag, piece.last - piece.addr);
                    if let Some((shard, piece)) = self.piece(r, bytes, (t.0, locked)) {
                        self.replayed += u64::from(begins);
                        send(shard, BlockReference { begins, ..piece });
                        begins = false;
                    }
                }
            }
        }
    }
    fn event(&mut self, event: &Event) {
        if self.analyses {
            see(&mut self.overview, event, (&self.space_tags, self.objects));
        }
    }
}

/// What there was.
struct Seen<'a> {
    front: &'a Front,
    colours: u64,
    looked_at: u64,
    replayed: u64,
}

/// Prices, and those of objects.
type Part = (Priced, BTreeMap<u32, ObjectCost>);

/// Changes to try, and how many more there are.
type ToTry = (Vec<Candidate>, u64);

/// What was looked at, a part a colour; or one a group of pages.
struct Looked<'c> {
    choices: &'c [Choice],
    sample: Sample,
    parts: Vec<Part>,
    /// What a line costs at most that goes from one thread to another, and what more where its block moves with it.
    handover: (f64, f64),
}

/// See [`Looked::handover`].
fn handover(machine: &Machine, block_bytes: u64) -> (f64, f64) {
    let nodes = || (0..machine.nodes()).map(|n| NodeId(n as u16));
    let pairs = || nodes().flat_map(|from| nodes().map(move |to| (from, Location::Node(to))));
    let dearest =
        |costs: &mut dyn Iterator<Item = Cost>| costs.filter(|c| *c < Cost::INFINITE).max().unwrap_or(Cost::ZERO);
    let access = |class| dearest(&mut pairs().map(|(from, to)| machine.access(class, from, to)));
    let transfer = machine.sections.caches.as_ref().map_or(Cost::ZERO, |c| c.transfer_near.max(c.transfer_far));
    let each = access(AccessClass::Read).max(access(AccessClass::Write)).max(transfer);
    let moved = dearest(&mut pairs().map(|(from, to)| machine.copy_cost(block_bytes, Location::Node(from), to)));
    (each.0 as f64, moved.0 as f64)
}

impl Looked<'_> {
    fn estimate(&self, seen: &Seen<'_>, objects: &dyn Objects) -> Estimate {
        let sample = &self.sample;
        let (each, each_move) = self.handover;
        let base = self.base().map(|i| self.values(|p| p.total(i)));
        let share = |values: &[f64]| base.as_ref().map(|base| sample.share(values, base, each));
        let policy = |(choice, i): (&Choice, usize)| {
            let values = self.values(|p| p.total(i));
            let ratio = match &base {
                Some(_) if choice.spec.name == FIRST_TOUCH => Some(Interval { low: 1.0, high: 1.0 }),
                base => base.as_ref().map(|base| sample.ratio(&values, base, (each + each_move, each))),
            };
            let total = sample.total(&values, each + each_move);
            EstimateRow { name: choice.to_string(), reached: true, total, ratio }
        };
        let bounds = self.parts.iter().map(|(p, _)| rows::optimum(p.bounds, p.totals.transfer_cost));
        let bounds: Vec<_> = bounds.collect();
        let optimum = bounds[0].iter().enumerate().map(|(i, bound)| {
            let values: Vec<f64> = bounds.iter().map(|part| part[i].total.as_f64()).collect();
            // No bound is above what first touch costs.
            EstimateRow {
                name: bound.name.clone(),
                reached: bound.exact,
                total: sample.total(&values, each),
                ratio: share(&values),
            }
        });
        let mut totals = crate::evaluation::Totals::default();
        seen.front.finish(&mut totals);
        Estimate {
            refs: totals.refs,
            spins: totals.spins,
            replayed: seen.replayed,
            strangers: seen.front.strangers,
            colours: seen.colours,
            looked_at: seen.looked_at,
            blocks: self.parts.iter().map(|(p, _)| p.blocks.len() as u64).sum(),
            unlike: 0,
            policies: self.choices.iter().zip(0..).map(policy).collect(),
            optimum: optimum.collect(),
            transfer: share(&self.values(|p| p.totals.transfer_cost)),
            objects: self.objects(objects, share),
            changes: None,
            untried: 0,
            least_saving: 0.0,
        }
    }

    /// Which choice is first touch.
    fn base(&self) -> Option<usize> {
        self.choices.iter().position(|c| c.spec.name == FIRST_TOUCH)
    }

    fn values(&self, of: impl Fn(&Priced) -> TotalCost) -> Vec<f64> {
        self.parts.iter().map(|(p, _)| of(p).as_f64()).collect()
    }

    fn objects(&self, objects: &dyn Objects, share: impl Fn(&[f64]) -> Option<Interval>) -> Vec<ObjectEstimate> {
        let mut sums: BTreeMap<u32, ObjectCost> = BTreeMap::new();
        for (object, cost) in self.parts.iter().flat_map(|(_, costs)| costs) {
            sums.entry(*object).or_default().add(cost);
        }
        let mut dearest: Vec<(u32, ObjectCost)> = sums.into_iter().collect();
        dearest.sort_by_key(|(object, sum)| (std::cmp::Reverse(sum.cost), *object));
        let row = |(object, sum): (u32, ObjectCost)| {
            let values: Vec<f64> =
                self.parts.iter().map(|(_, costs)| costs.get(&object).map_or(0.0, |c| c.cost.as_f64())).collect();
            let name = match object {
                UNKNOWN_OBJECT => homenode_analysis::ObjectName {
                    name: "unknown memory".into(),
                    kind: "unknown".into(),
                    ..Default::default()
                },
                _ => FlatNames(objects).object(object),
            };
            let of = |part: TotalCost| part.as_f64() / sum.cost.as_f64().max(1.0);
            Some(ObjectEstimate {
                name: name.name,
                kind: name.kind,
                share: share(&values)?,
                remote: of(sum.remote),
                transfer: of(sum.transfer),
            })
        };
        let all: f64 = dearest.iter().map(|(_, sum)| sum.cost.as_f64()).sum();
        let told = dearest.into_iter().take(OBJECTS_MAX).filter(|(_, sum)| sum.cost.as_f64() >= all * SHARE_MIN);
        told.filter_map(row).collect()
    }
}
