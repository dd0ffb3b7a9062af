//! Machines that see the same accesses, and all that is computed for them from one fold.
use crate::fold::coarse::{Coarse, Ops, Shared};
use crate::fold::strict::Strict;
use crate::fold::turns::TurnFold;
use crate::fold::{Levels, Visitor};
use crate::jobs::online::{Level, Online};
use crate::jobs::protocols;
use crate::jobs::{
    BoundsJob, CountersJob, Job, PhasesJob, PolicyJob, ProtocolJobs, SoloJob, StaticJob, WantedRows, priced,
};
use crate::kernels::{Parameters, WithReplication, WithoutReplication};
use crate::partition::stream::Key;
use crate::{Partition, Question, Row, StudyError, Want, What};
use homenode_machine::Machine;
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::optimum::{Bounds, PhaseStatic};
use homenode_placement::policies::{By, Choice};
use homenode_placement::{EventCounts, Start, Step, Tally};
use pulp::Arch;
use std::cell::OnceCell;
use std::sync::Arc;

/// Policies are told of accesses as they come where a region has at most so many blocks: what they know of these stays in a
/// second-level cache.
const ONLINE_BLOCKS_MAX: u64 = 1 << 14;

/// Machines with one stream and one binding.
pub(crate) struct Group<'m> {
    pub(crate) stream: usize,
    pub(crate) machines: Vec<usize>,
    /// The one that adds up most, and one for policies that look at times; whichever has something to do.
    folds: Vec<(Strict, Jobs<'m>)>,
    /// On-line policies, again one for those that look at times, at sizes of which a region has few enough blocks.
    online: Vec<Online<'m>>,
    /// For protocols of page coherence.
    turns: Option<(TurnFold, ProtocolJobs<'m>)>,
    /// For the optimum with replication.
    coarse: Option<(Coarse, Optima)>,
}

/// The optimum with replication by level, with the machines that it is computed for.
struct Optima {
    of: Vec<WithReplication>,
}

impl Shared for Optima {
    #[inline]
    fn block(&mut self, level: usize, ops: &Ops) {
        self.of[level].block(ops);
    }
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

/// The groups of a question.
pub(crate) fn groups<'m>(question: &'m Question, partition: &Partition) -> Result<Vec<Group<'m>>, StudyError> {
    let largest = question.blocks.last().copied().unwrap_or(0);
    let mut found: Vec<(usize, Vec<u16>, Vec<usize>)> = Vec::new();
    for machine in (0..question.machines.len()).filter(|m| question.usable(*m, largest)) {
        let stream = partition.stream_of(question, machine)?;
        let key = &partition.head.streams[stream].key;
        let nodes = key.nodes(&question.machines[machine], &question.bindings[machine]);
        match found.iter_mut().find(|(s, n, _)| (*s, n) == (stream, &nodes)) {
            Some((_, _, machines)) => machines.push(machine),
            None => found.push((stream, nodes, vec![machine])),
        }
    }
    let group = |(stream, nodes, machines)| Group::new(question, partition, stream, nodes, machines);
    Ok(found.into_iter().map(group).collect())
}

