//! `homenode sim memory`: CC-NUMA, S-COMA and hybrids of both in virtual time under memory pressure.
mod doc;

pub use doc::SimMemoryDoc;
use doc::{LayoutDoc, SIM_MEMORY_SCHEMA};
use homenode_command::dataset::{Opened, open};
use homenode_command::gaps::{Known, Source};
use homenode_command::{Failure, Progress, machine};
use homenode_machine::MapRule;
use homenode_timed::engine::{Options, TimedError};
use homenode_timed::memory::archs::{self, Spec};
use homenode_timed::memory::{MemoryError, OPEN_POINTS, OpenPoint, Question, Row, relations, run};
use homenode_trace::DatasetReader;
use homenode_trace::event::{EventKind, SyncKind};
use std::path::PathBuf;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct SimMemoryRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Names of architectures; all of them if none.
    pub architectures: Vec<String>,
    /// Memory pressures in percent: numbers, and ranges `from..to` in steps of 20 or `from..to:step`.
    pub pressures: Vec<String>,
    /// Machine name or TOML file, with a section of page caches.
    pub machine: String,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// Only this phase of the program is counted.
    pub phase: Option<String>,
    /// Instructions between references are taken so many times.
    pub gaps: f64,
    /// Open points of which another reading than ours is taken.
    pub open: Vec<String>,
}

/// Runs the dataset on every architecture at every pressure; CC-NUMA, which the others are compared with, once.
///
/// # Errors
/// A request that makes no sense; a dataset that cannot be read or has no references in order.
pub fn sim_memory(request: &SimMemoryRequest, progress: &mut dyn Progress) -> Result<SimMemoryDoc, Failure> {
    let specs = architectures(&request.architectures)?;
    let pressures = pressures(&request.pressures)?;
    if !(0.0..=1000.0).contains(&request.gaps) {
        return Err(Failure::usage(format!("--gaps: {} is not between 0 and 1000", request.gaps)));
    }
    let mut machine = machine::named(&request.machine)?;
    for name in &request.open {
        let point = open_point(name)?;
        machine.sections.hybrid.iter_mut().for_each(|h| point.apply(h));
    }
    let map: Option<MapRule> =
        request.map.as_deref().map(str::parse).transpose().map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let Opened { reader, .. } = open(&request.dataset)?;
    if reader.manifest().sampling.is_some() {
        return Err(failure(MemoryError::Timed(TimedError::Sampled)));
    }
    if let Some(phase) = &request.phase {
        refuse_unknown_phase(&reader, phase)?;
    }
    let options = Options { phase: request.phase.clone(), ..Options::default() };
    progress.at("reading", 0, None);
    let bound = Question { machine: &machine, map, options }.bind(&reader).map_err(failure)?;
    let source = Source::new(&reader, request.gaps);
    let mut asked: Vec<(&'static Spec, u32)> = vec![(archs::BASE, pressures[0])];
    let others = specs.into_iter().filter(|s| s.name != archs::BASE.name);
    asked.extend(others.flat_map(|s| pressures.iter().map(move |p| (s, *p))));
    let total = asked.len() as u64;
    let (mut rows, mut left_out): (Vec<Row>, Vec<MemoryError>) = Default::default();
    for (done, (spec, pressure)) in (0..).zip(asked) {
        progress.at("simulating", done, Some(total));
        match run(&bound, spec, pressure, || source.run()) {
            Ok(row) => rows.push(row),
            Err(e @ MemoryError::NoPageCache { .. }) => left_out.push(e),
            Err(e) => return Err(failure(e)),
        }
    }
    if rows.len() == 1 && !left_out.is_empty() {
        return Err(failure(left_out.remove(0)));
    }
    progress.at("simulating", total, Some(total));
    let known = source.known();
    let layout = bound.layout();
    Ok(SimMemoryDoc {
        schema: SIM_MEMORY_SCHEMA,
        dataset: request.dataset.display().to_string(),
        machine: machine.name.clone(),
        phase: request.phase.clone(),
        gaps: request.gaps,
        open: request.open.clone(),
        instructions: known,
        notes: left_out
            .iter()
            .map(|e| format!("left out: {e}"))
            .chain(notes(&reader, known, rows[0].recorded_objects))
            .collect(),
        layout: LayoutDoc::new(layout),
        relations: relations(&rows, layout),
        rows: doc::relative(rows),
    })
}

fn failure(e: MemoryError) -> Failure {
    match e {
        MemoryError::Timed(TimedError::Trace(e)) => e.into(),
        MemoryError::Timed(TimedError::Shared(..) | TimedError::NoProcessor(..)) => Failure::usage(e),
        MemoryError::Timed(_) | MemoryError::FewPages { .. } => Failure::input(e),
        _ => Failure::usage(e),
    }
}

fn open_point(name: &str) -> Result<&'static OpenPoint, Failure> {
    OpenPoint::find(name).ok_or_else(|| {
        let known: Vec<&str> = OPEN_POINTS.iter().map(|p| p.name).collect();
        Failure::usage(format!("--open: there is no '{name}'; known are {}", known.join(", ")))
    })
}

