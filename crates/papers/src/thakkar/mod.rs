//! Thakkar 2008: affinity on the topologies of tables 4.1 and 4.2, sampling loss, placement against first touch and
//! interleaving. All in the model: memory cost by the published latencies, no compute time, no queues.
mod bars;
mod claims;
mod counting;
mod programs;
mod synthetic;

use bars::Bars;
use counting::LOSSES;
use homenode_base::{NodeId, ThreadId, TotalCost};
use homenode_command::{Failure, Progress};
use homenode_judging::doc::{ReproduceDoc, SCHEMA, Table};
use homenode_machine::{Machine, ThreadMap, models};
use homenode_placement::affinity::{Distances, Question, Rule, Terms};
use homenode_placement::counts::{ClassCounts, Counts, PageKey, PageUse};
use homenode_reproducing::elsewhere::{self, Elsewhere, Unit};
use homenode_reproducing::paper::{Job, Page, Paper};
use homenode_trace::dataset::DatasetReader;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Machine and threads: one a core.
const SETTINGS: [(&str, u32); 2] = [("opteron4", 4), ("opteron8", 16)];

/// What one program came to on one machine.
pub(super) struct Outcome {
    pub(super) program: &'static str,
    pub(super) machine: &'static str,
    /// Share of pages on which uniform and hop-sensitive affinity differ, in percent.
    pub(super) differ: f64,
    /// Savings of memory cost over first touch in percent: hop-sensitive, uniform, filtered, interleaved.
    pub(super) savings: [f64; 4],
    /// Per loss: share of uses whose page gets the home of the full trace, in percent; cost over that of the full plan.
    losses: Vec<(f64, f64)>,
}

pub(crate) static SPEC: Paper = Paper {
    name: "thakkar",
    summary: "affinity, sampling loss and guided placement of Thakkar 2008, in the model",
    experiments: None,
    programs: None,
    sizes: &["XS", "S", "M"],
    run,
    carry_out,
};

/// Runs everything.
fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let (programs, outcomes) = outcomes(job, progress)?;
    let mut notes = vec![
        "savings are of memory cost in the model; the thesis measured run time, which also has compute time, queues and caches".to_owned(),
        "references are counted, not misses: these machines are modelled without caches".to_owned(),
        "threads sit one a core, consecutive ones on one node".to_owned(),
    ];
    notes
        .push("table 4.2 decides with its diagonal repaired; raw it sends node 0's private pages to node 1".to_owned());
    let bars = Bars {
        title: "Memory cost saved over first touch, percent (model)".into(),
        series: vec!["hop-sensitive", "uniform", "filtered", "interleaved"],
        groups: outcomes.iter().map(|o| (format!("{} {}", o.program, o.machine), o.savings.to_vec())).collect(),
    };
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: "thakkar".into(),
        size: job.size.into(),
        programs,
        tables: tables(&outcomes),
        claims: claims::judge(&outcomes)?,
        notes,
    };
    Ok((doc, Box::new(bars)))
}

/// What the programs are, in words, and what each came to on each machine.
fn outcomes(job: &Job<'_>, progress: &mut dyn Progress) -> Result<(String, Vec<Outcome>), Failure> {
    let programs = programs::Programs::build(job.folder, job.size)?;
    let (mut outcomes, mut left) = (Vec::new(), Vec::new());
    let all = programs.names();
    for (machine, threads) in SETTINGS {
        for (i, program) in (0..).zip(&all) {
            progress.at(machine, i, Some(all.len() as u64));
            let reader = programs.run(program, threads, progress)?;
            match programs.recording(program, threads).filter(|_| job.elsewhere.is_some()) {
                Some(recording) => left.push((*program, machine, recording)),
                None => outcomes.push(Outcome::of(program, machine, numbers(machine, &reader)?)),
            }
        }
    }
    if let Some(elsewhere) = job.elsewhere {
        outcomes.extend(done_by(elsewhere, &left)?);
    }
    Ok((programs.words(), outcomes))
}

