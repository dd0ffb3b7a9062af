//! Litmus tests, by name, for each step on 2 to 4 nodes: small programs of which some outcomes must not be seen, however long the network
//! takes. What bytes and words hold is besides compared with what was last written.
use super::programs::{run, shape};
use super::sim::Sim;
use super::world::{Shape, World};
use crate::host::Count;
use crate::operation::Refused;
use crate::reduce::Reduction;
use crate::steps::{ALL, Locks, Step, find};
use homenode_base::NodeId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;

/// A page further is another page: pages have 8 words here.
const PAGE: usize = 64;
const SEEDS: u64 = 24;

/// Runs a program for each step, 2 to 4 nodes, and some seeds.
fn on_all<F: Future<Output = ()> + 'static>(program: impl Fn(Sim, u64, u64) -> F) {
    each(|shape| {
        run(shape, |sim, number| program(sim, number, u64::from(shape.nodes) * u64::from(shape.threads)));
    });
}

fn each(mut test: impl FnMut(Shape)) {
    for step in ALL {
        for (nodes, threads) in [(2, 1), (3, 1), (4, 1), (2, 2)] {
            (0..SEEDS).for_each(|s| test(Shape { slots: 64, exclusive: s % 2 == 1, ..shape(step, nodes, threads, s) }));
        }
    }
}

/// As [`each`], with words that are written down by threads: what they held at the end.
fn outcomes<F: Future<Output = ()> + 'static>(
    program: impl Fn(Sim, u64, Rc<RefCell<Vec<u64>>>) -> F,
) -> BTreeSet<Vec<u64>> {
    let mut all = BTreeSet::new();
    each(|shape| {
        let seen = Rc::new(RefCell::new(vec![0; 4]));
        run(shape, |sim, number| program(sim, number, seen.clone()));
        all.insert(seen.take());
    });
    all
}

#[test]
fn message_passing_by_a_flag() {
    on_all(|sim, number, _| async move {
        if number == 0 {
            sim.write(3, 42).await;
            sim.write(PAGE + 3, 43).await;
            sim.set(1).await;
        } else {
            sim.sleep(sim.world.below(400)).await;
            sim.until_set(1).await;
            assert_eq!((sim.read(3).await, sim.read(PAGE + 3).await), (42, 43));
        }
    });
}

#[test]
fn message_passing_by_an_atomic_word() {
    on_all(|sim, number, all| async move {
        if number == 0 {
            sim.write(PAGE + 3, 42).await;
            sim.change(0, |_| 1).await;
        } else if number == all - 1 {
            while sim.look(0).await == 0 {
                sim.sleep(50).await;
            }
            assert_eq!(sim.read(PAGE + 3).await, 42);
        }
    });
}

#[test]
fn message_passing_goes_through_a_third_thread() {
    on_all(|sim, number, all| async move {
        match number {
            0 => {
                sim.write(PAGE, 7).await;
                sim.set(0).await;
            }
            n => {
                sim.until_set(n - 1).await;
                sim.set(n).await;
            }
        }
        if number == all - 1 {
            assert_eq!(sim.read(PAGE).await, 7);
        }
    });
}

/// GeNIMA: what others do to a node's memory, locks and pages included, wakes nobody there who waits for something else.
#[test]
fn a_parked_node_is_woken_by_what_it_waits_for_alone() {
    let step = find("nil").expect("a step");
    for seed in 0..SEEDS {
        let shape = Shape { slots: 64, ..shape(step, 3, 1, seed) };
        let world = run(shape, |sim, number| async move {
            let bell = {
                let world = sim.world.clone();
                move || world.nodes[2].bell.get()
            };
            // Pages of every node, the parked one's among them.
            sim.write(PAGE * number as usize, 1).await;
            sim.meet(0).await;
            if number == 2 {
                return sim.barrier().await;
            }
            sim.sleep(20_000).await;
            let before = bell();
            for lock in 0..8 {
                sim.lock(lock).await;
                for page in 0..3 {
                    sim.write(PAGE * page + number as usize + 8, 2).await;
                    sim.read(PAGE * page).await;
                }
                sim.unlock(lock).await;
                sim.change(28, |word| word + 1).await;
            }
            sim.sleep(20_000).await;
            assert_eq!(bell(), before, "the parked node was woken");
            sim.barrier().await;
        });
        assert!(world.nodes[2].bell.get() > 0);
    }
}

