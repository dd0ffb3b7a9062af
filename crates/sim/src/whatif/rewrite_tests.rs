//! A rewritten trace has all references that the changed program makes, by who makes them: tried on random programs of
//! any number of threads against the definition, written down slowly.
use super::*;
use homenode_analysis::Making;
use homenode_base::{NodeId, Rng};
use homenode_machine::models;
use homenode_threads::ThreadBinding;
use homenode_trace::Op;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: u64 = 4096;
const BASE: u64 = 0x10_0000_0000;
const OPS: [Op; 5] = [Op::Read, Op::Read, Op::Write, Op::Atomic, Op::Spin];

/// Initialised by one thread or by several, in one pass or two, with work of others beside it or not; then used by parts
/// that need not divide the size, with looks over the borders.
fn program(rng: &mut Rng, threads: u32, pages: u64) -> Vec<Merged> {
    let words = pages * PAGE / 8 - rng.below(300);
    let word = |thread: u32, i: u64, op: Op| Merged {
        addr: BASE + 8 * i,
        size: 8,
        weight: 1,
        thread,
        op,
        ..Merged::default()
    };
    let own = |thread: u32, i: u64| Merged { addr: 2 * BASE + 8 * i, ..word(thread, 0, Op::Write) };
    let makers = [1, 1, threads][rng.below(3) as usize];
    let (passes, beside) = (1 + rng.below(2), rng.chance(1, 3));
    let mut refs = Vec::new();
    for _ in 0..passes {
        for i in 0..words {
            refs.push(word((i * u64::from(makers) / words) as u32, i, Op::Write));
            refs.extend((beside && rng.chance(1, 3)).then(|| own(rng.below(threads.into()) as u32, i)));
        }
    }
    for step in 0..words {
        for t in 0..u64::from(threads) {
            let (from, to) = (words * t / u64::from(threads), words * (t + 1) / u64::from(threads));
            let i = if rng.chance(1, 20) { rng.below(words) } else { from + step % (to - from).max(1) };
            refs.push(word(t as u32, i, OPS[rng.below(5) as usize]));
        }
        if step > words / 4 && rng.chance(1, 50) {
            break;
        }
    }
    refs
}

/// What references are, whatever their order and however they are cut: bytes by thread, operation and word.
fn bytes(refs: &[Merged]) -> BTreeMap<(u32, u8, u64), u64> {
    let mut all = BTreeMap::new();
    for r in refs {
        for i in 0..u64::from(r.size) {
            *all.entry((r.thread, r.op as u8, (r.addr + i) / 8)).or_default() += u64::from(r.weight);
        }
    }
    all
}

fn rewritten(refs: &[Merged], transforms: &[Transform], threads: u32) -> Vec<Merged> {
    rewritten_in(refs, transforms, threads, |rewriter, r| rewriter.only_moves(r, r.addr))
}

/// `only_moves` says what need not be looked at further.
fn rewritten_in(
    refs: &[Merged],
    transforms: &[Transform],
    threads: u32,
    only_moves: impl Fn(&Rewriter, &Merged) -> Option<u64>,
) -> Vec<Merged> {
    let machine = models::find("two-socket").unwrap();
    let binding = |t: u32| ThreadBinding { cpu: t as u16, node: NodeId(u16::from(t >= 8)), space: 0 };
    let bindings: Vec<ThreadBinding> = (0..threads).map(binding).collect();
    let setup = Setup::exact(&machine, &bindings, PAGE);
    let mut rewriter = Rewriter::new(transforms, setup, (1, 0));
    let mut all = Vec::new();
    for r in refs {
        match only_moves(&rewriter, r) {
            Some(addr) => all.push(Merged { addr, ..*r }),
            None => rewriter.rewrite(r, 0, &mut |r| all.push(*r)),
        }
    }
    rewriter.finish(&mut |r| all.push(*r));
    all
}

