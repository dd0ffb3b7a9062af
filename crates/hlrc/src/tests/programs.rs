//! Programs without races read what was last written, on every step of the ladder, whatever the network does.
use super::generated::generated;
use super::options::everything;
use super::sim::Sim;
use super::world::{Shape, World};
use crate::cluster::{Homes, PageId};
use crate::host::Count;
use crate::page::give_home;
use crate::steps::{ALL, Diffs, Intervals, Locks, Notices, Pages, Step, find};
use homenode_base::{NodeId, Rng};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) fn shape(step: &Step, nodes: u16, threads: u16, seed: u64) -> Shape {
    Shape {
        nodes,
        threads,
        pages: 4,
        page_words: 8,
        step: *step,
        homes: Homes::FirstTouch,
        given: false,
        log: 64,
        exclusive: false,
        prefetch: 0,
        migrate: false,
        sorted: false,
        tickets: false,
        tree: false,
        slots: 16,
        noted: false,
        delay: 20,
        seed,
    }
}

/// Runs `program` on every thread of the cluster.
pub(super) fn run<F: Future<Output = ()> + 'static>(shape: Shape, program: impl Fn(Sim, u64) -> F) -> Rc<World> {
    let world = World::new(shape);
    let given = move |page: u32| NodeId(((shape.seed + u64::from(page)) % u64::from(shape.nodes)) as u16);
    if shape.given {
        let sim = Sim { world: world.clone(), me: given(0), thread: 0 };
        world.spawn(sim.me, async move {
            for page in 1..shape.pages {
                give_home(&sim, PageId(page), given(page)).await;
            }
        });
        assert_eq!(world.run(3_000_000), 0, "homes that are never given: {shape:?}");
    }
    for me in (0..shape.nodes).map(NodeId) {
        for thread in 0..shape.threads {
            let number = u64::from(me.0) * u64::from(shape.threads) + u64::from(thread);
            world.spawn(me, program(Sim { world: world.clone(), me, thread }, number));
        }
    }
    let left = world.run(3_000_000);
    assert_eq!(left, 0, "tasks that never end: {shape:?}\n{}", world.describe());
    world.check();
    for page in 1..if shape.given { shape.pages } else { 0 } {
        let known = world.homes(PageId(page));
        let wanted = if shape.migrate { known.first().copied() } else { Some(given(page)) };
        assert!(known.iter().all(|home| Some(*home) == wanted), "page {page}: {known:?}");
    }
    world
}

