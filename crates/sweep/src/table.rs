//! From the answers of units to the table.
use crate::columns::{Costs, Line, LineFile, Named, PARQUET};
use crate::doc::{
    ClusterRowDoc, FIRST_ROWS, FIRST_ROWS_PROTOCOLS, RowDoc, SWEEP_SCHEMA, SecondsDoc, SweepDoc, TraceDoc,
};
use crate::estimate::{Estimate, estimates};
use crate::plan::{Plan, batches};
use crate::request::SweepRequest;
use crate::resolved::{Replay, ResolvedStudy};
use crate::spec::Point;
use crate::store::{self, ResultStore};
use crate::task::Unit;
use crate::{analyses, answers, clusters, digest, notes};
use homenode_base::TotalCost;
use homenode_command::{Failure, output};
use homenode_machine::{AccessClass, Machine};
use homenode_study::{Answer, Question, Row, What};
use homenode_sys::dir::create_new;
use homenode_table::{Format, WriteError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The files of the table.
struct Files {
    /// Rows that the document holds, at most.
    first_rows: usize,
    parquet: LineFile,
    csv: Option<LineFile>,
}

/// What is counted while they are written.
#[derive(Default)]
struct Counted {
    rows: u64,
    first: Vec<RowDoc>,
    cluster_rows: Vec<ClusterRowDoc>,
    seconds: SecondsDoc,
    units: u64,
    notes: Vec<String>,
}

/// Makes the table of all answers, replay by replay, machine by machine, and describes it.
pub(crate) fn write(
    resolved: &ResolvedStudy,
    store: &ResultStore,
    request: &SweepRequest,
    (workers, began): (usize, Instant),
) -> Result<SweepDoc, Failure> {
    let (table, csv) = (store.table(), request.csv.then(|| store.csv()));
    let parts: Vec<PathBuf> =
        [Some(&table), csv.as_ref()].into_iter().flatten().map(|p| output::temporary(p)).collect();
    let written = fill(resolved, store, &parts);
    if written.is_err() {
        // Parts of a table are worth nothing; that removing them may fail too changes nothing for the user.
        parts.iter().for_each(|p| drop(store::remove(p)));
    }
    let counted = written?;
    for (part, path) in parts.iter().zip([Some(&table), csv.as_ref()].into_iter().flatten()) {
        std::fs::rename(part, path).map_err(|e| store.failed("write", &e))?;
    }
    let (analyses, analysing) = analyses::write(resolved, store)?;
    let seconds = SecondsDoc { analyses: analysing, last_call: began.elapsed().as_secs_f64(), ..counted.seconds };
    let described = describe(resolved)?;
    let workers = if request.worker.is_some() { workers as u64 } else { 0 };
    Ok(SweepDoc {
        rows: counted.rows,
        units: counted.units,
        workers,
        memory_bytes: request.memory_bytes,
        seconds,
        table_sha256: file_digest(&table)?,
        table,
        csv,
        first_rows: counted.first,
        cluster_rows: counted.cluster_rows,
        analyses,
        notes: [described.notes, counted.notes].concat(),
        ..described
    })
}

fn describe(resolved: &ResolvedStudy) -> Result<SweepDoc, Failure> {
    let study = &resolved.study;
    let trace = |t: &crate::resolved::Trace| TraceDoc {
        name: t.label.clone(),
        digest: t.digest.clone(),
        refs: t.refs,
        sampled: t.sampled.is_some(),
    };
    let order = study.seeds.as_ref().map_or_else(|| "model".to_owned(), |seeds| format!("recorded, seeds {seeds:?}"));
    Ok(SweepDoc {
        schema: SWEEP_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: study.name.clone(),
        digest: resolved.digest.clone(),
        traces: resolved.traces.iter().map(trace).collect(),
        order,
        machines: u64::try_from(study.machine_count()).unwrap_or(u64::MAX),
        clusters: clusters::count(resolved),
        block_bytes: study.blocks.clone(),
        policies: study.policies.iter().map(ToString::to_string).collect(),
        protocols: study.protocols.iter().map(ToString::to_string).collect(),
        realign: study.realign.iter().map(ToString::to_string).collect(),
        rows: 0,
        units: 0,
        workers: 0,
        memory_bytes: 0,
        seconds: SecondsDoc::default(),
        table: PathBuf::new(),
        table_sha256: String::new(),
        csv: None,
        first_rows: Vec::new(),
        cluster_rows: Vec::new(),
        analyses: Vec::new(),
        notes: notes::notes(resolved)?,
    })
}

fn fill(resolved: &ResolvedStudy, store: &ResultStore, parts: &[PathBuf]) -> Result<Counted, Failure> {
    if !resolved.study.clusters.is_empty() {
        let filled = clusters::fill(resolved, store, parts)?;
        let seconds = SecondsDoc { units: filled.seconds, ..SecondsDoc::default() };
        let clusters::Filled { rows, units, first: cluster_rows, notes, .. } = filled;
        return Ok(Counted { rows, units, cluster_rows, seconds, notes, ..Counted::default() });
    }
    let of_protocols = FIRST_ROWS_PROTOCOLS * (1 + resolved.study.realign.len());
    let first_rows = if resolved.study.protocols.is_empty() { FIRST_ROWS } else { of_protocols };
    let mut files = Files::create(parts, first_rows).map_err(|e| unwritten(store, &e))?;
    let mut counted = Counted::default();
    for (number, replay) in resolved.replays().into_iter().enumerate() {
        let gone = || Failure::work(format!("the plan of replay {number} is gone; the same command makes it again"));
        let plan = Plan::read(store, &resolved.digest, number).ok_or_else(gone)?;
        counted.seconds.partitions += plan.seconds;
        for (batch, machines) in batches(resolved).into_iter().enumerate() {
            let points = machines.map(|i| resolved.point(i)).collect::<Result<Vec<Point>, Failure>>()?;
            let question = resolved.question(replay, points.iter().map(|p| p.machine.clone()).collect())?;
            let parts = (0..plan.groups.len()).map(|group| {
                let unit = Unit { replay: number, group, batch };
                let lost = || Failure::work("the answer of a unit is damaged; the same command computes it again");
                answers::read(store, &resolved.digest, unit).ok_or_else(lost)
            });
            let summed = sum(&question, parts, &mut counted)?;
            if replay.shared && replay.realigned.is_none() && batch == 0 {
                counted.notes.push(shared(resolved, replay, summed.whole.refs));
            }
            for line in lines(resolved, replay, &points, &summed) {
                files.push(line, &mut counted).map_err(|e| unwritten(store, &e))?;
            }
        }
    }
    files.finish().map_err(|e| unwritten(store, &e))?;
    Ok(counted)
}

/// How much of a replay is shared.
fn shared(resolved: &ResolvedStudy, replay: Replay, refs: u64) -> String {
    let trace = &resolved.traces[replay.trace];
    let order = replay.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let disturbed = replay.disturbed().map_or_else(String::new, |d| format!(", {d}"));
    let (label, all) = (&trace.label, trace.refs);
    format!(
        "{label}{order}{disturbed}: protocols see {refs} of {all} references: those to shared memory, not to stacks"
    )
}

fn unwritten(store: &ResultStore, e: &WriteError) -> Failure {
    let table = store.table();
    Failure::work(format!(
        "cannot write {}: {e}; with room there, the same command only does this again",
        table.display()
    ))
}

/// The answers of a batch together.
struct Summed {
    /// How the table calls what rows are about.
    names: BTreeMap<What, Arc<str>>,
    whole: Answer,
    /// One a row where the trace is sampled.
    estimates: Vec<Estimate>,
    blocks: Vec<u64>,
    /// Optimum of page coherence by machine and block size.
    optima: BTreeMap<(u32, u64), TotalCost>,
}

impl Summed {
    /// Cost over that of the optimum of page coherence, of these protocols and itself.
    fn over_optimum(&self, row: &Row) -> Option<f64> {
        let of = self.optima.get(&(row.machine, row.block_bytes));
        of.filter(|_| row.what.is_coherence()).map(|least| row.cost.ratio_to(*least))
    }
}

fn sum(
    question: &Question,
    parts: impl Iterator<Item = Result<(Answer, f64), Failure>>,
    counted: &mut Counted,
) -> Result<Summed, Failure> {
    let (mut whole, mut kept) = (Answer::default(), Vec::new());
    for part in parts {
        let (answer, seconds) = part?;
        counted.units += 1;
        counted.seconds.units += seconds;
        whole.add(&answer).map_err(Failure::work)?;
        if question.options.sampled.is_some() {
            kept.push(answer);
        }
    }
    whole.keep_best_counters();
    let estimates = if kept.is_empty() { Vec::new() } else { estimates(question, &kept)? };
    let names = whole.rows.iter().map(|row| row.what).collect::<BTreeSet<What>>().into_iter();
    let names = names.map(|what| (what, what.key(question).into())).collect();
    let optima = whole.rows.iter().filter(|row| row.what == What::COHERENCE);
    let optima = optima.map(|row| ((row.machine, row.block_bytes), row.cost)).collect();
    Ok(Summed { names, whole, estimates, blocks: question.blocks.clone(), optima })
}

fn lines<'s>(
    resolved: &ResolvedStudy,
    replay: Replay,
    points: &'s [Point],
    summed: &'s Summed,
) -> impl Iterator<Item = Line> + use<'s> {
    let trace: Arc<str> = resolved.traces[replay.trace].label.as_str().into();
    let disturbed: Option<Arc<str>> = replay.disturbed().map(Into::into);
    let realigned: Option<Arc<str>> = replay.realigned.map(|(realign, _)| realign.to_string().into());
    let named: Vec<Arc<Named>> = points.iter().map(|p| Arc::new(name(p))).collect();
    summed.whole.rows.iter().enumerate().map(move |(i, row)| {
        let m = row.machine as usize;
        let line = line(row, summed, &points[m].machine);
        let (interval, note) = summed.estimates.get(i).copied().unwrap_or_default();
        let (trace, disturbed, machine) = (trace.clone(), disturbed.clone(), named[m].clone());
        Line { trace, seed: replay.seed, disturbed, realigned: realigned.clone(), machine, interval, note, ..line }
    })
}

