//! What might be worth changing. Each kind of finding has a file; an object may have a candidate of each kind, and of each
//! there may be alternatives.
mod apart;
mod false_sharing;
mod first_touch;
mod fought;
mod phrases;
mod read_shared;
mod shared_updates;
mod stride;

use crate::candidate::Candidate;
use crate::names::{Names, UNKNOWN_OBJECT};
use crate::tables::{Object, Parts};
use homenode_base::TotalCost;
use std::cmp::Reverse;

/// All candidates, most promising first.
pub(crate) fn find(parts: &Parts<'_>, objects: &[Object], names: &dyn Names, total: TotalCost) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    // Samples do not show in which order threads touched a line, and without stores nobody knows what is only read.
    let exact = parts.setup.sampled.is_none();
    let sees_writes = parts.setup.sampled.is_none_or(|s| s.sees_writes);
    for object in objects {
        let kinds = [first_touch::find(parts, object, names, total)];
        all.extend(kinds.into_iter().flatten());
        if sees_writes {
            all.extend(read_shared::find(parts, object, names, total));
        }
        // Lines that travel cost wherever they live.
        all.extend(exact.then(|| shared_updates::find(parts, object, names, total)).flatten());
    }
    if exact {
        all.extend(false_sharing::find(parts, objects, names, total));
    }
    all.sort_by_key(|c| (Reverse(c.estimate), c.object));
    all
}

/// Whether `part` is at least `percent` of `whole`.
fn at_least(part: TotalCost, percent: i128, whole: TotalCost) -> bool {
    part > TotalCost::ZERO && part.0 * 100 >= whole.0 * percent
}

/// Whether the program decides where this object lives: stacks are placed by whoever starts a thread, and unknown memory
/// has no name to give an advice on.
fn is_placeable(object: &Object) -> bool {
    object.id != UNKNOWN_OBJECT && object.name.kind != "stack"
}