#[test]
fn store_buffering_is_not_seen() {
    let outcomes = outcomes(|sim, number, seen| async move {
        if number < 2 {
            sim.change(8 * number as usize, |_| 1).await;
            let other = sim.look(8 * (1 - number as usize)).await;
            seen.borrow_mut()[number as usize] = other;
        }
    });
    assert!(!outcomes.contains(&vec![0, 0, 0, 0]), "both missed the other's store");
    assert!(outcomes.len() > 1, "{outcomes:?}");
}

#[test]
fn readers_agree_on_the_order_of_independent_writes() {
    let seen = RefCell::new(BTreeSet::new());
    each(|shape| {
        if shape.nodes < 4 {
            return;
        }
        let found = Rc::new(RefCell::new([[0; 2]; 2]));
        run(shape, |sim, number| {
            let found = found.clone();
            async move {
                match number {
                    0 | 1 => drop(sim.change(8 * number as usize, |_| 1).await),
                    n => {
                        let reader = n as usize - 2;
                        sim.sleep(sim.world.below(300)).await;
                        for k in 0..2 {
                            let word = sim.look(8 * ((reader + k) % 2)).await;
                            found.borrow_mut()[reader][k] = word;
                        }
                    }
                }
            }
        });
        seen.borrow_mut().insert(found.take());
    });
    let seen = seen.into_inner();
    assert!(!seen.contains(&[[1, 0], [1, 0]]), "the readers saw the writes in different orders");
    assert!(seen.len() > 2, "{seen:?}");
}

#[test]
fn lock_hand_over() {
    on_all(|sim, _, all| async move {
        for _ in 0..4 {
            sim.lock(1).await;
            let (a, b) = (sim.read(5).await, sim.read(PAGE + 5).await);
            assert_eq!(a, b);
            sim.write(5, a + 1).await;
            sim.write(PAGE + 5, b + 1).await;
            sim.unlock(1).await;
        }
        sim.barrier().await;
        assert_eq!(u64::from(sim.read(5).await), 4 * all);
    });
}

#[test]
fn barrier_epochs() {
    on_all(|sim, number, all| async move {
        for epoch in 0..4 {
            let writer = epoch % all;
            if number == writer {
                sim.write(PAGE + 1, epoch as u8 + 1).await;
            }
            sim.barrier().await;
            assert_eq!(u64::from(sim.read(PAGE + 1).await), epoch + 1);
            sim.barrier().await;
        }
    });
}

#[test]
fn barriers_of_different_managers_follow_one_another() {
    on_all(|sim, number, all| async move {
        for epoch in 0..12 {
            // Bytes of two epochs in turn: nobody writes what others may still read.
            let byte = |thread: usize| PAGE * (thread % 4) + 2 * thread + epoch % 2;
            sim.write(byte(number as usize), epoch as u8 + 1).await;
            sim.meet(epoch as u64).await;
            for other in 0..all as usize {
                assert_eq!(usize::from(sim.read(byte(other)).await), epoch + 1);
            }
        }
    });
}

/// Threads write bytes `stride` apart between barriers, and read all.
async fn false_sharing(sim: Sim, number: u64, all: u64, stride: usize) {
    for round in 1..4 {
        sim.write(number as usize * stride, round).await;
        sim.barrier().await;
        for other in 0..all as usize {
            assert_eq!(sim.read(other * stride).await, round);
        }
        sim.barrier().await;
    }
}

#[test]
fn false_sharing_of_bytes_of_a_word() {
    on_all(|sim, number, all| false_sharing(sim, number, all, 1));
}

#[test]
fn false_sharing_of_words_of_a_page() {
    on_all(|sim, number, all| false_sharing(sim, number, all, 8));
}

#[test]
fn false_sharing_of_pages_is_none() {
    on_all(|sim, number, all| false_sharing(sim, number, all, PAGE));
}

