//! How the optimum and the policies depend on a machine's costs, whatever the trace (Bolosky 1993, corollary 1 in section
//! 4.1.5, section 5.3, section 6.2.1).
mod common;
use common::slow::{choices, engine_tally, references};
use common::{cases, counts, machine};
use homenode_base::{NodeId, Rng, TotalCost, VirtualTime};
use homenode_machine::models::family;
use homenode_machine::{AccessClass, Machine};
use homenode_placement::optimum::{Replication, Solo, Solver};
use homenode_placement::policies::{By, Choice};
use homenode_placement::{Access, AccessKind, Solved, Start, Step};

const STARTS: [Start; 2] = [Start::FreeSet, Start::FreeSingle];

fn solve(m: &Machine, start: Start, trace: &[Access]) -> Solved {
    Replication::new(m, 1, start).solve(trace)
}

/// Runs of one node's reads or writes, long enough that moves may pay.
fn runs(rng: &mut Rng, nodes: usize) -> Vec<Access> {
    let longest = [2, 8, 40][rng.below(3) as usize];
    references(rng, nodes, 30).iter().map(|a| Access { weight: 1 + rng.below(longest) as u32, ..*a }).collect()
}

fn references_in(trace: &[Access]) -> i128 {
    trace.iter().map(|a| i128::from(a.weight)).sum()
}

/// At equal block size: CC+ <= NUMA <= DSM+ <= DSM and CC+ <= CC <= DSM.
#[test]
fn machines_of_the_family_dominate_each_other() {
    let build = |member: family::Member, p: &family::Parameters| member.build(p).expect("sound");
    let mut rng = Rng::new(0xd0);
    let mut open = [0, 0];
    for _ in 0..cases(20) {
        let bytes = 4 << rng.below(12);
        let nodes = 1 + rng.below(6) as usize;
        let p = family::Parameters {
            lambda: [50, 50, 10, 500][rng.below(4) as usize],
            o_s: [75, 75, 10, 1000][rng.below(4) as usize],
            processors: nodes as u16,
            ..Default::default()
        };
        let trace = runs(&mut rng, nodes);
        for start in STARTS {
            let cost = |member| Replication::new(&build(member, &p), bytes, start).solve(&trace).cost;
            let [cc_plus, cc, numa, dsm_plus, dsm] = family::MEMBERS.map(cost);
            assert!(cc_plus <= numa && numa <= dsm_plus && dsm_plus <= dsm, "{p:?} at {bytes}\n{trace:?}");
            assert!(cc_plus <= cc && cc <= dsm, "{p:?} at {bytes}\n{trace:?}");
            open[usize::from(cc < numa)] += u32::from(cc != numa);
        }
        let solo = family::MEMBERS.map(|member| Solo::new(&build(member, &p), bytes).solve(&trace).cost);
        assert!(
            solo[0] <= solo[2] && solo[2] <= solo[3] && solo[3] <= solo[4] && solo[0] <= solo[1] && solo[1] <= solo[4]
        );
    }
    assert!(open.iter().all(|n| *n > 100), "CC and NUMA have no order: {open:?}");
}

/// Where r is infinite nothing is left to decide: copying what is read and moving what is written is optimal but for the
/// copies that a free start saves.
#[test]
fn without_remote_references_nothing_beats_dsm() {
    let mut rng = Rng::new(0xd1);
    for name in ["cc", "dsm"] {
        let m = homenode_machine::models::find(name).expect("in the registry");
        for _ in 0..cases(100) {
            let mut trace = runs(&mut rng, m.nodes());
            (trace[0].kind, trace[0].class) = (AccessKind::Write, AccessClass::Write);
            let mut engine =
                Choice::parse("dsm").expect("a policy").engine(&m, m.shape.page_bytes).expect("runs there");
            let (slot, mut counts) = (engine.open(0, None), counts(&m, m.shape.page_bytes));
            let steps: Vec<Step> = trace.iter().map(|access| Step { slot, access: *access }).collect();
            engine.run(&steps, &mut counts);
            let tally = counts.priced(&m, m.shape.page_bytes);
            let best = Replication::new(&m, m.shape.page_bytes, Start::FreeSet).solve(&trace);
            assert_eq!((tally.total(), tally.movement), (best.cost, best.movement), "{name}\n{trace:?}");
        }
    }
}

