//! A program whose pages are used by one thread or two, and what an estimate of it is worth.
use homenode_base::Rng;
use homenode_sim::evaluation::Finding;
use homenode_sim::{ChangeEstimate, Estimate, Evaluation};
use homenode_trace::{Merged, Op};
use std::collections::BTreeMap;

pub(crate) fn reference(thread: u32, addr: u64, op: Op) -> Merged {
    Merged { addr, size: 8, site: 1, weight: 1, thread, op, ..Merged::default() }
}

/// Pages at `base` that thread 0 touches first and one thread or two use, so often each on average, and write a part of.
pub(crate) fn mixed(seed: u64, base: u64, (pages, times): (u64, u64)) -> Vec<Merged> {
    let mut rng = Rng::new(seed);
    let user: Vec<u32> = (0..pages).map(|_| rng.below(4) as u32).collect();
    let mut refs: Vec<Merged> = (0..pages).map(|p| reference(0, base + p * 4096, Op::Write)).collect();
    refs.extend((0..pages * times).map(|_| {
        let (page, at) = (rng.below(pages), rng.below(512) * 8);
        let thread = if rng.below(10) == 0 { 0 } else { user[page as usize] };
        reference(thread, base + page * 4096 + at, if rng.below(4) == 0 { Op::Write } else { Op::Read })
    }));
    refs
}

/// How many of the true figures lie in their intervals, and how many there are.
pub(crate) fn held(truth: &Evaluation, found: &Estimate) -> (usize, usize) {
    let base = truth.policies.iter().find(|p| p.name == "first-touch").unwrap().total.as_f64();
    let totals = truth.policies.iter().map(|p| p.total).chain(truth.optimum.iter().map(|o| o.total));
    let rows: Vec<_> = found.policies.iter().chain(&found.optimum).collect();
    let is_in = |value: f64, (low, high): (f64, f64)| low * (1.0 - 1e-9) <= value && value <= high * (1.0 + 1e-9);
    let names = truth.policies.iter().map(|p| &p.name).chain(truth.optimum.iter().map(|o| &o.name));
    assert!(names.eq(rows.iter().map(|r| &r.name)));
    let good = totals.zip(&rows).flat_map(|(total, row)| {
        let (total, ratio) = (total.as_f64(), row.ratio.unwrap());
        [is_in(total, (row.total.low, row.total.high)), is_in(total / base, (ratio.low, ratio.high))]
    });
    let share = |name: &str| truth.objects.iter().find(|o| o.name == name).map_or(0.0, |o| o.cost.as_f64() / base);
    let objects = found.objects.iter().map(|o| is_in(share(&o.name), (o.share.low, o.share.high)));
    let all: Vec<bool> = good.chain(objects).collect();
    (all.iter().filter(|g| **g).count(), all.len())
}

/// Pages of a table: more than a small last level holds.
pub(crate) const TABLE_PAGES: u64 = 2048;

/// A table that thread 0 writes and all threads read.
pub(crate) fn table(base: u64) -> Vec<Merged> {
    let mut rng = Rng::new(6);
    let lines = TABLE_PAGES * 64;
    let read = |i: u32| reference(i % 4, base + rng.below(lines) * 64, Op::Read);
    (0..lines).map(|line| reference(0, base + line * 64, Op::Write)).chain((0..1_000_000).map(read)).collect()
}

/// What is done with each page by whoever uses it most in this program.
pub(crate) fn by_users(shared: &[Merged]) -> Vec<Merged> {
    let mut uses = BTreeMap::new();
    shared.iter().for_each(|r| uses.entry(r.addr / 4096).or_insert([0; 4])[r.thread as usize] += 1);
    let user = |r: &Merged| (0..4).max_by_key(|t| uses[&(r.addr / 4096)][*t as usize]).unwrap();
    shared.iter().map(|r| Merged { thread: user(r), ..*r }).collect()
}

/// The program that reads a table, with a table for each thread.
pub(crate) fn tables(base: u64) -> Vec<Merged> {
    const { assert!(TABLE_PAGES * 4096 < 1 << 27, "they are apart") };
    table(base).iter().map(|r| Merged { addr: r.addr + (u64::from(r.thread) << 27), ..*r }).collect()
}

/// Nineteen of twenty ranges hold what the finding saves, and nine of ten say something.
pub(crate) fn hold(changes: &[&ChangeEstimate], finding: &Finding) {
    let saves = finding.saving_share;
    let holds = |c: &&&ChangeEstimate| c.saving.low - 1e-9 <= saves && saves <= c.saving.high + 1e-9;
    let held = changes.iter().filter(holds).count();
    let narrow = changes.iter().filter(|c| c.saving.high - c.saving.low < 0.25).count();
    assert!(
        held * 100 >= changes.len() * 93 && narrow * 10 >= changes.len() * 9,
        "{held} hold {saves}, {narrow} are narrow: {changes:#?}"
    );
}
