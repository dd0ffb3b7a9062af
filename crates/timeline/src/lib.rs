//! # homenode-timeline: a recording over time, for the viewers of others
//!
//! What threads do, what their memory accesses cost, how many of them are remote and what each memory serves, window by window, on a
//! machine under first touch: as a file for Perfetto or for the Firefox Profiler.
//!
//! **Invariant:** a file says which time its axis shows, and what it leaves out; the costs of all windows add up to those of the
//! replay, and a file appears only when it is whole.
//!
//! Time of a sampled recording is that of its stamps. Exact recordings were slowed down by being recorded, so theirs is the machine's:
//! windows of as many references each, in the model order, and a window takes as long as its busiest processor, whose references take a
//! fixed time each besides what they cost.
//!
//! Reading order: [`write`] (the pass), `windows` (what is counted), `scale` (from places in the order to time), `phases`, `stamps`,
//! `timeline` (what viewers get), `viewers` (the family).
#![forbid(unsafe_code)]

mod pass;
mod phases;
mod scale;
mod stamps;
#[cfg(test)]
mod tests;
mod timeline;
mod viewers;
mod windows;

use flate2::write::GzEncoder;
use homenode_command::{Failure, Progress, output};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use timeline::Timeline;
pub use viewers::{VIEWERS, Viewer};

/// What to write.
#[derive(Clone, Debug)]
pub struct TimelineRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Machine name or TOML file; its costs are times.
    pub machine: String,
    /// Placement block in bytes; the machine's page if absent.
    pub block: Option<u64>,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// The viewer that the file is for.
    pub viewer: &'static Viewer,
    /// The file; `.json`, or `.gz` for a compressed one.
    pub to: PathBuf,
    /// Replace it if it exists.
    pub force: bool,
}

/// Writes the file and says in a few sentences what it shows.
///
/// # Errors
/// The request makes no sense, the dataset cannot be read, the machine's costs are no times, the file cannot be written, or Ctrl-C.
pub fn write(request: &TimelineRequest, progress: &mut dyn Progress) -> Result<String, Failure> {
    let to = &request.to;
    output::refuse_kind(to, &["json", "gz"])?;
    output::refuse_existing(to, request.force)?;
    // Without handlers (nested use) Ctrl-C just ends the process; nothing has been written until all is known.
    let stop = homenode_sys::signals::StopRequests::install().ok();
    let stop = || match stop.as_ref().is_some_and(|s| s.take().is_some()) {
        true => Err(Failure::work(format!("interrupted; nothing is kept of {}", to.display()))),
        false => Ok(()),
    };
    let told = pass::run(request, &stop, progress, |timeline| file(request, timeline))?;
    Ok(format!("{told}\nopen it: {}", request.viewer.open))
}

/// Writes a timeline, whole or not at all.
fn file(request: &TimelineRequest, timeline: &Timeline<'_>) -> Result<(), Failure> {
    output::fill(&request.to, |file| {
        let mut file = BufWriter::new(file);
        if request.to.extension().is_some_and(|e| e == "gz") {
            let mut packed = GzEncoder::new(&mut file, flate2::Compression::default());
            (request.viewer.write)(timeline, &mut packed)?;
            packed.finish()?;
        } else {
            (request.viewer.write)(timeline, &mut file)?;
        }
        file.flush()
    })
}