#[test]
fn concurrent_writers_under_different_locks() {
    on_all(|sim, number, all| async move {
        for round in 0..3 {
            sim.lock(number).await;
            sim.write(16 + number as usize, round * 10 + number as u8).await;
            sim.unlock(number).await;
        }
        sim.barrier().await;
        for other in 0..all {
            assert_eq!(u64::from(sim.read(16 + other as usize).await), 20 + other);
        }
    });
}

#[test]
fn nested_locks() {
    on_all(|sim, number, all| async move {
        for _ in 0..3 {
            sim.lock(1).await;
            let outer = sim.read(0).await;
            sim.lock(2).await;
            let inner = sim.read(PAGE).await;
            sim.write(PAGE, inner + 1).await;
            sim.unlock(2).await;
            sim.write(0, outer + 1).await;
            sim.unlock(1).await;
            sim.lock(2).await;
            let inner = sim.read(PAGE).await;
            sim.write(PAGE, inner + number as u8).await;
            sim.unlock(2).await;
        }
        sim.barrier().await;
        assert_eq!(u64::from(sim.read(0).await), 3 * all);
        assert_eq!(u64::from(sim.read(PAGE).await), 3 * all + 3 * (all * (all - 1) / 2));
    });
}

#[test]
fn flags_are_taken_back_and_set_again() {
    on_all(|sim, number, all| async move {
        for round in 1..4_u8 {
            if number == 0 {
                sim.write(2, round).await;
                sim.set(0).await;
            } else {
                sim.until_set(0).await;
                assert_eq!(sim.read(2).await, round);
                sim.change(9, |count| count + 1).await;
            }
            sim.barrier().await;
            assert!(sim.is_set(0).await);
            sim.barrier().await;
            if number == all - 1 {
                sim.clear(0).await;
            }
            sim.barrier().await;
            assert!(!sim.is_set(0).await);
            sim.barrier().await;
        }
        assert_eq!(sim.look(9).await, 3 * (all - 1));
    });
}

#[test]
fn condition_variables_between_producers_and_consumers() {
    on_all(|sim, number, all| async move {
        let items = 4 * (all - 1);
        // A store with room for two: both sides wait.
        if number == 0 {
            for _ in 0..items {
                sim.lock(1).await;
                while sim.read(4).await == 2 {
                    sim.wait(7, 1).await;
                }
                let there = sim.read(4).await;
                sim.write(4, there + 1).await;
                sim.signal(8).await;
                sim.unlock(1).await;
            }
        } else {
            for _ in 0..4 {
                sim.lock(1).await;
                while sim.read(4).await == 0 {
                    sim.wait(8, 1).await;
                }
                let there = sim.read(4).await;
                sim.write(4, there - 1).await;
                sim.unlock(1).await;
                sim.broadcast(7).await;
            }
        }
        sim.barrier().await;
        assert_eq!(sim.read(4).await, 0);
    });
}

/// Threads have turns, which they hand on by a condition: a signal that is lost stops all.
pub(super) fn turns(step: &'static Step, seed: u64, noted: bool) -> Rc<World> {
    let shape = Shape { slots: 64, exclusive: seed % 4 > 1, noted, ..shape(step, 3, 1 + (seed % 2) as u16, seed) };
    run(shape, |sim, number| async move {
        let all = (shape.nodes * shape.threads) as u8;
        for _ in 0..4 {
            sim.lock(1).await;
            while sim.read(4).await % all != number as u8 {
                sim.wait(1, 1).await;
            }
            let turn = sim.read(4).await;
            sim.write(4, (turn + 1) % all).await;
            sim.broadcast(1).await;
            sim.unlock(1).await;
        }
    })
}

#[test]
fn condition_variables_hand_turns_on() {
    ALL.iter().for_each(|step| (0..SEEDS).for_each(|seed| drop(turns(step, seed, false))));
}

