//! Phases as recorded: found where they were put, and costs equal to all homes tried, to the windows of the policy, and
//! between the bounds.
use crate::common::{bindings, cases, question, random_refs, word};
use homenode_base::{NodeId, Rng};
use homenode_machine::{AccessClass, Costs, Location, Machine, models};
use homenode_placement::policies::Choice;
use homenode_study::analyses::{Marks, PhaseBy, phase_costs};
use homenode_study::{Want, What, plain};
use homenode_synthetic::Builder;
use homenode_trace::event::SyncKind;
use homenode_trace::order::{Again, Listed, OrderKind};
use homenode_trace::{DatasetReader, EventKind, Merged, Op};

const DATA: u64 = 0x10_0000;

/// Four threads take turns with a page, `turns` times `length` references, a barrier after each turn.
fn in_turns(turns: u32, length: u64) -> Builder {
    let mut b = Builder::new(4);
    for turn in 0..turns {
        b.event(0, EventKind::PhaseBegin { name: format!("turn {turn}") });
        (0..length).for_each(|i| _ = b.write(turn % 4, DATA + 8 * (i % 64)));
        b.barrier(0x20_0000, 0..4);
    }
    b
}

fn again(data: &DatasetReader) -> Again<'_> {
    Again { data, kind: OrderKind::Model }
}

fn marks(program: &Builder) -> Marks {
    let data = program.open().unwrap();
    Marks::of(&mut again(&data)).unwrap()
}

#[test]
fn barriers_and_names_begin_phases_and_locks_do_not() {
    let found = marks(&in_turns(5, 100));
    assert_eq!(found.starts(PhaseBy::Barriers), [100, 200, 300, 400], "nothing follows the last barrier");
    assert_eq!(found.starts(PhaseBy::Windows), [100, 200, 300, 400]);
    assert!(found.starts(PhaseBy::Nothing).is_empty());
    assert!(!found.starts(PhaseBy::Names).is_empty());
    let mut locks = Builder::new(2);
    for i in 0..6 {
        locks.read(i % 2, DATA).release(i % 2, 0x30_0000, 0).acquire((i + 1) % 2, 0x30_0000, 0);
    }
    assert!(marks(&locks).starts(PhaseBy::Barriers).is_empty());
    // Nor do reader-writer locks, whose epoch 1 is no generation; where kinds are not recorded they are taken for barriers.
    let readers = |kind| {
        let mut b = Builder::new(2);
        b.read(0, DATA).release_of(0, (0x30_0000, 1), kind).read(1, DATA).release_of(1, (0x30_0000, 1), kind);
        b.acquire_of(1, (0x30_0000, 1), kind).read(1, DATA);
        marks(&b).starts(PhaseBy::Barriers).len()
    };
    assert_eq!((readers(SyncKind::RwRead), readers(SyncKind::Unknown)), (0, 1));
    // A barrier of one thread keeps nobody waiting.
    let mut alone = Builder::new(2);
    alone.read(0, DATA).barrier(0x30_0000, 0..1).read(0, DATA);
    assert!(marks(&alone).starts(PhaseBy::Barriers).is_empty());
}

/// Turns of 3000 references are worth a move each on the Butterfly (233.7 pay for one), turns of 100 are not.
#[test]
fn moving_at_barriers_pays_where_turns_are_long() {
    let machine = butterfly(4);
    for (length, moves) in [(3000, 7), (100, 0)] {
        let program = in_turns(8, length);
        let data = program.open().unwrap();
        let starts = [Vec::new(), marks(&program).starts(PhaseBy::Barriers)];
        let found = phase_costs(&mut again(&data), &machine, &bindings(4), 4096, &starts).unwrap();
        assert_eq!((found[0].moves, found[1].moves), (0, moves), "turns of {length}");
        // A reference of eight bytes is two words of four.
        let words = i128::from(8 * length) * 2;
        let local = words + i128::from(moves) * 3272;
        assert_eq!(found[1].total().0, if moves > 0 { local } else { found[0].total().0 });
        assert_eq!(found[0].total().0, words / 4 + words / 4 * 3 * 15);
    }
}

fn butterfly(nodes: usize) -> Machine {
    let mut m = models::find("butterfly").unwrap();
    let near_far = homenode_machine::Matrix::uniform(nodes, homenode_base::Cost(1), homenode_base::Cost(15));
    (m.shape.cores, m.cost) = (vec![1; nodes], Costs::alike(&near_far, m.cost.copy));
    m
}

