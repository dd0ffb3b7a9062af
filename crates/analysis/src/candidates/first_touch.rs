//! Memory that one thread touches first and threads of other nodes use.
use super::{at_least, is_placeable, phrases};
use crate::candidate::{Candidate, Remedy};
use crate::names::{Names, SiteName};
use crate::rows::FindingKind;
use crate::tables::{Object, Part, Parts, site_name};
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::Location;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One thread must have touched this share of the blocks first.
const FIRST_PERCENT: u64 = 90;
/// What other homes must save: of the object's memory cost, and of the program's cost.
const OBJECT_PERCENT: i128 = 10;
const PROGRAM_PERCENT: i128 = 1;

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    let (initialiser, blocks) = *object.row.first_touch.first()?;
    let all = object.parts.len() as u64;
    if !is_placeable(object) || blocks * 100 < all * FIRST_PERCENT {
        return None;
    }
    let memory: TotalCost = object.parts.iter().map(|p| p.cost).sum();
    // Only what a change of this object's initialisation can reach: blocks that live at the initialiser's node and
    // that another node uses. Memory that all nodes use alike has no better home, even if caches make its few misses
    // look otherwise.
    let here = node_of(parts, initialiser);
    let wrong: Vec<&Part> = object.parts.iter().filter(|p| is_wrong(p, initialiser, here)).collect();
    let saving: TotalCost = wrong.iter().map(|p| p.curable).sum();
    if !at_least(saving, OBJECT_PERCENT, memory) || !at_least(saving, PROGRAM_PERCENT, total) {
        return None;
    }
    let site = first_site(&wrong).map(|s| site_name(names, s));
    let moved: Vec<(u64, u32)> = object
        .parts
        .iter()
        .filter(|p| p.block.first_thread == initialiser && p.block.shared && p.block.user != initialiser)
        .map(|p| (p.number, p.block.user))
        .collect();
    let touched = if parts.setup.sampled.is_some() { "first seen in use" } else { "first touched" };
    let (sentence, advice) = words(object, initialiser, (here, touched), &moved, site.as_ref());
    Some(Candidate {
        kind: FindingKind::FirstTouch,
        object: object.id,
        name: object.row.name.clone(),
        places: phrases::places(&object.name, site.as_slice()),
        sentence,
        advice,
        remedy: Remedy::InitialiseInParallel { initialiser, blocks: moved },
        estimate: saving,
    })
}

fn node_of(parts: &Parts<'_>, thread: u32) -> NodeId {
    parts.setup.nodes.get(thread as usize).copied().unwrap_or(NodeId(0))
}

fn is_wrong(p: &Part, initialiser: u32, here: NodeId) -> bool {
    p.block.first_thread == initialiser
        && p.block.home == Location::Node(here)
        && p.block.owner().is_some_and(|owner| owner != here)
        && p.curable > Cost::ZERO
}

/// The site that touches most of the blocks first, writes before reads.
fn first_site(parts: &[&Part]) -> Option<u32> {
    let mut sites: BTreeMap<u32, (bool, u64)> = BTreeMap::new();
    for p in parts {
        let seen = sites.entry(p.block.first_site).or_default();
        seen.0 |= p.block.first_wrote;
        seen.1 += 1;
    }
    sites.into_iter().max_by_key(|&(site, seen)| (seen, Reverse(site))).map(|(site, _)| site)
}

fn words(
    object: &Object,
    initialiser: u32,
    (here, touched): (NodeId, &str),
    moved: &[(u64, u32)],
    site: Option<&SiteName>,
) -> (String, String) {
    let by = site.map_or(String::new(), |s| format!(" ({})", phrases::code(s)));
    let sentence = format!(
        "{} is {touched} by thread {initialiser}{by}, so it lives on node {here}, but it is used by {}.",
        phrases::object(&object.name),
        phrases::threads(&object.row.users),
    );
    let at = site.map_or(String::new(), |s| format!(" (now {})", phrases::code(s)));
    let name = &object.row.name;
    let mut users: Vec<u32> = moved.iter().map(|m| m.1).collect();
    users.sort_unstable();
    users.dedup();
    let advice = match users[..] {
        [one] if object.row.users.len() <= 2 => format!("Let thread {one}, which uses it, initialise `{name}`{at}."),
        _ => format!("Initialise `{name}` in parallel{at}: let each thread initialise the part that it will use."),
    };
    (sentence, advice)
}
