//! # homenode-place: from a recording to a plan
//!
//! Reads dataset, machine and what it serves, has the planner plan, and says what came of it; and writes a plan for the library
//! that is preloaded into another run.
//!
//! **Invariant:** what the planner is told of the machine is what the user named: nothing of this machine goes into a plan for
//! another one.
//!
//! Reading order: this file (what is asked), `served` (bandwidths), `text`; then `agent` (what becomes of a plan).
//!
//! ```
//! use homenode_place::{PlaceRequest, place, price};
//! use homenode_synthetic::Builder;
//! use homenode_trace::{event::EventKind, store::Store, symbols::Module};
//!
//! // A block that thread 0 touches first and thread 1 uses.
//! let (block, path) = (0x7000_0000u64, "/bin/program".to_owned());
//! let mut program = Builder::new(2);
//! program.event(0, EventKind::Module { bias: 0x40_0000, bytes: 0x10_0000, path: path.clone() });
//! program.symbols().modules = vec![Module { path, build_id: "00aabb".into() }];
//! program.alloc(0, block, 4 * 4096, &[0x40_1234]);
//! for page in 0..4 {
//!     program.write(0, block + 4096 * page);
//! }
//! program.spawn(0, 1);
//! for i in 0..1000 {
//!     program.read(1, block + i % 4 * 4096);
//! }
//! let (folder, dataset) = (tempfile::tempdir().unwrap(), program.store());
//! for name in dataset.names().unwrap() {
//!     let file = folder.path().join(&name);
//!     std::fs::create_dir_all(file.parent().unwrap()).unwrap();
//!     std::fs::write(file, dataset.get(&name).unwrap().as_slice()).unwrap();
//! }
//!
//! let request = PlaceRequest {
//!     dataset: folder.path().to_owned(),
//!     machine: "opteron4".to_owned(),
//!     rule: None,
//!     map: None,
//!     move_threads: false,
//!     capacity: None,
//!     page_bytes: None,
//! };
//! let plan = place(&request, &mut ())?.plan;
//! let priced = price(&plan, folder.path(), "opteron4", &mut ())?;
//! assert_eq!((plan.expected.now, plan.expected.planned), (priced.first_touch, priced.planned));
//! assert!(priced.planned < priced.first_touch);
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod agent;
mod served;
mod text;

use homenode_command::dataset::{Opened, open, refs};
use homenode_command::{Failure, Progress};
use homenode_machine::{Machine, MapRule};
use homenode_placement::affinity::Rule;
use homenode_placement::plan::Plan;
use homenode_planner::{PlanPrice, PlanRequest, PlannerError};
use homenode_trace::dataset::DatasetReader;
use std::path::{Path, PathBuf};

pub use agent::{Match, Source, agent_lines, agent_plan, check_build, module};

/// What to plan.
#[derive(Clone, Debug)]
pub struct PlaceRequest {
    /// The dataset, exact or sampled.
    pub dataset: PathBuf,
    /// Machine name, TOML file, or `this`.
    pub machine: String,
    /// Affinity rule; the default one if absent.
    pub rule: Option<String>,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// Whether threads may change nodes where that lowers the cost.
    pub move_threads: bool,
    /// Bytes that each node can hold; absent: for `this` what is free now, else no limit.
    pub capacity: Option<Vec<u64>>,
    /// Page size in bytes; the machine's if absent.
    pub page_bytes: Option<u64>,
}

/// A plan, ready to be shown or written.
#[derive(Clone, Debug)]
pub struct PlaceDoc {
    /// The plan; its JSON is described by `docs/schema/plan.json`.
    pub plan: Plan,
}

impl PlaceDoc {
    /// The plan as JSON.
    pub fn to_json(&self) -> String {
        self.plan.to_json() + "\n"
    }
    /// What it does and is worth, for people.
    pub fn to_text(&self) -> String {
        text::text(&self.plan)
    }
}

