//! # homenode-place: from a recording to a plan
//!
//! Counts who uses each page, lets a rule choose homes, fits them into full nodes and bandwidths, names the data for another
//! run; and writes a plan for the library that is preloaded into that run.
//!
//! **Invariant:** what a plan says it costs is what the simulator says of the same recording with those homes
//! ([`price`], which knows nothing of how plans are made), to the last unit.
//!
//! Reading order: this file (what is asked, and the steps), `evidence` (who uses a page), `unit` and `judge` (what is decided
//! on, what a home is worth), `huge`, `decide` (homes), `bandwidth`, `keys` (names that survive another run), `entries` and
//! `estimate` (the plan), `warn`, `text`; then [`price`](mod@price) and `agent` (what becomes of a plan).
//!
//! ```
//! use homenode_place::{PlaceRequest, place, price};
//! use homenode_trace::{event::EventKind, store::Store, symbols::Module, synthetic::Builder};
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
mod bandwidth;
mod decide;
mod entries;
mod estimate;
mod evidence;
mod huge;
mod judge;
mod keys;
mod price;
mod text;
mod unit;
mod warn;

use bandwidth::{Bandwidths, Traffic};
use entries::Maker;
use evidence::Evidence;
use homenode_base::{NodeId, ThreadId, TotalCost};
use homenode_command::dataset::{Opened, open, refs};
use homenode_command::{Failure, Progress};
use homenode_machine::{Machine, MapRule, Target, ThreadMap};
use homenode_objects::ObjectTable;
use homenode_placement::affinity::{Distances, Rule};
use homenode_placement::counts::PageUse;
use homenode_placement::plan::{Bandwidth, Expected, HugePages, Plan, ThreadPin};
use homenode_placement::threads::{co_optimise, fair_seats};
use homenode_sampling::hinting::spacing;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::sample::{DataSource, SampleUnit};
use judge::Judge;
use std::collections::BTreeMap;
use std::path::PathBuf;
use unit::Unit;

pub use agent::{Match, Source, agent_lines, agent_plan, check_build, module};
pub use price::{PlanPrice, price};

/// See [`Judge::margin_percent`]: on two nodes as far apart as those of `two-socket`, a node that makes less than two
/// thirds of the uses does not win a page from its first toucher.
const MARGIN_PERCENT: i128 = 20;

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
    let unit = reader.manifest().sampling.as_ref().map(|s| s.unit);
    let blind_to_caches = unit == Some(SampleUnit::Reference) && machine.sections.caches.is_some();
    let margin_percent = if blind_to_caches { MARGIN_PERCENT } else { 0 };
    let judge = Judge {
        machine,
        distances: Distances::of(machine),
        rule: &rule,
        page_bytes,
        capacity,
        margin_percent,
        sample_weight: sample_weight(unit, &rule),
    };
    let planner = Planner {
        reader,
        keys: keys::Keys::new(reader),
        table: ObjectTable::build(reader.manifest(), reader.events(), reader.symbols()),
        judge,
        bandwidths: Bandwidths::of(&request.machine, machine)?,
        huge: huge::Known::of(reader.manifest(), reader.events()),
    };
    planner.plan(request, progress)
}

/// Windows weigh by their spacing, which finds owners better than counting; but the filters of the thesis have thresholds in
/// numbers of samples, so they get numbers.
fn sample_weight(unit: Option<SampleUnit>, rule: &Rule) -> u32 {
    let counting = rule.to_string().starts_with("filtered");
    if unit == Some(SampleUnit::Window) && !counting { spacing::WHOLE } else { 1 }
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

struct Planner<'a> {
    reader: &'a DatasetReader,
    keys: keys::Keys,
    table: ObjectTable,
    judge: Judge<'a>,
    bandwidths: Option<Bandwidths>,
    huge: huge::Known,
}

/// Homes found for one seating of threads.
struct Decided {
    map: ThreadMap,
    evidence: Evidence,
    units: Vec<Unit>,
    expected: Expected,
    bandwidth: Option<Bandwidth>,
    huge: Option<HugePages>,
}

