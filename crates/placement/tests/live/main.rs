//! The controller of the live loop in a world on paper.
#[path = "../common/mod.rs"]
mod common;
mod journal;
mod sparse;
mod world;
use common::machine;
use homenode_base::{Cost, NodeId, Rng};
use homenode_machine::{CopyCost, Machine};
use homenode_placement::live::{Config, Event, MoveRefusal, MoveStatus, Use, Verdict};
use world::{MOVE_NS, SECOND, World, id};

/// Costs in picoseconds: 80 ns near, 140 ns far, 1.6 us for a page.
fn real(nodes: usize) -> Machine {
    let mut m = machine(nodes, 80_000, 140_000, 0, None);
    m.unit = homenode_machine::Unit::Picoseconds;
    m.cost.copy = CopyCost::linear(Cost(1_600_000), Cost(0));
    (m.shape.page_bytes, m.shape.word_bytes) = (4096, 8);
    m
}

/// As the command line has it for `affinity`, which waits by itself.
fn config() -> Config {
    Config { hysteresis: 1, accesses_per_unit: 100, reserve_pages: 10, ..Config::default() }
}

const POLICIES: [&str; 4] = ["affinity", "affinity(100000,1,1000)", "migrate-on-write", "ace"];

#[test]
fn pages_touched_first_by_one_node_go_to_their_users_and_then_nothing_moves() {
    let m = real(4);
    for policy in ["affinity", "migrate-on-write"] {
        let mut world = World::new(&m, policy, config());
        (0..400).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
        let uses: Vec<_> = (0..400).map(|p| (p, (p % 4) as u16, 5, 5)).collect();
        (0..6).for_each(|_| world.window(&uses));
        assert!((0..400).all(|p| world.homes[&id(p)] == NodeId((p % 4) as u16)), "{policy}");
        assert_eq!(world.total_moves(), 300, "{policy}: each page that was wrong moved once");
        (0..50).for_each(|_| world.window(&uses));
        let stats = world.governor.stats();
        assert_eq!((world.total_moves(), stats.moved_pages), (300, 300), "{policy}: steady");
        assert!(stats.calm_windows >= 10 && stats.windows < 25, "long windows: {stats:?}");
        assert!(stats.now().share() == 1.0 && stats.before.share() < 0.5, "{stats:?}");
        assert_eq!(stats.matrix[&(NodeId(0), NodeId(3))], 100);
    }
}

#[test]
fn a_change_of_phase_is_followed_and_ping_pong_is_not() {
    let m = real(2);
    let mut world = World::new(&m, "affinity(100000,2,9)", Config { moves_per_page: 9, ..config() });
    (0..50).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    let phase = |world: &mut World, node: u16, windows: usize| {
        let uses: Vec<_> = (0..50).map(|p| (p, node, 20, 0)).collect();
        (0..windows).for_each(|_| world.window(&uses));
    };
    phase(&mut world, 0, 5);
    phase(&mut world, 1, 20);
    assert!(world.homes.values().all(|n| *n == NodeId(1)) && world.total_moves() == 50);
    phase(&mut world, 0, 20);
    assert!(world.homes.values().all(|n| *n == NodeId(0)) && world.total_moves() == 100);
    // Phases shorter than t1: the first change is followed, the return freezes the page until t2 is over.
    (0..10).for_each(|i| phase(&mut world, 1 - i % 2, 4));
    let freezes = world.governor.stats().freezes;
    assert!(world.total_moves() <= 250 && freezes >= 50, "{} moves, {freezes} frozen", world.total_moves());
    phase(&mut world, 1, 70);
    assert!(world.homes.values().all(|n| *n == NodeId(1)), "defrosted");
}

#[test]
fn whatever_happens_budget_room_limits_and_freezes_hold() {
    for seed in 0..common::cases(500) {
        let mut rng = Rng::new(seed);
        let m = real(2 + rng.below(5) as usize);
        let policy = POLICIES[rng.below(4) as usize];
        let config = Config {
            hysteresis: 1 + rng.below(3) as u32,
            moves_per_page: rng.below(4) as u32,
            move_per_mille: 1 + rng.below(100) as u32,
            freeze_within_ns: rng.below(10) * SECOND,
            defrost_after_ns: rng.below(30) * SECOND,
            first_move_ns: 1 + rng.below(20_000),
            window_ns: [SECOND, SECOND / 50][rng.below(2) as usize],
            ..config()
        };
        let mut world = World::new(&m, policy, config);
        (world.fails_of_16, world.rng) = (rng.below(8), Rng::new(seed + 1));
        world.free = (0..m.nodes()).map(|_| rng.below(200)).collect();
        let pages = 1 + rng.below(300);
        (0..pages).for_each(|p| _ = world.homes.insert(id(p), NodeId(rng.below(m.nodes() as u64) as u16)));
        for _ in 0..30 {
            let used = rng.below(pages + 1);
            let mut any = |n: usize| rng.below(n as u64);
            let uses: Vec<_> = (0..used)
                .map(|_| (any(pages as usize), any(m.nodes()) as u16, any(100) as u32, any(20) as u32))
                .collect();
            if rng.below(8) == 0 {
                let page = id(rng.below(pages));
                world.homes.insert(page, NodeId(rng.below(m.nodes() as u64) as u16));
            }
            world.window(&uses);
        }
        let stats = world.governor.stats();
        assert_eq!(stats.moves as usize, world.total_moves());
        assert_eq!(stats.matrix.values().sum::<u64>(), stats.moved_pages);
    }
}

