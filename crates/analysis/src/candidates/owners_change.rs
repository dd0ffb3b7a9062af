//! Memory that one node uses for long, and then another.
use super::{at_least, is_placeable, phrases, sites};
use crate::candidate::Candidate;
use crate::names::Names;
use crate::parts::{Object, Part, Parts};
use crate::rows::FindingKind;
use crate::transform::Transform;
use homenode_base::TotalCost;
use std::collections::BTreeMap;

/// What right homes in every phase would save, of the program's cost.
const PROGRAM_PERCENT: i128 = 1;
/// Blocks that must change owners, of all of the object's: a few at the borders of parts are looked at from both sides, which
/// is no phase.
const BLOCKS_PERCENT: usize = 10;
/// More changes of owner are no phases of a program: the memory is passed around.
const CHANGES_MAX: u32 = 8;
/// References in long runs of one node, of all since the block became shared.
const SETTLED_PERCENT: u64 = 90;

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    if !is_placeable(object) {
        return None;
    }
    // Fewer blocks than users are nobody's parts.
    if object.parts.len() < object.row.users.len() {
        return None;
    }
    // Where allocations came one after the other in the same memory, it is the allocator that passes it on.
    let touched_bytes = (object.parts.len() as u64).saturating_mul(parts.setup.block_bytes);
    if object.name.instances > 1 && object.name.bytes > touched_bytes {
        return None;
    }
    let changed: Vec<&Part> = object.parts.iter().filter(|p| has_changed(p)).collect();
    let remote: TotalCost = changed.iter().map(|p| TotalCost::from(p.cost) - TotalCost::from(p.local)).sum();
    if !at_least(remote, PROGRAM_PERCENT, total) || changed.len() * 100 < object.parts.len() * BLOCKS_PERCENT {
        return None;
    }
    let sites = sites(parts, object, names);
    let code: Vec<String> = sites.iter().map(phrases::code).collect();
    let at = if code.is_empty() { String::new() } else { format!(" ({})", phrases::list(&code)) };
    let changes = changed.iter().map(|p| p.block.changes).max().unwrap_or(0);
    let name = &object.row.name;
    Some(Candidate {
        kind: FindingKind::OwnersChange,
        object: object.id,
        name: name.clone(),
        places: phrases::places(&object.name, &sites),
        sentence: format!(
            "{} changes owners between phases{at}: {} of its {} blocks are used by one node for long and then by another, up \
             to {changes} time{}, and stay where they were first touched.",
            phrases::object(&object.name),
            changed.len(),
            object.parts.len(),
            if changes == 1 { "" } else { "s" },
        ),
        advice: format!(
            "Let each thread keep its part of `{name}` in all phases (the same partition); where it cannot, move the pages to \
             their new users when the owners change."
        ),
        remedy: Transform::KeepParts { blocks: keepers(&changed) },
        estimate: remote,
    })
}

fn has_changed(p: &Part) -> bool {
    let b = &p.block;
    !p.shared_block
        && (b.owner().is_none() || b.is_used_first())
        && (1..=CHANGES_MAX).contains(&b.changes)
        && b.settled_percent() >= SETTLED_PERCENT
        && p.cost > p.local
}

/// Who keeps which block: whoever touched it first, or used it first if one thread touched most of them first.
fn keepers(changed: &[&Part]) -> Vec<(u64, u32)> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    changed.iter().for_each(|p| *counts.entry(p.block.first_thread).or_default() += 1);
    let one = counts.values().any(|blocks| blocks * 2 > changed.len());
    let keeper = |p: &&Part| (p.number, if one { p.block.first_user } else { p.block.first_thread });
    changed.iter().map(keeper).collect()
}
