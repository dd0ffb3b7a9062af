//! Sweeps of clusters in virtual time: rows, resumption, and what cannot be.
mod support;

use homenode_cluster::{Question, WhatIf, run, shape, shaped};
use homenode_command::gaps::Source;
use homenode_command::{Class, Failure};
use homenode_hlrc::steps;
use homenode_machine::models;
use homenode_sweep::{ResolvedStudy, ResultStore, StudySource, SweepDoc, SweepRequest, Task, Worker, finish, pending};
use homenode_synthetic::Builder;
use homenode_timed::engine::Options;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Two machines in a shape each, two steps, and 41 points: more runs than a task has.
const STUDY: &str = "name = 'fabric'\ntraces = ['a.hnt', 'b.hnt']\n\
    [[cluster]]\nmachine = ['svm-achievable', 'svm-best']\nnodes = '2x2'\nprotocols = ['base', 'nil']\nvary = 'each'\n\
    what_if = ['no-diffs', 'io=4x']\ninterrupts = { from = 0, to = 10000, points = 20 }\n\
    occupancy = { from = 100, to = 5000, points = 18, log = true }\n\
    [[cluster]]\nmachine = 'svm-achievable'\nnodes = '4x1'\noverhead = [0, 600]\nio = [250, 1000]\n";
const BARRIER: u64 = 0x9000;

/// Four threads that write and read each other's words between barriers of so many.
fn program(seed: u64, parties: u32) -> Builder {
    let mut b = Builder::new(4);
    for round in 0..4u64 {
        for i in 0..60 {
            let (thread, page) = ((i % 4) as u32, (i * seed + round) % 5);
            b.write(thread, 0x40_0000 + page * 4096 + u64::from(thread) * 512 + i / 4 * 8);
            b.read(thread, 0x40_0000 + (page + 1) % 5 * 4096 + (u64::from(thread) + 1) % 4 * 512);
        }
        b.barrier(BARRIER, 0..parties);
    }
    b
}

fn folder(study: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    support::write(&*program(3, 4).store(), &folder.path().join("a.hnt"));
    support::write(&*program(7, 4).store(), &folder.path().join("b.hnt"));
    std::fs::write(folder.path().join("study.toml"), study).expect("written");
    folder
}

fn request(folder: &Path, output: &str) -> SweepRequest {
    SweepRequest {
        asked: StudySource::File(folder.join("study.toml")),
        output: Some(folder.join(output)),
        workers: Some(1),
        memory_bytes: 256 << 20,
        csv: true,
        force: false,
        yes: false,
        worker: None,
    }
}

fn sweep(folder: &Path, output: &str) -> Result<SweepDoc, Failure> {
    homenode_sweep::sweep(&request(folder, output), &mut ())
}

fn bytes(doc: &SweepDoc) -> [Vec<u8>; 2] {
    [&doc.table, doc.csv.as_ref().expect("asked for")].map(|path| std::fs::read(path).expect("written"))
}

/// Columns of the CSV by name, row by row.
fn rows(doc: &SweepDoc) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(bytes(doc)[1].clone()).expect("text");
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

/// Cycles of a row of the first trace, run by itself.
fn alone(machine: &str, nodes: &str, protocol: &str, what_ifs: &str) -> (u64, u64, u64) {
    let machine = shaped(&models::find(machine).expect("a machine"), shape(nodes).expect("a shape"));
    let data = program(3, 4).open().expect("valid");
    let source = Source::new(&data, 1.0);
    let question = Question { machine: &machine, map: None, options: Options::default(), checks: false, faults: None };
    let what_ifs: Vec<WhatIf> = what_ifs.split_whitespace().map(|w| w.parse().expect("known")).collect();
    let bound = question.bind(&data, source.run()).expect("bound").with(&what_ifs);
    let row = run(&bound, steps::find(protocol).expect("a step"), || source.run()).expect("runs");
    (row.cycles, row.sequential, row.counts.messages)
}

