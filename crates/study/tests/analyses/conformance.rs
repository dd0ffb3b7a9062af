//! What every analysis of the registry must do.
use crate::common::{ask, ask_folded, bindings, merged, replayed};
use homenode_machine::models;
use homenode_machine::models::family::Parameters;
use homenode_placement::policies::Choice;
use homenode_sim::NoObjects;
use homenode_study::analyses::{ALL, AnalysisError, Ask, Input, Moves, Need, Spec};
use homenode_study::{Question, Want, What, plain};
use homenode_synthetic::{PROGRAMS, Scale};
use homenode_table::{Cell, Table};
use homenode_trace::order::{Listed, Source, Stream};
use homenode_trace::{Counting, SampleUnit, TraceError};
use std::collections::BTreeSet;

fn everything(threads: u32) -> Question {
    let dsm = models::family::DSM.build(&Parameters { processors: 8, ..Parameters::default() }).unwrap();
    let machines = vec![models::find("ace").unwrap(), models::find("butterfly").unwrap(), dsm];
    let mut q = Question::new(machines, vec![bindings(threads); 3], vec![64, 4096]);
    q.policies = vec![Choice::parse("ace").unwrap(), Choice::parse("interleave").unwrap()];
    q.with_replication = Want::Cost;
    q
}

fn run(spec: &Spec, question: &Question, source: &mut dyn Source) -> Result<Vec<Table>, AnalysisError> {
    run_with(&ask, spec, question, source)
}

fn run_with(
    ask: &Ask<'_>,
    spec: &Spec,
    question: &Question,
    source: &mut dyn Source,
) -> Result<Vec<Table>, AnalysisError> {
    let mut input = Input { source, question, ask, objects: &|| Box::new(NoObjects), seed: 3, repeats: 40 };
    if spec.name == "perturb" {
        input.repeats = 2;
    }
    spec.run(&mut input)
}

fn fitting(spec: &Spec, threads: u32) -> Question {
    let mut q = everything(threads);
    if spec.needs.contains(&Need::Samples) {
        q.options.sampled = Some(Counting { unit: SampleUnit::Reference, sees_writes: true });
    }
    q
}

#[test]
fn names_and_summaries_are_fit_for_lists() {
    let names: BTreeSet<&str> = ALL.iter().map(|s| s.name).collect();
    assert_eq!(names.len(), ALL.len());
    for spec in ALL {
        let ok = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(spec.name.chars().all(ok), "{}", spec.name);
        assert!((20..=130).contains(&spec.summary.len()) && !spec.summary.ends_with('.'), "{}", spec.name);
        assert!(!spec.summary.contains('\n'));
        assert_eq!(Spec::find(spec.name).map(|s| s.name), Some(spec.name));
        assert!(!spec.needs.is_empty());
    }
    assert!(Spec::find("no such").is_none());
}

#[test]
fn every_analysis_runs_on_synthetic_programs_and_says_the_same_twice() {
    for spec in ALL {
        for program in PROGRAMS.iter().filter(|p| ["locks", "false-sharing"].contains(&p.name)) {
            let log = merged(&(program.build)(1, Scale { threads: 4, rounds: 6 }));
            let q = fitting(spec, 4);
            let tables = run(spec, &q, &mut replayed(&log)).unwrap();
            assert!(!tables.is_empty() && tables.iter().any(|t| !t.is_empty()), "{}", spec.name);
            assert_eq!(tables, run(spec, &q, &mut replayed(&log)).unwrap(), "{}", spec.name);
            for table in &tables {
                well_formed(table);
            }
        }
    }
}