/// Every home in every phase, by trying all sequences of homes of each block.
fn tried(refs: &[Merged], m: &Machine, block_bytes: u64, starts: &[u64]) -> i128 {
    let phase = |i: u64| starts.iter().filter(|s| **s <= i).count();
    let phases = starts.len() + 1;
    let mut blocks: std::collections::BTreeMap<u64, Vec<(usize, u16, bool)>> = Default::default();
    for (i, r) in refs.iter().enumerate() {
        let access = (phase(i as u64), r.thread as u16, r.op.writes());
        blocks.entry(r.addr / block_bytes).or_default().push(access);
    }
    let of_block = |accesses: &Vec<(usize, u16, bool)>| {
        let nodes = m.nodes();
        let used: Vec<usize> = (0..phases).filter(|p| accesses.iter().any(|a| a.0 == *p)).collect();
        let all = (0..nodes.pow(used.len() as u32)).map(|code| {
            let home = |i: usize| Location::Node(NodeId((code / nodes.pow(i as u32) % nodes) as u16));
            let moved = (1..used.len()).filter(|i| home(*i) != home(i - 1)).count() as i128;
            let served = accesses.iter().map(|(p, node, writes)| {
                let class = if *writes { AccessClass::Write } else { AccessClass::Read };
                let at = home(used.iter().position(|u| u == p).unwrap());
                i128::from(m.access(class, NodeId(*node), at).0)
            });
            moved * i128::from(copy(m, block_bytes)) + served.sum::<i128>()
        });
        all.min().unwrap()
    };
    blocks.values().map(of_block).sum()
}

fn copy(m: &Machine, block_bytes: u64) -> i64 {
    m.copy_cost(block_bytes, Location::Node(NodeId(0)), Location::Node(NodeId(1))).0
}

#[test]
fn costs_are_those_of_all_homes_tried() {
    for seed in 0..cases(60, 3000) {
        let mut rng = Rng::new(seed);
        let mut m = butterfly(3);
        m.cost.copy =
            homenode_machine::CopyCost::linear(homenode_base::Cost(1 + rng.below(90) as i64), homenode_base::Cost(0));
        let refs = random_refs(&mut rng, 3, 24, 60);
        let mut starts: Vec<u64> = (0..rng.below(5)).map(|_| 1 + rng.below(58)).collect();
        starts.sort_unstable();
        starts.dedup();
        let found = phase_costs(&mut Listed::new(&refs), &m, &bindings(3), 64, std::slice::from_ref(&starts)).unwrap();
        assert_eq!(found[0].total().0, tried(&refs, &m, 64, &starts), "seed {seed}, {starts:?}");
    }
}

/// Phases that begin at multiples of a window are the windows of the policy; more phases never cost more.
#[test]
fn equal_windows_are_those_of_the_policy_and_phases_lie_between_the_bounds() {
    const WINDOW: u64 = 50;
    for seed in 0..cases(20, 500) {
        let refs = random_refs(&mut Rng::new(seed), 4, 2048, 400);
        let m = butterfly(4);
        let mut q = question(m.clone(), &bindings(4), &[4096]);
        q.policies = vec![Choice::parse(&format!("phase-static({WINDOW})")).unwrap()];
        (q.best_static, q.without_replication) = (Want::Cost, Want::Cost);
        let answer = plain::answer(&q, &refs).unwrap();
        let cost = |what| answer.rows.iter().find(|r| r.what == what).unwrap().cost;
        let windows: Vec<u64> = (1..8).map(|i| i * WINDOW).collect();
        let starts = [Vec::new(), windows, (1..400).collect()];
        let found = phase_costs(&mut Listed::new(&refs), &m, &bindings(4), 4096, &starts).unwrap();
        let total = [0, 1, 2].map(|i| found[i].total());
        assert_eq!(total[1], cost(What::policy(0)), "seed {seed}");
        assert_eq!((total[0], total[2]), (cost(What::BEST_STATIC), cost(What::WITHOUT_REPLICATION)), "seed {seed}");
        assert!(total[2] <= total[1] && total[1] <= total[0]);
    }
}

#[test]
fn a_page_that_nobody_touches_costs_nothing() {
    let m = butterfly(4);
    let none = phase_costs(&mut Listed::new(&[]), &m, &bindings(4), 4096, &[Vec::new(), vec![3]]).unwrap();
    assert!(none.iter().all(|t| t.total().0 == 0));
    let spin = [word(0, 0, Op::Spin)];
    assert_eq!(phase_costs(&mut Listed::new(&spin), &m, &bindings(4), 4096, &[Vec::new()]).unwrap()[0].total().0, 0);
}
