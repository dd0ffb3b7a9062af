//! Analyses of a sweep: one task each for a trace, its tables kept like the answer of a unit; then CSV files and the
//! document.
use crate::cut::Cutter;
use crate::doc::{AnalysisDoc, FIRST_ROWS, TableDoc};
use crate::kept;
use crate::plan::Plan;
use crate::resolved::ResolvedStudy;
use crate::store::ResultStore;
use crate::task::AnalysisTask;
use homenode_command::{Failure, output};
use homenode_sim::Objects;
use homenode_sim::names::NameTable;
use homenode_study::analyses::{AnalysisError, Input};
use homenode_study::{Answer, Question, answer};
use homenode_table::{Cell, Column, Table};
use homenode_trace::order::{Again, Listed, Source};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Seed of everything random in analyses.
const SEED: u64 = 1;

fn file(e: AnalysisTask) -> String {
    format!("analysis-{}-{}.json", e.trace, e.analysis)
}

/// Whether every analysis can be made of every trace; said before any work is done.
///
/// # Errors
/// One that lacks something.
pub(crate) fn check(resolved: &ResolvedStudy) -> Result<(), Failure> {
    for e in resolved.examinations() {
        let spec = resolved.study.analyses[e.analysis];
        let (question, trace) = (question(resolved, e)?, &resolved.traces[e.trace]);
        let objects = no_objects;
        let mut unread = Listed::new(&[]);
        let unasked = |_: &Question, _: &mut dyn Source| Ok(Vec::new());
        let input = Input {
            source: &mut unread,
            question: &question,
            ask: &unasked,
            objects: &objects,
            seed: SEED,
            repeats: spec.repeats,
        };
        if let Some(need) = spec.needs.iter().find(|need| !input.has(**need)) {
            let (name, needs) = (spec.name, need.words());
            return Err(Failure::usage(format!("{}: analysis {name} needs {needs}", trace.label)));
        }
    }
    Ok(())
}

fn no_objects<'a>() -> Box<dyn Objects + 'a> {
    Box::new(homenode_sim::NoObjects)
}

fn question(resolved: &ResolvedStudy, e: AnalysisTask) -> Result<Question, Failure> {
    let machines = resolved.machines(0..resolved.study.machine_count())?;
    resolved.question(resolved.plain_replay(e.trace), machines)
}

/// Makes one analysis of one trace.
pub(crate) fn run(cutter: &Cutter<'_>, e: AnalysisTask) -> Result<Vec<Table>, Failure> {
    let (resolved, store) = (cutter.resolved, cutter.store);
    let spec = resolved.study.analyses[e.analysis];
    let question = cutter.within_memory(question(resolved, e)?);
    let reader = resolved.traces[e.trace].open()?;
    let order = resolved.plain_replay(e.trace).order();
    let names = NameTable::new(&reader)?;
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let mut source = Again { data: &reader, kind: order };
    let to = store.work(&file(e));
    let ask = |question: &Question, source: &mut dyn Source| -> Result<Vec<Answer>, AnalysisError> {
        let partition = cutter.partition_of(question, &to, source, &mut |_| ())?;
        let plan = Plan::new("", &partition, question.options.sampled.is_some(), 0.0);
        plan.groups.into_iter().map(|group| Ok(answer(question, &partition, group)?)).collect()
    };
    let mut input = Input {
        source: &mut source,
        question: &question,
        ask: &ask,
        objects: &objects,
        seed: SEED,
        repeats: spec.repeats,
    };
    spec.run(&mut input).map_err(|why| cutter.refused(&resolved.traces[e.trace].path, why))
}

/// Keeps the tables of an analysis.
pub(crate) fn keep(
    store: &ResultStore,
    study: &str,
    e: AnalysisTask,
    seconds: f64,
    tables: Vec<Table>,
) -> Result<(), Failure> {
    kept::keep(store, study, file(e), seconds, tables)
}

/// Whether it is made.
pub(crate) fn is_done(store: &ResultStore, study: &str, e: AnalysisTask) -> bool {
    kept::read(store, study, &file(e)).is_some()
}

/// Writes a CSV file a table, with the rows of all traces; says what is in them, and the processor time they took.
pub(crate) fn write(resolved: &ResolvedStudy, store: &ResultStore) -> Result<(Vec<AnalysisDoc>, f64), Failure> {
    let (mut docs, mut seconds, mut files) = (Vec::new(), 0.0, BTreeMap::<String, Table>::new());
    for e in resolved.examinations() {
        let lost = || Failure::work("the tables of an analysis are damaged; the same command makes them again");
        let kept = kept::read(store, &resolved.digest, &file(e)).ok_or_else(lost)?;
        seconds += kept.seconds;
        let (trace, analysis) = (&resolved.traces[e.trace].label, resolved.study.analyses[e.analysis].name);
        let mut tables = Vec::new();
        for table in kept.tables {
            let name = csv_name(analysis, &table.name);
            push(files.entry(name.clone()), trace, &table);
            tables.push(TableDoc {
                name: table.name.to_string(),
                note: table.note.to_string(),
                columns: table.columns().iter().map(|c| c.name.clone()).collect(),
                rows: table.len() as u64,
                first_rows: table.rows().take(FIRST_ROWS).map(|r| r.into_iter().map(Cell::owned).collect()).collect(),
                csv: store.path().join(name),
            });
        }
        docs.push(AnalysisDoc { trace: trace.clone(), analysis: analysis.to_owned(), tables });
    }
    for (name, table) in files {
        output::write(&store.path().join(name), table.csv().as_bytes())?;
    }
    Ok((docs, seconds))
}

fn csv_name(analysis: &str, table: &str) -> String {
    if table.starts_with(analysis) { format!("{table}.csv") } else { format!("{analysis}-{table}.csv") }
}

/// Adds the rows of a trace's table to those of all traces.
fn push(all: Entry<'_, String, Table>, trace: &str, table: &Table) {
    let columns = || std::iter::once(Column::named("trace")).chain(table.columns().iter().cloned()).collect();
    let all = all.or_insert_with(|| Table::new(columns()));
    table.rows().for_each(|row| all.push(std::iter::once(Cell::from(trace)).chain(row)));
}
