//! Memory of which each line has one user, but each block has users on several nodes: the partition of the work runs
//! across the layout, and no home is right.
use super::{at_least, is_placeable, phrases, sites};
use crate::candidate::Candidate;
use crate::names::Names;
use crate::parts::{Object, Part, Parts};
use crate::rows::FindingKind;
use crate::transform::Transform;
use homenode_base::TotalCost;

/// What right homes would save, of the program's cost.
const PROGRAM_PERCENT: i128 = 1;
/// Payments for lines that have an owner.
const OWNED_PERCENT: u64 = 80;
/// Payments for a line, on average, from which on it is used and not only fetched: what each line costs once, when it is
/// initialised and first used, no layout saves often.
const PAID_MIN: u64 = 4;

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    if !is_placeable(object) {
        return None;
    }
    let own: Vec<&Part> = object.parts.iter().filter(|p| !p.shared_block).collect();
    let split: Vec<&Part> =
        own.iter().copied().filter(|p| p.block.shared && p.block.owner().is_none() && p.cost > p.local).collect();
    // One block per thread needs a block for each.
    if own.len() < object.row.users.len() {
        return None;
    }
    let remote: TotalCost = split.iter().map(|p| TotalCost::from(p.cost) - TotalCost::from(p.local)).sum();
    if !at_least(remote, PROGRAM_PERCENT, total) {
        return None;
    }
    let (mut owned, mut paid, mut lines) = (0, 0, 0);
    for line in split.iter().flat_map(|p| numbers(parts, p)).filter_map(|n| parts.owners.line(n)) {
        lines += 1;
        paid += u64::from(line.paid);
        owned += if line.owner.is_some() { u64::from(line.paid) } else { 0 };
    }
    if owned * 100 < paid * OWNED_PERCENT || paid < lines * PAID_MIN {
        return None;
    }
    let units = units(parts, &own);
    let sites = sites(parts, object, names);
    let code: Vec<String> = sites.iter().map(phrases::code).collect();
    let at = if code.is_empty() { String::new() } else { format!(" ({})", phrases::list(&code)) };
    let name = &object.row.name;
    Some(Candidate {
        kind: FindingKind::Layout,
        object: object.id,
        name: name.clone(),
        places: phrases::places(&object.name, &sites),
        sentence: format!(
            "{} is divided among {} across its layout{at}: {} of its {} blocks of {} are used by several nodes, although \
             nearly all of their lines are used by one thread each, so no home is right for them.",
            phrases::object(&object.name),
            phrases::threads(&object.row.users),
            split.len(),
            object.parts.len(),
            phrases::bytes(parts.setup.block_bytes),
        ),
        advice: format!(
            "Store `{name}` as one block per thread, in the order in which the thread goes through it, or divide the loops \
             along the layout (rows of what is stored by rows), and let each thread initialise its part."
        ),
        remedy: Transform::OneBlockPerThread { units, unit_bytes: parts.setup.unit_bytes },
        estimate: remote,
    })
}

fn numbers(parts: &Parts<'_>, p: &Part) -> std::ops::Range<u64> {
    let bytes = parts.setup.block_bytes;
    parts.owners.numbers(p.number * bytes, bytes)
}

/// Lines with their owners, in the order in which they are to lie; one that nobody owns goes with the line before it.
fn units(parts: &Parts<'_>, own: &[&Part]) -> Vec<(u64, u32)> {
    let mut units: Vec<(u64, u64, u32)> = Vec::new();
    let mut last = own.first().map_or(0, |p| p.block.first_thread);
    for p in own {
        for number in numbers(parts, p) {
            let Some(line) = parts.owners.line(number) else { continue };
            last = line.owner.unwrap_or(last);
            units.push((line.since, number, last));
        }
    }
    units.sort_unstable();
    units.into_iter().map(|(_, number, thread)| (number, thread)).collect()
}