fn name(point: &Point) -> Named {
    let from = point.parameters;
    Named {
        name: point.family.map_or_else(|| point.machine.name.clone(), str::to_owned),
        family: point.family,
        params: point.params.clone(),
        unit: point.machine.unit.to_string(),
        lambda: from.map(|p| p.lambda.into()),
        o_h: from.map(|p| p.o_h.into()),
        o_s: from.map(|p| p.o_s.into()),
    }
}

/// The row without what all rows of its machine or trace have in common.
fn line(row: &Row, summed: &Summed, machine: &Machine) -> Line {
    let whole = &summed.whole;
    let charged = whole.charged.get(row.machine as usize).copied().unwrap_or_default();
    let touched = summed.blocks.iter().position(|b| *b == row.block_bytes).and_then(|b| whole.blocks_touched.get(b));
    let (parts, optimum) = (row.parts, row.optimum);
    Line {
        trace: "".into(),
        seed: None,
        disturbed: None,
        realigned: None,
        machine: Arc::default(),
        costs: costs(machine, row.block_bytes),
        block_bytes: row.block_bytes,
        what: summed.names[&row.what].clone(),
        cost: row.cost.0,
        local: parts.map(|p| p.local.0),
        remote: parts.map(|p| p.remote.0),
        global: parts.map(|p| p.global.0),
        movement: parts.map(|p| p.movement.0).or(optimum.map(|o| o.movement.0)),
        moves: parts.map(|p| p.moves).or(optimum.map(|o| o.moves)),
        copies: parts.map(|p| p.copies).or(optimum.map(|o| o.copies)),
        transfer_cost: charged.transfer_cost.0,
        refs: whole.refs,
        accesses: charged.accesses,
        blocks_touched: touched.copied().unwrap_or(0),
        exact: row.exact,
        interval: None,
        note: None,
        done: row.done,
        over_optimum: summed.over_optimum(row),
    }
}

