//! Journals of a simulated run, in the files of `homenode svm run`'s, which `homenode svm replay` reads.
use homenode_cluster::{Bound, ClusterError, Journal, Row, run, run_noted};
use homenode_command::Failure;
use homenode_hlrc::MAX_LIVE_NODES;
use homenode_hlrc::steps::Step;
use homenode_svmrun::JournalFolder;
use homenode_timed::engine::Gaps;
use std::path::Path;

/// Refuses journals of more than one run; their folder, if they are asked for.
pub(super) fn folder(
    asked: Option<&Path>,
    rows: [(&str, usize); 3],
    nodes: u16,
) -> Result<Option<JournalFolder>, Failure> {
    let Some(folder) = asked else { return Ok(None) };
    if usize::from(nodes) > MAX_LIVE_NODES {
        let what =
            format!("--journal: journals are of {MAX_LIVE_NODES} nodes at most, as those of runs, not of {nodes}");
        return Err(Failure::usage(what));
    }
    match rows.iter().find(|(_, count)| *count != 1) {
        Some((option, count)) => Err(Failure::usage(format!(
            "--journal: journals are of one run, and {count} {option} are asked for; name one"
        ))),
        None => JournalFolder::make(folder).map(Some),
    }
}

/// Runs, and writes journals if there is a folder for them. Beside the row, how many nodes' journals have not all.
pub(super) fn row<'g, G: Gaps + 'g>(
    (bound, step): (&Bound<'_>, &Step),
    folder: Option<&JournalFolder>,
    gaps: impl FnMut() -> G,
) -> Result<(Row, usize), Failure> {
    let failed: fn(ClusterError) -> Failure = super::failure;
    let Some(folder) = folder else { return Ok((run(bound, step, gaps).map_err(failed)?, 0)) };
    let (row, journals) = run_noted(bound, step, gaps).map_err(failed)?;
    for Journal { cluster, tapes } in &journals {
        folder.write(cluster, tapes.iter().map(|tape| (&tape.records[..], tape.is_cut)))?;
    }
    Ok((row, journals.iter().filter(|j| j.tapes.iter().any(|tape| tape.is_cut)).count()))
}

/// What a reader of the run should know.
pub(super) fn note(cut: usize) -> Option<String> {
    (cut > 0).then(|| {
        format!(
            "the journals of {cut} nodes have not all: what is noted of a run is kept in memory, at most 1 GiB of it"
        )
    })
}