#[test]
fn a_barrier_counts_right_while_threads_wait_for_a_condition() {
    on_all(|sim, number, all| async move {
        for round in 1..4 {
            if number == all - 1 {
                sim.sleep(sim.world.below(500)).await;
                sim.lock(1).await;
                sim.write(8, round).await;
                sim.broadcast(1).await;
                sim.unlock(1).await;
            } else {
                sim.lock(1).await;
                while sim.read(8).await < round {
                    sim.wait(1, 1).await;
                }
                sim.unlock(1).await;
            }
            sim.barrier().await;
        }
    });
}

#[test]
fn changes_of_words_at_once_lose_nothing() {
    on_all(|sim, number, all| async move {
        for _ in 0..5 {
            sim.change(2, |value| value + 1).await;
            // A byte beside it, of this thread alone.
            sim.write(8 + number as usize, 1).await;
        }
        sim.barrier().await;
        assert_eq!(sim.look(2).await, 5 * all);
    });
}

#[test]
fn reductions_give_all_the_same_and_are_barriers() {
    on_all(|sim, number, all| async move {
        for round in 0..3 {
            sim.write(PAGE + number as usize, round as u8).await;
            assert_eq!(sim.reduce(Reduction::SumOfInts, number + round).await, Ok(all * (all - 1) / 2 + all * round));
            for other in 0..all as usize {
                assert_eq!(u64::from(sim.read(PAGE + other).await), round);
            }
            let greatest = sim.reduce(Reduction::GreatestReal, (number as f64).to_bits()).await;
            assert_eq!(greatest, Ok(((all - 1) as f64).to_bits()));
        }
        let what = if number == 0 { Reduction::SumOfInts } else { Reduction::LeastInt };
        assert_eq!(sim.reduce(what, 1).await, Err(Refused::Mixed));
    });
}

/// All that waits, once.
fn script(shape: Shape) -> Rc<World> {
    run(shape, |sim, number| async move {
        for round in 0..5 {
            sim.change(0, |value| value + 1).await;
            sim.lock(1).await;
            while u64::from(sim.read(PAGE).await) < round {
                sim.wait(1, 1).await;
            }
            if number == round % 3 {
                sim.write(PAGE, round as u8 + 1).await;
                sim.broadcast(1).await;
            }
            sim.unlock(1).await;
            if number == 0 {
                sim.set(round).await;
            } else {
                sim.until_set(round).await;
            }
            sim.reduce(Reduction::SumOfInts, 1).await.expect("all ask for the same");
        }
    })
}

#[test]
fn nothing_that_waits_needs_a_host_in_genima() {
    for step in ALL {
        let world = script(shape(step, 3, 1, 3));
        let lock: u64 = world.nodes.iter().map(|n| n.interrupts.borrow().get("lock").copied().unwrap_or(0)).sum();
        assert_eq!(lock > 0, step.locks == Locks::Managed, "{}", step.name);
    }
    let world = script(shape(find("nil").expect("a step"), 3, 1, 3));
    for me in (0..3).map(NodeId) {
        assert_eq!(Sim { world: world.clone(), me, thread: 0 }.counted(Count::Served), 0);
        assert!(world.nodes[me.index()].interrupts.borrow().is_empty());
    }
}

#[test]
fn who_waits_sends_nothing() {
    for step in ALL {
        let before = Rc::new(Cell::new(0));
        run(shape(step, 3, 1, 1), |sim, number| {
            let before = before.clone();
            async move {
                if number == 0 {
                    sim.sleep(20_000).await;
                    before.set(sim.world.operations.get());
                    sim.sleep(50_000).await;
                    assert_eq!(sim.world.operations.get(), before.get(), "{}", step.name);
                    sim.lock(1).await;
                    sim.broadcast(1).await;
                    sim.unlock(1).await;
                    sim.set(1).await;
                } else if number == 1 {
                    sim.lock(1).await;
                    sim.wait(1, 1).await;
                    sim.unlock(1).await;
                } else {
                    sim.until_set(1).await;
                }
            }
        });
        assert!(before.get() > 0);
    }
}

#[test]
fn a_wait_without_the_lock_is_refused() {
    on_all(|sim, number, _| async move {
        if number == 0 {
            assert!(sim.waits_without(1).await);
            // And nothing has happened: the lock can be taken.
            sim.lock(1).await;
            sim.unlock(1).await;
        }
    });
}