impl<'m> Group<'m> {
    fn new(
        question: &'m Question,
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
        let fold = |timed: bool| {
            let (mut of, mut policies) = (Vec::new(), Vec::new());
            for block_bytes in question.blocks.iter().copied() {
                let able = machines.iter().copied().filter(|m| question.usable(*m, block_bytes));
                let factory = JobFactory::new(question, block_bytes, able.collect(), hits);
                let (mut jobs, mut online) = (factory.jobs(timed), factory.policies(timed));
                if (1 << head.format.region_shift) / block_bytes > ONLINE_BLOCKS_MAX {
                    jobs.extend(online.drain(..).map(|job| Box::new(job) as Box<dyn Job + 'm>));
                }
                of.push(jobs);
                policies.push(online);
            }
            let jobs = Jobs { of, touched: vec![0; question.blocks.len()] };
            let periods: Vec<u64> = question.policies.iter().filter_map(Choice::period).collect();
            let periods = timed.then_some(periods);
            let online = Online::new(&levels, policies, head.format, nodes.clone(), hits, periods.clone());
            ((Strict::new(levels.clone(), head.format, nodes.clone(), hits, periods), jobs), online)
        };
        let turns = (!question.protocols.is_empty()).then(|| {
            let periods = question.protocols.iter().filter_map(protocols::period).collect();
            let fold = TurnFold::new(&levels, head.format, nodes.clone(), periods);
            (fold, ProtocolJobs::new(question, &machines))
        });
        let timed: &[bool] = if question.timed() && turns.is_none() { &[false, true] } else { &[false] };
        let (mut folds, mut online): (Vec<_>, Vec<_>) = timed.iter().map(|timed| fold(*timed)).unzip();
        online.retain(|fold| !fold.levels.is_empty());
        let coarse = fast(question, &machines, hits).map(|optima| {
            let reads_cost = question.start != Start::FreeSet;
            let places = question.blocks.len();
            (Coarse::new(levels, places, head.format, nodes.clone(), reads_cost, question.fold_bytes), optima)
        });
        // One fold at least, since it counts accesses and blocks.
        let first =
            coarse.is_none() && turns.is_none() && online.first().is_none_or(|fold| fold.levels.len() < blocks.len());
        let mut at = 0;
        folds.retain(|(_, jobs)| {
            at += 1;
            jobs.of.iter().any(|jobs| !jobs.is_empty()) || (first && at == 1)
        });
        Group { stream, folds, online, turns, coarse, machines }
    }

    /// One region, whole.
    pub(crate) fn region(&mut self, partition: &Partition, region: usize) -> Result<(), StudyError> {
        let Group { folds, online, turns, coarse, .. } = self;
        let number = partition.head.regions[region];
        partition.read(self.stream, region, &mut |words| {
            folds.iter_mut().for_each(|(fold, _)| fold.records(words));
            online.iter_mut().for_each(|fold| fold.records(number, words));
            turns.iter_mut().for_each(|(fold, jobs)| fold.records(words, jobs));
            coarse.iter_mut().for_each(|(fold, optima)| fold.records(words, optima));
        })?;
        folds.iter_mut().for_each(|(fold, jobs)| fold.region(number, jobs));
        online.iter_mut().for_each(|fold| fold.region(number));
        turns.iter_mut().for_each(|(fold, jobs)| fold.region(jobs));
        coarse.iter_mut().for_each(|(fold, optima)| fold.region(optima));
        Ok(())
    }
    /// Accesses charged so far.
    pub(crate) fn accesses(&self) -> u64 {
        match (&self.coarse, &self.turns, self.folds.first()) {
            (Some((fold, _)), _, _) => fold.accesses.iter().sum(),
            (_, Some((fold, _)), _) => fold.accesses.iter().sum(),
            (None, None, Some((fold, _))) => fold.accesses.iter().sum(),
            (None, None, None) => self.online.first().map_or(0, |fold| fold.accesses.iter().sum()),
        }
    }
    /// Blocks of a level touched so far.
    pub(crate) fn touched(&self, level: usize) -> u64 {
        match (&self.coarse, &self.turns, self.folds.first()) {
            (Some((fold, _)), _, _) => fold.touched[level],
            (_, Some((_, jobs)), _) => jobs.touched(level),
            (None, None, Some((_, jobs))) => jobs.touched[level],
            (None, None, None) => self.online.first().and_then(|fold| fold.touched(level)).unwrap_or(0),
        }
    }
    /// All rows, in no order.
    pub(crate) fn rows(&self, blocks: &[u64]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (fold, jobs) in &self.folds {
            for (jobs, bytes) in jobs.of.iter().zip(blocks) {
                rows.extend(jobs.iter().flat_map(|job| job.rows(*bytes, fold.accesses)));
            }
        }
        for fold in &self.online {
            let rows_of = |level: &Level<'_>| {
                level.jobs.iter().flat_map(|told| told.job.rows(blocks[level.place], fold.accesses)).collect::<Vec<_>>()
            };
            rows.extend(fold.levels.iter().flat_map(rows_of));
        }
        rows.extend(self.turns.iter().flat_map(|(_, jobs)| jobs.rows(blocks)));
        if let Some((fold, optima)) = &self.coarse {
            for (optima, bytes) in optima.of.iter().zip(blocks) {
                let costs = optima.costs(fold.accesses).into_iter();
                rows.extend(costs.map(|(machine, cost)| priced(machine, *bytes, What::WITH_REPLICATION, cost, true)));
            }
        }
        rows
    }
}

/// Parameters of a machine for the vector kernels, if an optimum is wanted by its cost alone and they can compute it.
fn parameters(question: &Question, machine: usize, block_bytes: u64, want: Want, hits: bool) -> Option<Parameters> {
    let able = want == Want::Cost && !hits && question.usable(machine, block_bytes);
    able.then(|| Parameters::new(&question.machines[machine], block_bytes)).flatten()
}

/// The optimum with replication of the machines that the kernels can do, by level; `None` if there is none.
fn fast(question: &Question, machines: &[usize], hits: bool) -> Option<Optima> {
    let want = question.with_replication;
    let level = |bytes: &u64| {
        let able = |m: &usize| parameters(question, *m, *bytes, want, hits).map(|p| (*m as u32, p));
        machines.iter().filter_map(able).collect::<Vec<_>>()
    };
    let levels: Vec<_> = question.blocks.iter().map(level).collect();
    let any = levels.iter().any(|machines| !machines.is_empty());
    let arch = arch(question);
    any.then(|| Optima { of: levels.into_iter().map(|m| WithReplication::new(m, question.start, arch)).collect() })
}

/// What the question asks for; checked before, so the rest is never taken.
fn arch(question: &Question) -> Arch {
    question.vectors.arch().unwrap_or_default()
}

/// Makes the jobs of one level.
struct JobFactory<'m> {
    question: &'m Question,
    block_bytes: u64,
    machines: Vec<usize>,
    /// Whether the stream is one of cache events.
    hits: bool,
    /// Paths that the machines have in common, by number of nodes.
    paths: Vec<(usize, OnceCell<Arc<Paths>>)>,
}

