//! What the changes are worth together, and why that can be more than any placement saves: the bounds hold for the references
//! as they are, and most changes have other threads make some of them, or move data to other lines.
use crate::compare::share;
use crate::units::percent;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{FindingKind, PolicyRow};

/// How many findings there are and what share of the cost they save together, if there are several.
pub(crate) fn all_changes(e: &Evaluation, base: &PolicyRow) -> Option<(usize, f64)> {
    let total = e.predicted_all.filter(|_| e.findings.len() > 1)?;
    Some((e.findings.len(), share(base.total - total, base.total)))
}

/// What all changes together are worth, if there are several: empty, or a sentence with a blank in front.
pub(super) fn words(e: &Evaluation, base: &PolicyRow) -> String {
    all_changes(e, base)
        .map(|(n, share)| format!(" All {n} changes together are worth {}.", percent(share)))
        .unwrap_or_default()
}

/// What the best placement saves and what the changes do besides, where they are predicted to cost less than any placement
/// of the program as it is.
pub(super) fn beyond_placement(e: &Evaluation, base: &PolicyRow) -> Option<String> {
    let least = e.optimum.iter().map(|o| o.total).min()?;
    let placing = e.findings.iter().any(|f| f.kind.is_placement());
    e.predicted_all.filter(|all| placing && *all < least)?;
    let kinds: Vec<FindingKind> = e.findings.iter().map(|f| f.kind).collect();
    let with = if e.findings.len() > 1 { "these changes" } else { "this change" };
    let saved = percent(share(base.total - least, base.total));
    Some(format!("With {with} {}: worth more than any placement ({saved}).", doing(&kinds)))
}

/// What changes of these kinds do besides placing memory, in words.
pub(crate) fn doing(kinds: &[FindingKind]) -> String {
    let has = |these: &[FindingKind]| kinds.iter().any(|kind| these.contains(kind));
    let does = [
        (has(&[FindingKind::FirstTouch]), "other threads initialise memory"),
        (has(&[FindingKind::OwnersChange]), "parts stay with one thread"),
        (has(&[FindingKind::ReadShared]), "nodes have copies"),
        (has(&[FindingKind::Layout, FindingKind::FalseSharing, FindingKind::SharedUpdates]), "data move"),
    ];
    let does: Vec<String> = does.iter().filter(|(does, _)| *does).map(|(_, words)| (*words).to_owned()).collect();
    super::listed(&does)
}
