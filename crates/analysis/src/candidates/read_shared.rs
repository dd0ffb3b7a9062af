//! Memory that is only read once it is initialised, by threads of several nodes, and that lives on one of them.
use super::{at_least, is_placeable, phrases};
use crate::candidate::{Candidate, Remedy};
use crate::names::Names;
use crate::patterns::Pattern;
use crate::rows::FindingKind;
use crate::tables::{Object, Part, Parts};
use homenode_base::{Cost, NodeId, NodeSet, TotalCost};
use homenode_machine::Location;

/// Bytes in lines that are read-shared, and that are so or private.
const READ_SHARED_PERCENT: u64 = 50;
const UNWRITTEN_PERCENT: u64 = 95;
/// Blocks on one node.
const HOME_PERCENT: usize = 90;
/// What copies must save, of the object's memory cost and of the program's cost.
const OBJECT_PERCENT: i128 = 10;
const PROGRAM_PERCENT: i128 = 1;

pub(super) fn find(parts: &Parts<'_>, object: &Object, _: &dyn Names, total: TotalCost) -> Option<Candidate> {
    let bytes: u64 = object.patterns.iter().sum();
    let read_shared = object.patterns[Pattern::ReadShared as usize];
    let unwritten = read_shared + object.patterns[Pattern::Private as usize];
    let home = main_home(&object.parts)?;
    let nodes = nodes_of(parts, &object.row.users);
    let unfit = !is_placeable(object)
        || nodes.len() < 2
        || read_shared * 100 < bytes * READ_SHARED_PERCENT
        || unwritten * 100 < bytes * UNWRITTEN_PERCENT;
    if unfit {
        return None;
    }
    let copies = nodes.len() as i64 - 1;
    let copy =
        parts.setup.machine.copy_cost(parts.setup.block_bytes, Location::Node(NodeId(0)), Location::Node(NodeId(1)));
    let worth: Vec<&Part> =
        object.parts.iter().filter(|p| !p.shared_block && p.local + copy * copies < p.best_static).collect();
    // Against best static homes and not against first touch: what a better home can save needs no copies.
    let gain: TotalCost = worth.iter().map(|p| p.best_static - p.local - copy * copies).sum();
    let saving: TotalCost = worth.iter().map(|p| p.cost - p.local - copy * copies).sum();
    let memory: TotalCost = object.parts.iter().map(|p| p.cost).sum();
    if !at_least(gain, OBJECT_PERCENT, memory) || !at_least(gain, PROGRAM_PERCENT, total) {
        return None;
    }
    let name = &object.row.name;
    Some(Candidate {
        kind: FindingKind::ReadShared,
        object: object.id,
        name: name.clone(),
        places: phrases::places(&object.name, &[]),
        sentence: format!(
            "{} is only read once it is initialised, by {} on {} nodes, and lives on node {home}.",
            phrases::object(&object.name),
            phrases::threads(&object.row.users),
            nodes.len(),
        ),
        advice: format!(
            "Give each node its own copy of `{name}`; if that is too much memory, interleave it over the nodes so that \
             no memory is a bottleneck."
        ),
        remedy: Remedy::Replicate { blocks: worth.iter().map(|p| p.number).collect() },
        estimate: saving,
    })
}

/// The node on which nearly all blocks live.
fn main_home(parts: &[Part]) -> Option<NodeId> {
    let Location::Node(home) = parts.iter().find(|p| p.cost != Cost::ZERO)?.block.home else { return None };
    let there = parts.iter().filter(|p| p.block.home == Location::Node(home)).count();
    (there * 100 >= parts.len() * HOME_PERCENT).then_some(home)
}

fn nodes_of(parts: &Parts<'_>, threads: &[u32]) -> NodeSet {
    threads.iter().filter_map(|&t| parts.setup.nodes.get(t as usize).copied()).collect()
}
