//! `homenode sim memory` on machines with an expander: what a recording costs over the size of DRAM.
mod doc;
pub(crate) mod sizes;

pub use doc::SimTiersDoc;

use doc::{EnoughDoc, PointDoc, SIM_TIERS_SCHEMA};
use homenode_command::dataset::{Opened, open};
use homenode_command::{Failure, Progress, machine};
use homenode_machine::{Machine, MapRule};
use homenode_report::capacity::SizeDoc;
use homenode_sim::SimError;
use homenode_timed::tiers::policies::{self, Choice};
use homenode_timed::tiers::{Limits, Point, Recorded, TierError, TierMachine, curve};
use sizes::Sizes;
use std::path::PathBuf;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct SimTiersRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Tier policies, such as `recency` or `hotness(16)`; all of them if none.
    pub policies: Vec<String>,
    /// Sizes of DRAM: percent of the recording's pages (`40`, `10..100` in steps of 10, `10..90:20`), or bytes (`64M`); 10 to 100 percent if none.
    pub dram: Vec<String>,
    /// Machine name or TOML file.
    pub machine: String,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// Bytes of a page, if not the machine's.
    pub page_bytes: Option<u64>,
    /// Accesses to memory between two decisions, if not the machine's.
    pub tick: Option<u64>,
}

/// Thousandths of the cost of all DRAM within which a size is enough.
const ENOUGH_PERMILLE: i128 = 1050;
/// Samples a page on average below which nobody can tell which pages are hot.
const SAMPLES_MIN: u64 = 10;

/// Whether a machine, by name or file, is one with tiers: nodes with processors and nodes without, and nothing for virtual time.
///
/// # Errors
/// There is no such machine.
pub fn has_tiers(name: &str) -> Result<bool, Failure> {
    let machine = machine::named(name)?;
    Ok(machine.sections.hybrid.is_none() && TierMachine::has(&machine))
}

/// Runs the dataset with every size of DRAM under every policy, beside the optimum.
///
/// # Errors
/// A request that makes no sense; a dataset that cannot be read; a machine without tiers.
pub fn sim_tiers(request: &SimTiersRequest, progress: &mut dyn Progress) -> Result<SimTiersDoc, Failure> {
    let choices = choices(&request.policies)?;
    let asked = Sizes::parse("--dram", &request.dram)?;
    let machine = machine::named(&request.machine)?;
    let page_bytes = request.page_bytes.unwrap_or(machine.shape.page_bytes);
    if request.tick == Some(0) {
        return Err(Failure::usage("--tick: 0 is no number of accesses: at least 1"));
    }
    let tiers = TierMachine::of(&machine, page_bytes, request.tick).map_err(failure)?;
    if !tiers.is_exact && !request.policies.is_empty() {
        let words = "--policy: the machine has more than one node with processors or more than one without, so only bounds can be given";
        return Err(Failure::usage(words));
    }
    let map: Option<MapRule> =
        request.map.as_deref().map(str::parse).transpose().map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let Opened { reader, .. } = open(&request.dataset)?;
    let refs: u64 = (0..reader.threads()).map(|t| reader.refs(t)).sum();
    let recorded =
        Recorded::of(&reader, &machine, &tiers, map.as_ref(), &mut |done| progress.at("reading", done, Some(refs)))
            .map_err(failure)?;
    let (sizes, left_out) = asked.frames(&recorded, &tiers)?;
    let total = sizes.len() as u64;
    let frames: Vec<u64> = sizes.iter().map(|s| s.frames).collect();
    let points = curve(&recorded, &tiers, &frames, &choices, Limits::default(), &mut |done| {
        progress.at("simulating", done, Some(total));
    });
    let points = points.map_err(failure)?;
    progress.at("simulating", total, Some(total));
    let names: Vec<String> = if tiers.is_exact { choices.iter().map(Choice::to_string).collect() } else { Vec::new() };
    let mut doc = SimTiersDoc {
        schema: SIM_TIERS_SCHEMA,
        dataset: request.dataset.display().to_string(),
        machine: machine.name.clone(),
        unit: machine.unit.to_string(),
        page_bytes,
        pages: recorded.pages.len() as u64,
        accesses: recorded.accesses,
        samples: recorded.samples,
        tick: tiers.tick,
        ticks: recorded.pages.ticks.into(),
        promote: tiers.moves.promote,
        demote: tiers.moves.demote,
        in_dram: recorded.in_dram,
        in_expander: recorded.in_expander,
        notes: left_out,
        points: sizes.iter().zip(&points).map(|(s, p)| PointDoc::new(*s, p, &names, &recorded)).collect(),
        enough: enough(&recorded, &sizes, &points, &names),
    };
    doc.notes.extend(notes(&machine, &tiers, &recorded, &points));
    Ok(doc)
}

