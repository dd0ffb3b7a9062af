//! Evidence that comes round: each page is asked about now and then, by few samples, as hinting faults do.
use crate::world::{SECOND, World, id};
use crate::{config, real};
use homenode_base::NodeId;
use homenode_placement::live::{Config, Event};

fn rare() -> Config {
    Config { comes_round: true, accesses_per_unit: 1000, ..config() }
}

/// One window in which a fifth of the pages is seen, once each, by the node that uses it.
fn round(world: &mut World, pages: u64, window: u64, user: impl Fn(u64) -> u16) {
    let seen = (0..pages).filter(|p| p % 5 == window % 5);
    world.window(&seen.map(|p| (p, user(p), 1, 0)).collect::<Vec<_>>());
}

#[test]
fn a_sample_of_each_page_every_five_windows_is_enough() {
    let m = real(4);
    for policy in ["affinity", "migrate-on-write"] {
        let mut world = World::new(&m, policy, rare());
        (0..400).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
        (0..15).for_each(|w| round(&mut world, 400, w, |p| (p / 100) as u16));
        if policy == "affinity" {
            let home = (0..400).filter(|p| world.homes[&id(*p)] == NodeId((p / 100) as u16)).count();
            assert_eq!((home, world.total_moves()), (400, 300), "two looks suffice");
        }
        let before = world.total_moves();
        (15..80).for_each(|w| round(&mut world, 400, w, |p| (p / 100) as u16));
        assert_eq!(world.total_moves(), before, "{policy}: steady");
    }
}

/// As in an emulated machine, where moving takes hundreds of times as long as the model says.
#[test]
fn dear_moves_are_made_when_the_candidate_has_lasted() {
    let m = real(2);
    let mut world = World::new(&m, "affinity", Config { first_move_ns: 1_000_000, move_per_mille: 500, ..rare() });
    world.move_ns = 1_000_000;
    (0..50).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    // A look is worth 1000 x 60 ns; in ten windows 0.6 ms, and a move must gain twice 1 ms.
    (0..25).for_each(|w| round(&mut world, 50, w, |_| 1));
    assert_eq!(world.total_moves(), 0, "{:?}", world.governor.stats().held);
    (25..100).for_each(|w| round(&mut world, 50, w, |_| 1));
    assert_eq!(world.total_moves(), 50, "{:?}", world.governor.stats().held);
}

#[test]
fn what_there_was_no_time_to_move_is_moved_later_and_counted_once() {
    let m = real(2);
    // 20 moves of 5 us a window.
    let mut world =
        World::new(&m, "affinity(100000,1,9)", Config { move_per_mille: 1, first_move_ns: 50_000, ..rare() });
    world.move_ns = 50_000;
    (0..100).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    world.window(&(0..100).map(|p| (p, 1, 1, 0)).collect::<Vec<_>>());
    (0..20).for_each(|_| world.window(&[]));
    let stats = world.governor.stats();
    assert_eq!(world.total_moves(), 100, "seen once and not forgotten: {stats:?}");
    assert!(stats.held.budget > 0);
    // 60 ns x 1000 a window, whichever window it moved in: evidence that waits is not new evidence.
    assert!(world.gains.iter().all(|g| *g == 60_000_000), "{:?}", world.gains);
}

#[test]
fn samples_that_there_was_no_time_for_wait_for_their_turn() {
    let m = real(2);
    let pages = 3000u64;
    let mut world = World::new(&m, "affinity(100000,1,9)", Config { move_per_mille: 500, ..rare() });
    (0..pages).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    // Deciding takes so long that fewer and fewer pages are looked at.
    for _ in 0..40 {
        world.window(&[(pages, 0, 1, 0)]);
        world.tell(Event::Spent { deciding_ns: SECOND / 2 });
    }
    world.window(&(0..pages).map(|p| (p, 1, 1, 0)).collect::<Vec<_>>());
    let first = world.total_moves();
    assert!(first < pages as usize / 2, "{first}");
    for _ in 0..40 {
        world.window(&[]);
        world.tell(Event::Spent { deciding_ns: SECOND / 2 });
    }
    assert_eq!(world.total_moves(), pages as usize, "{:?}", world.governor.stats());
}

#[test]
fn where_all_is_at_home_windows_lengthen_and_a_change_is_noticed_at_once() {
    let m = real(4);
    let mut world = World::new(&m, "affinity", rare());
    (0..1000).for_each(|p| _ = world.homes.insert(id(p), NodeId((p / 250) as u16)));
    let user = |p: u64| (p / 250) as u16;
    (0..60).for_each(|w| round(&mut world, 1000, w, user));
    let windows = world.governor.stats().windows;
    assert!(world.governor.stretch() == 8 && windows < 15, "{windows} decisions in 60 windows");
    assert!(world.governor.rate_per_mille() <= 5, "{}", world.governor.rate_per_mille());
    assert_eq!(world.total_moves(), 0);
    // A few strangers are no reason to get up.
    for w in 60..76 {
        round(&mut world, 1000, w, |p| if p % 50 == 7 { 0 } else { user(p) });
    }
    assert_eq!(world.governor.stretch(), 8);
    round(&mut world, 1000, 76, |p| (user(p) + 1) % 4);
    assert_eq!(world.governor.stretch(), 1, "the first samples from elsewhere wake it");
    assert!(world.governor.rate_per_mille() >= 100);
    // Three looks: the first makes up for what earlier ones left, then two agree.
    (77..93).for_each(|w| round(&mut world, 1000, w, |p| (user(p) + 1) % 4));
    assert!((0..1000).all(|p| world.homes[&id(p)] == NodeId((user(p) + 1) % 4)), "{:?}", world.governor.stats());
    let moves = world.total_moves();
    (93..150).for_each(|w| round(&mut world, 1000, w, |p| (user(p) + 1) % 4));
    assert_eq!((world.total_moves(), world.governor.stretch()), (moves, 8));
}

#[test]
fn a_program_of_many_phases_is_followed_through_all_of_them() {
    let m = real(3);
    let mut world = World::new(&m, "affinity", rare());
    (0..40).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    let mut window = 0;
    for phase in 0..6u64 {
        let user = (phase % 3) as u16;
        // Each phase twice as long as the one before: so are the times after which moves are forgotten.
        (0..100 << phase).for_each(|_| {
            round(&mut world, 40, window, |_| user);
            window += 1;
        });
        assert!(world.homes.values().all(|n| *n == NodeId(user)), "phase {phase}: {:?}", world.governor.stats());
    }
    assert_eq!(world.total_moves(), 5 * 40);
}

/// A huge page takes longer to move than the time that can be saved for moving; its one look stands for all its parts.
#[test]
fn a_huge_page_that_costs_more_than_can_be_saved_moves_on_credit() {
    let m = real(2);
    let mut world = World::new(&m, "affinity", Config { first_move_ns: 300_000, ..rare() });
    world.move_ns = 300_000;
    (0..4).for_each(|p| _ = world.homes.insert(id(p * 512), NodeId(0)));
    for _ in 0..40 {
        world.window_of(512, &(0..4).map(|p| (p * 512, 1, 1, 0)).collect::<Vec<_>>());
    }
    // 154 ms each, and 50 ms a second are allowed.
    assert_eq!(world.total_moves(), 4, "{:?}", world.governor.stats());
}