/// Plans where data and threads of a recorded program should live.
///
/// # Errors
/// A machine, rule or map that makes no sense, a damaged dataset, or pages that fit nowhere.
pub fn place(request: &PlaceRequest, progress: &mut dyn Progress) -> Result<PlaceDoc, Failure> {
    let machine = homenode_command::machine::named(&request.machine)?;
    let Opened { reader, .. } = open(&request.dataset)?;
    place_on(&machine, &reader, request, progress)
}

fn place_on(
    machine: &Machine,
    reader: &DatasetReader,
    request: &PlaceRequest,
    progress: &mut dyn Progress,
) -> Result<PlaceDoc, Failure> {
    if !machine.cost.remote_access {
        let name = &machine.name;
        return Err(Failure::usage(format!("--machine: {name} cannot reference other nodes' memory: nothing to plan")));
    }
    let rule = request.rule.as_deref().map_or_else(|| Ok(Rule::default()), Rule::parse);
    let rule = rule.map_err(|e| Failure::usage(format!("--rule: {e}")))?;
    let page_bytes = request.page_bytes.unwrap_or(machine.shape.page_bytes);
    machine.check_block("--page", page_bytes).map_err(Failure::usage)?;
    let capacity = capacity(request, machine, page_bytes)?;
    let bandwidths = served::bandwidths(&request.machine, machine)?;
    let map: Option<MapRule> = match &request.map {
        Some(text) => Some(text.parse().map_err(|e| Failure::usage(format!("--map: {e}")))?),
        None => None,
    };
    let asked = PlanRequest {
        machine,
        rule: &rule,
        map: map.as_ref(),
        move_threads: request.move_threads,
        page_bytes,
        capacity: capacity.as_deref(),
        bandwidths: bandwidths.as_ref(),
    };
    let total = refs(reader);
    let mut plan = homenode_planner::plan(reader, &asked, &mut |done| progress.at("counting", done, Some(total)))
        .map_err(|e| match e {
            PlannerError::Bindings(e) => Failure::usage(format!("--map: {e}")),
            PlannerError::Full(e) => Failure::usage(format!("--capacity: {e}")),
            other => failed(other),
        })?;
    plan.evidence.dataset = request.dataset.display().to_string();
    Ok(PlaceDoc { plan })
}

fn failed(e: PlannerError) -> Failure {
    match e {
        PlannerError::Trace(e) => e.into(),
        other => Failure::usage(other),
    }
}

/// Replays a dataset under first touch and under a plan. `machine` is a name, a file or `this`, and must have what the plan
/// names; threads that the plan does not pin sit by the default rule.
///
/// # Errors
/// A machine that lacks nodes or processors of the plan, or a damaged dataset.
pub fn price(plan: &Plan, dataset: &Path, machine: &str, progress: &mut dyn Progress) -> Result<PlanPrice, Failure> {
    let machine = homenode_command::machine::named(machine)?;
    plan.check_machine(&machine).map_err(Failure::input)?;
    let Opened { reader, .. } = open(dataset)?;
    let total = refs(&reader);
    homenode_planner::price(plan, &reader, &machine, &mut |done| progress.at("pricing", done, Some(total)))
        .map_err(failed)
}

/// Pages that each node can hold.
fn capacity(request: &PlaceRequest, machine: &Machine, page_bytes: u64) -> Result<Option<Vec<u64>>, Failure> {
    let bytes = match &request.capacity {
        Some(bytes) if bytes.len() == machine.nodes() => bytes.clone(),
        Some(bytes) => {
            let (given, nodes) = (bytes.len(), machine.nodes());
            return Err(Failure::usage(format!(
                "--capacity: {given} numbers for the {nodes} nodes of {}",
                machine.name
            )));
        }
        None if request.machine == "this" => {
            // Free memory is not known everywhere; then all of a node counts.
            let room = |memory: u64, free: u64| if free == 0 { memory } else { free.min(memory) };
            let nodes = homenode_command::machine::topology()?.nodes;
            nodes.iter().map(|n| if n.allowed { room(n.memory_bytes, n.free_bytes) } else { 0 }).collect()
        }
        None => return Ok(None),
    };
    Ok(Some(bytes.iter().map(|b| b / page_bytes).collect()))
}