impl Planner<'_> {
    fn plan(&self, request: &PlaceRequest, progress: &mut dyn Progress) -> Result<PlaceDoc, Failure> {
        let rule = match &request.map {
            Some(text) => Some(text.parse().map_err(|e| Failure::usage(format!("--map: {e}")))?),
            None => None,
        };
        let mut best = self.decide(rule.as_ref(), progress)?;
        let mut notes = Vec::new();
        if request.move_threads {
            best = self.move_threads(best, &mut notes, progress)?;
        }
        notes.extend(self.notes(&best));
        Ok(PlaceDoc { plan: self.write(request, best, notes) })
    }

    fn decide(&self, rule: Option<&MapRule>, progress: &mut dyn Progress) -> Result<Decided, Failure> {
        let machine = self.judge.machine;
        let map =
            homenode_sim::thread_map(self.reader, machine, rule).map_err(|e| Failure::usage(format!("--map: {e}")))?;
        let evidence = evidence::gather(self.reader, &self.table, &self.judge, &map, progress)?;
        let (mut units, huge) = self.judge.decide(&evidence, &self.keys, &map, &self.huge)?;
        let traffic = |known| Traffic { judge: &self.judge, known, reader: self.reader, map: &map };
        let bandwidth = self.bandwidths.as_ref().and_then(|known| traffic(known).relieve(&mut units));
        let transfers = evidence.profile.totals.transfer_cost;
        let sum = |price: &dyn Fn(&Unit) -> TotalCost| units.iter().map(price).sum::<TotalCost>();
        let expected = Expected {
            now: sum(&|u| self.judge.now(u)) + transfers,
            planned: sum(&|u| self.judge.planned(u)) + transfers,
            best_static: sum(&|u| self.judge.best(u)) + transfers,
            moving: sum(&|u| self.judge.moving(u)),
        };
        Ok(Decided { map, evidence, units, expected, bandwidth, huge })
    }

    /// Other seats if a second replay agrees that they cost less.
    fn move_threads(
        &self,
        start: Decided,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<Decided, Failure> {
        let counts = start.evidence.profile.counts.sorted();
        let pages: Vec<&PageUse> = counts.iter().map(|(_, u)| *u).collect();
        let node_of: Vec<NodeId> = start.map.seats().iter().map(|s| s.node).collect();
        let active = (0..self.reader.threads()).filter(|t| self.reader.refs(*t) > 0).count();
        let mut seats = fair_seats(&self.judge.machine.shape.cores, active);
        // Threads without references sit anywhere and take nobody's place.
        let idle = node_of.len() - active;
        seats
            .iter_mut()
            .zip(&self.judge.machine.shape.cores)
            .filter(|(_, c)| **c > 0)
            .for_each(|(s, _)| *s += idle as u64);
        let found = co_optimise(&self.judge.distances, &pages, &node_of, &seats);
        if found.node_of == node_of {
            notes.push("threads: no other seats cost less".to_owned());
            return Ok(start);
        }
        let pairs: BTreeMap<ThreadId, Target> =
            found.node_of.iter().zip(0..).map(|(node, t)| (ThreadId(t), Target::Node(*node))).collect();
        let other = self.decide(Some(&MapRule::Pairs(pairs)), progress)?;
        if other.expected.planned < start.expected.planned {
            let gain = 100.0 * (1.0 - other.expected.planned.ratio_to(start.expected.planned));
            notes.push(format!("threads: other seats cost {gain:.1} % less than the map's"));
            return Ok(Decided { expected: Expected { now: start.expected.now, ..other.expected }, ..other });
        }
        notes.push("threads: other seats looked better but cost more behind the caches".to_owned());
        Ok(start)
    }

    fn notes(&self, d: &Decided) -> Vec<String> {
        let mut notes: Vec<String> = d.map.warnings();
        notes.push("costs come from the machine model; nothing was timed".to_owned());
        if let Some(s) = &self.reader.manifest().sampling {
            let sources = d.evidence.profile.totals.sampled.iter().flat_map(|t| &t.sources);
            let known = sources.into_iter().any(|row| row.source == DataSource::FirstTouch);
            let first = if known { "" } else { "first touch is that of the first sample; " };
            notes.push(format!("sampled by {}: {first}only ratios of costs mean something", s.event));
            if s.unit == SampleUnit::Window {
                notes.push(
                    "windows show the first toucher only: a page that several nodes use may look private".to_owned(),
                );
            }
        }
        if d.huge.is_none() {
            notes.extend(huge::note(&d.evidence.profile.counts, &self.judge, &d.map));
        }
        notes
    }

    fn write(&self, request: &PlaceRequest, d: Decided, notes: Vec<String>) -> Plan {
        let maker = Maker { judge: &self.judge, evidence: &d.evidence, keys: &self.keys, table: &self.table };
        let manifest = self.reader.manifest();
        let mut plan = Plan::new(&self.judge.machine.name);
        plan.page_bytes = self.judge.page_bytes;
        plan.unit = self.judge.machine.unit.to_string();
        plan.expected = d.expected;
        (plan.bandwidth, plan.huge) = (d.bandwidth, d.huge);
        plan.modules = self.keys.modules.clone();
        plan.threads = self.pins(&d.map);
        plan.unplaceable = maker.unplaceable(&d.units);
        plan.evidence.dataset = request.dataset.display().to_string();
        plan.evidence.backend = manifest.backend.clone();
        plan.evidence.sampled = manifest.sampling.is_some();
        plan.evidence.counts = self.counted_words().to_owned();
        plan.evidence.counted =
            d.evidence.profile.counts.sorted().iter().map(|(_, u)| u.total()).fold(0, u64::saturating_add);
        plan.evidence.rule = self.judge.rule.to_string();
        plan.evidence.notes = notes;
        plan.evidence.command.clone_from(&manifest.command);
        let covered = warn::covered(&d.units);
        plan.evidence.covered = Some(covered);
        plan.evidence.warnings = warn::warnings(&warn::Basis {
            manifest,
            refs: refs(self.reader),
            counted: plan.evidence.counted,
            covered,
            units: &d.units,
            unplaceable: &plan.unplaceable,
        });
        let silent = match &manifest.sampling {
            Some(_) => estimate::silent(&d.units, &self.keys, &self.table, self.judge.page_bytes),
            None => Vec::new(),
        };
        plan.entries = maker.entries(&d.units, &silent);
        plan
    }

    fn counted_words(&self) -> &'static str {
        match self.reader.manifest().sampling.as_ref().map(|s| s.unit) {
            None if self.judge.machine.sections.caches.is_some() => "memory accesses behind the caches",
            None => "references",
            Some(SampleUnit::Reference) => "sampled references",
            Some(SampleUnit::Miss) => "sampled misses",
            Some(SampleUnit::Window) if self.judge.sample_weight == 1 => "windows",
            Some(SampleUnit::Window) => "sixteenths of windows, weighed by their spacing",
        }
    }

    fn pins(&self, map: &ThreadMap) -> Vec<ThreadPin> {
        let named = (0..).zip(map.seats()).zip(&self.keys.paths);
        let active = named.filter(|((t, _), _)| self.reader.refs(*t) > 0);
        active
            .filter_map(|((thread, seat), path)| Some(ThreadPin { thread, path: path.clone()?, cpu: seat.cpu.0 }))
            .collect()
    }
}
