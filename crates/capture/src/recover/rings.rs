//! What the rings still hold, appended to the dataset exactly once.
use super::RecoverSummary;
use super::files::{Kept, KeptThread};
use crate::blocks::Definitions;
use crate::control::Control;
use crate::drain::{Buffers, DrainError, Ledger, Target, ThreadDrain};
use crate::error::CaptureError;
use crate::facts::Facts;
use crate::output::Appender;
use crate::ring::Ring;
use homenode_base::ring::{ENTRY_ACTIVE, ENTRY_CLAIMED, ENTRY_FREE, STOP_LIMIT, STOP_RECORDER_GONE};
use homenode_host::clock::{Clock, Real};
use homenode_sys::dir::Dir;
use homenode_sys::process;
use homenode_trace::dataset::{EVENTS_FILE, frames_file};
use homenode_trace::framing::Codec;
use homenode_trace::writer::{Counts, EventFile, ThreadFile};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a program that still runs gets to notice that recording is over.
const PATIENCE: Duration = Duration::from_secs(2);
/// A ring whose cursor stood still for this long is not written to any more.
const QUIET: Duration = Duration::from_millis(200);

/// Appends what the rings hold. Counts of every thread afterwards.
pub(super) fn drain(
    root: &Dir,
    control: &Control,
    sampled: bool,
    kept: &mut Kept,
    facts: &Facts,
    summary: &mut RecoverSummary,
) -> Result<Vec<Counts>, CaptureError> {
    control.stop(STOP_RECORDER_GONE);
    wait_for_quiet(control);
    // Once: a program that still runs goes on making threads, of which nothing is recorded any more.
    let rings = control.rings();
    let threads = kept.threads.len().max(rings as usize);
    kept.threads.resize(threads, KeptThread::default());
    let events = Appender::open(root, EVENTS_FILE, kept.event_bytes)
        .map_err(CaptureError::io("write events.bin in", root.path()))?;
    let events = EventFile::of(events, kept.events.len() as u64, Codec::Lz4);
    // References beyond a limit that was reached were never meant to be in the dataset; where samples are the references,
    // those in rings are not either.
    let quota = (control.stop_reason() == STOP_LIMIT || sampled).then_some(0);
    let ledger = Ledger::new(events, quota);
    let definitions = Definitions::of(control);
    let mut buffers = Buffers::default();
    let mut counts = kept.counts();
    for thread in 0..rings {
        let mut target = Target { ledger: &ledger, buffers: &mut buffers, see: &|e| facts.see(e) };
        match one(root, (control, &definitions, sampled), thread, &kept.threads[thread as usize], &mut target) {
            Ok(Some((now, lost))) => {
                counts[thread as usize] = now;
                if lost > 0 {
                    summary.notes.push(format!("{lost} references at the end of thread {thread}'s file are lost"));
                }
            }
            Ok(None) => {}
            Err(DrainError::Damaged(why)) => {
                summary.notes.push(format!("what the ring of thread {thread} still held is lost: {why}"));
            }
            Err(DrainError::Write(source)) => return Err(CaptureError::io("write", root.path())(source)),
        }
    }
    summary.refs_from_rings = ledger.refs.load(Ordering::Relaxed);
    Ok(counts)
}

fn one(
    root: &Dir,
    (control, definitions, sampled): (&Control, &Arc<Definitions>, bool),
    thread: u32,
    kept: &KeptThread,
    target: &mut Target<'_>,
) -> Result<Option<(Counts, u64)>, DrainError> {
    let entry = control.entry(thread);
    if entry.state == ENTRY_CLAIMED as u32 || entry.state == ENTRY_FREE as u32 || entry.bytes == 0 {
        // Its thread never began, or got no ring; there may be a file that was just being made.
        return Ok(None);
    }
    let ring = match Ring::open(control, thread, &entry) {
        Ok(ring) => ring,
        // Drained and removed before the crash, or never there.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(DrainError::Damaged(e.to_string())),
    };
    let out = Appender::open(root, &frames_file(thread), kept.bytes).map_err(DrainError::Write)?;
    let out = ThreadFile::of(thread, out, kept.refs);
    let mut drain =
        ThreadDrain::new(thread, (ring, definitions.clone()), out).map_err(|e| DrainError::Damaged(e.to_string()))?;
    if sampled {
        // Samples are written without regard to the rings, and are all older than what is still in these.
        drain.consumed.refs = kept.refs;
    }
    // The recorder writes references, then events, then the journal: killed in between, the dataset is ahead. Where the
    // dataset was damaged it may be behind, or have gaps: what the ring holds then follows what is left.
    let journal = drain.consumed;
    let read = kept.refs + kept.lost_refs();
    let lost = journal.refs.saturating_sub(read);
    drain.skip_refs = read.saturating_sub(journal.refs).min(kept.refs);
    drain.skip_events = kept.events.saturating_sub(journal.events);
    (drain.consumed.refs, drain.consumed.events) = (kept.refs - drain.skip_refs, kept.events - drain.skip_events);
    drain.floor = kept.end;
    drain.finish(target)?;
    let now = drain.counts();
    Ok(Some((Counts { spins: kept.spins + now.spins, ..now }, lost)))
}

/// If the program still runs, waits until its threads have noticed that recording is over: each looks at every batch, or
/// is asleep.
fn wait_for_quiet(control: &Control) {
    let active = |&i: &u32| {
        let entry = control.entry(i);
        entry.state == ENTRY_ACTIVE as u32 && process::alive(entry.pid)
    };
    let rings: Vec<Ring> =
        (0..control.rings()).filter(active).filter_map(|i| Ring::open(control, i, &control.entry(i)).ok()).collect();
    if !rings.is_empty() {
        until_quiet(&Real, || rings.iter().map(Ring::progress).collect());
    }
}

/// Until the heads of all rings have stood still for [`QUIET`], or [`PATIENCE`] is at its end.
fn until_quiet(clock: &dyn Clock, heads: impl Fn() -> Vec<(u64, u64)>) {
    let begin = clock.now();
    let (mut last, mut since) = (heads(), begin);
    while clock.now() - begin < PATIENCE && clock.now() - since < QUIET {
        clock.sleep(Duration::from_millis(10));
        let now = heads();
        if now != last {
            (last, since) = (now, clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_host::clock::Simulated;

    #[test]
    fn rings_are_quiet_once_their_heads_stand_still() {
        let waited = |writes_ms: u128| {
            let clock = Simulated::new();
            until_quiet(&*clock, || vec![(7, clock.now().as_millis().min(writes_ms) as u64)]);
            clock.now()
        };
        assert_eq!(waited(0), QUIET);
        assert_eq!(waited(500), Duration::from_millis(500) + QUIET);
        assert_eq!(waited(u128::MAX), PATIENCE, "a program that never looks is waited for no longer");
    }
}