/// The definition of a parallel initialisation: who makes each reference.
fn by_definition(refs: &[Merged], blocks: &[(u64, u32)]) -> Vec<Merged> {
    let users: BTreeMap<u64, u32> = blocks.iter().copied().collect();
    let (mut first, mut used) = (BTreeMap::new(), BTreeSet::new());
    let (mut in_use, mut for_others) = (false, false);
    let (mut shared, mut touched) = (BTreeSet::new(), BTreeSet::new());
    let mut out = refs.to_vec();
    for r in out.iter_mut().filter(|r| r.op != Op::Spin) {
        let block = r.addr / PAGE;
        let Some(&user) = users.get(&block).filter(|_| !used.contains(&block)) else { continue };
        if *first.entry(block).or_insert(r.thread) != r.thread {
            shared.insert(block);
        }
        let fresh = touched.insert(r.addr / 8) && r.op == Op::Write;
        let alone = !shared.contains(&block);
        let own = user == r.thread;
        if fresh || (alone && own && for_others && !in_use) || (alone && !own && (!in_use || r.op == Op::Write)) {
            for_others |= !own;
            r.thread = user;
        } else {
            used.insert(block);
            in_use |= !alone;
        }
    }
    out
}

#[test]
fn whoever_initialises_all_references_are_there_and_made_by_who_the_definition_says() {
    let mut rng = Rng::new(17);
    let mut moved = 0;
    for case in 0..40u32 {
        let threads = 2 + case % 8;
        let pages = 3 + rng.below(9);
        let refs = program(&mut rng, threads, pages);
        let user = |page: u64| (page * u64::from(threads) / pages) as u32;
        let blocks: Vec<(u64, u32)> = (0..pages).map(|p| (BASE / PAGE + p, user(p))).collect();
        let after = rewritten(&refs, &[Transform::InitialiseInParallel { blocks: blocks.clone() }], threads);
        assert_eq!(after.len(), refs.len(), "case {case}");
        assert_eq!(bytes(&after), bytes(&by_definition(&refs, &blocks)), "case {case}: {threads} threads");
        moved += u32::from(bytes(&after) != bytes(&refs));
    }
    assert!(moved > 30, "{moved}");
}

/// What goes straight on is what would come out of all changes, in the same order.
#[test]
fn what_only_moves_is_what_every_change_would_make_of_it() {
    let mut rng = Rng::new(20);
    let mut moved = 0;
    for case in 0..48u32 {
        let (threads, pages) = (7 + case % 8, 4 + rng.below(9));
        let refs = program(&mut rng, threads, pages);
        let user = |page: u64| (page * u64::from(threads) / pages) as u32;
        let (from, to) = (rng.below(2), pages - rng.below(2));
        let pages: Vec<(u64, u32)> = (from..to).map(|p| (BASE / PAGE + p, user(p))).collect();
        let (blocks, makers) = (pages.iter().map(|p| p.0).collect(), vec![0, threads - 1]);
        let change = match case % 4 {
            0 => Transform::InitialiseInParallel { blocks: pages },
            1 => Transform::KeepParts { blocks: pages },
            2 => Transform::CopyPerNode { blocks, makers, making: Making::Build },
            _ => Transform::CopyPerNode { blocks, makers, making: Making::Copy },
        };
        let after = rewritten(&refs, std::slice::from_ref(&change), threads);
        let slowly = rewritten_in(&refs, std::slice::from_ref(&change), threads, |_, _| None);
        assert!(after == slowly, "case {case}: {threads} threads, {change:?}");
        let there = |r: &&Merged| r.addr >= tag(1);
        moved += after.iter().filter(there).count();
    }
    assert!(moved > 1000, "hardly anything has moved: {moved}");
}

