//! Small programs under every order in which a network may deliver what nodes do to each other: all reads are of what was last written,
//! and nobody waits for ever.
//!
//! A state is found again by carrying out the choices that led to it: futures cannot be copied. Two states are one if their memories, what is
//! under way, and all that each task has seen, are equal.
use super::programs::shape;
use super::sim::Sim;
use super::world::{Shape, World};
use crate::cluster::Homes;
use crate::steps::{Step, find};
use homenode_base::NodeId;
use stateright::{Checker, Model, Property};
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::rc::Rc;

type Program = fn(Sim) -> Pin<Box<dyn Future<Output = ()>>>;

struct Explored {
    shape: Shape,
    program: Program,
}

#[derive(Clone, Debug)]
struct State {
    choices: Vec<u8>,
    print: u64,
    options: usize,
    tasks: usize,
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.print == other.print
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl Explored {
    fn at(&self, choices: Vec<u8>) -> State {
        let world = World::new(self.shape);
        for me in (0..self.shape.nodes).map(NodeId) {
            for thread in 0..self.shape.threads {
                world.spawn(me, (self.program)(Sim { world: Rc::clone(&world), me, thread }));
            }
        }
        let mut options = world.step(None);
        for choice in &choices {
            options = world.step(Some(usize::from(*choice)));
        }
        let (print, tasks) = world.print();
        State { choices, print, options, tasks }
    }
}

impl Model for Explored {
    type State = State;
    type Action = u8;

    fn init_states(&self) -> Vec<State> {
        vec![self.at(Vec::new())]
    }
    fn actions(&self, state: &State, actions: &mut Vec<u8>) {
        // What is still under way when all have ended changes nothing for them.
        if state.tasks > 0 {
            actions.extend(0..state.options as u8);
        }
    }
    fn next_state(&self, last: &State, action: u8) -> Option<State> {
        let choices = last.choices.iter().copied().chain([action]).collect();
        Some(self.at(choices))
    }
    fn properties(&self) -> Vec<Property<Explored>> {
        vec![
            Property::always("nobody waits for ever", |_: &Explored, s: &State| s.options > 0 || s.tasks == 0),
            Property::sometimes("all end", |_: &Explored, s: &State| s.tasks == 0),
        ]
    }
}

fn explored(step: &'static Step, program: Program) -> usize {
    let shape =
        Shape { pages: 1, page_words: 2, log: 4, slots: 2, delay: 0, homes: Homes::RoundRobin, ..shape(step, 2, 1, 1) };
    let checker = Explored { shape, program }.checker().spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// Lock hand-over: both write a byte of the same word under a lock, and read the other's.
fn hand_over(sim: Sim) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        sim.lock(1).await;
        sim.read(3).await;
        sim.write(3, 10 + sim.me.0 as u8).await;
        sim.unlock(1).await;
    })
}

/// A barrier epoch: one writes a byte, the other one reads it then.
fn epoch(sim: Sim) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        if sim.me == NodeId(1) {
            sim.write(3, 7).await;
        }
        sim.barrier().await;
        sim.read(3).await;
    })
}

/// A flag: one writes a byte and sets it, the other one waits for it and reads the byte.
fn flagged(sim: Sim) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        if sim.me == NodeId(1) {
            sim.write(3, 7).await;
            sim.set(1).await;
        } else {
            sim.until_set(1).await;
            sim.read(3).await;
        }
    })
}

#[test]
fn a_flag_in_every_order() {
    assert_eq!(explored(find("nil").expect("a step"), flagged), 42_395);
    if option_env!("HOMENODE_SLOW").is_some() {
        assert_eq!(explored(find("base").expect("a step"), flagged), 95_128);
    }
}

#[test]
fn lock_hand_over_in_every_order() {
    let counts = ["base", "nil"].map(|name| explored(find(name).expect("a step"), hand_over));
    assert_eq!(counts, [1399, 8728]);
}

#[test]
fn a_barrier_epoch_in_every_order() {
    let counts = ["base", "nil"].map(|name| explored(find(name).expect("a step"), epoch));
    assert_eq!(counts, [20_601, 15_301]);
}
