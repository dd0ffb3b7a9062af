//! A first answer from some colours, beside the whole one.
mod common;
use common::estimates::{by_users, held, hold, mixed, reference, table, tables};
use common::objects::Arrays;
use homenode_base::{NodeId, Rng};
use homenode_machine::{Machine, models};
use homenode_placement::policies::{self, Choice};
use homenode_sim::evaluation::FindingKind;
use homenode_sim::{
    Alone, ChangeEstimate, Estimate, EvalContext, EvalOptions, Evaluation, Job, Setup, SimError, ThreadBinding,
    Workers, estimate, evaluate,
};
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

const BASE: u64 = 0x10_0000_0000;
const HOT: u64 = 0x20_0000_0000;

/// Four workers that take jobs in an order of their own.
struct Four;

impl Workers for Four {
    fn count(&self) -> usize {
        4
    }
    fn run(&self, here: &mut dyn FnMut(), jobs: &mut [Job<'_>]) {
        jobs.iter_mut().rev().for_each(|job| job());
        here();
    }
}

/// Both answers, on the machine `two-socket` with pages of 4 KiB.
fn both(refs: &[Merged], seeds: &[u64]) -> (Evaluation, Vec<Estimate>) {
    both_on(&models::find("two-socket").unwrap(), refs, seeds)
}

/// Likewise with last levels a sixteenth as large.
fn both_small(refs: &[Merged], seeds: &[u64]) -> (Evaluation, Vec<Estimate>) {
    let mut machine = models::find("two-socket").unwrap();
    machine.sections.caches.as_mut().unwrap().shared.bytes /= 16;
    both_on(&machine, refs, seeds)
}

fn both_on(machine: &Machine, refs: &[Merged], seeds: &[u64]) -> (Evaluation, Vec<Estimate>) {
    let bindings: Vec<ThreadBinding> =
        (0..4).map(|t| ThreadBinding { cpu: t * 4, node: NodeId(u16::from(t >= 2)), space: 0 }).collect();
    let setup = Setup::exact(machine, &bindings, 4096);
    let policies: Vec<Choice> = policies::reported(machine, 4096);
    let context = EvalContext { setup, policies: &policies, options: EvalOptions::default(), workers: &Alone };
    let arrays = Arrays(vec![("data", BASE, HOT - BASE), ("hot", HOT, 1 << 30)]);
    let truth = evaluate(&mut Listed::with_events(refs, &[]), &mut arrays.clone(), &context).unwrap();
    let of = |seed: &u64| estimate(&mut Listed::with_events(refs, &[]), &arrays, &context, *seed).unwrap();
    (truth, seeds.iter().map(of).collect())
}

#[test]
fn nineteen_intervals_in_twenty_hold_the_whole_answer() {
    let seeds: Vec<u64> = (0..if common::slow() { 200 } else { 40 }).collect();
    for pages in [64, 400] {
        let (truth, found) = both(&mixed(1, BASE, (pages, 150)), &seeds);
        let sums = found.iter().map(|f| held(&truth, f)).fold((0, 0), |s, h| (s.0 + h.0, s.1 + h.1));
        assert!(sums.0 * 100 >= sums.1 * 93, "{pages} pages: {} of {}", sums.0, sums.1);
        let looked_at = found
            .iter()
            .all(|f| (f.colours, f.looked_at) == (16, 4) && f.refs == truth.totals.refs && f.replayed < f.refs / 2);
        assert!(looked_at);
        let narrow = found.iter().filter(|f| f.optimum[0].ratio.is_some_and(|r| r.high - r.low < 0.25)).count();
        assert!(pages < 400 || narrow * 10 >= found.len() * 9, "{narrow} of {}", found.len());
    }
}

/// One page that all threads write costs more than all others together; most samples do not show it.
#[test]
fn a_page_that_costs_more_than_all_others_is_not_overlooked() {
    let mut refs = mixed(2, BASE, (200, 150));
    let mut rng = Rng::new(5);
    refs.extend((0..40_000).map(|i| reference(i % 4, HOT + 0x3000 + rng.below(8) * 64, Op::Atomic)));
    let (truth, found) = both(&refs, &(0..if common::slow() { 400 } else { 40 }).collect::<Vec<_>>());
    let hot = truth.objects.iter().find(|o| o.name == "hot").unwrap();
    assert!(hot.cost.as_f64() > truth.objects.iter().filter(|o| o.name != "hot").map(|o| o.cost.as_f64()).sum());
    let missed = found.iter().filter(|f| f.objects.iter().all(|o| o.name != "hot")).count();
    assert!(missed > 10, "{missed}");
    for one in &found {
        let (good, all) = held(&truth, one);
        assert_eq!(good, all, "{one:#?}");
    }
}

#[test]
fn pages_that_are_alike_leave_no_doubt() {
    let pass = |thread: u32| (0..128 * 64u64).map(move |line| reference(thread, BASE + line * 64, Op::Read));
    let refs: Vec<Merged> = pass(0).chain(pass(2)).chain(pass(2)).chain(pass(3)).collect();
    let (truth, found) = both(&refs, &[1, 2, 3]);
    for one in &found {
        for (row, total) in one.policies.iter().zip(truth.policies.iter().map(|p| p.total.as_f64())) {
            let wide = (row.total.high - row.total.low) / total;
            assert!(
                wide < 0.01 && row.total.low <= total * 1.000_001 && total <= row.total.high * 1.000_001,
                "{row:?} {total}"
            );
        }
    }
}

#[test]
fn who_works_changes_nothing() {
    let machine = models::find("butterfly").unwrap();
    let bindings: Vec<ThreadBinding> = (0..4).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
    let setup = Setup::exact(&machine, &bindings, 4096);
    let policies: Vec<Choice> = policies::reported(&machine, 4096);
    let refs = mixed(3, BASE, (64, 150));
    let of = |workers: &dyn Workers| {
        let context = EvalContext { setup, policies: &policies, options: EvalOptions::default(), workers };
        let found =
            estimate(&mut Listed::with_events(&refs, &[]), &Arrays(vec![("data", BASE, HOT - BASE)]), &context, 1);
        format!("{:#?}", found.unwrap())
    };
    assert_eq!(of(&Alone), of(&Four));
}

#[test]
fn what_changes_save_lies_in_their_ranges() {
    let pages = (mixed(4, BASE, (400, 150)), ("data", FindingKind::FirstTouch), 20);
    for (refs, what, seeds) in [pages, (table(HOT), ("hot", FindingKind::ReadShared), 5)] {
        let seeds: Vec<u64> = (0..if common::slow() { 60 } else { seeds }).collect();
        let (truth, found) = both_small(&refs, &seeds);
        let [finding] = truth.findings.as_slice() else { panic!("{what:?}: {:#?}", truth.findings) };
        assert_eq!((finding.object.as_str(), finding.kind), what);
        let changes: Vec<_> = found.iter().flat_map(|f| f.changes.as_ref().unwrap()).collect();
        let is_it = |c: &ChangeEstimate| {
            // Of copies, the whole answer goes on about the other way to make them.
            let same = (&c.object, c.kind, &c.places) == (&finding.object, finding.kind, &finding.places);
            same && finding.advice.starts_with(&c.advice)
        };
        assert!(changes.len() == seeds.len() && changes.iter().all(|c| is_it(c)), "{what:?}: {changes:#?}");
        hold(&changes, finding);
    }
}

#[test]
fn the_repaired_program_has_no_change_to_be_made() {
    for refs in [by_users(&mixed(4, BASE, (400, 150))), tables(HOT)] {
        let (truth, found) = both_small(&refs, &[1, 2, 3]);
        assert!(truth.findings.is_empty(), "{:#?}", truth.findings);
        assert!(found.iter().all(|f| f.changes.as_ref().is_some_and(Vec::is_empty)), "{found:#?}");
    }
}

/// Of a program that nearly always hits, a large share of what it pays is a share of nothing.
#[test]
fn what_nobody_would_notice_beside_all_that_hits_is_no_change() {
    let mut refs = mixed(4, BASE, (100, 20));
    let (truth, found) = both_small(&refs, &[1]);
    assert_eq!((truth.findings.len(), found[0].changes.as_ref().unwrap().len()), (1, 1));
    assert_eq!(found[0].least_saving, 0.05);
    refs.extend((0..10_000_000).map(|i| reference(i % 4, HOT + u64::from(i % 4) * 4096, Op::Read)));
    let (truth, found) = both_small(&refs, &[1]);
    assert!(truth.findings.is_empty() && found[0].changes.as_ref().unwrap().is_empty(), "{truth:#?} {found:#?}");
    assert!(found[0].least_saving > 0.1, "{}", found[0].least_saving);
}

#[test]
fn changes_are_looked_at_where_they_are_asked_for() {
    let machine = models::find("two-socket").unwrap();
    let bindings = [0, 8].map(|cpu| ThreadBinding { cpu, node: NodeId(cpu / 8), space: 0 });
    let setup = Setup::exact(&machine, &bindings, 4096);
    let refs = mixed(5, BASE, (400, 150));
    let of = |candidates_max| {
        let options = EvalOptions { candidates_max, ..EvalOptions::default() };
        let context = EvalContext { setup, policies: &[], options, workers: &Alone };
        let found = estimate(&mut Listed::with_events(&refs, &[]), &Arrays(vec![("all", BASE, 1 << 40)]), &context, 1);
        let mut found = found.unwrap();
        // What the least is depends on what is asked for.
        found.least_saving = 0.0;
        (found.changes.take(), format!("{found:#?}"))
    };
    let (none, without) = of(0);
    let (some, with) = of(12);
    assert!(none.is_none() && some.is_some());
    assert_eq!(without, with, "the rest is the same");
}

#[test]
fn few_colours_are_refused() {
    let machine = models::find("two-socket").unwrap();
    let bindings = [ThreadBinding { cpu: 0, node: NodeId(0), space: 0 }];
    let refs = mixed(1, BASE, (8, 150));
    for block_bytes in [4096 * 4, 1 << 21] {
        let setup = Setup::exact(&machine, &bindings, block_bytes);
        let context = EvalContext { setup, policies: &[], options: EvalOptions::default(), workers: &Alone };
        let found = estimate(&mut Listed::with_events(&refs, &[]), &Arrays(vec![]), &context, 1);
        assert!(matches!(found, Err(SimError::FewColours { block_bytes: b, .. }) if b == block_bytes), "{block_bytes}");
    }
}
