//! Machines that see the same accesses, and all that is computed for them from one fold.
use crate::fold::strict::Strict;
use crate::fold::{Levels, Visitor};
use crate::jobs::{BoundsJob, CountedJob, Job, PolicyJob, Shape, StaticJob};
use crate::partition::stream::Key;
use crate::{Partition, Question, Row, StudyError, Want, What};
use homenode_machine::Machine;
use homenode_placement::policies::By;
use homenode_placement::Step;
use homenode_placement::Tally;
use homenode_placement::optimum::Bounds;

/// Largest machine whose accesses are counted by node and place.
const COUNTED_NODES_MAX: usize = 128;

/// Machines with one stream and one binding.
pub(crate) struct Group<'m> {
    pub(crate) stream: usize,
    pub(crate) machines: Vec<usize>,
    strict: Strict,
    jobs: Jobs<'m>,
}

/// Jobs by level.
struct Jobs<'m> {
    of: Vec<Vec<Box<dyn Job + 'm>>>,
    touched: Vec<u64>,
}

impl Visitor for Jobs<'_> {
    fn block(&mut self, level: usize, number: u64, steps: &[Step]) {
        self.touched[level] += 1;
        self.of[level].iter_mut().for_each(|job| job.block(number, steps));
    }
}

/// The groups of a question. `counting` are its machines with costs that count.
pub(crate) fn groups<'m>(
    question: &'m Question,
    counting: &'m [Machine],
    partition: &Partition,
) -> Result<Vec<Group<'m>>, StudyError> {
    let largest = question.blocks.last().copied().unwrap_or(0);
    let mut found: Vec<(usize, Vec<u16>, Vec<usize>)> = Vec::new();
    for machine in (0..question.machines.len()).filter(|m| question.usable(*m, largest)) {
        let stream = partition.stream_of(question, machine)?;
        let key = &partition.head.streams[stream].key;
        let nodes = key.nodes(&question.machines[machine], &question.seats[machine]);
        match found.iter_mut().find(|(s, n, _)| (*s, &*n) == (stream, &nodes)) {
            Some((_, _, machines)) => machines.push(machine),
            None => found.push((stream, nodes, vec![machine])),
        }
    }
    let group = |(stream, nodes, machines)| Group::new(question, counting, partition, stream, nodes, machines);
    Ok(found.into_iter().map(group).collect())
}

impl<'m> Group<'m> {
    fn new(
        question: &'m Question,
        counting: &'m [Machine],
        partition: &Partition,
        stream: usize,
        nodes: Vec<u16>,
        machines: Vec<usize>,
    ) -> Group<'m> {
        let head = &partition.head.streams[stream];
        let usable = |b: &&u64| machines.iter().any(|m| question.usable(*m, **b));
        let blocks: Vec<u64> = question.blocks.iter().filter(usable).copied().collect();
        let skipped = question.blocks.len() - blocks.len();
        let levels = Levels::new(&blocks, skipped, head.format.unit_shift, head.format.region_shift);
        let hits = matches!(head.key, Key::Events(_));
        let mut of: Vec<Vec<Box<dyn Job + 'm>>> = Vec::new();
        for block_bytes in &question.blocks {
            let able = machines.iter().copied().filter(|m| question.usable(*m, *block_bytes));
            of.push(Maker { question, counting, block_bytes: *block_bytes, machines: able.collect() }.jobs());
        }
        let touched = vec![0; question.blocks.len()];
        let strict = Strict::new(levels, head.format, nodes, hits);
        Group { stream, machines, strict, jobs: Jobs { of, touched } }
    }

    /// One region, whole.
    pub(crate) fn region(&mut self, partition: &Partition, region: usize) -> Result<(), StudyError> {
        partition.read(self.stream, region, &mut |words| self.strict.records(words))?;
        self.strict.region(partition.head.regions[region], &mut self.jobs);
        Ok(())
    }
    /// Accesses charged so far.
    pub(crate) fn accesses(&self) -> u64 {
        self.strict.accesses
    }
    /// Blocks of a level touched so far.
    pub(crate) fn touched(&self, level: usize) -> u64 {
        self.jobs.touched[level]
    }
    /// All rows, in no order.
    pub(crate) fn rows(&self, blocks: &[u64]) -> Vec<Row> {
        let levels = self.jobs.of.iter().zip(blocks);
        levels.flat_map(|(jobs, bytes)| jobs.iter().flat_map(|job| job.rows(*bytes))).collect()
    }
}

