//! Memory that is only read once it is initialised, by threads of several nodes.
use super::{at_least, is_placeable, phrases};
use crate::candidate::Candidate;
use crate::names::{Names, SiteName, site_name};
use crate::parts::{Object, Part, Parts};
use crate::patterns::Pattern;
use crate::rows::FindingKind;
use crate::transform::{Making, Transform};
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{AccessClass, Location};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes in lines that are read-shared, and that are so or private.
const READ_SHARED_PERCENT: u64 = 50;
const UNWRITTEN_PERCENT: u64 = 95;
/// Blocks on one node from which on the object is said to live there.
const HOME_PERCENT: usize = 90;
/// What copies that cost nothing would save, of the program's cost.
const PROGRAM_PERCENT: i128 = 1;

/// Both ways to make the copies; the replay knows what they cost.
pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Vec<Candidate> {
    let bytes: u64 = object.patterns.iter().sum();
    let read_shared = object.patterns[Pattern::ReadShared as usize];
    let unwritten = read_shared + object.patterns[Pattern::Private as usize];
    let makers = makers(parts, object);
    let unfit = !is_placeable(object)
        || makers.len() < 2
        || read_shared * 100 < bytes * READ_SHARED_PERCENT
        || unwritten * 100 < bytes * UNWRITTEN_PERCENT;
    if unfit {
        return Vec::new();
    }
    let alone: Vec<&Part> = object.parts.iter().filter(|p| !p.shared_block && p.block.shared).collect();
    let away = |p: &&Part| TotalCost::from(p.cost) + TotalCost::from(p.handed_over) - TotalCost::from(p.local);
    let away: TotalCost = alone.iter().map(away).sum();
    let estimate = away - least_making(parts, bytes, makers.len());
    if !at_least(estimate, PROGRAM_PERCENT, total) {
        return Vec::new();
    }
    let mut blocks: Vec<u64> = alone.iter().map(|p| p.number).collect();
    blocks.sort_unstable();
    let site = alone.first().map(|p| site_name(names, p.block.first_site));
    let candidate = |making: Making| Candidate {
        kind: FindingKind::ReadShared,
        object: object.id,
        name: object.row.name.clone(),
        places: phrases::places(&object.name, site.as_slice()),
        sentence: format!(
            "{} is only read once it is initialised, by {} on {} nodes, and lives on {}.",
            phrases::object(&object.name),
            phrases::threads(&object.row.users),
            makers.len(),
            home(&alone),
        ),
        advice: advice(&object.row.name, making, site.as_ref()),
        remedy: Transform::CopyPerNode { blocks: blocks.clone(), makers: makers.values().copied().collect(), making },
        estimate,
    };
    vec![candidate(Making::Build), candidate(Making::Copy)]
}

/// What it costs at least to make the copies: one write of local memory for each line, or word where there are no lines.
fn least_making(parts: &Parts<'_>, bytes: u64, nodes: usize) -> TotalCost {
    let machine = parts.setup.machine;
    let unit = if machine.sections.caches.is_some() { parts.setup.unit_bytes } else { machine.shape.word_bytes.into() };
    let local = |n: usize| machine.access(AccessClass::Write, NodeId(n as u16), Location::Node(NodeId(n as u16)));
    let write = (0..machine.nodes()).map(local).min().unwrap_or(Cost::ZERO);
    write.times(bytes / unit * (nodes as u64 - 1))
}

fn advice(name: &str, making: Making, site: Option<&SiteName>) -> String {
    let at = site.map_or(String::new(), |s| format!(" (now {})", phrases::code(s)));
    match making {
        Making::Build => format!(
            "Let one thread of each node build its node's own copy of `{name}`, as the original is initialised{at}, and let \
             each thread use the copy on its node."
        ),
        Making::Copy => format!(
            "Let one thread of each node copy `{name}` into memory of its own node in a loop, and let each thread use the \
             copy on its node."
        ),
    }
}

/// By node: the first of its threads that uses the object.
fn makers(parts: &Parts<'_>, object: &Object) -> BTreeMap<NodeId, u32> {
    let binding = |&thread: &u32| parts.setup.nodes.get(thread as usize).map(|node| (*node, thread));
    let mut makers = BTreeMap::new();
    for (node, thread) in object.row.users.iter().filter_map(binding) {
        makers.entry(node).or_insert(thread);
    }
    makers
}

/// `node 0`, or on how many nodes it lies.
fn home(parts: &[&Part]) -> String {
    let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
    for p in parts {
        if let Location::Node(node) = p.block.home {
            *counts.entry(node).or_default() += 1;
        }
    }
    match counts.iter().max_by_key(|(_, blocks)| **blocks) {
        Some((node, blocks)) if blocks * 100 >= parts.len() * HOME_PERCENT => format!("node {node}"),
        _ => format!("{} nodes, each part on one of them", counts.keys().collect::<BTreeSet<_>>().len()),
    }
}
