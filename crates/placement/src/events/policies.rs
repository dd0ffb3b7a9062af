//! The events of page policies.
use super::{Family, Kind, Part};
use homenode_base::Cost;
use homenode_machine::{AccessClass, Location, Machine};

/// A copy added.
pub const COPY: usize = 8;
/// The only copy moved.
pub const MOVE: usize = 9;

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
        Kind {
            name: "read overlapped",
            part: Part::Served,
            price: |m, _, from, to| access(m, AccessClass::ReadOverlapped, from, to),
        },
        Kind {
            name: "write overlapped",
            part: Part::Served,
            price: |m, _, from, to| access(m, AccessClass::WriteOverlapped, from, to),
        },
        Kind {
            name: "read streamed",
            part: Part::Served,
            price: |m, _, from, to| access(m, AccessClass::ReadStreamed, from, to),
        },
        Kind {
            name: "write streamed",
            part: Part::Served,
            price: |m, _, from, to| access(m, AccessClass::WriteStreamed, from, to),
        },
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
        let names: Vec<&str> = POLICIES.kinds.iter().map(|k| k.name).collect();
        assert_eq!(
            (&names[..4], &names[COPY..]),
            (&["read", "write", "write-back", "free"][..], &["copy", "move"][..])
        );
        assert!(AccessClass::ALL.iter().zip(0..).all(|(class, at)| *class as usize == at));
        assert_eq!(AccessClass::ALL.len(), COPY);
        assert_eq!((POLICIES.kinds[COPY].part, POLICIES.kinds[MOVE].part), (Part::Copy, Part::Move));
    }
}
