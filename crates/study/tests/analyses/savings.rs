//! Shares, sweeps, and what is known of the optimum's dependence on costs.
use crate::common::{ask, bindings, cases, question, random_refs};
use homenode_base::Rng;
use homenode_machine::Machine;
use homenode_machine::models;
use homenode_machine::models::family::{MEMBERS, NUMA, Parameters};
use homenode_placement::Start;
use homenode_placement::policies::Choice;
use homenode_study::analyses::{
    AnalysisError, Bend, Plotted, Slope, Sweep, bends, block_series, is_concave, is_linear, mcpr, mean_share,
    moves_per_block, naive_cost, scaled, share_of_savings, sum,
};
use homenode_study::{Question, Want, What, plain};
use homenode_trace::Merged;
use homenode_trace::order::Listed;

fn with_nodes(name: &str, nodes: usize) -> Machine {
    let mut m = models::find(name).unwrap();
    let cut = |x: &homenode_machine::Matrix| {
        let (near, far) = x.as_uniform().unwrap();
        homenode_machine::Matrix::uniform(nodes, near, far)
    };
    (m.cost.read, m.cost.write, m.cost.write_back) = (cut(&m.cost.read), cut(&m.cost.write), cut(&m.cost.write_back));
    m.shape.cores = vec![1; nodes];
    m
}

/// References with phases and runs, so that moving pays now and then.
fn trace(rng: &mut Rng, threads: u32) -> Vec<Merged> {
    let mut refs = Vec::new();
    while refs.len() < 3000 {
        let (owner, base) = (rng.below(threads.into()) as u32, rng.below(3) * 256);
        for mut r in random_refs(rng, threads, 64, 1 + rng.clone().below(300)) {
            r.addr += base;
            r.thread = if rng.chance(9, 10) { owner } else { r.thread };
            refs.push(r);
        }
    }
    refs
}

#[test]
fn shares_are_of_what_the_optimum_saves() {
    assert_eq!(share_of_savings(2.0, 1.5, 1.0), Some(0.5));
    assert_eq!((share_of_savings(2.0, 1.0, 1.0), share_of_savings(2.0, 3.0, 1.0)), (Some(1.0), Some(-1.0)));
    assert_eq!(share_of_savings(1.0, 1.0, 1.0), None);
    assert_eq!(mean_share([Some(0.5), None, Some(1.0)]), Some(0.75));
    assert_eq!(mean_share([None]), None);
}

/// 2 on the ACE; 13.25 with eight and 13 with seven processors on the Butterfly; nothing where r is infinite.
#[test]
fn naive_placements_cost_what_the_thesis_says() {
    assert_eq!(naive_cost(&models::find("ace").unwrap()), Some(("all global", 2.0)));
    assert_eq!(naive_cost(&models::find("butterfly").unwrap()), Some(("random static", 13.25)));
    assert_eq!(naive_cost(&with_nodes("butterfly", 7)), Some(("random static", 13.0)));
    assert_eq!(
        (naive_cost(&models::find("dsm").unwrap()), naive_cost(&models::find("opteron8").unwrap())),
        (None, None)
    );
}

/// The naive base is what the policy `global` costs.
#[test]
fn everything_in_global_memory_costs_the_base() {
    let refs = trace(&mut Rng::new(3), 8);
    let mut q = question(models::find("ace").unwrap(), &bindings(8), &[256, 4096]);
    q.policies = vec![Choice::parse("global").unwrap()];
    let answer = plain::answer(&q, &refs).unwrap();
    assert!(answer.rows.iter().all(|r| mcpr(&q, &answer, r) == Some(2.0)));
}

/// Corollary 1 (section 4.1.5) holds for every optimum and for policies that do not look at costs.
#[test]
fn scaling_all_excess_costs_scales_the_excess_of_the_mean_cost() {
    for seed in 0..cases(12, 200) {
        let mut rng = Rng::new(seed);
        let refs = trace(&mut rng, 4);
        for name in ["ace", "butterfly", "numa", "cc-plus"] {
            let machine = with_nodes(name, 4);
            let factor = 2 + rng.below(6) as u32;
            let machines = vec![machine.clone(), scaled(&machine, factor).unwrap()];
            let bindings = vec![bindings(4); 2];
            let mut q = Question { start: Start::FreeSet, ..Question::new(machines, bindings, vec![64, 256]) };
            q.policies = vec![Choice::parse("ace").unwrap(), Choice::parse("first-touch").unwrap()];
            (q.best_static, q.without_replication, q.with_replication) = (Want::Cost, Want::Cost, Want::Cost);
            let answer = plain::answer(&q, &refs).unwrap();
            let n = i128::from(answer.charged[0].accesses);
            let (plain, scaled): (Vec<_>, Vec<_>) = answer.rows.iter().partition(|r| r.machine == 0);
            assert_eq!(plain.len(), 10);
            for (a, b) in plain.iter().zip(&scaled) {
                assert_eq!((a.cost.0 - n) * i128::from(factor), b.cost.0 - n, "seed {seed} {name} {:?}", a.what);
            }
        }
    }
}

