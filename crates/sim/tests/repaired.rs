//! What a what-if predicts, beside what the really repaired program costs.
mod common;
use common::{cached, objects::Arrays, plain};
use homenode_analysis::{Making, Transform};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Machine, models};
use homenode_placement::policies::Choice;
use homenode_sim::evaluation::FindingKind;
use homenode_sim::{EvalContext, EvalOptions, Evaluation, Setup, ThreadBinding, WhatIf, evaluate};
use homenode_trace::order::{Listed, Source, Stream};
use homenode_trace::{Merged, Op, TraceError};

const THREADS: u32 = 8;
const A: u64 = 0x10_0000_0000;
const B: u64 = 0x20_0000_0000;

fn bindings(machine: &Machine) -> Vec<ThreadBinding> {
    let cpus: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    let cpu = |t: usize| t * cpus.len() / THREADS as usize;
    (0..THREADS as usize).map(|t| ThreadBinding { cpu: cpu(t) as u16, node: NodeId(cpus[cpu(t)]), space: 0 }).collect()
}

fn setup<'a>(machine: &'a Machine, bindings: &'a [ThreadBinding]) -> Setup<'a> {
    Setup::exact(machine, bindings, 4096)
}

fn word(thread: u32, addr: u64, op: Op, site: u32) -> Merged {
    Merged { addr, size: 8, site, weight: 1, thread, op, ..Merged::default() }
}

/// References of the threads in turn, thread by thread, one reference each.
fn in_turn(each: &[Vec<Merged>]) -> Vec<Merged> {
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| each.iter().filter_map(move |refs| refs.get(i).copied())).collect()
}

/// Jacobi sweeps over two arrays of `words`, initialised by thread 0 or by the threads that use them.
fn stencil(words: u64, sweeps: u64, parallel: bool) -> Vec<Merged> {
    let part = words / u64::from(THREADS);
    let owner = |i: u64| ((i / part) as u32).min(THREADS - 1);
    let init = |t: u32| {
        let mine = (0..words).filter(move |i| if parallel { owner(*i) == t } else { t == 0 });
        mine.flat_map(move |i| [word(t, A + 8 * i, Op::Write, 1), word(t, B + 8 * i, Op::Write, 2)]).collect()
    };
    let mut refs = in_turn(&(0..THREADS).map(init).collect::<Vec<_>>());
    for sweep in 0..sweeps {
        let (from, to) = if sweep % 2 == 0 { (A, B) } else { (B, A) };
        let work = |t: u32| {
            let points = (1..words - 1).filter(move |i| owner(*i) == t);
            let point = move |i: u64| {
                let read = |j: u64| word(t, from + 8 * j, Op::Read, 3);
                [read(i - 1), read(i), read(i + 1), word(t, to + 8 * i, Op::Write, 4)]
            };
            points.flat_map(point).collect::<Vec<_>>()
        };
        refs.extend(in_turn(&(0..THREADS).map(work).collect::<Vec<_>>()));
    }
    refs
}

/// Each thread counts in its own element of an array with this stride, and reads memory of its own between.
fn counters(stride: u64, rounds: u64) -> Vec<Merged> {
    let work = |t: u32| {
        let element = A + u64::from(t) * stride;
        let own = B + u64::from(t) * (1 << 20);
        let round = move |i: u64| {
            let table = word(t, own + i * 64 % (1 << 16), Op::Read, 5);
            [table, word(t, element, Op::Read, 6), word(t, element, Op::Write, 7)]
        };
        (0..rounds).flat_map(round).collect::<Vec<_>>()
    };
    in_turn(&(0..THREADS).map(work).collect::<Vec<_>>())
}

/// Another merge is the same references, pairs of equal threads kept in order, so any shift of whole rounds will do.
struct Shifted<'a> {
    refs: &'a [Merged],
    merge: Vec<Merged>,
}

impl Source for Shifted<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        let shift = (merge as usize * THREADS as usize * 5).min(self.refs.len());
        self.merge = [&self.refs[shift..], &self.refs[..shift]].concat();
        Ok(Box::new(Listed::new(&self.merge)))
    }
}