#[test]
fn a_full_node_is_left_alone_and_most_gain_goes_first() {
    let m = real(2);
    let mut world = World::new(&m, "affinity", config());
    world.free[1] = 30;
    (0..100).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    let uses: Vec<_> = (0..100).map(|p| (p, 1, 10 + p as u32, 0)).collect();
    (0..10).for_each(|_| world.window(&uses));
    let moved: Vec<u64> = world.moves.keys().map(|p| p.page).collect();
    assert_eq!(moved, (80..100).collect::<Vec<_>>(), "room for 20, the most used");
    assert!(world.governor.stats().held.room >= 80);
}

#[test]
fn the_budget_limits_a_window_and_leftovers_follow() {
    let m = real(2);
    // 1 per mille of a second = 1 ms = 200 pages of 5 us.
    let config = Config { move_per_mille: 1, first_move_ns: MOVE_NS, ..config() };
    let mut world = World::new(&m, "affinity", config);
    (0..1000).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    let uses: Vec<_> = (0..1000).map(|p| (p, 1, 10, 0)).collect();
    (0..2).for_each(|_| world.window(&uses));
    assert_eq!(world.total_moves(), 256, "the first batch is small: nobody knows yet what a page takes");
    world.window(&uses);
    assert_eq!(world.total_moves(), 512, "nor is the second any larger");
    world.window(&uses);
    assert_eq!(world.total_moves(), 800, "four windows' worth");
    (0..2).for_each(|_| world.window(&uses));
    assert_eq!(world.total_moves(), 1000);
}

#[test]
fn the_off_switch_stops_moving_at_once() {
    let m = real(2);
    let mut world = World::new(&m, "affinity", config());
    (0..10).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    let uses: Vec<_> = (0..10).map(|p| (p, 1, 10, 0)).collect();
    world.window(&uses);
    world.tell(Event::Off);
    (0..10).for_each(|_| world.window(&uses));
    assert_eq!(world.total_moves(), 0);
    world.tell(Event::On);
    (0..3).for_each(|_| world.window(&uses));
    assert_eq!(world.total_moves(), 10);
}

#[test]
fn refusals_are_remembered_for_what_they_are() {
    let m = real(3);
    let cases = [
        (MoveRefusal::NodeForbidden, 1),
        (MoveRefusal::NotPermitted, 1),
        (MoveRefusal::Shared, 1),
        (MoveRefusal::Gone, 1),
        (MoveRefusal::Busy, 8),
    ];
    for (why, at_least) in cases {
        let mut world = World::new(&m, "affinity(100000,1,9)", config());
        world.homes.insert(id(5), NodeId(0));
        let (mut asked, mut effects) = (0, Vec::new());
        for window in 1..=10u64 {
            let now = window * SECOND;
            let uses = vec![Use { page: id(5), pages: 1, node: NodeId(1), reads: 50, writes: 0 }];
            let free = vec![(NodeId(1), 10_000)];
            for event in [Event::Used { uses }, Event::Free { pages: free }, Event::Tick] {
                world.governor.handle(now, &event, &mut effects);
            }
            world.governor.handle(now, &Event::Located { at: vec![(id(5), Some(NodeId(0)))] }, &mut effects);
            if effects.drain(..).any(|e| matches!(e, homenode_placement::live::Effect::Move { .. })) {
                asked += 1;
                let verdicts = vec![Verdict { page: id(5), status: MoveStatus::Refused(why) }];
                world.governor.handle(now, &Event::Moved { verdicts, took_ns: 1000 }, &mut effects);
            }
        }
        let right =
            if why == MoveRefusal::Busy || why == MoveRefusal::Gone { asked >= at_least } else { asked == at_least };
        assert!(right, "{why:?}: asked {asked} times");
        assert_eq!(world.governor.stats().refused[&why], asked);
    }
}

#[test]
fn a_node_that_keeps_refusing_is_given_up_for_a_while() {
    let m = real(2);
    let mut world = World::new(&m, "affinity(100000,1,9)", config());
    let mut asked = Vec::new();
    let mut effects = Vec::new();
    for window in 1..=30u64 {
        let uses = vec![Use { page: id(window), pages: 1, node: NodeId(1), reads: 50, writes: 0 }];
        let free = vec![(NodeId(1), 10_000)];
        for event in [Event::Used { uses }, Event::Free { pages: free }, Event::Tick] {
            world.governor.handle(window * SECOND, &event, &mut effects);
        }
        let at = vec![(id(window), Some(NodeId(0)))];
        world.governor.handle(window * SECOND, &Event::Located { at }, &mut effects);
        if effects.drain(..).any(|e| matches!(e, homenode_placement::live::Effect::Move { .. })) {
            asked.push(window);
            let verdicts = vec![Verdict { page: id(window), status: MoveStatus::Refused(MoveRefusal::NodeFull) }];
            world.governor.handle(window * SECOND, &Event::Moved { verdicts, took_ns: 1000 }, &mut effects);
        }
    }
    assert!(asked.len() < 20 && world.governor.stats().worst_backoff >= 16, "{asked:?}");
}