/// Points (x, cost) of one thing that was asked, at the first block size.
fn points(sweep: &Sweep, what: What, refs: &[Merged]) -> Vec<(i64, i128, u64)> {
    let answer = plain::answer(&sweep.question, refs).unwrap();
    let rows = answer.rows.iter().filter(|r| r.what == what);
    let moves = |r: &homenode_study::Row| match (&r.parts, &r.optimum) {
        (Some(t), _) => t.moves + t.copies,
        (_, Some(s)) => s.moves + s.copies,
        _ => 0,
    };
    rows.map(|r| (sweep.values[r.machine as usize] as i64, r.cost.0, moves(r))).collect()
}

/// In R, and in G where R = 2 G: the optimum is concave, falls to one local reference each at 0, and its slope between two
/// points lies between the moves at either; a fixed policy is a straight line on or above it.
#[test]
fn optimum_is_concave_in_move_costs_with_moves_as_slope() {
    let values: Vec<u64> = (0..40).map(|i| i * 60).collect();
    let mut bent = 0;
    for seed in 0..cases(6, 100) {
        let refs = trace(&mut Rng::new(seed ^ 0xBEE), 4);
        let mut base = question(with_nodes("butterfly", 4), &bindings(4), &[256]);
        base.policies = vec![Choice::parse("ace").unwrap()];
        base.with_replication = Want::Parts;
        let sweep = Sweep::copy(&base, &base.machines[0], &values).unwrap();
        let best = points(&sweep, What::WITH_REPLICATION, &refs);
        let line: Vec<(i64, i128)> = best.iter().map(|p| (p.0, p.1)).collect();
        assert!(is_concave(&line), "seed {seed}: {line:?}");
        bent += bends(&line).len();
        assert_eq!(best[0].1, refs.len() as i128, "moves for nothing: everything is local");
        for w in best.windows(2) {
            let run = i128::from(w[1].0 - w[0].0);
            let rise = w[1].1 - w[0].1;
            assert!(i128::from(w[1].2) * run <= rise && rise <= i128::from(w[0].2) * run, "seed {seed}: {w:?}");
        }
        let policy: Vec<(i64, i128)> = points(&sweep, What::policy(0), &refs).iter().map(|p| (p.0, p.1)).collect();
        assert!(is_linear(&policy), "it decides alike whatever moves cost");
        assert!(policy.iter().zip(&line).all(|(p, b)| p.1 >= b.1));
    }
    assert!(bent > 20, "with bends in it: {bent}");
}

#[test]
fn optimum_is_concave_in_the_cost_of_global_copies() {
    let values: Vec<u64> = (1..30).map(|i| i * 40).collect();
    for seed in 0..cases(4, 60) {
        let refs = trace(&mut Rng::new(seed ^ 0xF00), 4);
        let mut base = question(with_nodes("ace", 4), &bindings(4), &[256]);
        base.with_replication = Want::Cost;
        let sweep = Sweep::global_copy(&base, &base.machines[0], &values).unwrap();
        assert!(sweep.question.machines.iter().all(|m| m.cost.copy.fixed.0 == 2 * m.cost.global.unwrap().copy.fixed.0));
        let line: Vec<(i64, i128)> = points(&sweep, What::WITH_REPLICATION, &refs).iter().map(|p| (p.0, p.1)).collect();
        assert!(line.len() == 29 && is_concave(&line), "seed {seed}: {line:?}");
    }
}

#[test]
fn bends_are_where_slopes_change() {
    let line = [(0, 0), (2, 20), (4, 40), (6, 50), (9, 65)];
    let bend = Bend { x: 4, before: Slope { rise: 10, run: 1 }, after: Slope { rise: 5, run: 1 } };
    assert_eq!(bends(&line), [bend]);
    assert!(is_concave(&line) && !is_linear(&line) && is_linear(&line[..3]));
    assert!(!is_concave(&[(0, 0), (1, 1), (2, 3)]));
    assert!(is_linear(&[]) && is_linear(&[(1, 1)]));
}

