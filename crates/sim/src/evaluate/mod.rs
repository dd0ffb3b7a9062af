//! From a trace to an [`Evaluation`]: one pass for policies, bounds and analysis, one for what the candidates of findings
//! are worth, and one for all findings together.
mod batches;
pub mod estimate;
mod findings;
mod first_pass;
mod lookup;
mod objects;
mod rows;
mod shards;

use crate::SimError;
use crate::colours::colours;
use crate::engine::{Besides, Engine, Priced, Watched};
use crate::evaluation::{Evaluation, Traffic};
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::traffic::{Pace, Served, TrafficOptions, Windows, traffic};
use crate::whatif::PlacedConsumer;
use crate::workers::Workers;
use first_pass::FirstPassObserver;
use homenode_analysis::{Analysed, Analysis, Transform};
use homenode_base::{NodeId, TotalCost};
use homenode_placement::Start;
use homenode_placement::policies::{ALL, Choice, Member, PolicyError};
use homenode_trace::order::Source;
pub use objects::{NoObjects, ObjectRange, Objects};

/// What to evaluate.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// Machine, bindings, block size, replay options.
    pub setup: Setup<'a>,
    /// Policies; first touch, the base of all findings, is added if it is missing. Reported in registry order.
    pub policies: &'a [Choice],
    /// Options.
    pub options: EvalOptions,
    /// Who works at the same time: it does not change what is found.
    pub workers: &'a dyn Workers,
}

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvalOptions {
    /// Where blocks are before their first access, for the optimum.
    pub start: Start,
    /// A finding saves at least this many thousandths of the first-touch total.
    pub finding_permille: u32,
    /// At most this many candidates are replayed; how many were not is in [`Evaluation::untried_candidates`].
    pub candidates_max: usize,
    /// Further merges that policies are run on, for the spread of results that depend on the recorded order; 0 in model
    /// order.
    pub merges: u32,
    /// How the traffic of policies is counted; `None` leaves it out. Only where everything is one replay: [`MissModel::Overlap`](crate::MissModel::Overlap).
    pub traffic: Option<TrafficOptions>,
}

impl Default for EvalOptions {
    fn default() -> EvalOptions {
        EvalOptions { start: Start::FreeSet, finding_permille: 50, candidates_max: 12, merges: 0, traffic: None }
    }
}

/// Evaluates a dataset on one machine at one block size.
///
/// # Errors
/// The source fails, a policy does not fit the machine, or the machine or block size is not usable.
pub fn evaluate(
    source: &mut dyn Source,
    objects: &mut dyn Objects,
    context: &EvalContext<'_>,
) -> Result<Evaluation, SimError> {
    let setup = context.setup;
    let choices = in_registry_order(context.policies, setup)?;
    let nodes: Vec<NodeId> = setup.bindings.iter().map(|s| s.node).collect();
    let cpus: Vec<u16> = setup.bindings.iter().map(|s| s.cpu).collect();
    let seen = analysis_setup(&setup, (&nodes, &cpus));
    let (priced, analysed, traffic) = match seen.colours > 1 && objects.fork().is_some() {
        true => {
            let (priced, analysed) = shards::first_pass(source, objects, context, (&choices, &seen))?;
            (priced, analysed, None)
        }
        false => whole(source, objects, context, (&choices, &seen))?,
    };
    let (mut evaluation, candidates) = rows::evaluation(context, &choices, &priced, analysed);
    evaluation.traffic = traffic;
    findings::fill(&mut evaluation, candidates, source, context)?;
    spread(&mut evaluation, &choices, source, context)?;
    Ok(evaluation)
}

/// What the analysis is of, with node and processor of each thread.
fn analysis_setup<'a>(setup: &Setup<'a>, (nodes, cpus): (&'a [NodeId], &'a [u16])) -> homenode_analysis::Setup<'a> {
    homenode_analysis::Setup {
        machine: setup.machine,
        block_bytes: setup.block_bytes,
        unit_bytes: setup.machine.sections.caches.as_ref().map_or(64, |c| c.line_bytes.into()),
        nodes,
        cpus,
        sampled: setup.options.sampled,
        colours: colours(setup),
    }
}