pub(crate) fn failure(e: TierError) -> Failure {
    match e {
        TierError::Sim(SimError::Trace(e)) => e.into(),
        TierError::Nothing | TierError::TooMany(_) => Failure::input(e),
        _ => Failure::usage(e),
    }
}

fn choices(names: &[String]) -> Result<Vec<Choice>, Failure> {
    if names.is_empty() {
        return Ok(policies::ALL.iter().map(|s| s.choose()).collect());
    }
    let mut choices: Vec<Choice> = Vec::new();
    for name in names {
        let choice = Choice::parse(name).map_err(|e| Failure::usage(format!("--policy: {e}")))?;
        if !choices.iter().any(|c| c.to_string() == choice.to_string()) {
            choices.push(choice);
        }
    }
    Ok(choices)
}

/// Whether there are too few samples to tell hot pages from others.
pub(crate) fn is_thin(recorded: &Recorded) -> bool {
    recorded.samples.is_some_and(|samples| samples < SAMPLES_MIN * recorded.pages.len() as u64)
}

/// The least of the sizes asked from which on all cost at most 5 % more than all DRAM.
fn enough(recorded: &Recorded, sizes: &[SizeDoc], points: &[Point], names: &[String]) -> Vec<EnoughDoc> {
    let within = |cost: homenode_base::TotalCost| cost.0 * 1000 <= recorded.in_dram.0 * ENOUGH_PERMILLE;
    let of = |name: &str, cost: &dyn Fn(&Point) -> Option<homenode_base::TotalCost>| {
        let wide = points.iter().rev().take_while(|p| cost(p).is_some_and(within)).count();
        let least = (wide > 0).then(|| sizes[points.len() - wide]);
        let verdict = match (is_thin(recorded), least) {
            (true, _) => "cannot tell",
            (_, Some(_)) => "enough",
            (_, None) => "none of the sizes asked",
        };
        EnoughDoc { name: name.to_owned(), verdict, size: least.filter(|_| !is_thin(recorded)) }
    };
    let exact = points.iter().all(|p| p.optimum.is_exact);
    let mut all = vec![of(if exact { "optimum" } else { "bound" }, &|p| Some(p.optimum.at_least))];
    if !exact && points.iter().all(|p| p.optimum.plan.is_some()) {
        all.push(of("plan", &|p| p.optimum.plan));
    }
    all.extend(names.iter().enumerate().map(|(i, name)| of(name, &|p| p.policies.get(i).map(|o| o.cost))));
    all
}

/// What the result does not rest on.
pub(crate) fn notes(machine: &Machine, tiers: &TierMachine, recorded: &Recorded, points: &[Point]) -> Vec<String> {
    let mut notes = Vec::new();
    if !tiers.declared {
        notes.push(format!(
            "machine '{}' has no [tiers] section: a move costs what [copy] says, a tick is {} accesses{}",
            machine.name,
            tiers.tick,
            if tiers.capacity.is_none() { ", capacities are unlimited" } else { "" }
        ));
    }
    if !tiers.is_exact {
        notes.push(
            "more than two nodes: every access is taken at the nearest node of its kind, so what is printed is a lower bound; policies are not run"
                .to_owned(),
        );
    } else if points.iter().any(|p| !p.optimum.is_exact) {
        notes.push(
            "too large for the exact optimum at all sizes: a lower bound and a plan that was found stand in its place"
                .to_owned(),
        );
    }
    if let Some(samples) = recorded.samples {
        notes.push(format!("sampled: {samples} samples count with their weights, and no caches are simulated"));
        if is_thin(recorded) {
            notes.push(format!(
                "fewer than {SAMPLES_MIN} samples a page: which pages are hot cannot be told, and optimum and best-static know the chance in the samples"
            ));
        }
    }
    if recorded.pages.ticks == 1 {
        notes.push("everything happens within one tick: nothing can move; --tick asks for shorter ones".to_owned());
    }
    notes
}
