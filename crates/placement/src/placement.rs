//! A placement: where the copies of one block are at each access.
use homenode_base::{NodeId, NodeSet};
use homenode_machine::Location;

/// A set of locations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocationSet {
    /// Nodes with a copy.
    pub nodes: NodeSet,
    /// Whether global memory has one.
    pub global: bool,
}

impl LocationSet {
    /// The set of one location.
    pub fn single(at: Location) -> LocationSet {
        let mut s = LocationSet::default();
        s.insert(at);
        s
    }
    /// Adds a location.
    pub fn insert(&mut self, at: Location) {
        match at {
            Location::Node(n) => _ = self.nodes.insert(n),
            Location::Global => self.global = true,
        }
    }
    /// Removes a location.
    pub fn remove(&mut self, at: Location) {
        match at {
            Location::Node(n) => _ = self.nodes.remove(n),
            Location::Global => self.global = false,
        }
    }
    /// Whether it is a member.
    pub fn contains(&self, at: Location) -> bool {
        match at {
            Location::Node(n) => self.nodes.contains(n),
            Location::Global => self.global,
        }
    }
    /// Number of members.
    pub fn len(&self) -> usize {
        self.nodes.len() + usize::from(self.global)
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The members, nodes in ascending order and then global memory.
    pub fn iter(&self) -> impl Iterator<Item = Location> + '_ {
        self.nodes.iter().map(Location::Node).chain(self.global.then_some(Location::Global))
    }
}

impl FromIterator<Location> for LocationSet {
    fn from_iter<I: IntoIterator<Item = Location>>(iter: I) -> LocationSet {
        let mut s = LocationSet::default();
        iter.into_iter().for_each(|l| s.insert(l));
        s
    }
}

/// Where the copies of a block are at each access of its trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The one location the block sits in before the first access, whose movement is then charged; `None` if the first
    /// set is free.
    pub start: Option<Location>,
    /// One set per access.
    pub sets: Vec<LocationSet>,
    /// The member of the set that serves each access; empty if each is served by the member that costs least.
    pub served: Vec<Location>,
}

/// The location of this index: nodes first, then global memory.
pub(crate) fn location(index: usize, nodes: usize) -> Location {
    if index < nodes { Location::Node(NodeId(index as u16)) } else { Location::Global }
}
