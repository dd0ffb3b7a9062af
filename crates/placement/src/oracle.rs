//! Slow, obvious answers for tests: the cheapest placement by trying every set of locations.
//!
//! Like the [`checker`](crate::checker::recost) this knows only the machine and the cost definition. Costs grow with
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
    let cell = |a: &LocationSet, b: &LocationSet| if a == b { 0 } else { moves.at(at(a), at(b)).0 };
    let table: Vec<Vec<i64>> = all.iter().map(|b| all.iter().map(|a| cell(a, b)).collect()).collect();
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
    let locations = machine.nodes() + usize::from(machine.cost.global.is_some());
    let members = |mask: usize| (0..locations).filter(move |l| mask >> l & 1 == 1);
    (1..1usize << locations).map(|mask| members(mask).map(|l| location(l, machine.nodes())).collect()).collect()
}

/// Cost of going from one set (inner index) to another (outer index).
fn moves(machine: &Machine, block_bytes: u64, all: &[LocationSet]) -> Vec<Vec<i64>> {
    let cost = |from: Location| machine.copy_cost(block_bytes, from, location(0, 1)).0;
    let (near, far) = (if machine.nodes() > 1 { cost(location(1, 2)) } else { 0 }, cost(Location::Global));
    let cell = |a: &LocationSet, b: &LocationSet| {
        let added = b.iter().filter(|l| !a.contains(*l)).count() as i64;
        added.saturating_mul(if a.global || b.global { far } else { near })
    };
    all.iter().map(|b| all.iter().map(|a| cell(a, b)).collect()).collect()
}

fn viterbi(
    machine: &Machine,
    trace: &[Access],
    start: Start,
    sets: Sets,
    all: &[LocationSet],
    moves: &[Vec<i64>],
) -> TotalCost {
    let single: Vec<bool> = all.iter().map(|s| s.len() == 1).collect();
    // (set, cheapest cost of being in it); sets that cannot be are absent.
    let mut at: Vec<(usize, i64)> =
        (0..all.len()).filter(|s| start == Start::FreeSet || single[*s]).map(|s| (s, 0)).collect();
    for (t, access) in trace.iter().enumerate() {
        let lone = sets == Sets::Single || access.kind == AccessKind::Write;
        let served: Vec<i64> = (0..=machine.nodes())
            .map(|l| machine.access(access.class, access.node, location(l, machine.nodes())).0)
            .collect();
        let next = |to: usize| {
            let arrive = match t == 0 && start == Start::FreeSet {
                true => 0,
                false => at.iter().map(|(from, c)| c.saturating_add(moves[to][*from])).min().expect("some set can be"),
            };
            let index = |l: Location| if let Location::Node(n) = l { n.index() } else { machine.nodes() };
            let serve = all[to].iter().map(|l| served[index(l)]).min().expect("sets are not empty");
            (to, arrive.saturating_add(serve.saturating_mul(i64::from(access.weight))))
        };
        at = (0..all.len()).filter(|to| single[*to] || !lone).map(next).collect();
    }
    Cost(at.into_iter().map(|(_, c)| c).min().expect("one node for ever is legal")).into()
}
