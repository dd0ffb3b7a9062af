//! `homenode sweep`: many machines, policies and block sizes over recordings, by worker processes, resumable.
//!
//! A study becomes work: each replay (a trace in one order) is cut into a partition, the partition into groups of regions,
//! and each group with each batch of machines is one unit. Units write their answers as files; the table is made of the
//! files alone, so that who computed them when makes no difference.
//!
//! Reading order: `ask` (what is asked), `loaded` (with its traces), [`doc`] (what comes out), `folder` (where), `plan`
//! (units), `work` (one unit), `analyses` (another kind of task), `schedule` and `crew` (who does what), `table` and
//! `columns` (the result).
mod analyses;
mod answers;
mod ask;
mod columns;
mod crew;
mod digest;
pub mod doc;
mod estimate;
mod folder;
mod loaded;
mod notes;
mod parquet_file;
mod plan;
mod schedule;
mod spill;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod work;

pub use ask::{Asked, Inline};
pub use doc::SweepDoc;
pub use work::serve;

use folder::{Claim, Folder};
use homenode_command::{Failure, Progress};
use loaded::Loaded;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// Points that a sweep computes without being asked twice.
pub const POINTS_MAX: u128 = 10_000_000;
/// Memory that one worker needs at least, in bytes.
pub const WORKER_BYTES_MIN: u64 = 48 << 20;

/// What to sweep, and how.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The question.
    pub asked: Asked,
    /// Folder for the result, or a `.parquet` file beside which the folder is made; `NAME.sweep` if absent.
    pub output: Option<PathBuf>,
    /// Worker processes; one a processor if absent.
    pub workers: Option<usize>,
    /// Memory for all workers together, in bytes.
    pub memory_bytes: u64,
    /// Also write the table as CSV.
    pub csv: bool,
    /// Replace the result of another study.
    pub force: bool,
    /// Compute however many points there are.
    pub yes: bool,
    /// Command that starts a worker, to which the folder and its memory are added; without one the calling process does
    /// all the work itself.
    pub worker: Option<Vec<OsString>>,
}

/// Answers a study, or goes on where an earlier call stopped.
///
/// # Errors
/// A study that cannot be, a trace that cannot be read, results of another study in the way, work that failed or was
/// stopped. What was done stays done.
pub fn sweep(request: &SweepRequest, progress: &mut dyn Progress) -> Result<SweepDoc, Failure> {
    let began = Instant::now();
    if request.memory_bytes < WORKER_BYTES_MIN {
        let least = WORKER_BYTES_MIN >> 20;
        return Err(Failure::usage(format!("--memory: at least {least}M, which is what one worker needs")));
    }
    let loaded = Loaded::load(&request.asked)?;
    let points = loaded.study.points();
    if points > POINTS_MAX && !request.yes {
        return Err(Failure::usage(format!(
            "the study has {points} points; more than {POINTS_MAX} take long and much room: narrow its ranges, or say --yes"
        )));
    }
    let (folder, table) = Folder::of(request.output.as_deref(), &loaded.study.name);
    loaded.check_points()?;
    analyses::check(&loaded)?;
    let (folder, claim) = folder.claim(&loaded, request.force)?;
    if let Claim::Done(doc) = claim {
        return table::again(&folder, *doc, request, table.as_deref());
    }
    let workers = workers(request);
    schedule::run(&loaded, &folder, request, workers, progress)?;
    let doc = table::write(&loaded, &folder, request, (workers, began))?;
    folder.finish(&doc)?;
    table::copy_to(&folder, table.as_deref(), request.force)?;
    Ok(doc)
}

/// As many workers as asked for, processors or memory allow.
fn workers(request: &SweepRequest) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let fit = (request.memory_bytes / WORKER_BYTES_MIN) as usize;
    request.workers.unwrap_or(processors).clamp(1, fit.max(1))
}
