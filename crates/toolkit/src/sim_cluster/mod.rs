//! `homenode sim cluster`: shared virtual memory on a modelled cluster, in virtual time.
mod advice;
mod doc;
mod journals;
mod objects;
mod page;
mod says;
mod tables;
mod text;
mod workers;
mod wrong;

use crate::sim_memory::{notes, refuse_unknown_phase};
pub use doc::SimClusterDoc;
use doc::{Change, Compared, RowDoc, SIM_CLUSTER_SCHEMA};
use homenode_cluster::{
    Bound, ClusterError, FAULTS, Faults, NAMED, PARAMETERS, Question, Row, Shape, WhatIf, shape, shaped,
};
use homenode_command::dataset::{Opened, open};
use homenode_command::gaps::{Known, Source};
use homenode_command::{Failure, Progress, machine};
use homenode_hlrc::steps::{self, Step};
use homenode_machine::{Machine, MapRule};
use homenode_sim::names::NameTable;
use homenode_timed::engine::{Options, TimedError};
use homenode_trace::DatasetReader;
use objects::Places;
use std::path::PathBuf;
use workers::on_all;

/// Nodes above which there is one run at a time: a thousand take some gigabytes.
const ALONE_ABOVE: u16 = 256;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct SimClusterRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Names of protocol steps.
    pub protocols: Vec<String>,
    /// Shapes, nodes x processors of each; the machine's if none.
    pub nodes: Vec<String>,
    /// Machine name or TOML file, with a section of networks.
    pub machine: String,
    /// Bytes of a page; the machine's if absent.
    pub page: Option<u64>,
    /// Counterfactuals, a row each beside the machine as it is.
    pub what_ifs: Vec<String>,
    /// Whether reads are checked.
    pub checks: bool,
    /// What goes wrong: a seed, and kinds with their sizes.
    pub faults: Option<String>,
    /// Folder for journals of the one run, which must be empty or not there; `None` if none are written.
    pub journals: Option<PathBuf>,
    /// Another machine: what each of its parameters would gain.
    pub compare: Option<String>,
    /// Threads to processors; neighbours beside each other if absent.
    pub map: Option<String>,
    /// Only this phase of the program is counted.
    pub phase: Option<String>,
    /// Instructions between references are taken so many times.
    pub gaps: f64,
}

/// Runs the dataset by every step of the protocol on every shape of the cluster.
///
/// # Errors
/// A request that makes no sense; a dataset that cannot be read or does not fit the cluster.
pub fn sim_cluster(request: &SimClusterRequest, progress: &mut dyn Progress) -> Result<SimClusterDoc, Failure> {
    sim_cluster_on(request, std::thread::available_parallelism().map_or(1, usize::from), progress)
}

/// As [`sim_cluster`], with so many rows at once.
///
/// # Errors
/// As there.
pub fn sim_cluster_on(
    request: &SimClusterRequest,
    workers: usize,
    progress: &mut dyn Progress,
) -> Result<SimClusterDoc, Failure> {
    let asked = Asked::of(request)?;
    let Opened { reader, .. } = open(&request.dataset)?;
    if let Some(phase) = &request.phase {
        refuse_unknown_phase(&reader, phase)?;
    }
    let names = NameTable::new(&reader)?;
    let places = Places::new(&names);
    let (ran, known, cut) = asked.run(request, &reader, workers, progress)?;
    let mhz = asked.machine.sections.network.as_ref().map_or(0, |n| n.mhz);
    let page_bytes = asked.machine.shape.page_bytes;
    let mut rows: Vec<RowDoc> = Vec::new();
    let mut ran = ran.into_iter();
    while let Some(plain) = ran.next() {
        let (at, cycles) = (rows.len(), plain.cycles);
        let (objects, locks) = (places.objects(&plain, page_bytes), places.locks(&plain));
        let (advice, without_advice) = advice::of(&plain, &places, (mhz, page_bytes));
        rows.push(RowDoc { objects, locks, advice, without_advice, ..RowDoc::new(plain) });
        rows.extend(asked.changes.iter().zip(&mut ran).map(|(change, row)| RowDoc::changed(row, change, cycles)));
        let (cause, limit) = (says::cause(&rows[at], &rows[at + 1..]), says::limit(&rows[at]));
        (rows[at].cause, rows[at].limit) = (Some(cause), Some(limit));
    }
    let recorded = rows.iter().map(|r| r.row.recorded_objects).max().unwrap_or(0);
    let machine = asked.machine;
    Ok(SimClusterDoc {
        schema: SIM_CLUSTER_SCHEMA,
        dataset: request.dataset.display().to_string(),
        mhz,
        page_bytes,
        machine: machine.name,
        phase: request.phase.clone(),
        gaps: request.gaps,
        instructions: known,
        notes: notes(&reader, known, recorded)
            .into_iter()
            .chain(homenode_cluster::notes(&reader))
            .chain(journals::note(cut))
            .collect(),
        compare: request.compare.clone(),
        rows,
    })
}