/// r, R, g and G as charged for loads.
fn costs(machine: &Machine, block_bytes: u64) -> Costs {
    let Some(view) = machine.single_remote(block_bytes) else { return Costs::default() };
    let load = AccessClass::Read as usize;
    Costs {
        r: machine.cost.remote_access.then(|| view.far[load].0),
        copy: Some(view.copy.0),
        g: view.global.map(|g| g[load].0),
        global_copy: view.copy_global.map(|c| c.0),
    }
}

impl Files {
    fn create(parts: &[PathBuf], first_rows: usize) -> Result<Files, WriteError> {
        let parquet = LineFile::new(create_new(&parts[0])?, PARQUET)?;
        let csv = parts.get(1).map(|p| LineFile::new(create_new(p)?, Format::Csv)).transpose()?;
        Ok(Files { first_rows, parquet, csv })
    }
    fn push(&mut self, line: Line, counted: &mut Counted) -> Result<(), WriteError> {
        counted.rows += 1;
        if counted.first.len() < self.first_rows {
            counted.first.push(short(&line));
        }
        if let Some(csv) = &mut self.csv {
            csv.push(&line)?;
        }
        self.parquet.push(&line)
    }
    fn finish(self) -> Result<(), WriteError> {
        self.parquet.finish()?;
        self.csv.map_or(Ok(()), LineFile::finish)?;
        Ok(())
    }
}

