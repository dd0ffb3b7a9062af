//! How often what happened.
use super::{Family, Part, Paths, Tally};
use crate::access::Access;
use homenode_base::TotalCost;
use homenode_machine::{Location, Machine};
use std::sync::Arc;

/// Events of a family by kind and path. Sums panic rather than wrap.
#[derive(Clone, Debug)]
pub struct EventCounts {
    family: &'static Family,
    paths: Arc<Paths>,
    /// By `path * kinds + kind`.
    of: Vec<u64>,
    kinds: usize,
}

impl EventCounts {
    /// Nothing has happened.
    pub fn new(family: &'static Family, paths: Arc<Paths>) -> EventCounts {
        let kinds = family.kinds.len();
        EventCounts { family, of: vec![0; kinds * paths.len()], paths, kinds }
    }
    /// So many events of a kind, by its place in the family, on the same path. Panics if there is no such kind or place.
    #[inline]
    pub fn add(&mut self, kind: usize, from: Location, to: Location, times: u64) {
        let path = self.paths.number(from, to);
        self.of[path * self.kinds + kind] += times;
    }
    /// Accesses served at a place, in a family that begins with the classes of accesses as [`POLICIES`](super::POLICIES)
    /// does. Panics if there is no such place.
    #[inline]
    pub fn served(&mut self, access: &Access, at: Location) {
        let path = self.paths.number_from(access.node, at);
        self.of[path * self.kinds + access.class as usize] += u64::from(access.weight);
    }
    /// Forgets what has happened.
    pub fn clear(&mut self) {
        self.of.fill(0);
    }
    /// Adds what happened elsewhere. Panics unless that is of the same family and as many paths.
    pub fn absorb(&mut self, other: &EventCounts) {
        assert_eq!(
            (self.kinds, self.of.len()),
            (other.kinds, other.of.len()),
            "counts of one family and the same paths"
        );
        self.of.iter_mut().zip(&other.of).for_each(|(sum, more)| *sum += more);
    }
    /// What has happened: kind, path, times.
    pub fn happened(&self) -> impl Iterator<Item = (usize, (Location, Location), u64)> + '_ {
        let counted = self.of.iter().enumerate().filter(|(_, times)| **times > 0);
        counted.map(|(i, times)| (i % self.kinds, self.paths.example(i / self.kinds), *times))
    }
    /// Events of a kind on all paths.
    pub fn total(&self, kind: usize) -> u64 {
        self.of.iter().skip(kind).step_by(self.kinds).sum()
    }
    /// What they cost on one of the machines that the paths were made for, with blocks of as many bytes.
    pub fn priced(&self, machine: &Machine, block_bytes: u64) -> Tally {
        let mut tally = Tally::default();
        for (kind, (from, to), times) in self.happened() {
            let kind = &self.family.kinds[kind];
            let cost = (kind.price)(machine, block_bytes, from, to).times(times);
            add(&mut tally, kind.part, (from, to), cost, times);
        }
        tally
    }
}

fn add(tally: &mut Tally, part: Part, (from, to): (Location, Location), cost: TotalCost, times: u64) {
    match (part, from) {
        (Part::Served, Location::Node(node)) => tally.served(node, to, cost),
        (Part::Served, Location::Global) => tally.global += cost,
        (Part::Move, _) => {
            tally.movement += cost;
            tally.moves += times;
        }
        (Part::Copy, _) => {
            tally.movement += cost;
            tally.copies += times;
        }
    }
}