/// What recordings of programs come to on machines, as others find.
fn done_by(elsewhere: &dyn Elsewhere, left: &[(&'static str, &'static str, PathBuf)]) -> Result<Vec<Outcome>, Failure> {
    let unit = |(program, machine, recording): &(&str, &str, PathBuf)| Unit {
        paper: SPEC.name.into(),
        program: (*program).into(),
        recording: recording.clone(),
        run: (*machine).into(),
    };
    let units: Vec<Unit> = left.iter().map(unit).collect();
    let numbers = elsewhere::answered(elsewhere, &units)?;
    Ok(left
        .iter()
        .zip(numbers)
        .map(|((program, machine, _), numbers)| Outcome::of(program, machine, numbers))
        .collect())
}

/// Does one run of a recording: all numbers of one machine.
///
/// # Errors
/// A run or recording that there is not, or that fails.
fn carry_out(unit: &Unit) -> Result<String, Failure> {
    let Some((machine, _)) = SETTINGS.iter().find(|s| s.0 == unit.run) else {
        return Err(Failure::usage(format!("thakkar has no run '{}' of {}", unit.run, unit.program)));
    };
    let opened = homenode_command::dataset::open(&unit.recording)?;
    serde_json::to_string(&numbers(machine, &opened.reader)?).map_err(Failure::work)
}

/// What an [`Outcome`] is made of: pages that differ, savings, losses.
type Numbers = (f64, [f64; 4], Vec<(f64, f64)>);

impl Outcome {
    fn of(program: &'static str, machine: &'static str, (differ, savings, losses): Numbers) -> Outcome {
        Outcome { program, machine, differ, savings, losses }
    }
}

fn numbers(machine: &str, reader: &DatasetReader) -> Result<Numbers, Failure> {
    let counted = counting::count(reader)?;
    let model = models::find(machine).expect("in the registry");
    let scene = Scene::new(&model, reader)?;
    let plan = |rule: &str, counts: &Counts| scene.plan(&Rule::parse(rule).expect("in the registry"), counts);
    let (hop, uniform) = (plan("hop-sensitive", &counted.full), plan("uniform", &counted.full));
    let filtered = plan("filtered-variance", &counted.full);
    let pages = counted.full.sorted();
    let first_touch = scene.cost(&pages, &|_, uses| scene.node_of(uses.first));
    let saved =
        |home: &dyn Fn(&PageKey, &PageUse) -> NodeId| 100.0 * (1.0 - scene.cost(&pages, home).ratio_to(first_touch));
    let placed = |homes: &Homes| saved(&|key, uses| home(homes, &scene, key, uses));
    let nodes = model.nodes() as u64;
    let savings =
        [placed(&hop), placed(&uniform), placed(&filtered), saved(&|key, _| NodeId((key.page % nodes) as u16))];
    let other = pages.iter().filter(|(key, _)| hop.get(key) != uniform.get(key)).count();
    let full_cost = scene.cost(&pages, &|key, uses| home(&hop, &scene, key, uses));
    let losses = counted.lossy.iter().map(|lossy| {
        let homes = plan("hop-sensitive", lossy);
        let same: u64 = pages.iter().filter(|(key, _)| hop.get(key) == homes.get(key)).map(|(_, u)| u.total()).sum();
        let all: u64 = pages.iter().map(|(_, u)| u.total()).sum();
        let cost = scene.cost(&pages, &|key, uses| home(&homes, &scene, key, uses));
        (100.0 * same as f64 / all.max(1) as f64, cost.ratio_to(full_cost))
    });
    let differ = 100.0 * other as f64 / pages.len().max(1) as f64;
    Ok((differ, savings, losses.collect()))
}

type Homes = BTreeMap<PageKey, NodeId>;

/// The home of a page; where it is touched first if the plan is silent.
fn home(homes: &Homes, scene: &Scene, key: &PageKey, uses: &PageUse) -> NodeId {
    homes.get(key).copied().unwrap_or_else(|| scene.node_of(uses.first))
}

/// A machine with threads bound to processors.
struct Scene {
    distances: Distances,
    map: ThreadMap,
    nodes: usize,
}

