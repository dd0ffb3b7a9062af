//! # homenode-sweep: many machines, policies and block sizes over recordings
//!
//! By worker processes, resumable. A study becomes work: each replay (a trace in one order) is cut into a partition, the
//! partition into groups of regions, and each group with each batch of machines is one unit. Units write their answers as
//! files; the table is made of the files alone, so that who computed them when makes no difference.
//!
//! **Invariant:** the table depends on the study and the contents of its traces alone, not on the number of workers, their
//! order, interruptions or what else lies in the folder.
//!
//! Reading order: `request` (what is asked), `resolved` (with its traces), `task` (what there is to do), [`doc`] (what comes
//! out), `store` (where), `plan` (units of a replay), `cut`, `answers`, `analyses`, `clusters` and `kept` (what tasks leave), `work` (doing one),
//! `pending` (what is left), `schedule` and `pool` (who does what), `table` and `columns` (the result).
//!
//! [`sweep`] does all of it. A scheduler of its own kind, such as one of a cluster, hands out the tasks that are [`pending`]
//! (they are JSON) to a [`Worker`] each, or to processes that [`serve`]:
//!
//! ```
//! use homenode_sweep::{StudySource, Inline, ResolvedStudy, ResultStore, SweepRequest, Worker, finish, pending};
//! use homenode_synthetic::Builder;
//! use homenode_trace::store::Store;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let mut program = Builder::new(2);
//! for i in 0..100 {
//!     program.read((i % 2) as u32, i * 64);
//! }
//! let dataset = program.store();
//! for name in dataset.names().unwrap() {
//!     let file = folder.path().join("x.hnt").join(&name);
//!     std::fs::create_dir_all(file.parent().unwrap()).unwrap();
//!     std::fs::write(file, dataset.get(&name).unwrap().as_slice()).unwrap();
//! }
//!
//! let words = |word: &str| vec![word.to_owned()];
//! let request = SweepRequest {
//!     asked: StudySource::Inline(Inline {
//!         traces: vec![folder.path().join("x.hnt")],
//!         blocks: words("4096"),
//!         machines: words("numa"),
//!         policies: words("first-touch"),
//!         ..Inline::default()
//!     }),
//!     output: Some(folder.path().join("x.sweep")),
//!     workers: None,
//!     memory_bytes: 256 << 20,
//!     csv: false,
//!     force: false,
//!     yes: false,
//!     worker: None,
//! };
//! let study = ResolvedStudy::load(&request.asked)?;
//! let (store, _) = ResultStore::of(request.output.as_deref(), "x");
//! let (store, _) = store.claim(&study.text, &study.digest, request.force)?;
//! loop {
//!     let tasks = pending(&study, &store);
//!     if tasks.is_empty() {
//!         break;
//!     }
//!     for task in tasks {
//!         Worker::new(&study, &store, request.memory_bytes).carry_out(task, &mut |_| ())?;
//!     }
//! }
//! let doc = finish(&study, &store, &request, std::time::Instant::now())?;
//! assert_eq!(doc.rows, 2, "the policy and the optimum");
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod analyses;
mod answers;
mod clusters;
mod columns;
mod cut;
mod digest;
pub mod doc;
mod estimate;
mod kept;
mod notes;
mod pending;
mod plan;
mod pool;
mod request;
mod resolved;
mod schedule;
pub mod spec;
mod spill;
mod store;
mod table;
mod tables;
mod task;
#[cfg(test)]
mod tests;
mod work;

pub use cut::WORKER_BYTES_MIN;
pub use doc::SweepDoc;
pub use pending::{pending, pending_of};
pub use request::{Inline, StudySource, SweepRequest, Text};
pub use resolved::ResolvedStudy;
pub use spec::Study;
pub use spill::FileSpill;
pub use store::{Claim, ResultStore};
pub use task::{AnalysisTask, ClusterTask, Task, Unit};
pub use work::{Message, Worker, serve};

use homenode_command::{Failure, Progress};
use homenode_realign::Rule;
use std::time::Instant;

/// Points that a sweep computes without being asked twice.
pub const POINTS_MAX: u128 = 10_000_000;

/// Answers a study, or goes on where an earlier call stopped.
///
/// # Errors
/// A study that cannot be, a trace that cannot be read, results of another study in the way, work that failed or was
/// stopped. What was done stays done.
pub fn sweep(request: &SweepRequest, progress: &mut dyn Progress) -> Result<SweepDoc, Failure> {
    let began = Instant::now();
    let (resolved, store, done) = open(request)?;
    if let Some(doc) = done {
        return Ok(doc);
    }
    schedule::run(&resolved, &store, request, workers(request, &resolved), progress)?;
    finish(&resolved, &store, request, began)
}

/// Reads a study and takes its folder: with the summary, if an earlier call did all of it.
///
/// # Errors
/// A study that cannot be, a trace that cannot be read, results of another study in the way.
pub fn open(request: &SweepRequest) -> Result<(ResolvedStudy, ResultStore, Option<SweepDoc>), Failure> {
    if request.memory_bytes < WORKER_BYTES_MIN {
        let least = WORKER_BYTES_MIN >> 20;
        return Err(Failure::usage(format!("--memory: at least {least}M, which is what one worker needs")));
    }
    let resolved = ResolvedStudy::load(&request.asked)?;
    let least = worker_bytes(&resolved.study);
    if request.memory_bytes < least {
        let least = least.div_ceil(1 << 20);
        return Err(Failure::usage(format!("--memory: at least {least}M, for a window that is realigned in memory")));
    }
    let points = resolved.points();
    if points > POINTS_MAX && !request.yes {
        return Err(Failure::usage(format!(
            "the study has {points} points; more than {POINTS_MAX} take long and much room: narrow its ranges, or say --yes"
        )));
    }
    let (store, table) = ResultStore::of(request.output.as_deref(), &resolved.study.name);
    resolved.check_points()?;
    analyses::check(&resolved)?;
    clusters::check(&resolved)?;
    let (store, claim) = store.claim(&resolved.text, &resolved.digest, request.force)?;
    let done = match claim {
        Claim::Done(doc) => Some(table::again(&store, *doc, request, table.as_deref())?),
        _ => None,
    };
    Ok((resolved, store, done))
}

/// Makes the table of a store in which nothing is pending; then its work is removed and the folder done.
///
/// # Errors
/// An answer that is missing or damaged; the table cannot be written.
pub fn finish(
    resolved: &ResolvedStudy,
    store: &ResultStore,
    request: &SweepRequest,
    began: Instant,
) -> Result<SweepDoc, Failure> {
    let doc = table::write(resolved, store, request, (workers(request, resolved), began))?;
    store.finish(&doc)?;
    let (_, table) = ResultStore::of(request.output.as_deref(), &resolved.study.name);
    table::copy_to(store, table.as_deref(), request.force)?;
    Ok(doc)
}

/// Memory that one worker needs at least, in bytes.
fn worker_bytes(study: &Study) -> u64 {
    let window = |r: &Rule| cut::window_bytes(*r);
    WORKER_BYTES_MIN + study.realign.iter().map(window).max().unwrap_or(0)
}

/// Number of workers: as many as asked for, processors or memory allow.
fn workers(request: &SweepRequest, resolved: &ResolvedStudy) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let fit = (request.memory_bytes / worker_bytes(&resolved.study)) as usize;
    request.workers.unwrap_or(processors).clamp(1, fit.max(1))
}