/// r - 1, g - 1, R and G times `s`: what a trace costs beyond one unit a reference is `s` times as much.
#[test]
fn costs_beyond_the_references_scale() {
    let mut rng = Rng::new(0xc01);
    let by_order: Vec<Choice> = choices().into_iter().filter(|c| !c.spec.decides_by.contains(&By::Cost)).collect();
    for _ in 0..cases(100) {
        let nodes = 1 + rng.below(5) as usize;
        let (far, copy, s) = (1 + rng.below(9) as i64, rng.below(60) as i64, 2 + rng.below(6) as i64);
        let (near_global, copy_global) = (rng.below(1 + far as u64) as i64, (copy + 1) / 2 + rng.below(30) as i64);
        let global = (rng.below(2) == 0).then_some((near_global, copy_global));
        let at = |s: i64| machine(nodes, 1, 1 + s * far, s * copy, global.map(|(g, c)| (1 + s * g, s * c)));
        let (one, many) = (at(1), at(s));
        let trace = runs(&mut rng, nodes);
        let beyond = |cost: TotalCost| cost.0 - references_in(&trace);
        for start in STARTS {
            let [a, b] = [&one, &many].map(|m| beyond(solve(m, start, &trace).cost));
            assert_eq!(b, a * i128::from(s), "{one:?}\n{trace:?}");
        }
        for choice in by_order.iter().filter(|c| c.engine(&one, 1).is_ok()) {
            let [a, b] = [&one, &many].map(|m| beyond(engine_tally(choice, m, &trace).total()));
            assert_eq!(b, a * i128::from(s), "{choice} on {one:?}\n{trace:?}");
        }
    }
}

/// A value on a line, and the line's slope there.
type Tangent = (i128, i128);

/// A function that is the least of straight lines lies on or below every tangent, everywhere; slopes only fall.
fn assert_least_of_lines(points: &[(i64, Tangent)], what: &str) {
    for (x, (value, slope)) in points {
        for (other, (reached, _)) in points {
            assert!(*reached <= value + slope * i128::from(other - x), "{what}: from {x} to {other}");
        }
    }
    assert!(points.windows(2).all(|w| w[1].1.1 <= w[0].1.1), "{what}: {points:?}");
}

#[test]
fn the_optimum_is_concave_and_piecewise_linear_in_the_cost_of_moves() {
    let mut rng = Rng::new(0xcc);
    let mut bends = 0;
    for _ in 0..cases(250) {
        let nodes = 1 + rng.below(5) as usize;
        let (far, trace) = (2 + rng.below(14) as i64, runs(&mut rng, nodes));
        for start in STARTS {
            // R without global memory: the slope is the number of moves and copies.
            let points: Vec<(i64, Tangent)> = (0..150)
                .map(|copy| {
                    let s = solve(&machine(nodes, 1, far, copy, None), start, &trace);
                    assert_eq!(s.movement.0, i128::from(copy) * i128::from(s.moves + s.copies));
                    (copy, (s.cost.0, i128::from(s.moves + s.copies)))
                })
                .collect();
            assert_eq!(points[0].1.0, references_in(&trace), "free moves leave one unit a reference");
            assert_least_of_lines(&points, "R");
            bends += points.windows(2).filter(|w| w[0].1.1 != w[1].1.1).count();
            // G with R = 2 G, as on the ACE: the movement is proportional to G.
            let g = 1 + rng.below(far as u64 - 1) as i64;
            let points = (1..100).map(|c| {
                let s = solve(&machine(nodes, 1, far, 2 * c, Some((g, c))), start, &trace);
                assert_eq!(s.movement.0 % i128::from(c), 0);
                (c, (s.cost.0, s.movement.0 / i128::from(c)))
            });
            assert_least_of_lines(&points.collect::<Vec<_>>(), "G, R = 2 G");
        }
    }
    assert!(bends > 500, "{bends}");
}