/// What is not held back keeps its order, and what is held back comes before anybody uses it.
#[test]
fn work_is_not_put_off() {
    let mut rng = Rng::new(18);
    for case in 0..16u32 {
        let threads = 2 + case % 8;
        let pages = 4 + rng.below(9);
        let refs = program(&mut rng, threads, pages);
        let user = |page: u64| (page * u64::from(threads) / pages) as u32;
        let blocks = (0..pages).map(|p| (BASE / PAGE + p, user(p))).collect();
        let after = rewritten(&refs, &[Transform::InitialiseInParallel { blocks }], threads);
        // Reads and atomics initialise nothing here, but for those of somebody who has not met anybody yet.
        let uses = |refs: &[Merged]| {
            refs.iter().filter(|r| !matches!(r.op, Op::Write | Op::Spin)).copied().collect::<Vec<_>>()
        };
        let (before, now) = (uses(&refs), uses(&after));
        assert_eq!(now.len(), before.len());
        let half = before.len() / 2;
        assert_eq!(now[half..], before[half..], "case {case}: {threads} threads: work comes in another order");
    }
}

/// Whatever else is changed at the same time.
#[test]
fn no_combination_of_changes_drops_references() {
    let mut rng = Rng::new(19);
    for case in 0..48u32 {
        let threads = 2 + case % 8;
        let pages = 4 + rng.below(9);
        let refs = program(&mut rng, threads, pages);
        let user = |page: u64| (page * u64::from(threads) / pages) as u32;
        let of_pages = |from: u64, to: u64| (from..to).map(|p| (BASE / PAGE + p, user(p))).collect::<Vec<_>>();
        let (a, b) = (pages / 3, pages * 2 / 3);
        let lines = (b * 64..pages * 64).map(|l| (BASE / 64 + l, user(l / 64))).collect();
        let ranges = vec![(2 * BASE, 600)];
        let all = [
            Transform::InitialiseInParallel { blocks: of_pages(0, a) },
            Transform::KeepParts { blocks: of_pages(a, b) },
            Transform::OneBlockPerThread { units: lines, unit_bytes: 64 },
            Transform::PadElements { arrays: vec![(2 * BASE + 1024, 9)], element_bytes: 24, to_bytes: 64 },
            Transform::DealBlocks {
                arrays: vec![((2 * BASE + 4096, 40), (0..threads).collect())],
                element_bytes: 8,
                line_bytes: 64,
            },
            Transform::CopyPerProcessor { ranges },
        ];
        let some: Vec<Transform> = all.into_iter().filter(|_| rng.chance(2, 3)).collect();
        let after = rewritten(&refs, &some, threads);
        let by_op = |refs: &[Merged], op: Op| -> u64 {
            refs.iter().filter(|r| r.op == op).map(|r| u64::from(r.size * r.weight)).sum()
        };
        for op in [Op::Write, Op::Atomic, Op::Spin] {
            assert_eq!(by_op(&after, op), by_op(&refs, op), "case {case}: {op:?} with {some:?}");
        }
        // Copies are added up: one read of a word for each of their lines.
        let copied = some.iter().any(|t| matches!(t, Transform::CopyPerProcessor { .. }));
        let fresh = after.iter().filter(|r| copied && r.op == Op::Read && r.thread == 0 && r.site == 0);
        let more = by_op(&after, Op::Read) - by_op(&refs, Op::Read);
        assert!(more == 0 || (copied && more % 8 == 0 && more / 8 <= fresh.count() as u64), "case {case}: {more}");
    }
}

/// Clearing a range is one reference, and so is clearing a part of it.
#[test]
fn a_range_is_divided_into_one_part_for_each_maker() {
    let clear = Merged { addr: BASE, size: 8 * PAGE as u32, weight: 1, op: Op::Write, ..Merged::default() };
    let blocks = (0..8).map(|p| (BASE / PAGE + p, p as u32 / 2)).collect();
    let after = rewritten(&[clear], &[Transform::InitialiseInParallel { blocks }], 4);
    let parts: Vec<(u32, u64, u32)> = after.iter().map(|r| (r.thread, r.addr, r.size)).collect();
    let part = |t: u64| (t as u32, BASE + t * 2 * PAGE, 2 * PAGE as u32);
    assert_eq!(parts, (0..4).map(part).collect::<Vec<_>>());
}