fn everywhere(mut test: impl FnMut(&'static Step, u16, u16, u64)) {
    for step in ALL {
        for (nodes, threads) in [(1, 1), (2, 1), (3, 1), (2, 2), (4, 3)] {
            for seed in 0..6 {
                test(step, nodes, threads, seed);
            }
        }
    }
}

#[test]
fn a_counter_under_a_lock_loses_nothing() {
    everywhere(|step, nodes, threads, seed| {
        let total = Rc::new(RefCell::new(0));
        run(shape(step, nodes, threads, seed), |sim, _| {
            let total = total.clone();
            async move {
                for _ in 0..6 {
                    sim.lock(3).await;
                    let value = sim.read(17).await;
                    sim.sleep(sim.world.below(5)).await;
                    sim.write(17, value + 1).await;
                    sim.unlock(3).await;
                    sim.sleep(sim.world.below(60)).await;
                }
                sim.barrier().await;
                *total.borrow_mut() = sim.read(17).await;
            }
        });
        assert_eq!(u16::from(*total.borrow()), 6 * nodes * threads, "{} {nodes} {threads} {seed}", step.name);
    });
}

#[test]
fn threads_that_write_bytes_of_one_word_between_barriers_lose_nothing() {
    everywhere(|step, nodes, threads, seed| {
        run(shape(step, nodes, threads, seed), move |sim, number| async move {
            let all = u64::from(nodes) * u64::from(threads);
            for round in 0..5 {
                sim.write(number as usize + 30, (round * 16 + number) as u8).await;
                sim.barrier().await;
                for other in 0..all {
                    sim.read(other as usize + 30).await;
                }
                sim.barrier().await;
            }
        });
    });
}

/// A cluster of a seed.
pub(super) fn generated_shape(step: &Step, seed: u64) -> Shape {
    let mut rng = Rng::new(seed);
    let (homes, given) =
        [(Homes::FirstTouch, false), (Homes::RoundRobin, false), (Homes::FirstTouch, true)][rng.below(3) as usize];
    let notices =
        [None, Some(Notices::WithLock), Some(Notices::Pushed), Some(Notices::Fetched)][(seed % 13 % 4) as usize];
    let intervals = [None, Some(Intervals::Lazy), Some(Intervals::Released)][(seed % 17 % 3) as usize];
    // Not all go together.
    let step = step.with(notices, intervals).unwrap_or(*step);
    Shape {
        nodes: 1 + rng.below(4) as u16,
        threads: 1 + rng.below(3) as u16,
        pages: 1 + rng.below(5) as u32,
        page_words: 2 << rng.below(3),
        step,
        homes,
        given,
        log: 4 << rng.below(5),
        exclusive: matches!(seed % 4, 1 | 2),
        prefetch: [0, 1, 4][(seed % 3) as usize],
        migrate: seed % 5 > 1,
        sorted: seed % 7 > 3,
        tickets: seed % 11 > 5,
        tree: seed % 3 == 1,
        slots: 64,
        noted: false,
        delay: 1 + rng.below(60),
        seed,
    }
}

/// A cluster and a program of a seed.
pub(super) fn generated_run(step: &Step, seed: u64) -> u64 {
    let shape = generated_shape(step, seed);
    run(shape, |sim, number| generated(sim, number, shape)).reads.get()
}

#[test]
fn generated_programs_without_races_read_what_was_last_written() {
    let seeds = if option_env!("HOMENODE_SLOW").is_some() { 10_000 } else { 200 };
    let mut reads = 0;
    for step in ALL {
        reads += (0..seeds).map(|seed| generated_run(step, seed)).sum::<u64>();
    }
    assert!(reads > 10_000, "{reads}");
}

/// Pages that only their home touches, and pages that another node reads after each barrier.
#[test]
fn exclusive_pages_are_noted_only_when_there_are_copies() {
    const EPOCHS: u64 = 10;
    const PAGE: usize = 64;
    for step in ALL {
        for (exclusive, seed) in [(false, 1), (true, 1), (true, 2), (true, 3)] {
            let shape = Shape { exclusive, ..shape(step, 3, 1, seed) };
            let world = run(shape, |sim, number| async move {
                for epoch in 0..EPOCHS {
                    // Each has a page of its own; the first one's is read by the second.
                    sim.write(PAGE * number as usize, epoch as u8).await;
                    sim.barrier().await;
                    if number == 1 {
                        sim.read(0).await;
                    }
                    sim.barrier().await;
                }
            });
            let noted: Vec<u64> =
                world.nodes.iter().map(|n| n.counts.borrow().get("HomeWrite").copied().unwrap_or(0)).collect();
            let wanted = if exclusive { [EPOCHS - 1, 0, 0] } else { [EPOCHS; 3] };
            // The copy that the second one gets after an epoch asks for a notice of the next; the last one is asked for and not written.
            assert!(noted[0].abs_diff(wanted[0]) <= 1, "{}: {noted:?}", step.name);
            assert_eq!(noted[1..], wanted[1..], "{}", step.name);
        }
    }
}

/// While one node announces a copy at the home of an exclusive page, another one comes, and has its copy before the home knows to look.
#[test]
fn a_copy_that_is_being_announced_is_announced_by_whoever_comes_meanwhile() {
    for (name, seed) in [("dw", 7810), ("rf", 6258), ("dd", 7870), ("nil", 3921), ("nil", 5202)] {
        assert!(generated_run(find(name).expect("a step"), seed) > 0);
    }
}

#[test]
fn a_node_that_was_called_before_the_notices_came_is_called_again() {
    let base = find("base").expect("a step");
    assert!(generated_run(base, 3559) > 0);
}

#[test]
fn a_log_that_is_full_is_emptied_by_nodes_that_never_take_a_lock() {
    for step in &everything() {
        for seed in 0..10 {
            let mut shape = shape(step, 3, 1, seed);
            shape.log = 4;
            run(shape, |sim, number| async move {
                if number != 1 {
                    for round in 0..30 {
                        sim.lock(number).await;
                        sim.write(number as usize * 64, round).await;
                        sim.unlock(number).await;
                        sim.lock(9).await;
                        sim.write(100, round).await;
                        sim.unlock(9).await;
                    }
                }
                sim.barrier().await;
                sim.read(0).await;
                sim.read(100).await;
                sim.read(128).await;
            });
        }
    }
}

#[test]
fn what_is_posted_is_seen_by_who_takes_it() {
    for step in &everything() {
        for seed in 0..20 {
            let told = Rc::new(RefCell::new(0));
            run(shape(step, 3, 1, seed), |sim, number| {
                let told = told.clone();
                async move {
                    if number == 0 {
                        sim.lock(1).await;
                        sim.write(5, 7).await;
                        sim.unlock(1).await;
                        sim.post(NodeId(1)).await;
                        *told.borrow_mut() = 1;
                    }
                    // Node 1 hands on what it has only heard of.
                    while *told.borrow() < number {
                        sim.sleep(10).await;
                    }
                    // What tells it comes by the same way as the post.
                    sim.sleep(100).await;
                    if number == 1 {
                        sim.take().await;
                        sim.read(5).await;
                        sim.post(NodeId(2)).await;
                        *told.borrow_mut() = 2;
                    } else if number == 2 {
                        sim.take().await;
                        sim.read(5).await;
                    }
                }
            });
        }
    }
}

#[test]
fn what_is_posted_behind_a_barrier_does_not_overtake_it() {
    for step in &everything() {
        for seed in 0..60 {
            let done = Rc::new(RefCell::new(0));
            run(shape(step, 4, 1, seed), |sim, number| {
                let done = done.clone();
                async move {
                    sim.write(64 * number as usize, 7).await;
                    sim.barrier().await;
                    if number != 0 {
                        sim.write(64 * number as usize, 8).await;
                        sim.post(NodeId(0)).await;
                        *done.borrow_mut() += 1;
                        return;
                    }
                    while *done.borrow() < 3 {
                        sim.sleep(10).await;
                    }
                    // As long as the slowest message takes.
                    sim.sleep(400).await;
                    sim.take().await;
                    for other in 1..4 {
                        sim.read(64 * other).await;
                    }
                }
            });
        }
    }
}

/// A script with all kinds of requests.
fn script(step: &'static Step) -> Rc<World> {
    run(shape(step, 3, 1, 4), |sim, number| async move {
        sim.write(64 * number as usize, number as u8).await;
        sim.barrier().await;
        for _ in 0..10 {
            sim.lock(2).await;
            let value = sim.read(70).await;
            sim.write(70, value + 1).await;
            sim.unlock(2).await;
            sim.sleep(50).await;
        }
        sim.barrier().await;
        sim.read(64 * ((number as usize + 1) % 3)).await;
        sim.read(70).await;
    })
}

#[test]
fn each_step_interrupts_for_what_it_has_not_given_to_the_network() {
    for step in ALL {
        let world = script(step);
        let of =
            |why: &str| world.nodes.iter().map(|n| n.interrupts.borrow().get(why).copied().unwrap_or(0)).sum::<u64>();
        assert_eq!(of("page") > 0, step.pages == Pages::Requested, "{}", step.name);
        assert_eq!(of("diff") > 0, step.diffs == Diffs::Sent, "{}", step.name);
        assert_eq!(of("lock") > 0, step.locks == Locks::Managed, "{}", step.name);
        assert_eq!(of("notices"), 0);
    }
}

#[test]
fn genima_is_nil_and_no_host_serves_anybody() {
    let nil = find("genima").expect("another name of nil");
    let world = script(nil);
    for me in (0..3).map(NodeId) {
        let sim = Sim { world: world.clone(), me, thread: 0 };
        assert_eq!(sim.counted(Count::Served), 0);
        assert!(sim.counted(Count::LockRemote) > 0);
    }
}

/// Pages that two nodes write in turn, and a third one reads: it gives them up by one call for each, or by one.
#[test]
fn pages_of_several_writers_are_given_up_together_in_the_order_of_pages() {
    const PAGES: usize = 24;
    for step in ALL {
        let reader = |sorted| {
            let shape = Shape { pages: PAGES as u32, sorted, ..shape(step, 3, 1, 3) };
            let world = run(shape, |sim, number| async move {
                for _ in 0..2 {
                    for page in (0..PAGES).filter(|page| page % 2 == number as usize) {
                        sim.write(page * 64, 1).await;
                    }
                    sim.barrier().await;
                    for page in if number == 2 { 0..PAGES } else { 0..0 } {
                        sim.read(page * 64).await;
                    }
                    sim.barrier().await;
                }
            });
            let sim = Sim { world, me: NodeId(2), thread: 0 };
            (sim.counted(Count::Invalidation), sim.protections())
        };
        let opened = 2 * PAGES as u64;
        assert_eq!(reader(false), (PAGES as u64, opened + PAGES as u64), "{}", step.name);
        assert_eq!(reader(true), (PAGES as u64, opened + 1), "{}", step.name);
    }
}

/// Threads of a node that ask for a lock one after the other while another one has it.
#[test]
fn with_tickets_threads_of_a_node_have_a_lock_in_the_order_in_which_they_asked() {
    let mut others = 0;
    for (tickets, seed) in (0..20).flat_map(|seed| [(true, seed), (false, seed)]) {
        let order = Rc::new(RefCell::new(Vec::new()));
        run(Shape { tickets, ..shape(find("nil").expect("known"), 1, 6, seed) }, |sim, number| {
            let order = order.clone();
            async move {
                sim.sleep(1000 * number).await;
                sim.lock(1).await;
                order.borrow_mut().push(number);
                sim.sleep(20_000).await;
                sim.unlock(1).await;
            }
        });
        let is_in_order = order.borrow().is_sorted();
        assert!(is_in_order || !tickets, "{:?}", order.borrow());
        others += u32::from(!is_in_order);
    }
    assert!(others > 5, "{others} of 20: without tickets whoever looks first has it");
}