impl Scene {
    fn new(machine: &Machine, reader: &DatasetReader) -> Result<Scene, Failure> {
        let map = homenode_sim::thread_map(reader, machine, None).map_err(Failure::work)?;
        Ok(Scene { distances: Distances::of(machine), map, nodes: machine.nodes() })
    }
    fn node_of(&self, thread: ThreadId) -> NodeId {
        self.map.bindings().get(thread.index()).map_or(NodeId(0), |s| s.node)
    }
    fn uses(&self, page: &PageUse) -> Vec<ClassCounts> {
        page.by_node(self.nodes, |t| self.node_of(t))
    }
    /// Homes that a rule decides on, from first touch.
    fn plan(&self, rule: &Rule, counts: &Counts) -> Homes {
        let decide = |(key, page): (PageKey, &PageUse)| {
            let uses = self.uses(page);
            let home = Some(self.node_of(page.first));
            let question = Question { distances: &self.distances, uses: &uses, home, terms: Terms::default() };
            Some((key, rule.decide(&question)?))
        };
        counts.sorted().into_iter().filter_map(decide).collect()
    }
    fn cost(&self, pages: &[(PageKey, &PageUse)], home: &dyn Fn(&PageKey, &PageUse) -> NodeId) -> TotalCost {
        pages.iter().map(|(key, page)| self.distances.cost(&self.uses(page), home(key, page))).sum()
    }
}

fn tables(outcomes: &[Outcome]) -> Vec<Table> {
    let texts = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let one = |v: f64| format!("{v:.1}");
    let row = |o: &Outcome, cells: Vec<String>| [vec![format!("{} on {}", o.program, o.machine)], cells].concat();
    let mut loss_columns = vec!["program".to_owned()];
    loss_columns
        .extend(LOSSES.iter().flat_map(|(name, _)| [format!("{name}: same home, % of uses"), "cost, x".to_owned()]));
    let losses = |o: &Outcome| o.losses.iter().flat_map(|(same, cost)| [one(*same), format!("{cost:.4}")]).collect();
    vec![
        Table {
            title: "Memory cost saved over first touch, percent (model)".into(),
            columns: texts(&["program", "hop-sensitive", "uniform", "filtered (eq 3.1)", "interleaved"]),
            rows: outcomes.iter().map(|o| row(o, o.savings.map(one).to_vec())).collect(),
        },
        Table {
            title: "Pages on which uniform and hop-sensitive affinity differ, percent (the thesis has 0.00 to 7.76)"
                .into(),
            columns: texts(&["program", "differ"]),
            rows: outcomes.iter().map(|o| row(o, vec![format!("{:.2}", o.differ)])).collect(),
        },
        Table {
            title: "Plans from lossy samples beside the plan of the full trace".into(),
            columns: loss_columns,
            rows: outcomes.iter().map(|o| row(o, losses(o))).collect(),
        },
        migration(),
    ]
}

/// Call, pages, seconds as published (section 4.1.3).
const MOVES: [(&str, f64, f64); 4] = [
    ("mbind, interleaved start", 130_000.0, 0.82),
    ("mbind, node 0 to node 7", 100_000.0, 0.614),
    ("move_pages, interleaved start", 130_000.0, 74.0),
    ("move_pages, node 0 to node 7", 100_000.0, 37.5),
];

fn migration() -> Table {
    let row = |(call, pages, seconds): &(&str, f64, f64)| {
        let each = seconds / pages * 1e6;
        // A page pays for itself once so many remote accesses became local, at the mean gain of table 4.1.
        let gain_ns = claims::mean_gain_ns();
        vec![(*call).to_owned(), format!("{each:.1}"), format!("{:.0}", each * 1000.0 / gain_ns)]
    };
    Table {
        title: "Migration: microseconds a page, and accesses after which a move pays (4 nodes, mean gain)".into(),
        columns: ["call", "us a page", "accesses"].map(str::to_owned).to_vec(),
        rows: MOVES.iter().map(row).collect(),
    }
}
