//! The events of page policies.
use super::{Family, Kind, Part};
use homenode_base::Cost;
use homenode_machine::{AccessClass, Location, Machine};

/// A copy added.
pub const COPY: usize = 4;
/// The only copy moved.
pub const MOVE: usize = 5;

/// Accesses, which have the places of their [`AccessClass`], then [`COPY`] and [`MOVE`].
pub static POLICIES: Family = Family {
    name: "policies",
    kinds: &[
        Kind { name: "read", part: Part::Served, price: |m, _, from, to| access(m, AccessClass::Read, from, to) },
        Kind { name: "write", part: Part::Served, price: |m, _, from, to| access(m, AccessClass::Write, from, to) },
        Kind {
            name: "write-back",
            part: Part::Served,
            price: |m, _, from, to| access(m, AccessClass::WriteBack, from, to),
        },
        Kind { name: "free", part: Part::Served, price: |m, _, from, to| access(m, AccessClass::Free, from, to) },
        Kind { name: "copy", part: Part::Copy, price: Machine::copy_cost },
        Kind { name: "move", part: Part::Move, price: Machine::copy_cost },
    ],
};

/// Nobody accesses memory from global memory, so that costs nothing.
fn access(machine: &Machine, class: AccessClass, from: Location, to: Location) -> Cost {
    match from {
        Location::Node(node) => machine.access(class, node, to),
        Location::Global => Cost::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_where_they_are_counted() {
        let names = POLICIES.kinds.iter().map(|k| k.name);
        assert_eq!(names.collect::<Vec<_>>(), ["read", "write", "write-back", "free", "copy", "move"]);
        let classes = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack, AccessClass::Free];
        assert_eq!(classes.map(|c| c as usize), [0, 1, 2, 3]);
        assert_eq!((POLICIES.kinds[COPY].part, POLICIES.kinds[MOVE].part), (Part::Copy, Part::Move));
    }
}