/// Makes the jobs of one level.
struct Maker<'m> {
    question: &'m Question,
    counting: &'m [Machine],
    block_bytes: u64,
    machines: Vec<usize>,
}

type MakeRows<'m> = (u32, &'m Machine, Vec<(What, bool)>);

impl<'m> Maker<'m> {
    fn jobs(&self) -> Vec<Box<dyn Job + 'm>> {
        let mut jobs: Vec<Box<dyn Job + 'm>> = Vec::new();
        for policy in 0..self.question.policies.len() {
            self.policy(policy, &mut jobs);
        }
        self.fixed(&mut jobs);
        self.bounds(&mut jobs);
        jobs
    }

    fn policy(&self, policy: usize, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let (question, block_bytes) = (self.question, self.block_bytes);
        let choice = &question.policies[policy];
        if choice.spec.needs_homes {
            return;
        }
        let mut shapes: Vec<(Shape, Vec<usize>)> = Vec::new();
        for &m in &self.machines {
            let machine = &question.machines[m];
            let Ok(engine) = choice.engine(machine, block_bytes) else { continue };
            let by_cost = choice.spec.decides_by.contains(&By::Cost);
            if by_cost || machine.nodes() > COUNTED_NODES_MAX {
                let (machine, policy) = (m as u32, policy as u32);
                jobs.push(Box::new(PolicyJob { machine, policy, engine, tally: Tally::default() }));
                continue;
            }
            let shape = Shape::of(machine);
            match shapes.iter_mut().find(|(s, _)| *s == shape) {
                Some((_, machines)) => machines.push(m),
                None => shapes.push((shape, vec![m])),
            }
        }
        for (_, machines) in shapes {
            let Ok(engine) = choice.engine(&self.counting[machines[0]], block_bytes) else { continue };
            let machines = machines.into_iter().map(|m| (m as u32, &question.machines[m])).collect();
            jobs.push(Box::new(CountedJob::new(policy as u32, machines, engine)));
        }
    }

    fn fixed(&self, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let question = self.question;
        let mut by_nodes: Vec<Vec<MakeRows<'m>>> = Vec::new();
        for &m in &self.machines {
            let machine = &question.machines[m];
            let mut rows: Vec<(What, bool)> = Vec::new();
            for (p, choice) in question.policies.iter().enumerate() {
                if choice.spec.needs_homes && choice.engine(machine, self.block_bytes).is_ok() {
                    rows.push((What::Policy(p as u32), true));
                }
            }
            if question.best_static != Want::None {
                rows.push((What::BestStatic, question.best_static == Want::Parts));
            }
            if rows.is_empty() {
                continue;
            }
            let row = (m as u32, machine, rows);
            match by_nodes.iter_mut().find(|g| g[0].1.nodes() == machine.nodes()) {
                Some(group) => group.push(row),
                None => by_nodes.push(vec![row]),
            }
        }
        jobs.extend(by_nodes.into_iter().map(|g| Box::new(StaticJob::new(g)) as Box<dyn Job + 'm>));
    }

    fn bounds(&self, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let want = [self.question.without_replication, self.question.with_replication];
        if want == [Want::None; 2] {
            return;
        }
        for &m in &self.machines {
            let bounds = Bounds::new(&self.question.machines[m], self.block_bytes, self.question.start);
            jobs.push(Box::new(BoundsJob { machine: m as u32, bounds, want, sums: Default::default() }));
        }
    }
}