impl<'m> JobFactory<'m> {
    fn new(question: &'m Question, block_bytes: u64, machines: Vec<usize>, hits: bool) -> JobFactory<'m> {
        let mut sizes: Vec<usize> = machines.iter().map(|m| question.machines[*m].nodes()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let paths = sizes.into_iter().map(|nodes| (nodes, OnceCell::new())).collect();
        JobFactory { question, block_bytes, machines, hits, paths }
    }

    /// Nothing counted yet, for any of the machines with so many nodes.
    fn counts(&self, nodes: usize) -> EventCounts {
        let paths = self.paths.iter().find(|(n, _)| *n == nodes).expect("a size of one of the machines");
        let paths = paths.1.get_or_init(|| {
            let machines = self.machines.iter().map(|m| &self.question.machines[*m]);
            let alike: Vec<&Machine> = machines.filter(|m| m.nodes() == nodes).collect();
            Arc::new(Paths::new(&POLICIES, &alike, self.block_bytes))
        });
        EventCounts::new(&POLICIES, paths.clone())
    }

    /// On-line policies that look at times, or the others.
    fn policies(&self, timed: bool) -> Vec<PolicyJob<'m>> {
        let mut jobs = Vec::new();
        for (policy, choice) in self.choices(timed).filter(|(_, choice)| !choice.spec.needs_homes) {
            self.policy(policy, choice, &mut jobs);
        }
        jobs
    }

    fn choices(&self, timed: bool) -> impl Iterator<Item = (u32, &'m Choice)> {
        let choices = (0..).zip(&self.question.policies);
        choices.filter(move |(_, choice)| choice.spec.decides_by.contains(&By::Time) == timed)
    }

    /// Everything but on-line policies: what looks at times, or the rest.
    fn jobs(&self, timed: bool) -> Vec<Box<dyn Job + 'm>> {
        let mut jobs: Vec<Box<dyn Job + 'm>> = Vec::new();
        for (policy, choice) in self.choices(timed) {
            if let Some(window) = choice.phase() {
                self.phases(policy, choice, window, &mut jobs);
            }
        }
        if self.question.counters && !self.question.protocols.is_empty() {
            let machines = self.machines.iter().map(|m| (*m as u32, &self.question.machines[*m])).collect();
            let job = CountersJob::new(self.block_bytes, machines);
            jobs.extend(job.map(|job| Box::new(job) as Box<dyn Job + 'm>));
        }
        if !timed && self.question.protocols.is_empty() {
            self.fixed(&mut jobs);
            self.bounds(&mut jobs);
        }
        jobs
    }

    /// The best homes by phase on each machine by itself.
    fn phases(&self, policy: u32, choice: &Choice, window: u64, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let block_bytes = self.block_bytes;
        for &m in &self.machines {
            let machine = &self.question.machines[m];
            if choice.engine(machine, block_bytes).is_ok() {
                let solver = PhaseStatic::new(machine, block_bytes, window);
                jobs.push(Box::new(PhasesJob { machine: m as u32, policy, solver, tally: Tally::default() }));
            }
        }
    }

    /// One policy: once for all machines on which it decides alike.
    fn policy(&self, policy: u32, choice: &Choice, jobs: &mut Vec<PolicyJob<'m>>) {
        let by_cost = choice.spec.decides_by.contains(&By::Cost);
        let mut alike: Vec<PolicyJob<'m>> = Vec::new();
        for &m in &self.machines {
            let machine = &self.question.machines[m];
            let Ok(engine) = choice.engine(machine, self.block_bytes) else { continue };
            match alike.iter_mut().find(|job| !by_cost && job.machines[0].1.decides_as(machine)) {
                Some(job) => job.machines.push((m as u32, machine)),
                None => {
                    let (machines, counts) = (vec![(m as u32, machine)], self.counts(machine.nodes()));
                    alike.push(PolicyJob { policy, machines, engine, counts });
                }
            }
        }
        jobs.extend(alike);
    }

    fn fixed(&self, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let question = self.question;
        let mut by_nodes: Vec<Vec<WantedRows<'m>>> = Vec::new();
        for &m in &self.machines {
            let machine = &question.machines[m];
            let mut rows: Vec<(What, bool)> = Vec::new();
            for (p, choice) in question.policies.iter().enumerate() {
                if choice.spec.needs_homes
                    && choice.phase().is_none()
                    && choice.engine(machine, self.block_bytes).is_ok()
                {
                    rows.push((What::policy(p as u32), true));
                }
            }
            if question.best_static != Want::None {
                rows.push((What::BEST_STATIC, question.best_static == Want::Parts));
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

    /// The optimum: without replication by vectors where that can be, the rest by the solvers. What the coarse fold does
    /// is left out.
    fn bounds(&self, jobs: &mut Vec<Box<dyn Job + 'm>>) {
        let question = self.question;
        let mut fast = Vec::new();
        for &m in &self.machines {
            let can = |want| parameters(question, m, self.block_bytes, want, self.hits);
            let mut want = [question.without_replication, question.with_replication];
            if let Some(p) = can(want[0]) {
                fast.push((m as u32, p));
                want[0] = Want::None;
            }
            if can(want[1]).is_some() {
                want[1] = Want::None;
            }
            if want != [Want::None; 2] {
                let bounds = Bounds::new(&question.machines[m], self.block_bytes, question.start);
                jobs.push(Box::new(BoundsJob { machine: m as u32, bounds, want, sums: Default::default() }));
            }
        }
        if !fast.is_empty() {
            jobs.push(Box::new(SoloJob { machines: WithoutReplication::new(fast, question.start, arch(question)) }));
        }
    }
}
