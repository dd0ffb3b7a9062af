//! Recording with whichever backend is asked for.
use crate::backends;
use crate::error::CaptureError;
use crate::options::{Progress, RecordOptions, RecordSummary};
use homenode_sys::signals::StopRequests;

/// Runs `options.command` and records it with the backend asked for. A program that fails or crashes is recorded all the
/// same; its status is in the summary.
///
/// # Errors
/// See [`CaptureError`]. If the program could not be started or made no contact, no dataset is left behind.
pub fn record(options: &RecordOptions, progress: &mut dyn Progress) -> Result<RecordSummary, CaptureError> {
    let backend = backends::choose(options)?;
    // From before the first directory is made until the last is removed: a signal ends the program or the sampling in order.
    let _stop = StopRequests::install().ok();
    (backend.record)(options, progress)
}
