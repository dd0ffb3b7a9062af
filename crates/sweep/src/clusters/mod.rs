//! Recordings on clusters in virtual time: one task for some runs of a trace on a cluster, its rows kept like the answer of a unit.
mod columns;
mod simulator;
mod table;

pub(crate) use simulator::Simulator;
pub(crate) use table::{Filled, count, fill, notes};

use crate::kept::{self, Kept};
use crate::resolved::ResolvedStudy;
use crate::spec::ClusterSet;
use crate::store::ResultStore;
use crate::task::ClusterTask;
use homenode_cluster::{Question, WhatIf};
use homenode_command::{Class, Failure};
use homenode_hlrc::steps::Step;
use homenode_machine::Machine;
use homenode_table::Table;
use homenode_timed::engine::Options;
use std::ops::Range;

/// References that the runs of one task have together, about: some ten seconds, which is what may be lost with it.
const TASK_REFS: u64 = 1 << 26;
/// Runs of one task, at most.
const TASK_RUNS: u128 = 64;

/// A machine in a shape, and what is asked of it.
pub(crate) struct Cluster<'s> {
    pub(crate) machine: Machine,
    set: &'s ClusterSet,
}

/// One run: a step of the protocol, and what is another one than on the machine.
type Run = (&'static Step, Vec<WhatIf>);

impl Cluster<'_> {
    /// Number of runs of a trace: of each step all points.
    fn runs(&self) -> u128 {
        self.set.points().saturating_mul(self.set.steps.len() as u128)
    }
    /// The run with this number.
    fn run(&self, number: u128) -> Run {
        let points = self.set.points();
        (self.set.steps[(number / points) as usize], self.set.point(number % points))
    }
    /// Nodes and processors of each.
    fn shape(&self) -> String {
        format!("{}x{}", self.machine.nodes(), self.machine.shape.cores[0])
    }
    /// What is asked of recordings there.
    fn question<'m>(&'m self, resolved: &ResolvedStudy) -> Question<'m> {
        let map = resolved.study.map.clone();
        Question { machine: &self.machine, map, options: Options::default(), checks: false, faults: None }
    }
}

/// All clusters of a study, in its order.
pub(crate) fn clusters(resolved: &ResolvedStudy) -> Vec<Cluster<'_>> {
    let of = |set| ClusterSet::clusters(set).map(move |machine| Cluster { machine, set });
    resolved.study.clusters.iter().flat_map(of).collect()
}

/// All there is to do, in the order of the table's rows: each trace on each cluster.
pub(crate) fn tasks(resolved: &ResolvedStudy) -> Vec<ClusterTask> {
    let clusters = clusters(resolved);
    let of = |trace: usize| {
        let batches = |(cluster, c): (usize, &Cluster<'_>)| {
            let count = c.runs().div_ceil(batch_runs(resolved, trace)) as usize;
            (0..count).map(move |batch| ClusterTask { trace, cluster, batch })
        };
        clusters.iter().enumerate().flat_map(batches).collect::<Vec<_>>()
    };
    (0..resolved.traces.len()).flat_map(of).collect()
}

/// Runs of a trace in one task. They depend on the study and the trace alone, so that an interrupted sweep finds the same tasks again.
fn batch_runs(resolved: &ResolvedStudy, trace: usize) -> u128 {
    u128::from(TASK_REFS / resolved.traces[trace].refs.max(1)).clamp(1, TASK_RUNS)
}

/// Numbers of the runs of a task.
fn runs(resolved: &ResolvedStudy, cluster: &Cluster<'_>, task: ClusterTask) -> Range<u128> {
    let size = batch_runs(resolved, task.trace);
    let first = task.batch as u128 * size;
    first..(first + size).min(cluster.runs())
}

/// References of all runs of a task, about.
pub(crate) fn refs(resolved: &ResolvedStudy, task: ClusterTask) -> u64 {
    let all = clusters(resolved);
    let runs = runs(resolved, &all[task.cluster], task);
    resolved.traces[task.trace].refs.saturating_mul((runs.end - runs.start) as u64)
}

/// What a task is about, for people.
pub(crate) fn words(resolved: &ResolvedStudy, task: ClusterTask) -> String {
    let cluster = &clusters(resolved)[task.cluster];
    format!("{} on {} {}", resolved.traces[task.trace].label, cluster.machine.name, cluster.shape())
}

/// Whether every trace fits every cluster, as far as that is known before it is run.
///
/// # Errors
/// One that does not.
pub(crate) fn check(resolved: &ResolvedStudy) -> Result<(), Failure> {
    for (cluster, c) in clusters(resolved).iter().enumerate() {
        for trace in 0..resolved.traces.len() {
            let refused = |e| refused(resolved, ClusterTask { trace, cluster, batch: 0 }, e);
            c.question(resolved).check(resolved.traces[trace].reader()?).map_err(refused)?;
        }
    }
    Ok(())
}

/// Whose fault it is that a recording does not run on a cluster.
fn refused(resolved: &ResolvedStudy, task: ClusterTask, e: homenode_cluster::ClusterError) -> Failure {
    use homenode_cluster::ClusterError::Timed;
    use homenode_timed::engine::TimedError;
    let class = match &e {
        Timed(TimedError::Shared(..) | TimedError::NoProcessor(..)) => Class::Usage,
        Timed(_) => Class::Input,
        _ => Class::Usage,
    };
    Failure { class, message: format!("{}: {e}", words(resolved, task)) }
}

fn file(task: ClusterTask) -> String {
    format!("cluster-{}-{}-{}.json", task.trace, task.cluster, task.batch)
}

/// Keeps the rows of a task.
pub(crate) fn keep(
    store: &ResultStore,
    study: &str,
    task: ClusterTask,
    seconds: f64,
    rows: Table,
) -> Result<(), Failure> {
    kept::keep(store, study, file(task), seconds, vec![rows])
}

/// Whether they are there.
pub(crate) fn is_done(store: &ResultStore, study: &str, task: ClusterTask) -> bool {
    read(store, study, task).is_some()
}

fn read(store: &ResultStore, study: &str, task: ClusterTask) -> Option<Kept> {
    kept::read(store, study, &file(task)).filter(|k| k.tables.len() == 1)
}