#[test]
fn every_row_is_what_a_run_by_itself_says() {
    let folder = folder(STUDY);
    let doc = sweep(folder.path(), "out.sweep").expect("a sweep");
    let rows = rows(&doc);
    // Of each trace: two machines, two steps and 41 points; and two steps and four combinations.
    assert_eq!((rows.len(), doc.rows, doc.clusters, doc.units), (2 * (164 + 8), 2 * (164 + 8), 3, 10));
    let of_first: Vec<_> = rows.iter().filter(|r| r["trace"] == "a.hnt").collect();
    for r in of_first.iter().step_by(7).chain(&of_first[164..]) {
        let found = ["cycles", "sequential", "messages"].map(|name| r[name].parse::<u64>().expect("a number"));
        let wanted = alone(&r["machine"], &r["nodes"], &r["protocol"], &r["what_if"]);
        assert_eq!((found[0], found[1], found[2]), wanted, "{r:?}");
        let speedup = wanted.1 as f64 / wanted.0 as f64;
        assert_eq!(r["speedup"], speedup.to_string());
    }
    let last = of_first.last().expect("rows");
    assert_eq!(
        (last["set_overhead"].as_str(), last["set_io"].as_str(), last["set_interrupts"].as_str()),
        ("600", "1000", "500")
    );
    let times = ["compute", "local", "data", "lock", "barrier", "other", "interrupted", "idle"];
    let times = times.map(|name| last[&format!("{name}_cycles")].parse::<u64>().expect("a number"));
    assert_eq!(times.iter().sum::<u64>(), 4 * last["cycles"].parse::<u64>().expect("a number"));
    assert!(doc.to_text().starts_with("fabric: 2 trace(s), 3 cluster(s): 344 rows\n"), "{}", doc.to_text());
}

/// Does every `step`th task that is there, by workers in turn, each with a store of its own.
fn some(folder: &Path, output: &str, workers: usize, step: usize) -> SweepDoc {
    let (began, request) = (Instant::now(), request(folder, output));
    let study = ResolvedStudy::load(&request.asked).expect("a study");
    let (store, _) = ResultStore::of(request.output.as_deref(), "x");
    let (store, _) = store.claim(&study.text, &study.digest, false).expect("ours");
    let mut all: Vec<Worker<'_>> = (0..workers).map(|_| Worker::new(&study, &store, request.memory_bytes)).collect();
    let tasks = pending(&study, &store);
    assert!(tasks.iter().all(|t| matches!(t, Task::Cluster(_))));
    for (n, task) in tasks.into_iter().rev().step_by(step).enumerate() {
        all[n % workers].carry_out(task, &mut |_| ()).expect("done");
    }
    if step > 1 {
        drop(all);
        drop(store);
        return sweep(folder, output).expect("goes on");
    }
    finish(&study, &store, &request, began).expect("a table")
}

#[test]
fn who_did_what_and_how_often_it_was_stopped_changes_nothing() {
    let folder = folder(STUDY);
    let whole = sweep(folder.path(), "whole.sweep").expect("a sweep");
    for (name, workers, step) in [("two.sweep", 2, 1), ("stopped.sweep", 1, 2), ("both.sweep", 3, 3)] {
        let doc = some(folder.path(), name, workers, step);
        assert_eq!(bytes(&doc), bytes(&whole), "{name}");
        assert_eq!((doc.units, doc.table_sha256), (whole.units, whole.table_sha256.clone()));
        assert!(!folder.path().join(name).join("work").exists());
    }
}