fn report(machine: &Machine, refs: &[Merged], arrays: Vec<(&'static str, u64, u64)>) -> Evaluation {
    let bindings = bindings(machine);
    let policies = [Choice::parse("interleave").unwrap(), Choice::parse("best-static").unwrap()];
    let options = EvalOptions { merges: 1, ..EvalOptions::default() };
    let context =
        EvalContext { setup: setup(machine, &bindings), policies: &policies, options, workers: &homenode_sim::Alone };
    evaluate(&mut Shifted { refs, merge: Vec::new() }, &mut Arrays(arrays), &context).unwrap()
}

fn first_touch(e: &Evaluation) -> TotalCost {
    e.policies.iter().find(|p| p.name == "first-touch").unwrap().total
}

fn assert_within_tenth(predicted: TotalCost, realised: TotalCost) {
    assert!((predicted.0 - realised.0).abs() * 10 <= realised.0, "predicted {predicted:?} realised {realised:?}");
}

/// What must hold of every evaluation.
fn assert_consistent(e: &Evaluation) {
    for p in &e.policies {
        assert_eq!(p.local + p.remote + p.global + p.movement + p.transfer, p.total, "{}", p.name);
        assert!(e.optimum.iter().take(1).all(|o| o.total <= p.total), "{} beats the bound", p.name);
        let (low, high) = p.spread.unwrap();
        assert!(low <= p.total && p.total <= high);
    }
    let (with, without, fixed) = (&e.optimum[0], &e.optimum[1], &e.optimum[2]);
    assert!(with.total <= without.total && without.total <= fixed.total);
    let best = e.policies.iter().find(|p| p.name == "best-static").unwrap();
    assert_eq!(best.total, fixed.total);
    let base = first_touch(e);
    assert_eq!(e.patterns.iter().map(|p| p.cost).sum::<TotalCost>(), base, "patterns");
    assert_eq!(e.objects.iter().map(|o| o.cost).sum::<TotalCost>(), base, "objects");
    assert_eq!(e.lines.iter().map(|l| l.cost).sum::<TotalCost>(), base, "lines");
    assert_eq!(e.objects.iter().map(|o| o.best_static).sum::<TotalCost>(), fixed.total, "best static by object");
    let t = &e.transfer_breakdown;
    let classes = [&t.falsely_shared, &t.truly_shared, &t.locks, &t.unwatched];
    assert_eq!(classes.iter().map(|c| c.cost).sum::<TotalCost>(), e.totals.transfer_cost, "transfers by class");
    assert_eq!(classes.iter().map(|c| c.transfers).sum::<u64>(), e.totals.transfers);
    assert_eq!(e.threads.iter().map(|t| t.refs).sum::<u64>(), e.totals.refs);
    for f in &e.findings {
        assert_eq!(base - f.predicted_total, f.saving);
    }
}

/// Without caches, with words as long as the references.
fn wide_words() -> Machine {
    let mut machine = plain(&[4, 4]);
    machine.shape.word_bytes = 8;
    machine
}

fn small_machine() -> Machine {
    let mut machine = cached(&[4, 4], (8, 4), (64, 8)); // 2 KiB private, 32 KiB shared
    machine.shape.word_bytes = 8;
    machine
}

#[test]
fn first_touch_mistake_is_found_and_its_remedy_predicted() {
    for machine in [small_machine(), wide_words()] {
        let words = 64 * 512; // 64 pages an array
        let arrays = || vec![("a", A, words * 8), ("b", B, words * 8)];
        let (serial, parallel) = (stencil(words, 4, false), stencil(words, 4, true));
        let before = report(&machine, &serial, arrays());
        let after = report(&machine, &parallel, arrays());
        assert_consistent(&before);
        assert_consistent(&after);
        let mut blamed: Vec<&str> = before.findings.iter().map(|f| f.object.as_str()).collect();
        blamed.sort_unstable();
        assert_eq!(blamed, ["a", "b"], "{}", machine.name);
        assert!(before.findings.iter().all(|f| f.kind == FindingKind::FirstTouch));
        let realised = first_touch(&before) - first_touch(&after);
        assert!(realised.0 * 10 > first_touch(&before).0, "the mistake is worth a tenth at least");
        assert_within_tenth(first_touch(&before) - before.predicted_all.unwrap(), realised);
        assert!(after.findings.is_empty(), "{:?}", after.findings);
        assert_eq!(after.predicted_all, None);
    }
}

/// The last level holds much of what is initialised, so it matters that a parallel initialisation happens all at once.
#[test]
fn prediction_holds_for_arrays_about_as_large_as_the_last_level() {
    let mut machine = cached(&[4, 4], (16, 4), (1024, 8)); // 512 KiB shared
    machine.shape.word_bytes = 8;
    for kib_per_node in [640, 800, 1280, 2560] {
        let words = kib_per_node * 1024 / 8;
        let arrays = || vec![("a", A, words * 8), ("b", B, words * 8)];
        let before = report(&machine, &stencil(words, 2, false), arrays());
        let after = report(&machine, &stencil(words, 2, true), arrays());
        let realised = first_touch(&before) - first_touch(&after);
        assert_within_tenth(first_touch(&before) - before.predicted_all.unwrap(), realised);
    }
}

#[test]
fn false_sharing_is_found_and_padding_predicted() {
    let machine = models::find("two-socket").unwrap();
    let arrays = |stride: u64| {
        let tables = (0..THREADS).map(|t| ("table", B + u64::from(t) * (1 << 20), 1 << 16));
        std::iter::once(("stats", A, stride * u64::from(THREADS))).chain(tables).collect::<Vec<_>>()
    };
    let before = report(&machine, &counters(8, 3000), arrays(8));
    let after = report(&machine, &counters(64, 3000), arrays(64));
    assert_consistent(&before);
    assert_consistent(&after);
    assert_eq!(before.findings.len(), 1, "{:?}", before.findings);
    let finding = &before.findings[0];
    assert_eq!((finding.kind, finding.object.as_str()), (FindingKind::FalseSharing, "stats"));
    assert_within_tenth(finding.saving, first_touch(&before) - first_touch(&after));
    assert!(after.findings.is_empty(), "{:?}", after.findings);
}

#[test]
fn padding_is_exact_where_the_geometry_is_the_same() {
    for machine in [small_machine(), models::find("two-socket").unwrap(), models::find("butterfly").unwrap()] {
        let bindings = bindings(&machine);
        let run = |refs: &[Merged], transforms: &[Transform]| {
            let mut run = WhatIf::new(setup(&machine, &bindings), transforms).unwrap();
            refs.chunks(999).for_each(|c| run.refs(c));
            run.finish().unwrap()
        };
        let pad = Transform::PadElements { arrays: vec![(A, THREADS.into())], element_bytes: 8, to_bytes: 64 };
        let predicted = run(&counters(8, 2000), &[pad]);
        let real = run(&counters(64, 2000), &[]);
        assert_eq!((predicted.tally, predicted.total()), (real.tally, real.total()), "{}", machine.name);
    }
}

#[test]
fn parallel_initialisation_is_exact_where_blocks_have_one_user() {
    // Without the neighbours at the borders every block has one user, and the transformed trace is that of the repaired program, except
    // for the order of the initialisation.
    let machine = models::find("butterfly").unwrap();
    let bindings = bindings(&machine);
    let words = u64::from(THREADS) * 1024;
    let run = |refs: &[Merged], transforms: &[Transform]| {
        let mut run = WhatIf::new(setup(&machine, &bindings), transforms).unwrap();
        refs.chunks(999).for_each(|c| run.refs(c));
        run.finish().unwrap()
    };
    let inner = |parallel: bool| -> Vec<Merged> {
        let part = words * 8 / u64::from(THREADS);
        let of = |r: &Merged| if r.addr >= B { (r.addr - B) / part } else { (r.addr - A) / part };
        let own = |r: &Merged| r.site <= 2 || of(r) == u64::from(r.thread);
        stencil(words, 2, parallel).into_iter().filter(own).collect()
    };
    let users = |base: u64| (0..words * 8 / 4096).map(move |b| (base / 4096 + b, (b / 2) as u32));
    let blocks: Vec<(u64, u32)> = users(A).chain(users(B)).collect();
    let predicted = run(&inner(false), &[Transform::InitialiseInParallel { blocks }]);
    let real = run(&inner(true), &[]);
    assert_eq!(predicted.tally, real.tally);
    assert_ne!(predicted.tally, run(&inner(false), &[]).tally);
}

/// A random table of `words`, read `reads` times by each thread at random; copies for the second node are made by nobody,
/// built by thread 4, or copied by it in a loop. Between initialisation and use, thread 0 reads `flushed` words of its own.
fn table(words: u64, reads: u64, flushed: u64, copies: Option<Making>) -> Vec<Merged> {
    let second = A + (1 << 30);
    let mut refs: Vec<Merged> = (0..words).map(|i| word(0, A + 8 * i, Op::Write, 1)).collect();
    refs.extend((0..flushed).map(|i| word(0, B + 8 * i, Op::Read, 2)));
    for i in (0..words).filter(|_| copies.is_some()) {
        if copies == Some(Making::Copy) {
            refs.push(word(4, A + 8 * i, Op::Read, 3));
        }
        refs.push(word(4, second + 8 * i, Op::Write, 3));
    }
    let look_up = |t: u32| {
        let mut rng = Rng::new(u64::from(t) + 1);
        let from = if t >= 4 && copies.is_some() { second } else { A };
        (0..reads).map(|_| word(t, from + 8 * rng.below(words), Op::Read, 4)).collect::<Vec<_>>()
    };
    refs.extend(in_turn(&(0..THREADS).map(look_up).collect::<Vec<_>>()));
    refs
}

/// Many reads, and so few that no copy pays; lines that are dirty when they are read, and that are not.
#[test]
fn copies_are_worth_what_the_program_with_copies_saves() {
    let machine = small_machine();
    let words = 16 << 10; // 128 KiB, four last levels
    for (reads, flushed) in [(40_000, 8 << 10), (20_000, 8 << 10), (40_000, 0), (4_000, 8 << 10), (1_000, 0)] {
        let arrays = || vec![("table", A, words * 8), ("copy", A + (1 << 30), words * 8), ("junk", B, 8 * flushed)];
        let run = |copies| report(&machine, &table(words, reads, flushed, copies), arrays());
        let before = run(None);
        assert_consistent(&before);
        let base = first_touch(&before);
        let realised = |making| base - first_touch(&run(Some(making)));
        let (built, copied) = (realised(Making::Build), realised(Making::Copy));
        assert!(built > copied, "reading the original costs something");
        let Some(finding) = before.findings.iter().find(|f| f.object == "table") else {
            assert!(built.0 * 19 < base.0, "{reads}, {flushed}: {built:?} of {base:?} is worth a finding");
            continue;
        };
        assert_eq!((finding.kind, before.findings.len()), (FindingKind::ReadShared, 1));
        assert_within_tenth(finding.saving, built);
        let loops = finding.advice.contains("Copying it in a loop saves");
        assert!(loops != finding.advice.contains("Copying it in a loop is not worth it"), "{}", finding.advice);
        assert!(
            loops == (copied.0 * 20 >= base.0) || (copied.0 * 20 - base.0).abs() * 20 <= base.0,
            "{copied:?} of {base:?}"
        );
        assert!(run(Some(Making::Build)).findings.is_empty());
    }
}

/// A matrix of rows of a page, filled by blocks of rows and scaled by blocks of columns, or of rows.
fn matrix(rows: u64, sweeps: u64, by_rows: bool) -> Vec<Merged> {
    let columns = 512;
    let own = |t: u32, n: u64| n * u64::from(t) / u64::from(THREADS)..n * u64::from(t + 1) / u64::from(THREADS);
    let at = |r: u64, c: u64| A + 8 * (r * columns + c);
    let fill = |t: u32| own(t, rows).flat_map(|r| (0..columns).map(move |c| word(t, at(r, c), Op::Write, 1))).collect();
    let mut refs = in_turn(&(0..THREADS).map(fill).collect::<Vec<_>>());
    for _ in 0..sweeps {
        let scale = |t: u32| {
            let cells: Vec<(u64, u64)> = match by_rows {
                true => own(t, rows).flat_map(|r| (0..columns).map(move |c| (r, c))).collect(),
                false => own(t, columns).flat_map(|c| (0..rows).map(move |r| (r, c))).collect(),
            };
            cells.into_iter().flat_map(|(r, c)| [Op::Read, Op::Write].map(|op| word(t, at(r, c), op, 2))).collect()
        };
        refs.extend(in_turn(&(0..THREADS).map(scale).collect::<Vec<_>>()));
    }
    refs
}

#[test]
fn columns_of_rows_are_found_and_one_block_per_thread_predicted() {
    for machine in [small_machine(), wide_words()] {
        let arrays = || vec![("matrix", A, 128 * 4096)];
        let before = report(&machine, &matrix(128, 4, false), arrays());
        let after = report(&machine, &matrix(128, 4, true), arrays());
        assert_consistent(&before);
        let found: Vec<FindingKind> = before.findings.iter().map(|f| f.kind).collect();
        assert_eq!(found, [FindingKind::Layout], "{}", machine.name);
        let finding = &before.findings[0];
        assert!(finding.places.contains(&"main.c:2".into()), "{:?}", finding.places);
        assert!(after.findings.is_empty(), "{:?}", after.findings);
        if machine.sections.caches.is_none() {
            assert_within_tenth(finding.saving, first_touch(&before) - first_touch(&after));
        }
    }
}

/// Two phases over an array; in the second the parts are dealt the other way round, or as before.
fn phases(words: u64, swapped: bool) -> Vec<Merged> {
    let mut refs = Vec::new();
    for phase in 0..2 {
        let work = |t: u32| {
            let part = u64::from(if phase == 1 && swapped { THREADS - 1 - t } else { t });
            let mine = words * part / u64::from(THREADS)..words * (part + 1) / u64::from(THREADS);
            let sweep = move |i: u64| [Op::Read, Op::Write].map(|op| word(t, A + 8 * i, op, 1 + phase));
            (0..4).flat_map(|_| mine.clone().flat_map(sweep)).collect()
        };
        refs.extend(in_turn(&(0..THREADS).map(work).collect::<Vec<Vec<Merged>>>()));
    }
    refs
}

#[test]
fn owners_that_change_with_phases_are_found_and_keeping_the_parts_predicted() {
    for machine in [small_machine(), wide_words()] {
        let words = 16 << 10;
        let arrays = || vec![("state", A, words * 8)];
        let before = report(&machine, &phases(words, true), arrays());
        let after = report(&machine, &phases(words, false), arrays());
        let found: Vec<FindingKind> = before.findings.iter().map(|f| f.kind).collect();
        assert_eq!(found, [FindingKind::OwnersChange], "{}", machine.name);
        assert_within_tenth(before.findings[0].saving, first_touch(&before) - first_touch(&after));
        assert!(after.findings.is_empty(), "{:?}", after.findings);
    }
}

/// Thread 0 writes all words and reads each of them `back` right away or when all are written; then all threads read their parts.
fn copied_on(words: u64, back: bool) -> Vec<Merged> {
    let first = |i: u64| [Op::Write, Op::Read].map(|op| word(0, A + 8 * i, op, 1));
    let mut refs: Vec<Merged> = (0..words).flat_map(first).collect();
    if !back {
        refs.sort_by_key(|r| r.op == Op::Read);
    }
    let work = |t: u32| {
        let part = words / u64::from(THREADS);
        let mine = u64::from(t) * part..u64::from(t + 1) * part;
        (0..3).flat_map(|_| mine.clone().map(|i| word(t, A + 8 * i, Op::Read, 2))).collect()
    };
    refs.extend(in_turn(&(0..THREADS).map(work).collect::<Vec<Vec<Merged>>>()));
    refs
}

#[test]
fn reading_back_what_was_just_written_is_initialising_and_reading_all_of_it_later_is_a_phase() {
    for machine in [small_machine(), wide_words()] {
        let words = 16 << 10;
        for (back, kind) in [(true, FindingKind::FirstTouch), (false, FindingKind::OwnersChange)] {
            let found = report(&machine, &copied_on(words, back), vec![("table", A, words * 8)]).findings;
            let kinds: Vec<FindingKind> = found.iter().map(|f| f.kind).collect();
            assert_eq!(kinds, [kind], "{} {back}", machine.name);
        }
    }
}

#[test]
fn the_same_input_gives_the_same_evaluation() {
    let machine = small_machine();
    let refs = counters(8, 500);
    let text = || format!("{:?}", report(&machine, &refs, vec![("stats", A, 64)]));
    assert_eq!(text(), text());
}
