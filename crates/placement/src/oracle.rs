//! Slow, obvious answers for tests: the cheapest placement by trying every set of locations.
//!
//! Like the [`checker`](crate::checker) this knows only the machine and the cost definition. Costs grow with
//! 4^locations per access, so it is for traces of some twenty accesses on a handful of nodes.
use crate::access::{Access, AccessKind};
use crate::checker;
use crate::optimum::Start;
use crate::placement::{LocationSet, Placement, location};
use homenode_base::{Cost, TotalCost};
use homenode_machine::{Location, Machine, Matrix};

/// What sets are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// Any non-empty set at a read, one location at a write.
    Replicated,
    /// One location always.
    Single,
}

/// The least cost of any legal placement, by dynamic programming over all sets.
pub fn least_cost(machine: &Machine, block_bytes: u64, trace: &[Access], start: Start, sets: Sets) -> TotalCost {
    let all = all_sets(machine);
    let moves = moves(machine, block_bytes, &all);
    viterbi(machine, trace, start, sets, &all, &moves)
}

/// The least cost of moving one copy about, with `moves` from row to column.
pub fn least_cost_with_moves(machine: &Machine, moves: &Matrix, trace: &[Access]) -> TotalCost {
    let all: Vec<LocationSet> = all_sets(machine).into_iter().filter(|s| s.len() == 1).collect();
    let at = |s: &LocationSet| s.nodes.first().expect("no global memory here");
    let cell = |a: &LocationSet, b: &LocationSet| if a == b { Cost::ZERO } else { moves.at(at(a), at(b)) };
    let table = all.iter().map(|a| all.iter().map(|b| cell(a, b).into()).collect()).collect::<Vec<Vec<TotalCost>>>();
    viterbi(machine, trace, Start::FreeSet, Sets::Single, &all, &table)
}

/// The least cost by judging every sequence of sets with the checker: for traces of up to five accesses.
pub fn least_cost_literally(machine: &Machine, block_bytes: u64, trace: &[Access], start: Start) -> TotalCost {
    let all = all_sets(machine);
    let starts: Vec<Option<Location>> = match start {
        Start::FreeSet => vec![None],
        Start::FreeSingle => all.iter().filter(|s| s.len() == 1).map(|s| s.iter().next()).collect(),
    };
    let mut best: Option<TotalCost> = None;
    for code in 0..all.len().pow(trace.len() as u32) {
        let digit = |t: usize| all[code / all.len().pow(t as u32) % all.len()].clone();
        let sets: Vec<LocationSet> = (0..trace.len()).map(digit).collect();
        for start in &starts {
            let placement = Placement { start: *start, sets: sets.clone(), served: Vec::new() };
            if let Ok(tally) = checker::recost(machine, block_bytes, trace, &placement) {
                best = Some(best.map_or(tally.total(), |b| b.min(tally.total())));
            }
        }
    }
    best.expect("one node for ever is legal")
}

fn all_sets(machine: &Machine) -> Vec<LocationSet> {
    let locations = machine.nodes() + usize::from(machine.global.is_some());
    let members = |mask: usize| (0..locations).filter(move |l| mask >> l & 1 == 1);
    (1..1usize << locations).map(|mask| members(mask).map(|l| location(l, machine.nodes())).collect()).collect()
}

fn moves(machine: &Machine, block_bytes: u64, all: &[LocationSet]) -> Vec<Vec<TotalCost>> {
    let cost = |from: Location| machine.copy_cost(block_bytes, from, location(0, 1));
    let (near, far) = (if machine.nodes() > 1 { cost(location(1, 2)) } else { Cost::ZERO }, cost(Location::Global));
    let cell = |a: &LocationSet, b: &LocationSet| {
        let added = b.iter().filter(|l| !a.contains(*l)).count();
        if a.global || b.global { far.times(added as u64) } else { near.times(added as u64) }
    };
    all.iter().map(|a| all.iter().map(|b| cell(a, b)).collect()).collect()
}

fn viterbi(
    machine: &Machine,
    trace: &[Access],
    start: Start,
    sets: Sets,
    all: &[LocationSet],
    moves: &[Vec<TotalCost>],
) -> TotalCost {
    let mut at: Vec<Option<TotalCost>> =
        all.iter().map(|s| (start == Start::FreeSet || s.len() == 1).then_some(TotalCost::ZERO)).collect();
    for (t, access) in trace.iter().enumerate() {
        let free = t == 0 && start == Start::FreeSet;
        let next = |to: usize| {
            let single = sets == Sets::Single || access.kind == AccessKind::Write;
            if single && all[to].len() != 1 {
                return None;
            }
            let arrive = |from: usize| at[from].map(|c| c + moves[from][to]);
            let cheapest = if free { Some(TotalCost::ZERO) } else { (0..all.len()).filter_map(arrive).min() };
            let served = all[to].iter().map(|l| machine.access(access.class, access.node, l)).min();
            Some(cheapest? + served?.times(u64::from(access.weight)))
        };
        at = (0..all.len()).map(next).collect();
    }
    at.into_iter().flatten().min().expect("one node for ever is legal")
}