/// A request that makes sense.
struct Asked {
    steps: Vec<&'static Step>,
    machine: Machine,
    shapes: Vec<Shape>,
    map: Option<MapRule>,
    changes: Vec<Change>,
    faults: Option<Faults>,
}

impl Asked {
    fn of(request: &SimClusterRequest) -> Result<Asked, Failure> {
        let steps = protocols(&request.protocols)?;
        if !(0.0..=1000.0).contains(&request.gaps) {
            return Err(Failure::usage(format!("--gaps: {} is not between 0 and 1000", request.gaps)));
        }
        let machine = with_page(machine::named(&request.machine)?, request.page)?;
        let shapes = shapes(&request.nodes, &machine)?;
        let map = request.map.as_deref().map(str::parse).transpose();
        let map = map.map_err(|e| Failure::usage(format!("--map: {e}")))?;
        let what_ifs =
            request.what_ifs.iter().map(|w| w.parse().map_err(|e| Failure::usage(format!("--what-if: {e}"))));
        let asked = what_ifs.map(|w| w.map(|w| Change { what_ifs: vec![w], compared: None }));
        let mut changes: Vec<Change> = asked.collect::<Result<_, Failure>>()?;
        if let Some(other) = &request.compare {
            changes.extend(compared(&machine, other)?);
        }
        let faults = request.faults.as_deref().map(str::parse).transpose();
        let faults = faults.map_err(|e| Failure::usage(format!("--faults: {e}")))?;
        Ok(Asked { steps, machine, shapes, map, changes, faults })
    }

    /// Rows of a shape and a step: the machine as it is, and changed.
    fn each(&self) -> usize {
        1 + self.changes.len()
    }

    /// All rows: of each shape every step. With how the instructions between references are known, and how many journals have not all.
    fn run(
        &self,
        request: &SimClusterRequest,
        reader: &DatasetReader,
        workers: usize,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Row>, Known, usize), Failure> {
        let Asked { steps, shapes, map, changes, .. } = self;
        let counts = [("shapes", shapes.len()), ("protocols", steps.len()), ("rows", self.each())];
        let folder = journals::folder(request.journals.as_deref(), counts, shapes[0].0)?;
        let source = || Source::new(reader, request.gaps);
        let (each, count) = (self.each(), shapes.len() * steps.len() * self.each());
        let jobs = shapes.len() + count;
        let workers = if shapes.iter().any(|s| s.0 > ALONE_ABOVE) { 1 } else { workers };
        let bind = |source: &mut Source<'_>, n: usize| {
            let machine = shaped(&self.machine, shapes[n]);
            let options = Options { phase: request.phase.clone(), ..Options::default() };
            let (machine, map, checks, faults) = (&machine, map.clone(), request.checks, self.faults);
            Question { machine, map, options, checks, faults }.bind(reader, source.run()).map_err(failure)
        };
        let bound: Vec<Bound<'_>> = on_all((workers, shapes.len()), (progress, "reading", 0, jobs), source, bind)?;
        let simulate = |source: &mut Source<'_>, n: usize| {
            let (bound, step) = (&bound[n / each / steps.len()], steps[n / each % steps.len()]);
            let changed = (n % each).checked_sub(1).map(|n| bound.with(&changes[n].what_ifs));
            let asked = (changed.as_ref().unwrap_or(bound), step);
            let (row, cut) = journals::row(asked, folder.as_ref(), || source.run())?;
            Ok((row, source.known(), cut))
        };
        let ran = on_all((workers, count), (progress, "simulating", shapes.len(), jobs), source, simulate)?;
        progress.at("simulating", jobs as u64, Some(jobs as u64));
        let known = ran.last().map(|(_, known, _)| *known).unwrap_or_default();
        let cut = ran.iter().map(|(.., cut)| cut).sum();
        Ok((ran.into_iter().map(|(row, ..)| row).collect(), known, cut))
    }
}

