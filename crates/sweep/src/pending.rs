//! What of a study is done already, and what is left: read from the store, so that it does not matter who did it.
use crate::plan::{Plan, batches};
use crate::resolved::ResolvedStudy;
use crate::store::ResultStore;
use crate::task::{Task, Unit};
use crate::{analyses, answers, clusters, work};

/// Tasks that can be done now, in any order and by any worker. A partition that was made brings more, its units; when
/// nothing is pending, everything is done.
pub fn pending(resolved: &ResolvedStudy, store: &ResultStore) -> Vec<Task> {
    let mut tasks = Vec::new();
    for replay in 0..resolved.replays().len() {
        match of_replay(resolved, store, replay) {
            Some((left, _)) => tasks.extend(left.into_iter().map(Task::Unit)),
            None => tasks.push(Task::Partition(replay)),
        }
    }
    let analyses = resolved.examinations().into_iter().filter(|e| !analyses::is_done(store, &resolved.digest, *e));
    tasks.extend(analyses.map(Task::Analysis));
    let runs = clusters::tasks(resolved).into_iter().filter(|t| !clusters::is_done(store, &resolved.digest, *t));
    tasks.extend(runs.map(Task::Cluster));
    tasks
}

/// The units of one replay that can be done now, as [`pending`] has them: none before its partition was made.
pub fn pending_of(resolved: &ResolvedStudy, store: &ResultStore, replay: usize) -> Vec<Task> {
    let left = (replay < resolved.replays().len()).then(|| of_replay(resolved, store, replay)).flatten();
    left.map_or_else(Vec::new, |(left, _)| left.into_iter().map(Task::Unit).collect())
}

/// Units of a replay that are left, and how many there are in all; `None` where it must be cut first.
pub(crate) fn of_replay(resolved: &ResolvedStudy, store: &ResultStore, replay: usize) -> Option<(Vec<Unit>, usize)> {
    let plan = Plan::read(store, &resolved.digest, replay)?;
    let there = |u: &Unit| answers::read(store, &resolved.digest, *u).is_some();
    let batches = batches(resolved).len();
    let left: Vec<Unit> = plan.units(replay, batches).filter(|u| !there(u)).collect();
    let partitioned = work::path(store, replay).is_file();
    (partitioned || left.is_empty()).then_some((left, plan.groups.len() * batches))
}