#[test]
fn damaged_rows_are_computed_again() {
    let folder = folder(STUDY);
    let whole = sweep(folder.path(), "whole.sweep").expect("a sweep");
    let request = request(folder.path(), "out.sweep");
    let study = ResolvedStudy::load(&request.asked).expect("a study");
    let (store, _) = ResultStore::of(request.output.as_deref(), "x");
    let (store, _) = store.claim(&study.text, &study.digest, false).expect("ours");
    let mut worker = Worker::new(&study, &store, request.memory_bytes);
    let tasks = pending(&study, &store);
    tasks.iter().for_each(|task| worker.carry_out(*task, &mut |_| ()).expect("done"));
    assert_eq!(pending(&study, &store), []);
    let file = |name: &str| store.path().join("work").join(name);
    let text = std::fs::read(file("cluster-0-0-0.json")).expect("written");
    std::fs::write(file("cluster-0-0-0.json"), &text[..text.len() / 2]).expect("cut off");
    // That of another task.
    std::fs::write(file("cluster-1-1-1.json"), &text).expect("written");
    assert_eq!(pending(&study, &store).len(), 2);
    drop(worker);
    drop(store);
    assert_eq!(bytes(&sweep(folder.path(), "out.sweep").expect("goes on")), bytes(&whole));
}

fn refused(folder: &Path, study: &str, class: Class, words: &[&str]) {
    std::fs::write(folder.join("study.toml"), study).expect("written");
    let e = sweep(folder, "refused.sweep").expect_err(study);
    assert!(words.iter().all(|word| e.message.contains(word)), "{e}");
    assert_eq!(e.class, class, "{e}");
    assert!(!folder.join("refused.sweep").join("results.parquet").exists());
}

#[test]
fn a_trace_that_does_not_fit_is_named_before_any_work_is_done() {
    let folder = folder(STUDY);
    let of = |nodes: &str| STUDY.replace("'4x1'", nodes);
    let said = ["a.hnt on svm-achievable 2x1: barrier 0x9000 takes 4 threads", "take nodes with 4 processors in all"];
    refused(folder.path(), &of("'2x1'"), Class::Usage, &said);
    assert!(!folder.path().join("refused.sweep").exists());
    refused(folder.path(), &STUDY.replace("'io=4x'", "'io=x'"), Class::Input, &["line 8", "what_if", "io=4x"]);
    refused(folder.path(), &STUDY.replace("points = 20", "points = 0"), Class::Input, &["interrupts", "above 0"]);
}

#[test]
fn a_trace_without_synchronisation_has_rows_and_a_note() {
    let folder = folder("traces = ['c.hnt']\n[[cluster]]\nmachine = 'svm-achievable'\nnodes = ['4x1', '2x2']\n");
    let mut b = Builder::new(4);
    (0..80).for_each(|n| _ = b.write(n % 4, 0x40_0000 + 8 * u64::from(n)));
    support::write(&*b.store(), &folder.path().join("c.hnt"));
    let doc = sweep(folder.path(), "out.sweep").expect("a sweep");
    assert_eq!(doc.rows, 4, "two shapes, base and genima");
    let note = "c.hnt: the recording has no synchronisation";
    assert!(doc.notes.iter().any(|n| n.starts_with(note)), "{:?}", doc.notes);
    assert!(doc.to_text().contains("svm-achievable  4x1    base"), "{}", doc.to_text());
    let again = sweep(folder.path(), "out.sweep").expect("done already");
    assert_eq!(bytes(&again), bytes(&doc));
    assert_eq!(again.cluster_rows, doc.cluster_rows);
}

#[test]
fn a_note_stands_once_behind_the_traces_that_it_is_true_of() {
    let folder = folder("traces = ['a.hnt', 'b.hnt']\n[[cluster]]\nmachine = 'svm-achievable'\nnodes = '4x1'\n");
    let doc = sweep(folder.path(), "out.sweep").expect("a sweep");
    let of_both: Vec<_> = doc.notes.iter().filter(|n| n.starts_with("a.hnt, b.hnt: ")).collect();
    assert_eq!(of_both.len(), 1, "{:?}", doc.notes);
    assert!(of_both[0].contains("the number of instructions is not known"), "{of_both:?}");
}
