//! A policy whose decisions do not depend on costs: once for all machines that differ in nothing else.
//!
//! What it decides is counted, and the cost on each machine is the sum of counts times costs: exact, since a cost is by
//! definition such a sum.
use super::policy::begin;
use super::{Job, tallied};
use crate::{Row, What};
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, CopyCost, Location, Machine, Matrix};
use homenode_placement::{BlockEngine, Step, Tally};

/// All that a policy may know of a machine without its costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    cores: Vec<u16>,
    word_bytes: u32,
    page_bytes: u64,
    remote_access: bool,
    global: bool,
    caches: bool,
}

impl Shape {
    pub(crate) fn of(machine: &Machine) -> Shape {
        Shape {
            cores: machine.cores.clone(),
            word_bytes: machine.word_bytes,
            page_bytes: machine.page_bytes,
            remote_access: machine.remote_access,
            global: machine.global.is_some(),
            caches: machine.caches.is_some(),
        }
    }
}

/// What a movement through global memory costs on the counting machine, where one between nodes costs 1. No block moves
/// that often between two looks at the count.
const THROUGH_GLOBAL: i64 = 1 << 40;

/// The same machine with costs that count: movements between nodes by ones, through global memory by 2^40.
pub(crate) fn counting_machine(machine: &Machine) -> Machine {
    let mut counting = machine.clone();
    let free = Matrix::uniform(machine.nodes(), Cost::ZERO, Cost::ZERO);
    (counting.read, counting.write, counting.write_back) = (free.clone(), free.clone(), free);
    counting.copy = CopyCost::linear(Cost(1), Cost::ZERO);
    if let Some(global) = &mut counting.global {
        global.access = Cost::ZERO;
        global.copy = CopyCost::linear(Cost(THROUGH_GLOBAL), Cost::ZERO);
    }
    counting
}

const CLASSES: [AccessClass; 3] = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack];

/// One policy on many machines at one block size.
pub(crate) struct CountedJob<'m> {
    policy: u32,
    machines: Vec<(u32, &'m Machine)>,
    engine: Box<dyn BlockEngine + 'm>,
    nodes: usize,
    /// Accesses by `(class * nodes + node) * (nodes + 1) + place`.
    served: Vec<u64>,
    between: u64,
    through: u64,
    moves: u64,
    copies: u64,
    places: Vec<Location>,
}

impl<'m> CountedJob<'m> {
    /// `engine` is one of the counting machine of the first of these machines, which have one [`Shape`].
    pub(crate) fn new(policy: u32, machines: Vec<(u32, &'m Machine)>, engine: Box<dyn BlockEngine + 'm>) -> Self {
        let nodes = machines[0].1.nodes();
        let served = vec![0; CLASSES.len() * nodes * (nodes + 1)];
        CountedJob {
            policy,
            machines,
            engine,
            nodes,
            served,
            between: 0,
            through: 0,
            moves: 0,
            copies: 0,
            places: Vec::new(),
        }
    }

    fn tally(&self, machine: &Machine, block_bytes: u64) -> Tally {
        let (near, far) = (Location::Node(NodeId(0)), Location::Node(NodeId(1)));
        let mut tally = Tally { moves: self.moves, copies: self.copies, ..Tally::default() };
        if self.between > 0 {
            tally.movement += machine.copy_cost(block_bytes, near, far).times(self.between);
        }
        if self.through > 0 {
            tally.movement += machine.copy_cost(block_bytes, Location::Global, near).times(self.through);
        }
        let per = self.nodes + 1;
        for (i, count) in self.served.iter().enumerate().filter(|(_, n)| **n > 0) {
            let (row, place) = (i / per, i % per);
            let node = NodeId((row % self.nodes) as u16);
            let at = if place == self.nodes { Location::Global } else { Location::Node(NodeId(place as u16)) };
            let cost = machine.access(CLASSES[row / self.nodes], node, at).times(*count);
            match at {
                Location::Global => tally.global += cost,
                Location::Node(n) if n == node => tally.local += cost,
                Location::Node(_) => tally.remote += cost,
            }
        }
        tally
    }
}

impl Job for CountedJob<'_> {
    fn block(&mut self, number: u64, steps: &[Step]) {
        begin(&mut *self.engine, number);
        let mut tally = [Tally::default()];
        self.engine.run_served(steps, &mut tally, &mut self.places);
        let per = self.nodes + 1;
        for (Step { access, .. }, at) in steps.iter().zip(&self.places) {
            if access.class == AccessClass::Free {
                continue;
            }
            let place = if let Location::Node(n) = at { n.index() } else { self.nodes };
            let row = access.class as usize * self.nodes + access.node.index();
            self.served[row * per + place] += u64::from(access.weight);
        }
        let [Tally { movement, moves, copies, .. }] = tally;
        let movement = movement.0 as u128;
        self.between += (movement % THROUGH_GLOBAL as u128) as u64;
        self.through += (movement / THROUGH_GLOBAL as u128) as u64;
        self.moves += moves;
        self.copies += copies;
    }
    fn rows(&self, block_bytes: u64) -> Vec<Row> {
        let row = |(index, machine): &(u32, &Machine)| {
            tallied(*index, block_bytes, What::Policy(self.policy), &self.tally(machine, block_bytes), true)
        };
        self.machines.iter().map(row).collect()
    }
}
