//! What is said of a recording when it is over.
use super::session::Session;
use crate::control::remove_rings;
use crate::error::CaptureError;
use crate::facts::Tables;
use crate::finish::{self, Ending};
use crate::options::RecordSummary;
use homenode_base::ring::{STOP_LIMIT, STOP_USER};
use homenode_sys::dir::Dir;
use homenode_sys::signals;

/// Completes the dataset of a recording that is over.
pub(super) fn dataset(root: &Dir, session: Session) -> Result<RecordSummary, CaptureError> {
    let counts = session.writer.counts(session.control.rings());
    let tables: Tables = session.writer.facts.tables(|thread| session.control.entry(thread), &counts);
    let period = session.writer.weight.checked_div(session.writer.samples).unwrap_or(0);
    let mut manifest = session.manifest.clone();
    manifest.mark_sampled(session.tally.sampling(period));
    let number = |pid| tables.processes.iter().position(|p| p.pid == pid).and_then(|i| u32::try_from(i).ok());
    manifest.huge_pages = session.huge.told(number);
    let ending = ending(&session);
    if ending.incomplete {
        // The rings are of no more use, and their space lets the manifest be written on a full disk.
        remove_rings(root)?;
    }
    finish::dataset(root, manifest, tables, &ending)
}

fn ending(session: &Session) -> Ending {
    let tally = &session.tally;
    let mut parts = Vec::new();
    if let Some(error) = &tally.write {
        parts.push(format!(
            "recording stopped because the dataset could not be written ({error}); the program ran on unharmed"
        ));
    }
    match session.control.stop_reason() {
        STOP_LIMIT => parts.push(format!("recording stopped after {} samples, as asked for", session.writer.samples)),
        STOP_USER if tally.duration_over => parts.push("recording stopped after the time asked for".to_owned()),
        STOP_USER => {
            let who = tally.outcome.stopped_by.map_or_else(|| "the user".to_owned(), signals::name);
            parts.push(format!("recording stopped by {who}"));
        }
        _ => {}
    }
    if let Some(signal) = tally.outcome.status.filter(|&s| s < 0) {
        parts.push(format!("the program was killed by {}", signals::name(-signal)));
    }
    let mut blind = session.control.blind();
    // What an instrumented program did not send is no loss here: the samples are the references.
    blind.dropped = tally.dropped + session.writer.after_exit;
    blind.unringed_threads += session.names.nameless;
    blind.notes = notes(session);
    let incomplete = tally.write.is_some();
    Ending { exit_status: tally.outcome.status, ended: parts.join("; "), incomplete, blind, left_out: None }
}

fn notes(session: &Session) -> Vec<String> {
    let tally = &session.tally;
    let mut notes = tally.notes.clone();
    notes.extend(session.seen.sentence(&tally.heat));
    if session.names.anybody_reports() {
        notes.push(format!(
            "samples and events of the preloaded library are put in order by two clocks that agree within {} ns",
            session.clocks.error_ns()
        ));
    } else {
        notes.push(
            "the program was recorded without the preloaded library (static, or running already): its allocations and \
             call stacks are not known, its objects are global variables and whole mappings"
                .to_owned(),
        );
    }
    if tally.throttled > 0 {
        notes.push(format!(
            "the kernel throttled sampling {} times: busy stretches are under-represented",
            tally.throttled
        ));
    }
    notes
}