fn architectures(names: &[String]) -> Result<Vec<&'static Spec>, Failure> {
    if names.is_empty() {
        return Ok(archs::ALL.to_vec());
    }
    let find = |name: &String| {
        archs::find(name).ok_or_else(|| {
            let known: Vec<&str> = archs::known().map(|s| s.name).collect();
            Failure::usage(format!("--architecture: there is no '{name}'; known are {}", known.join(", ")))
        })
    };
    let mut specs: Vec<&'static Spec> = Vec::new();
    for spec in names.iter().map(find) {
        let spec = spec?;
        if !specs.iter().any(|s| s.name == spec.name) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// Steps of a range that names none: the pressures of the study are 10, 30, 50, 70, 90.
const STEP: u32 = 20;

fn pressures(words: &[String]) -> Result<Vec<u32>, Failure> {
    let wrong = |word: &str| {
        Failure::usage(format!(
            "--pressure: '{word}' is neither a number from 1 to 100 nor a range such as 10..90 or 10..90:5"
        ))
    };
    let number = |word: &str, text: &str| match text.parse() {
        Ok(n) if (1..=100).contains(&n) => Ok(n),
        Ok(n) => Err(failure(MemoryError::Pressure(n))),
        Err(_) => Err(wrong(word)),
    };
    let mut all = Vec::new();
    for word in words {
        let Some((from, to)) = word.split_once("..") else {
            all.push(number(word, word)?);
            continue;
        };
        let (to, step) = match to.split_once(':') {
            Some((to, step)) => (to, step.parse().ok().filter(|s| *s > 0).ok_or_else(|| wrong(word))?),
            None => (to, STEP),
        };
        let (from, to): (u32, u32) = (number(word, from)?, number(word, to)?);
        if from > to {
            return Err(wrong(word));
        }
        all.extend((from..=to).step_by(step as usize));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

pub(crate) fn refuse_unknown_phase(reader: &DatasetReader, phase: &str) -> Result<(), Failure> {
    let mut known: Vec<String> = Vec::new();
    for e in reader.events() {
        if let EventKind::PhaseBegin { name } = &e.kind
            && !known.contains(name)
        {
            known.push(name.clone());
        }
    }
    match known.iter().any(|name| name == phase) {
        true => Ok(()),
        false if known.is_empty() => Err(Failure::usage("--phase: the recording has no phases")),
        false => Err(Failure::usage(format!("--phase: there is no '{phase}'; known are {}", known.join(", ")))),
    }
}

/// What the result does not rest on.
pub(crate) fn notes(reader: &DatasetReader, known: Known, recorded_objects: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let threads = (0..reader.threads()).filter(|&t| reader.refs(t) > 0).count();
    let syncs = || reader.events().iter().filter_map(|e| e.kind.sync());
    if threads > 1 && syncs().next().is_none() {
        notes.push(
            "no synchronisation was recorded: threads run beside each other as if nothing ordered them".to_owned(),
        );
    }
    if syncs().any(|s| s == SyncKind::Unknown) {
        notes.push(
            "kinds of synchronisation were not recorded: locks and barriers are granted in the order of the recording"
                .to_owned(),
        );
    }
    notes.extend(known.notes());
    if recorded_objects > 0 {
        notes.push(format!("{recorded_objects} locks or barriers are granted in their recorded order: granted anew, threads waited for each other in a circle"));
    }
    notes
}