/// With R fixed only the additions beside global memory depend on G.
#[test]
fn the_optimum_is_concave_and_piecewise_linear_in_the_cost_of_global_copies_alone() {
    let mut rng = Rng::new(0xcd);
    for _ in 0..cases(250) {
        let nodes = 1 + rng.below(5) as usize;
        let (far, copy) = (2 + rng.below(14) as i64, 2 * rng.below(30) as i64);
        let (g, trace) = (1 + rng.below(far as u64 - 1) as i64, runs(&mut rng, nodes));
        for start in STARTS {
            let points = ((copy / 2).max(1)..copy + 60).filter(|c| *c != copy).map(|c| {
                let s = solve(&machine(nodes, 1, far, copy, Some((g, c))), start, &trace);
                // movement = R (all - n) + G n
                let (all, each) = (i128::from(s.moves + s.copies), i128::from(c - copy));
                let beside_global = (s.movement.0 - i128::from(copy) * all) / each;
                assert_eq!(beside_global * each, s.movement.0 - i128::from(copy) * all);
                (c, (s.cost.0, beside_global))
            });
            assert_least_of_lines(&points.collect::<Vec<_>>(), "G");
        }
    }
}

#[test]
fn a_policy_that_looks_at_no_cost_is_a_straight_line_on_or_above_the_optimum() {
    let mut rng = Rng::new(0x11e);
    let by_order: Vec<Choice> = choices().into_iter().filter(|c| !c.spec.decides_by.contains(&By::Cost)).collect();
    for _ in 0..cases(500) {
        let nodes = 1 + rng.below(5) as usize;
        let (far, trace) = (2 + rng.below(14) as i64, runs(&mut rng, nodes));
        let global = (rng.below(2) == 0).then(|| 1 + rng.below(far as u64 - 1) as i64);
        let at = |c: i64| machine(nodes, 1, far, 2 * c, global.map(|g| (g, c)));
        let machines: Vec<Machine> = (0..20).map(|i| at(1 + 7 * i)).collect();
        let optimum: Vec<TotalCost> = machines.iter().map(|m| solve(m, Start::FreeSet, &trace).cost).collect();
        for choice in by_order.iter().filter(|c| c.engine(&machines[0], 1).is_ok()) {
            let line: Vec<TotalCost> = machines.iter().map(|m| engine_tally(choice, m, &trace).total()).collect();
            let steps: Vec<i128> = line.windows(2).map(|w| w[1].0 - w[0].0).collect();
            assert!(steps.iter().all(|s| *s == steps[0]), "{choice}: {line:?}");
            assert!(line.iter().zip(&optimum).all(|(l, o)| l >= o), "{choice}: {line:?} below {optimum:?}");
        }
    }
}

/// The reader of a page that another node writes: with R = 2 G copies, global memory and remote references take turns where
/// the thesis's figure 5.7 has them, at 3 N and N references a run.
#[test]
fn a_reader_and_a_writer_change_their_minds_at_n_and_3_n() {
    const N: u32 = 40;
    let access = |node: u16, weight: u32, t: u64| {
        let (kind, class) = match node {
            0 => (AccessKind::Write, AccessClass::Write),
            _ => (AccessKind::Read, AccessClass::Read),
        };
        Access { node: NodeId(node), kind, class, weight, t: VirtualTime(t) }
    };
    let trace: Vec<Access> = (0..200).map(|i| access((i % 2) as u16, if i % 2 == 0 { 4 * N } else { N }, i)).collect();
    let parts = |copy_global: i64| {
        let m = machine(2, 1, 5, 2 * copy_global, Some((2, copy_global)));
        let solved = solve(&m, Start::FreeSet, &trace);
        (solved.movement.0 / i128::from(copy_global), solved.cost.0)
    };
    let (n, all) = (i64::from(N), references_in(&trace));
    // Above 3 N the writer keeps the page and the reader pays 4 more each; below N each run makes a copy.
    assert_eq!(parts(3 * n + 1), (0, all + 100 * 4 * i128::from(N)));
    // Between them each run of reads finds the page brought to global memory, below N a copy beside that.
    let between = |copy: i64| (100, all + 100 * i128::from(copy + n));
    assert_eq!((parts(3 * n - 1), parts(n + 1)), (between(3 * n - 1), between(n + 1)));
    assert_eq!(parts(n - 1), (200, all + 200 * i128::from(n - 1)));
}
