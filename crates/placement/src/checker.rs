//! An independent judge of placements: it knows the cost definition (docs/design/optimum.md, section 1) and nothing of
//! the algorithms that claim to minimise it.
use crate::access::{Access, AccessKind};
use crate::events::Tally;
use crate::placement::{LocationSet, Placement};
use homenode_machine::{Location, Machine};

/// Why a placement is not one. `at` is the index of the access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// Not one set (or one serving location) per access.
    #[error("{sets} sets and {served} serving locations for {accesses} accesses")]
    Length {
        /// Accesses.
        accesses: usize,
        /// Sets.
        sets: usize,
        /// Serving locations.
        served: usize,
    },
    /// The block is nowhere.
    #[error("access {at}: the block is nowhere")]
    Nowhere {
        /// Access.
        at: usize,
    },
    /// A location that the machine does not have.
    #[error("access {at}: the machine has no {location:?}")]
    NoSuchLocation {
        /// Access.
        at: usize,
        /// Location.
        location: Location,
    },
    /// More than one copy at a write.
    #[error("access {at}: {copies} copies at a write")]
    CopiesAtWrite {
        /// Access.
        at: usize,
        /// Copies.
        copies: usize,
    },
    /// Served by a location that does not hold the block.
    #[error("access {at}: served by {location:?}, which holds no copy")]
    ServedElsewhere {
        /// Access.
        at: usize,
        /// Location.
        location: Location,
    },
}

/// What the placement costs, or why it is illegal.
///
/// Moves and copies: an access whose only location held nothing before counts one move; every other location added
/// counts one copy.
pub fn recost(machine: &Machine, block_bytes: u64, trace: &[Access], p: &Placement) -> Result<Tally, Illegal> {
    if p.sets.len() != trace.len() || !(p.served.is_empty() || p.served.len() == trace.len()) {
        return Err(Illegal::Length { accesses: trace.len(), sets: p.sets.len(), served: p.served.len() });
    }
    let mut tally = Tally::default();
    let mut before = p.start.map(LocationSet::single);
    for (at, (access, set)) in trace.iter().zip(&p.sets).enumerate() {
        let stays = at > 0 && before.as_ref() == Some(set);
        if !stays {
            check_locations(machine, at, set)?;
            if let Some(before) = &before {
                charge_movement(machine, block_bytes, before, set, &mut tally);
            }
            before = Some(set.clone());
        }
        check_number(at, access, set)?;
        let from = match p.served.get(at) {
            Some(&location) if !set.contains(location) => return Err(Illegal::ServedElsewhere { at, location }),
            Some(&location) => location,
            None => cheapest(machine, access, set),
        };
        let cost = machine.access(access.class, access.node, from).times(u64::from(access.weight));
        tally.served(access.node, from, cost);
    }
    Ok(tally)
}

fn check_locations(machine: &Machine, at: usize, set: &LocationSet) -> Result<(), Illegal> {
    let exists = |l: &Location| match l {
        Location::Node(n) => n.index() < machine.nodes(),
        Location::Global => machine.cost.global.is_some(),
    };
    match set.iter().find(|l| !exists(l)) {
        Some(location) => Err(Illegal::NoSuchLocation { at, location }),
        None => Ok(()),
    }
}

fn check_number(at: usize, access: &Access, set: &LocationSet) -> Result<(), Illegal> {
    match (set.len(), access.kind) {
        (0, _) => Err(Illegal::Nowhere { at }),
        (copies @ 2.., AccessKind::Write) => Err(Illegal::CopiesAtWrite { at, copies }),
        _ => Ok(()),
    }
}

/// Each location added costs G if global memory is in the old or the new set, else R; dropping is free.
fn charge_movement(machine: &Machine, block_bytes: u64, old: &LocationSet, new: &LocationSet, tally: &mut Tally) {
    let added = new.iter().filter(|l| !old.contains(*l)).count() as u64;
    if added == 0 {
        return;
    }
    let node = |n| Location::Node(homenode_base::NodeId(n));
    let each = match old.global || new.global {
        true => machine.copy_cost(block_bytes, Location::Global, node(0)),
        false => machine.copy_cost(block_bytes, node(0), node(1)),
    };
    tally.movement += each.times(added);
    match new.len() {
        1 => tally.moves += 1,
        _ => tally.copies += added,
    }
}

fn cheapest(machine: &Machine, access: &Access, set: &LocationSet) -> Location {
    let cost = |l: &Location| machine.access(access.class, access.node, *l);
    set.iter().min_by_key(cost).expect("the set was checked to be non-empty")
}
