//! What counted events cost on one machine, in parts.
use homenode_base::{NodeId, TotalCost};
use homenode_machine::Location;

/// What a policy's decisions cost on one machine. `local + remote + global + movement` is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accesses served by the accessing node.
    pub local: TotalCost,
    /// Accesses served by another node.
    pub remote: TotalCost,
    /// Accesses served by global memory.
    pub global: TotalCost,
    /// Moves and copies.
    pub movement: TotalCost,
    /// The only copy moved (times).
    pub moves: u64,
    /// Copies added.
    pub copies: u64,
}

impl Tally {
    /// Sum of the parts.
    pub fn total(&self) -> TotalCost {
        self.local + self.remote + self.global + self.movement
    }
    /// Adds the parts of another tally.
    pub fn add(&mut self, other: &Tally) {
        self.local += other.local;
        self.remote += other.remote;
        self.global += other.global;
        self.movement += other.movement;
        self.moves += other.moves;
        self.copies += other.copies;
    }
    /// Adds what accesses by a processor of `node` cost that were served at `at`.
    #[inline]
    pub fn served(&mut self, node: NodeId, at: Location, cost: TotalCost) {
        match at {
            Location::Global => self.global += cost,
            Location::Node(n) if n == node => self.local += cost,
            Location::Node(_) => self.remote += cost,
        }
    }
}
