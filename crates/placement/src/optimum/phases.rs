//! One home per phase: the best ones, moves between them included.
use crate::access::Access;
use crate::events::Tally;
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location, Machine};

/// The cheapest homes of each block if it may move once per phase, exactly, on any machine. Phases are windows of virtual
/// time, or begin at given times. Between the best static placement (one phase) and the optimum without replication (a
/// phase per access).
#[derive(Clone, Copy, Debug)]
pub struct PhaseStatic<'m> {
    machine: &'m Machine,
    block_bytes: u64,
    phases: Phases<'m>,
}

#[derive(Clone, Copy, Debug)]
enum Phases<'m> {
    Windows(u64),
    /// Ascending.
    Starts(&'m [u64]),
}

impl Phases<'_> {
    #[inline]
    fn at(&self, t: u64) -> u64 {
        match self {
            Phases::Windows(window) => t / window,
            Phases::Starts(starts) => starts.partition_point(|start| *start <= t) as u64,
        }
    }
}

/// What is known of one block. Does not grow with the accesses.
#[derive(Clone, Debug)]
pub struct PhaseState {
    phase: u64,
    /// Accesses of this phase by `class * nodes + node`.
    counts: Vec<u64>,
    /// Least cost of all phases before this one with the block ending at each location; empty before the first.
    ends: Vec<Tally>,
}

impl<'m> PhaseStatic<'m> {
    /// On this machine, with blocks of `block_bytes` and phases of `window` (at least 1) of virtual time.
    pub fn new(machine: &'m Machine, block_bytes: u64, window: u64) -> PhaseStatic<'m> {
        PhaseStatic { machine, block_bytes, phases: Phases::Windows(window.max(1)) }
    }
    /// With phases that begin at these virtual times, ascending, such as those of recorded barriers; what is before the
    /// first of them is a phase too.
    pub fn by_starts(machine: &'m Machine, block_bytes: u64, starts: &'m [u64]) -> PhaseStatic<'m> {
        PhaseStatic { machine, block_bytes, phases: Phases::Starts(starts) }
    }
    /// No accesses yet.
    pub fn begin(&self) -> PhaseState {
        PhaseState { phase: 0, counts: vec![0; AccessClass::ALL.len() * self.machine.nodes()], ends: Vec::new() }
    }
    /// The next access, in order of phases. Panics if the node does not exist on the machine.
    #[inline]
    pub fn push(&self, state: &mut PhaseState, a: &Access) {
        if a.class == AccessClass::Free {
            return;
        }
        let phase = self.phases.at(a.t.0);
        if phase != state.phase {
            state.ends = self.close(state);
            state.counts.fill(0);
            state.phase = phase;
        }
        state.counts[a.class as usize * self.machine.nodes() + a.node.index()] += u64::from(a.weight);
    }
    /// What the cheapest homes cost.
    pub fn finish(&self, state: &PhaseState) -> Tally {
        self.close(state).into_iter().min_by_key(key).unwrap_or_default()
    }

    fn homes(&self) -> impl Iterator<Item = Location> + use<'m> {
        let nodes = (0..self.machine.nodes()).map(|n| Location::Node(NodeId(n as u16)));
        nodes.chain(self.machine.cost.global.map(|_| Location::Global))
    }

    /// Least costs with this phase's accesses.
    fn close(&self, state: &PhaseState) -> Vec<Tally> {
        if state.counts.iter().all(|n| *n == 0) {
            return state.ends.clone();
        }
        let ending_at = |(i, to): (usize, Location)| {
            let mut best = self.cheapest_way(&state.ends, i, to);
            best.add(&self.used_at(&state.counts, to));
            best
        };
        self.homes().enumerate().map(ending_at).collect()
    }

    /// Least cost of being at location number `i`, `to`, when the phase begins; staying wins among equals.
    fn cheapest_way(&self, ends: &[Tally], i: usize, to: Location) -> Tally {
        let Some(staying) = ends.get(i) else { return Tally::default() };
        let moving = self.homes().zip(ends).filter(|(from, _)| *from != to).map(|(from, end)| {
            let mut tally = *end;
            tally.movement += self.machine.copy_cost(self.block_bytes, from, to);
            tally.moves += 1;
            tally
        });
        std::iter::once(*staying).chain(moving).min_by_key(key).expect("staying is a way")
    }

    fn used_at(&self, counts: &[u64], home: Location) -> Tally {
        let (mut tally, nodes) = (Tally::default(), self.machine.nodes());
        for (i, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let node = NodeId((i % nodes) as u16);
            let cost = self.machine.access(AccessClass::ALL[i / nodes], node, home).times(*n);
            tally.served(node, home, cost);
        }
        tally
    }
}

/// Least cost, then least movement, then fewest moves.
fn key(tally: &Tally) -> (homenode_base::TotalCost, homenode_base::TotalCost, u64) {
    (tally.total(), tally.movement, tally.moves)
}