fn well_formed(table: &Table) {
    assert!(!table.note.is_empty() && table.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    let columns: BTreeSet<&str> = table.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(columns.len(), table.columns().len(), "{}", table.name);
    for row in table.rows() {
        assert_eq!(row.len(), table.columns().len(), "{}", table.name);
        assert!(row.iter().all(|v| !matches!(v, Cell::Real(x) if !x.is_finite())), "{}: {row:?}", table.name);
    }
    let text = serde_json::to_string(table).expect("tables can be written");
    let read: Table = serde_json::from_str(&text).expect("and read");
    assert!(read.rows().eq(table.rows()), "{}", table.name);
}

#[test]
fn tables_are_the_same_whoever_answers() {
    let log = merged(&(PROGRAMS[7].build)(1, Scale { threads: 4, rounds: 8 }));
    for spec in ALL {
        let q = fitting(spec, 4);
        let slow = run(spec, &q, &mut replayed(&log)).unwrap();
        let fast = run_with(&ask_folded, spec, &q, &mut replayed(&log)).unwrap();
        assert_eq!(slow, fast, "{}", spec.name);
    }
}

#[test]
fn an_empty_trace_is_no_error() {
    for spec in ALL {
        let tables = run(spec, &fitting(spec, 2), &mut Listed::new(&[])).unwrap();
        tables.iter().for_each(well_formed);
    }
}

#[test]
fn what_is_missing_is_named() {
    for spec in ALL {
        for need in spec.needs {
            let mut q = fitting(spec, 2);
            match need {
                Need::Exact => q.options.sampled = Some(Counting { unit: SampleUnit::Miss, sees_writes: true }),
                Need::Samples => q.options.sampled = None,
                Need::Machine => (q.machines, q.bindings) = (vec![], vec![]),
                Need::Policy => q.policies.clear(),
                Need::GlobalMemory | Need::LinearCopy => {
                    let keep = if *need == Need::GlobalMemory { "butterfly" } else { "ace" };
                    (q.machines, q.bindings) = (vec![models::find(keep).unwrap()], vec![bindings(2)]);
                }
            }
            let error = run(spec, &q, &mut Listed::new(&[])).expect_err("it is missing").to_string();
            assert!(error.contains(spec.name) && error.contains(need.words()), "{error}");
        }
    }
}

struct Damaged;

impl Source for Damaged {
    fn stream(&mut self, _: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        Err(TraceError::Cycle("made up".into()))
    }
}

#[test]
fn a_damaged_trace_stops_every_analysis() {
    for spec in ALL {
        let error = run(spec, &fitting(spec, 2), &mut Damaged).expect_err("the trace cannot be read");
        assert!(error.to_string().contains("made up"), "{error}");
    }
}

/// The table's moves come from the engine that answers questions; counting one by one gives the same.
#[test]
fn moves_in_the_false_sharing_table_are_those_of_counting() {
    let log = merged(&(PROGRAMS[5].build)(1, Scale { threads: 4, rounds: 20 }));
    let q = everything(4);
    let tables = run(Spec::find("false-sharing").unwrap(), &q, &mut replayed(&log)).unwrap();
    let bindings = bindings(4);
    let mut moves = Moves::new(&[16, 1024, 1], 4, q.start, &bindings).unwrap();
    moves.refs(&log.refs());
    let counts = moves.counts();
    assert!(counts[2].1 > 0);
    // Butterfly and DSM at two block sizes.
    assert_eq!(tables[0].len(), 4);
    for (i, row) in tables[0].rows().enumerate() {
        let expected = [moves.words(), counts[i % 2].1, counts[2].1].map(Cell::from);
        assert_eq!(row[2..5], expected, "{row:?}");
    }
}

/// Counters of eight bytes side by side: the table names each with the node that uses it.
#[test]
fn words_of_falsely_shared_blocks_are_named_with_their_users() {
    let log = merged(&(PROGRAMS[4].build)(1, Scale { threads: 4, rounds: 20 }));
    let tables = run(Spec::find("false-sharing").unwrap(), &everything(4), &mut replayed(&log)).unwrap();
    let words = tables.iter().find(|t| t.name == "false-sharing-words").unwrap();
    let of = |machine: &str| -> Vec<Vec<Cell<'_>>> {
        let here = |r: &Vec<Cell<'_>>| r[0] == Cell::from(machine) && r[1] == Cell::from(64u64);
        words.rows().filter(here).map(|r| r[5..8].to_vec()).collect()
    };
    let expected: Vec<Vec<Cell<'_>>> =
        (0..4u64).map(|t| vec![(8 * t).into(), 8u64.into(), format!("node {t}").into()]).collect();
    assert_eq!((of("butterfly"), of("dsm")), (expected.clone(), expected));
}

/// Corrected costs are costs and rates of the other tables put together.
#[test]
fn corrected_costs_are_costs_and_rates_put_together() {
    let log = merged(&(PROGRAMS[5].build)(1, Scale { threads: 4, rounds: 20 }));
    let mut q = everything(4);
    q.blocks = vec![64, 128, 4096];
    let tables = run(Spec::find("tlb").unwrap(), &q, &mut replayed(&log)).unwrap();
    let answer = plain::answer(&q, &log.refs()).unwrap();
    // Three machines, two page sizes that are studied, two models whose misses have a cost.
    assert_eq!(tables[1].len(), 12);
    for row in tables[1].rows() {
        let number = |i: usize| if let Cell::Real(x) = row[i] { x } else { panic!("{row:?}") };
        let rate = tables[0].rows().find(|r| r[0] == row[2] && r[1] == row[1]).map(|r| r[5].clone());
        assert_eq!(rate, Some(row[4].clone()));
        let machine = q.machines.iter().position(|m| row[0] == Cell::from(m.name.as_str())).unwrap();
        let here = |r: &&homenode_study::Row| {
            r.machine as usize == machine && r.what == What::WITH_REPLICATION && row[1] == Cell::from(r.block_bytes)
        };
        let cost = answer.rows.iter().find(here).unwrap().cost;
        assert!((number(3) - cost.as_f64() / answer.accesses as f64).abs() < 1e-12);
        assert!((number(6) - (number(3) + number(4) * number(5))).abs() < 1e-12);
    }
}