fn short(line: &Line) -> RowDoc {
    let machine = &line.machine;
    let space = if machine.params.is_empty() { "" } else { " " };
    RowDoc {
        trace: line.trace.to_string(),
        order: order(line),
        realigned: line.realigned.as_deref().map(str::to_owned),
        machine: format!("{}{space}{}", machine.name, machine.params),
        block_bytes: line.block_bytes,
        what: line.what.to_string(),
        cost: line.cost.to_string(),
        mcpr: line.mcpr(),
        exact: line.exact,
        over_optimum: line.over_optimum,
    }
}

fn order(line: &Line) -> String {
    let seed = line.seed.map_or_else(|| "model".to_owned(), |seed| format!("seed {seed}"));
    line.disturbed.as_ref().map_or(seed.clone(), |d| format!("{seed}; {d}"))
}

fn file_digest(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::work(format!("cannot read {}: {e}", path.display())))?;
    Ok(digest::bytes(&bytes))
}

/// A sweep that was done before: the same result again, if it is still what was written.
pub(crate) fn again(
    store: &ResultStore,
    doc: SweepDoc,
    request: &SweepRequest,
    table: Option<&Path>,
) -> Result<SweepDoc, Failure> {
    if file_digest(&store.table())? != doc.table_sha256 {
        let shown = store.table().display().to_string();
        return Err(Failure::input(format!("{shown} is not what the sweep wrote; --force computes it again")));
    }
    if request.csv && !store.csv().is_file() {
        return Err(Failure::usage("the sweep was done without --csv; --force computes it again"));
    }
    copy_to(store, table, request.force)?;
    Ok(SweepDoc { table: store.table(), csv: request.csv.then(|| store.csv()), ..doc })
}

/// Puts the table where else it was wanted.
pub(crate) fn copy_to(store: &ResultStore, table: Option<&Path>, force: bool) -> Result<(), Failure> {
    let Some(to) = table else { return Ok(()) };
    let bytes = |path: &Path| std::fs::read(path);
    let from = bytes(&store.table()).map_err(|e| store.failed("read", &e))?;
    if bytes(to).is_ok_and(|there| there == from) {
        return Ok(());
    }
    output::refuse_existing(to, force)?;
    output::write(to, &from)
}