/// Policies, bounds and analysis in one replay, and traffic if it is asked for.
fn whole(
    source: &mut dyn Source,
    objects: &mut dyn Objects,
    context: &EvalContext<'_>,
    (choices, seen): (&[Choice], &homenode_analysis::Setup<'_>),
) -> Result<(Priced, Analysed, Option<Traffic>), SimError> {
    let (setup, options) = (context.setup, context.options);
    let mut first_pass = FirstPassObserver::new(Analysis::new(seen.clone()), objects, setup.bindings);
    let besides = Besides { traffic: options.traffic, ..Besides::bounds(options.start) };
    first_pass.pace = options.traffic.map(|traffic| Pace::new(traffic, setup.bindings));
    let mut pass = Watched::new(setup, choices, besides, first_pass)?;
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        pass.replay.refs(piece.refs);
        piece.event.iter().for_each(|(event, _)| pass.replay.observer().event(event));
    }
    drop(stream);
    let (mut priced, mut first_pass, mut windows) = pass.finish()?;
    (priced.cost_of, priced.hits_of) = (first_pass.take_costs(), first_pass.take_hits());
    let asked = options.traffic.zip(first_pass.pace.take()).zip(setup.machine.bandwidth());
    let Some(((options, pace), bandwidth)) = asked else { return Ok((priced, first_pass.finish(), None)) };
    let served = Served::new(&bandwidth, setup.machine.nodes());
    let first_touch = choices.iter().position(|c| c.spec.name == FIRST_TOUCH);
    let asked = |windows: &[Option<Windows<'_>>]| {
        let policies: Vec<_> = choices.iter().zip(windows).map(|(c, w)| (c.to_string(), w.as_ref())).collect();
        traffic(options, &served, &pace, (&policies, first_touch))
    };
    let mut found = asked(&windows);
    let best = choices.iter().position(|c| c.spec.needs_homes && c.phase().is_none());
    if let Some(best) = best.filter(|_| found.policies.iter().any(|row| row.most.is_some())) {
        // Its homes are known now.
        let homes = priced.blocks.iter().copied().zip(priced.homes.iter().copied()).collect();
        windows[best] = placed(source, setup, (options, Transform::Rehome { homes }))?;
        found = asked(&windows);
    }
    Ok((priced, first_pass.finish(), Some(found)))
}

/// What a placement for ever asks of memories.
fn placed<'m>(
    source: &mut dyn Source,
    setup: Setup<'m>,
    (options, homes): (TrafficOptions, Transform),
) -> Result<Option<Windows<'m>>, SimError> {
    let consumer = PlacedConsumer::watched(options, homes, setup.machine, setup.block_bytes)?;
    let mut replay = Replay::new(setup, (setup.machine, setup.waits), consumer, ())?;
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        replay.refs(piece.refs);
    }
    Ok(replay.finish()?.consumers.into_windows())
}

/// The policies in registry order, each once, then those that are in no registry; first touch is among them unless the machine has
/// no remote memory accesses and so no first touch.
fn in_registry_order(asked: &[Choice], setup: Setup<'_>) -> Result<Vec<Choice>, SimError> {
    let mut choices: Vec<Choice> = Vec::new();
    for spec in ALL {
        for choice in asked.iter().filter(|c| c.spec.name == spec.name) {
            if !choices.iter().any(|c| c.spec.name == spec.name && c.values == choice.values) {
                choices.push(choice.clone());
            }
        }
        if spec.name == FIRST_TOUCH && !choices.iter().any(|c| c.spec.name == FIRST_TOUCH) {
            let choice = spec.choose(&[])?;
            if choice.engine(setup.machine, setup.block_bytes).is_ok() {
                choices.push(choice);
            }
        }
    }
    for choice in asked.iter().filter(|c| matches!(c.spec, Member::Owned(_))) {
        if choices.iter().any(|c| c.spec.name == choice.spec.name) {
            let twice = PolicyError::Name { given: choice.spec.name.clone().into_owned() };
            return Err(twice.into());
        }
        choices.push(choice.clone());
    }
    Ok(choices)
}

/// Registry name of the policy that findings are measured against.
const FIRST_TOUCH: &str = "first-touch";

/// Runs policies and bounds on the other merges and notes the lowest and highest totals, the main merge included.
fn spread(
    evaluation: &mut Evaluation,
    choices: &[Choice],
    source: &mut dyn Source,
    context: &EvalContext<'_>,
) -> Result<(), SimError> {
    for merge in 1..=context.options.merges {
        let mut engine = Engine::new(context.setup, choices, Some(context.options.start))?;
        let mut stream = source.stream(merge)?;
        while let Some(piece) = stream.pull()? {
            engine.refs(piece.refs);
        }
        let priced = engine.finish()?;
        for (i, row) in evaluation.policies.iter_mut().enumerate() {
            let total: TotalCost = priced.total(i);
            let (low, high) = row.spread.unwrap_or((row.total, row.total));
            row.spread = Some((low.min(total), high.max(total)));
        }
        let bounds = rows::optimum(priced.bounds, priced.totals.transfer_cost);
        for row in &mut evaluation.optimum {
            let found = bounds.iter().find(|b| b.name == row.name);
            let (low, high) = row.spread.unwrap_or((row.total, row.total));
            row.spread = found.map(|b| (low.min(b.total), high.max(b.total)));
        }
    }
    Ok(())
}
