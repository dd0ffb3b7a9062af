//! A policy whose decisions do not depend on costs: once for all machines that differ in nothing else.
//!
//! What it decides is counted, and the cost on each machine is the sum of counts times costs: exact, since a cost is by
//! definition such a sum.
use super::policy::begin;
use super::{Job, tallied};
use crate::{Row, What};
use homenode_base::{Cost, NodeId, TotalCost};
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
/// Bits of a count of accesses between two looks: a read costs 1 on the counting machine, a write 2^31, a write-back 2^62.
const COUNT_BITS: u32 = 31;
const CLASSES: usize = 3;

/// The same machine with costs that count. Accesses from afar cost what they did where they are impossible, and those of
/// global memory 1, since they cost the same in every class.
pub(crate) fn counting_machine(machine: &Machine) -> Machine {
    let mut counting = machine.clone();
    let matrix = |class: u32| {
        let each = Cost(1 << (COUNT_BITS * class));
        Matrix::uniform(machine.nodes(), each, each)
    };
    (counting.read, counting.write, counting.write_back) = (matrix(0), matrix(1), matrix(2));
    counting.copy = CopyCost::linear(Cost(1), Cost::ZERO);
    if let Some(global) = &mut counting.global {
        global.access = Cost(1);
        global.copy = CopyCost::linear(Cost(THROUGH_GLOBAL), Cost::ZERO);
    }
    counting
}

/// Whether the place of an access says no more than local, remote or global: what [`CountedJob`] asks of machines.
pub(crate) fn is_counted(machine: &Machine) -> bool {
    [&machine.read, &machine.write, &machine.write_back].iter().all(|m| m.as_uniform().is_some())
}

/// Events of one policy.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// By class.
    local: [u64; CLASSES],
    remote: [u64; CLASSES],
    /// What was served from afar where that is impossible: infinite, however many machines.
    unreachable: TotalCost,
    global: u64,
    between: u64,
    through: u64,
    moves: u64,
    copies: u64,
}

impl Counts {
    /// Adds what a tally of the counting machine says; `only` is the class of all its accesses, if there is but one.
    fn add(&mut self, tally: &Tally, remote_access: bool, only: Option<AccessClass>) {
        add_fields(&mut self.local, tally.local, only);
        if remote_access {
            add_fields(&mut self.remote, tally.remote, only);
        } else {
            self.unreachable += tally.remote;
        }
        self.global += tally.global.0 as u64;
        let movement = tally.movement.0 as u128;
        self.between += (movement % THROUGH_GLOBAL as u128) as u64;
        self.through += (movement / THROUGH_GLOBAL as u128) as u64;
        self.moves += tally.moves;
        self.copies += tally.copies;
    }

    fn tally(&self, machine: &Machine, block_bytes: u64) -> Tally {
        let [here, there] = [0, 1].map(|n| Location::Node(NodeId(n)));
        let mut tally = Tally { moves: self.moves, copies: self.copies, remote: self.unreachable, ..Tally::default() };
        let classes = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack];
        for ((class, local), remote) in classes.into_iter().zip(self.local).zip(self.remote) {
            tally.local += machine.access(class, NodeId(0), here).times(local);
            if remote > 0 {
                tally.remote += machine.access(class, NodeId(0), there).times(remote);
            }
        }
        if let Some(global) = &machine.global {
            tally.global = global.access.times(self.global);
            tally.movement += machine.copy_cost(block_bytes, Location::Global, here).times(self.through);
        }
        tally.movement += machine.copy_cost(block_bytes, here, there).times(self.between);
        tally
    }
}

fn add_fields(counts: &mut [u64; CLASSES], sum: TotalCost, only: Option<AccessClass>) {
    let sum = sum.0 as u128;
    if let Some(class) = only {
        counts[class as usize] += (sum >> (COUNT_BITS * class as u32)) as u64;
        return;
    }
    let field = (1 << COUNT_BITS) - 1;
    counts[0] += (sum & field) as u64;
    counts[1] += (sum >> COUNT_BITS & field) as u64;
    counts[2] += (sum >> (2 * COUNT_BITS)) as u64;
}

/// One policy on many machines at one block size.
pub(crate) struct CountedJob<'m> {
    policy: u32,
    machines: Vec<(u32, &'m Machine)>,
    engine: Box<dyn BlockEngine + 'm>,
    counts: Counts,
}

impl<'m> CountedJob<'m> {
    /// `engine` is one of the counting machine of the first of these machines, which have one [`Shape`].
    pub(crate) fn new(policy: u32, machines: Vec<(u32, &'m Machine)>, engine: Box<dyn BlockEngine + 'm>) -> Self {
        CountedJob { policy, machines, engine, counts: Counts::default() }
    }

    fn run(&mut self, steps: &[Step], only: Option<AccessClass>) {
        let mut tally = Tally::default();
        self.engine.run_total(steps, &mut tally);
        self.counts.add(&tally, self.machines[0].1.remote_access, only);
    }
}

impl Job for CountedJob<'_> {
    fn block(&mut self, number: u64, steps: &[Step]) {
        begin(&mut *self.engine, number);
        // As many steps at once as surely do not count beyond a field.
        let (mut from, mut sum) = (0, 0);
        for (i, step) in steps.iter().enumerate() {
            let weight = u64::from(step.access.weight);
            if sum + weight >= 1 << COUNT_BITS {
                self.run(&steps[from..i], None);
                (from, sum) = (i, 0);
            }
            if weight >= 1 << COUNT_BITS {
                let class = step.access.class;
                self.run(&steps[i..=i], (class != AccessClass::Free).then_some(class));
                from = i + 1;
            } else {
                sum += weight;
            }
        }
        self.run(&steps[from..], None);
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let row = |(index, machine): &(u32, &Machine)| {
            let tally = self.counts.tally(machine, block_bytes);
            tallied(*index, block_bytes, What::Policy(self.policy), &tally, true)
        };
        self.machines.iter().map(row).collect()
    }
}