/// One machine a value, costs by the formulas of chapter 6, and lines as the answer has them.
#[test]
fn sweeps_make_machines_and_lines() {
    let refs = trace(&mut Rng::new(1), 4);
    let rest = Parameters { processors: 4, ..Parameters::default() };
    let mut base = question(with_nodes("numa", 4), &bindings(4), &[64, 512]);
    base.with_replication = Want::Parts;
    let lambda = Sweep::lambda(&base, &NUMA, rest, &[10, 50, 500]).unwrap();
    let fixed: Vec<i64> = lambda.question.machines.iter().map(|m| m.cost.copy.fixed.0).collect();
    assert_eq!(fixed, [4 * 10 + 75, 4 * 50 + 75, 4 * 500 + 75]);
    let overhead = Sweep::software_overhead(&base, &NUMA, rest, &[10, 1000]).unwrap();
    let fixed: Vec<i64> = overhead.question.machines.iter().map(|m| m.cost.copy.fixed.0).collect();
    assert_eq!(fixed, [210, 1200]);
    let answer = sum(&ask(&lambda.question, &mut Listed::new(&refs)).unwrap()).unwrap();
    assert_eq!(answer, plain::answer(&lambda.question, &refs).unwrap(), "parts add up");
    let lines = lambda.series(&answer, 512, Plotted::Mcpr);
    assert_eq!(lines.len(), 1);
    let by_hand = answer.rows.iter().filter(|r| r.block_bytes == 512).map(|r| r.cost.as_f64() / refs.len() as f64);
    assert!(lines[0].points.iter().map(|p| p.1).eq(by_hand));
    assert!(lines[0].points.iter().map(|p| p.0).eq([10.0, 50.0, 500.0]));
    assert!(lines[0].points.is_sorted_by(|a, b| a.1 <= b.1), "nothing gets cheaper with latency");
    let moves = lambda.series(&answer, 512, Plotted::MovesPerBlock);
    for (p, r) in moves[0].points.iter().zip(answer.rows.iter().filter(|r| r.block_bytes == 512)) {
        let s = r.optimum.unwrap();
        assert_eq!(p.1, (s.moves + s.copies) as f64 / answer.blocks_touched[1] as f64);
        assert_eq!(moves_per_block(&lambda.question, &answer, r), Some(p.1));
    }
    let blocks = block_series(&lambda.question, &answer, 1, Plotted::Mcpr);
    assert!(blocks[0].points.iter().map(|p| p.0).eq([64.0, 512.0]));
}

/// Domination at equal block size (figure 6.1): more abilities never cost more.
#[test]
fn machines_of_chapter_6_dominate_as_they_must() {
    let rest = Parameters { processors: 4, ..Parameters::default() };
    for seed in 0..cases(5, 100) {
        let refs = trace(&mut Rng::new(seed ^ 0xD0), 4);
        let machines: Vec<Machine> = MEMBERS.iter().map(|m| m.build(&rest).unwrap()).collect();
        let mut q = Question::new(machines, vec![bindings(4); 5], vec![4, 64, 512, 4096]);
        q.with_replication = Want::Cost;
        let answer = plain::answer(&q, &refs).unwrap();
        let cost = |name: &str, block: u64| {
            let m = MEMBERS.iter().position(|m| m.name == name).unwrap();
            answer.rows.iter().find(|r| r.machine as usize == m && r.block_bytes == block).unwrap().cost
        };
        for block in [4, 64, 512, 4096] {
            for (a, b) in
                [("cc-plus", "numa"), ("numa", "dsm-plus"), ("dsm-plus", "dsm"), ("cc-plus", "cc"), ("cc", "dsm")]
            {
                assert!(cost(a, block) <= cost(b, block), "{a} {b} at {block}");
            }
        }
    }
}

#[test]
fn sweeps_refuse_what_is_no_machine() {
    let base = question(with_nodes("butterfly", 4), &bindings(4), &[256]);
    let error = |r: Result<Sweep, AnalysisError>| r.err().expect("refused").to_string();
    assert!(error(Sweep::global_copy(&base, &base.machines[0], &[5])).contains("global memory"));
    assert!(error(Sweep::copy(&base, &base.machines[0], &[u64::MAX])).contains(&u64::MAX.to_string()));
}