/// What `--what-if` changes, with a line about each.
pub(crate) fn what_ifs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parameters = PARAMETERS.iter().map(|p| (p.name, p.summary));
    parameters.chain(NAMED.iter().map(|(name, what, _)| (*name, *what)))
}

/// What `--what-if` takes, in words.
pub fn what_ifs_help() -> String {
    let parameters: Vec<String> = PARAMETERS.iter().map(|p| format!("{} ({})", p.name, p.summary)).collect();
    let named: Vec<String> = NAMED.iter().map(|(name, what, _)| format!("{name} ({what})")).collect();
    format!(
        "Counterfactuals, a row each: a parameter with a value or a factor (interrupts=0, io=4x; {}), or {}.",
        parameters.join(", "),
        named.join(", ")
    )
}

/// What `--faults` takes, in words.
pub fn faults_help() -> String {
    let kinds = |is_how: bool| {
        let kinds = FAULTS.iter().filter(move |k| k.is_how == is_how);
        kinds.map(|k| format!("{}={} ({})", k.name, k.default, k.summary)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "Faults drawn by a seed, the same for the same seed. A seed alone: all of them, with these sizes: {}. Or those named, such as 7,loss=0.05. How: {}.",
        kinds(false),
        kinds(true)
    )
}

/// Each parameter in which another machine differs, and all of them.
fn compared(machine: &Machine, other: &str) -> Result<Vec<Change>, Failure> {
    let other = machine::named(other)?;
    let network =
        |m: &Machine| m.sections.network.clone().ok_or_else(|| failure(ClusterError::NoSection(m.name.clone())));
    let all = WhatIf::between(&network(machine)?, &network(&other)?);
    if all.is_empty() {
        return Err(Failure::usage(format!(
            "--compare: '{}' and '{}' have the same network",
            machine.name, other.name
        )));
    }
    let one = |w: &WhatIf| Change { what_ifs: vec![*w], compared: Some(Compared::One) };
    let mut changes: Vec<Change> = all.iter().map(one).collect();
    changes.push(Change { what_ifs: all, compared: Some(Compared::All) });
    Ok(changes)
}

fn failure(e: ClusterError) -> Failure {
    match e {
        ClusterError::Timed(TimedError::Trace(e)) => e.into(),
        ClusterError::Timed(TimedError::Shared(..) | TimedError::NoProcessor(..)) => {
            Failure::usage(format!("{e} (--nodes says how many)"))
        }
        ClusterError::Timed(_) => Failure::input(e),
        _ => Failure::usage(e),
    }
}

fn protocols(names: &[String]) -> Result<Vec<&'static Step>, Failure> {
    let find = |name: &String| {
        steps::find(name).ok_or_else(|| {
            let known: Vec<&str> = steps::ALL.iter().map(|s| s.name).collect();
            Failure::usage(format!("--protocol: there is no '{name}'; known are {}, and genima", known.join(", ")))
        })
    };
    let mut found: Vec<&'static Step> = Vec::new();
    for step in names.iter().map(find) {
        let step = step?;
        if !found.iter().any(|s| s.name == step.name) {
            found.push(step);
        }
    }
    Ok(found)
}

fn with_page(mut machine: Machine, page: Option<u64>) -> Result<Machine, Failure> {
    if let Some(page) = page {
        if !page.is_power_of_two() || !(64..=1 << 20).contains(&page) {
            return Err(Failure::usage(format!("--page: {page} is no power of two from 64 to 1048576")));
        }
        machine.shape.page_bytes = page;
    }
    Ok(machine)
}

fn shapes(words: &[String], machine: &Machine) -> Result<Vec<Shape>, Failure> {
    if words.is_empty() {
        return Ok(vec![(machine.nodes() as u16, machine.shape.cores[0])]);
    }
    words.iter().map(|word| shape(word).map_err(|e| Failure::usage(format!("--nodes: {e}")))).collect()
}
