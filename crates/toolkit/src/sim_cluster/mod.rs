//! `homenode sim cluster`: shared virtual memory on a modelled cluster, in virtual time.
mod advice;
mod doc;
mod objects;
mod page;
mod says;
mod tables;
mod text;

use crate::sim_memory::{notes, refuse_unknown_phase};
pub use doc::SimClusterDoc;
use doc::{Change, Compared, RowDoc, SIM_CLUSTER_SCHEMA};
use homenode_cluster::{Bound, ClusterError, Question, WhatIf, run};
use homenode_command::dataset::{Opened, open};
use homenode_command::gaps::Source;
use homenode_command::{Failure, Progress, machine};
use homenode_hlrc::steps::{self, Step};
use homenode_machine::{Machine, MapRule};
use homenode_sim::names::NameTable;
use homenode_timed::engine::{Options, TimedError};
use homenode_trace::order::Granted;
use homenode_trace::{DatasetReader, Event, EventKind};
use objects::Places;
use std::path::PathBuf;

/// Most nodes, and most processors a node.
const MOST: u16 = 64;

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
    let steps = protocols(&request.protocols)?;
    if !(0.0..=1000.0).contains(&request.gaps) {
        return Err(Failure::usage(format!("--gaps: {} is not between 0 and 1000", request.gaps)));
    }
    let machine = with_page(machine::named(&request.machine)?, request.page)?;
    let shapes = shapes(&request.nodes, &machine)?;
    let map: Option<MapRule> =
        request.map.as_deref().map(str::parse).transpose().map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let what_ifs = request.what_ifs.iter().map(|w| w.parse().map_err(|e| Failure::usage(format!("--what-if: {e}"))));
    let asked = what_ifs.map(|w| w.map(|w| Change { what_ifs: vec![w], compared: None }));
    let mut changes: Vec<Change> = asked.collect::<Result<_, Failure>>()?;
    if let Some(other) = &request.compare {
        changes.extend(compared(&machine, other)?);
    }
    let Opened { reader, .. } = open(&request.dataset)?;
    if let Some(phase) = &request.phase {
        refuse_unknown_phase(&reader, phase)?;
    }
    let names = NameTable::new(&reader)?;
    let places = Places::new(&names);
    let source = Source::new(&reader, request.gaps);
    let mhz = machine.sections.network.as_ref().map_or(0, |n| n.mhz);
    let total = (shapes.len() * steps.len() * (1 + changes.len())) as u64;
    let mut rows: Vec<RowDoc> = Vec::new();
    for (nodes, processors) in shapes {
        progress.at("reading", rows.len() as u64, Some(total));
        let mut machine = machine.clone();
        machine.shape.cores = vec![processors; nodes.into()];
        let options = Options { phase: request.phase.clone(), ..Options::default() };
        let bound: Bound<'_> = Question { machine: &machine, map: map.clone(), options, checks: request.checks }
            .bind(&reader, source.run())
            .map_err(failure)?;
        for step in &steps {
            progress.at("simulating", rows.len() as u64, Some(total));
            let plain = run(&bound, step, || source.run()).map_err(failure)?;
            let cycles = plain.cycles;
            let objects = places.objects(&plain, machine.shape.page_bytes);
            let (at, locks) = (rows.len(), places.locks(&plain));
            let (advice, without_advice) = advice::of(&plain, &places, (mhz, machine.shape.page_bytes));
            rows.push(RowDoc { objects, locks, advice, without_advice, ..RowDoc::new(plain) });
            for change in &changes {
                progress.at("simulating", rows.len() as u64, Some(total));
                let row = run(&bound.with(&change.what_ifs), step, || source.run()).map_err(failure)?;
                rows.push(RowDoc::changed(row, change, cycles));
            }
            let (cause, limit) = (says::cause(&rows[at], &rows[at + 1..]), says::limit(&rows[at]));
            (rows[at].cause, rows[at].limit) = (Some(cause), Some(limit));
        }
    }
    progress.at("simulating", total, Some(total));
    let known = source.known();
    let recorded = rows.iter().map(|r| r.row.recorded_objects).max().unwrap_or(0);
    Ok(SimClusterDoc {
        schema: SIM_CLUSTER_SCHEMA,
        dataset: request.dataset.display().to_string(),
        machine: machine.name.clone(),
        mhz,
        page_bytes: machine.shape.page_bytes,
        phase: request.phase.clone(),
        gaps: request.gaps,
        instructions: known,
        notes: notes(&reader, known, recorded).into_iter().chain(unseen(&reader)).collect(),
        compare: request.compare.clone(),
        rows,
    })
}

/// Synchronisation by which nodes learn nothing of each other.
fn unseen(reader: &DatasetReader) -> Option<String> {
    let granted = Granted::default();
    let is_unseen = |e: &Event| {
        let acquires = matches!(e.kind, EventKind::Acquire { .. } | EventKind::AcqRel { .. });
        acquires && granted.object(reader.shared(), reader.address_space(e.thread), e).is_none()
    };
    let count = reader.events().iter().filter(|e| is_unseen(e)).count();
    (count > 0).then(|| {
        format!(
            "{count} times threads follow each other by something else than mutexes, reader-writer locks and barriers, such as another thread's end: nodes learn nothing of each other's writes by that (--check says whether reads find them)"
        )
    })
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

fn shapes(words: &[String], machine: &Machine) -> Result<Vec<(u16, u16)>, Failure> {
    if words.is_empty() {
        return Ok(vec![(machine.nodes() as u16, machine.shape.cores[0])]);
    }
    let shape = |word: &String| {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
        let shape = word.split_once('x').and_then(|(nodes, each)| Some((number(nodes)?, number(each)?)));
        shape.ok_or_else(|| {
            Failure::usage(format!(
                "--nodes: '{word}' is not nodes x processors of each, such as 4x4, at most {MOST}x{MOST}"
            ))
        })
    };
    words.iter().map(shape).collect()
}
