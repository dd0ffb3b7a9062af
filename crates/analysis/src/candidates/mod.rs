//! What might be worth changing. Each kind of finding has a file; an object may have a candidate of each kind, and of each
//! there may be alternatives.
mod apart;
mod false_sharing;
mod first_touch;
mod fought;
mod layout;
mod loops;
mod owners_change;
mod phrases;
mod read_shared;
mod shared_updates;
mod stride;

use crate::candidate::Candidate;
use crate::names::{Names, SiteName, UNKNOWN_OBJECT, site_name};
use crate::parts::{Object, Parts};
pub(crate) use fought::blame;
use homenode_base::TotalCost;
pub(crate) use shared_updates::is_sum;
use std::cmp::Reverse;

/// All candidates, most promising first.
pub(crate) fn find(parts: &Parts<'_>, objects: &[Object], names: &dyn Names, total: TotalCost) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    // Samples do not show in which order threads touched a line, and without stores nobody knows what is only read.
    let exact = parts.setup.sampled.is_none();
    let sees_writes = parts.setup.sampled.is_none_or(|s| s.sees_writes);
    for object in objects {
        let kinds = [
            first_touch::find(parts, object, names, total),
            exact.then(|| layout::find(parts, object, names, total)).flatten(),
            exact.then(|| owners_change::find(parts, object, names, total)).flatten(),
        ];
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

/// The lines of code that cost most on this object.
fn sites(parts: &Parts<'_>, object: &Object, names: &dyn Names) -> Vec<SiteName> {
    const SITES: usize = 2;
    let objects = parts.attribution.objects();
    let mut pairs: Vec<_> =
        parts.attribution.pairs().iter().filter(|p| objects[p.object as usize].id == object.id).collect();
    pairs.sort_by_key(|p| (Reverse(p.remote), Reverse(p.cost), p.site));
    let most = pairs.first().map_or(TotalCost::ZERO, |p| p.cost);
    let mut sites: Vec<SiteName> = Vec::new();
    for pair in pairs.into_iter().filter(|p| p.cost.0 * 4 >= most.0) {
        let site = site_name(names, pair.site);
        if !sites.contains(&site) && sites.len() < SITES {
            sites.push(site);
        }
    }
    sites
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
