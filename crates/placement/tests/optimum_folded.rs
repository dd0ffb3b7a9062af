//! Equal accesses in a row, taken for one: the optimum is that of the accesses one by one, on machines with all orders of
//! near, global and far costs, R and G.
mod common;
use common::{cases, machine, random_machine, random_matrix_machine};
use homenode_base::{NodeId, Rng, VirtualTime};
use homenode_machine::{AccessClass, Machine};
use homenode_placement::optimum::{Bounded, Bounds};
use homenode_placement::oracle::{Sets, least_cost};
use homenode_placement::{Access, AccessKind, Start};

fn bounded(m: &Machine, start: Start, trace: &[Access]) -> Bounded {
    let bounds = Bounds::new(m, 1, start);
    let mut block = bounds.begin();
    trace.iter().for_each(|a| bounds.push(&mut block, a));
    bounds.finish(&block)
}

/// A few groups of equal accesses, as many as a weight says.
fn groups(rng: &mut Rng, nodes: usize) -> Vec<Access> {
    let writes_of_8 = rng.below(8);
    let group = |rng: &mut Rng| {
        let (kind, class) = match rng.below(8) {
            n if n < writes_of_8 => {
                (AccessKind::Write, [AccessClass::Write, AccessClass::WriteBack][rng.below(2) as usize])
            }
            _ => (AccessKind::Read, [AccessClass::Read, AccessClass::Read, AccessClass::Free][rng.below(3) as usize]),
        };
        let node = NodeId(rng.below(nodes as u64) as u16);
        Access { node, kind, class, weight: 1 + rng.below(7) as u32, t: VirtualTime(0) }
    };
    (0..1 + rng.below(5)).map(|_| group(rng)).collect()
}

fn one_by_one(trace: &[Access]) -> Vec<Access> {
    trace.iter().flat_map(|a| (0..a.weight).map(|_| Access { weight: 1, ..*a })).collect()
}

#[test]
fn folding_changes_no_bound_on_any_machine() {
    let mut rng = Rng::new(0xf01d);
    let mut apart = [0, 0];
    for round in 0..cases(10) {
        let nodes = 2 + rng.below(2) as usize;
        let uniform = round % 4 > 0;
        let m = if uniform { random_machine(&mut rng, nodes) } else { random_matrix_machine(&mut rng, nodes) };
        apart[usize::from(m.folds(1))] += 1;
        let trace = groups(&mut rng, nodes);
        let single = one_by_one(&trace);
        for start in [Start::FreeSet, Start::FreeSingle] {
            let found = bounded(&m, start, &trace);
            let what = format!("{start:?}\n{m:?}\n{trace:?}");
            assert_eq!(found.without_replication.cost, least_cost(&m, 1, &single, start, Sets::Single), "{what}");
            let optimum = least_cost(&m, 1, &single, start, Sets::Replicated);
            match Bounds::new(&m, 1, start).is_exact() {
                true => assert_eq!(found.with_replication.cost, optimum, "{what}"),
                false => assert!(found.with_replication.cost <= optimum, "{what}"),
            }
            assert_eq!(found, bounded(&m, start, &single), "folded and not: {what}");
        }
    }
    assert!(apart.iter().all(|n| *n > 200), "machines of both kinds must occur: {apart:?}");
}

/// Node 0 writes five times, node 1 reads three times: by way of global memory while it reads (50 + 20 + 35 + 20 + 10 + 10).
#[test]
fn a_detour_through_global_memory_within_equal_accesses_is_found() {
    let m = machine(2, 10, 50, 90, Some((35, 20)));
    let access = |node: u16, kind, class, weight| Access { node: NodeId(node), kind, class, weight, t: VirtualTime(0) };
    let writes = access(0, AccessKind::Write, AccessClass::Write, 5);
    let reads = |n| access(1, AccessKind::Read, AccessClass::Read, n);
    let a = [writes, reads(3)];
    let b = [writes, reads(1), access(1, AccessKind::Write, AccessClass::Write, 1), reads(1)];
    for trace in [&a[..], &b[..]] {
        let cost = bounded(&m, Start::FreeSet, trace).without_replication.cost;
        assert_eq!(cost, homenode_base::Cost(145).into());
    }
}
