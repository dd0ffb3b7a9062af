//! Affinity rules against slow transcriptions of the equations, and the traps of the published tables.
mod common;

use homenode_base::{Cost, NodeId, Rng, TotalCost};
use homenode_machine::models;
use homenode_placement::affinity::{ALL, Distances, Question, Rule, Terms};
use homenode_placement::counts::ClassCounts;

fn reads(r: &[u64]) -> Vec<ClassCounts> {
    r.iter().map(|n| [*n, 0, 0]).collect()
}

fn ask(rule: &str, distances: &Distances, r: &[u64], home: Option<u16>) -> Option<u16> {
    let terms = Terms { move_cost: Cost(100), scale: 1 };
    let question = Question { distances, uses: &reads(r), home: home.map(NodeId), terms };
    Rule::parse(rule).expect(rule).decide(&question).map(|n| n.0)
}

fn flat(nodes: usize) -> Distances {
    Distances::of(&common::machine(nodes, 1, 3, 1, None))
}

fn table(rows: &[[i64; 8]; 8]) -> Distances {
    let rows: Vec<Vec<Cost>> = rows.iter().map(|r| r.iter().map(|c| Cost(*c)).collect()).collect();
    Distances::from_rows(&rows).expect("square")
}

#[test]
fn filters_differ_where_the_two_readings_of_the_thesis_do() {
    let d = flat(4);
    assert_eq!(ask("filtered-variance", &d, &[10, 10, 0, 0], Some(2)), Some(0), "V = 50 passes");
    assert_eq!(ask("filtered-pairwise", &d, &[10, 10, 0, 0], Some(2)), None, "no lead over node 1");
    for rule in ["filtered-variance", "filtered-pairwise"] {
        assert_eq!(ask(rule, &d, &[2, 0, 0, 0], Some(1)), Some(0), "{rule}: on the edge, and >= passes");
        assert_eq!(ask(rule, &d, &[1, 0, 0, 0], Some(1)), None, "{rule}: one use is too few");
        assert_eq!(ask(rule, &d, &[1, 0, 0, 0], Some(0)), Some(0), "{rule}: it is there already");
    }
    assert_eq!(ask("filtered-variance", &d, &[3, 1, 1, 1], None), Some(0), "12 / 4 = 4 * 3 / 4");
    assert_eq!(ask("filtered-variance", &d, &[3, 2, 1, 1], None), None, "9 / 4 < 3");
    assert_eq!(ask("filtered-pairwise", &d, &[5, 3, 3, 3], None), Some(0));
    assert_eq!(ask("filtered-pairwise", &d, &[5, 4, 3, 3], None), None);
}

#[test]
fn rows_of_the_matrix_are_who_accesses() {
    let raw = table(&models::OPTERON8_RAW_NS);
    assert_eq!(raw.cost(&reads(&[0, 0, 0, 0, 0, 1, 0, 0]), NodeId(6)), TotalCost(145), "from 5 to memory of 6");
    assert_eq!(raw.cost(&reads(&[0, 0, 0, 0, 0, 0, 1, 0]), NodeId(5)), TotalCost(180), "from 6 to memory of 5");
    // Turned round, the table gives other homes to a fair part of the pages that several nodes share.
    let mut turned = models::OPTERON8_RAW_NS;
    (0..64).for_each(|i| turned[i / 8][i % 8] = models::OPTERON8_RAW_NS[i % 8][i / 8]);
    let (turned, mut rng, mut differ) = (table(&turned).repaired(), Rng::new(1), 0);
    for _ in 0..2000 {
        let r: Vec<u64> = (0..8).map(|_| rng.below(100)).collect();
        let wins = [&raw.clone().repaired(), &turned].map(|d| ask("hop-sensitive", d, &r, None));
        differ += u64::from(wins[0] != wins[1]);
    }
    assert!((200..1000).contains(&differ), "{differ} of 2000: between 10 and 50 %");
}

#[test]
fn a_noisy_diagonal_sends_private_pages_away_until_it_is_repaired() {
    let raw = table(&models::OPTERON8_RAW_NS);
    let only = |node: usize| -> Vec<u64> { (0..8).map(|k| u64::from(k == node) * 50).collect() };
    assert_eq!(ask("hop-sensitive", &raw, &only(0), None), Some(1), "123 < 126 ns");
    assert_eq!(ask("uniform", &raw, &only(0), None), Some(0));
    assert_eq!(ask("hop-sensitive", &raw, &only(7), None), Some(7), "tie with node 6: who uses it most");
    assert_eq!(ask("hop-sensitive", &raw, &only(7), Some(6)), Some(6), "tie: it stays where it is");
    let repaired = raw.repaired();
    let machine = Distances::of(&models::find("opteron8").expect("in the registry"));
    for node in 0..8 {
        assert_eq!(ask("hop-sensitive", &repaired, &only(node), None), Some(node as u16));
        assert_eq!(ask("hop-sensitive", &machine, &only(node), None), Some(node as u16));
    }
}

#[test]
fn ties_stay_at_home_else_go_to_the_heaviest_user_else_to_the_lowest_node() {
    let d = flat(4);
    assert_eq!(ask("uniform", &d, &[0, 7, 7, 0], None), Some(1));
    assert_eq!(ask("uniform", &d, &[0, 7, 7, 0], Some(2)), Some(2));
    assert_eq!(ask("uniform", &d, &[0, 7, 7, 0], Some(3)), Some(1), "home is no winner");
    let line = Distances::from_rows(&[vec![Cost(1), Cost(1)], vec![Cost(1), Cost(1)]]).expect("square");
    assert_eq!(ask("hop-sensitive", &line, &[3, 9], None), Some(1), "all equal: the heaviest user");
    assert_eq!(ask("hop-sensitive", &d, &[0, 0, 0, 0], Some(1)), None, "nothing known");
}

#[test]
fn moves_must_pay_for_themselves() {
    let d = flat(2);
    // At node 1 the page costs 3 a use of node 0 and would cost 1: gain 2 a use, a move costs 100.
    assert_eq!(ask("cost-difference(2)", &d, &[100, 0], Some(1)), None, "gain 200 is not more than 2 x 100");
    assert_eq!(ask("cost-difference(2)", &d, &[101, 0], Some(1)), Some(0));
    assert_eq!(ask("cost-difference(0)", &d, &[1, 0], Some(1)), Some(0));
    assert_eq!(ask("cost-difference", &d, &[201, 0], None), Some(0), "unknown home: D = 201, mean less least");
    assert_eq!(ask("cost-difference", &d, &[200, 0], None), None);
    for bad in ["", "cost", "cost-difference(", "cost-difference(x)", "cost-difference(1001)", "uniform(1)"] {
        let error = Rule::parse(bad).err().expect(bad).to_string();
        assert!(error.contains("hop-sensitive") && !error.contains('\n'), "{error}");
    }
}

/// The equations again, in floating point and without shared code.
fn slow(rule: &str, l: &[Vec<f64>], r: &[f64]) -> Vec<usize> {
    let n = r.len();
    let score = |k: usize| match rule {
        "uniform" | "filtered-variance" | "filtered-pairwise" => -r[k],
        _ => (0..n).map(|from| r[from] * l[from][k]).sum::<f64>(),
    };
    let best = (0..n).map(score).fold(f64::INFINITY, f64::min);
    let winners: Vec<usize> = (0..n).filter(|k| score(*k) == best).collect();
    let a = winners[0];
    let lead: f64 = (0..n).map(|k| (r[a] - r[k]).powi(2)).sum::<f64>() / n as f64;
    let keep = match rule {
        "filtered-variance" => lead * n as f64 + 1e-9 >= 4.0 * (n - 1) as f64,
        "filtered-pairwise" => (0..n).all(|k| k == a || r[a] >= r[k] + 2.0),
        "cost-difference" => {
            let mean = (0..n).map(score).sum::<f64>() / n as f64;
            (mean - best) > 200.0 + 1e-9
        }
        _ => true,
    };
    if keep { winners } else { Vec::new() }
}

#[test]
fn every_rule_of_the_registry_obeys_its_equation() {
    let mut rng = Rng::new(7);
    for case in 0..common::cases(20) {
        let n = 2 + rng.below(6) as usize;
        let rows: Vec<Vec<Cost>> = (0..n).map(|_| (0..n).map(|_| Cost(1 + rng.below(9) as i64)).collect()).collect();
        let slow_rows: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|c| c.0 as f64).collect()).collect();
        let limit = [2, 5, 100][rng.below(3) as usize];
        let r: Vec<u64> = (0..n).map(|_| rng.below(limit)).collect();
        let d = Distances::from_rows(&rows).expect("square");
        for spec in ALL {
            let got = ask(spec.name, &d, &r, None);
            let slow_r: Vec<f64> = r.iter().map(|n| *n as f64).collect();
            let wanted = if r.iter().all(|n| *n == 0) { Vec::new() } else { slow(spec.name, &slow_rows, &slow_r) };
            match got {
                Some(k) => assert!(wanted.contains(&usize::from(k)), "{case} {}: {k} not in {wanted:?}", spec.name),
                None => assert!(wanted.is_empty(), "{case} {}: {wanted:?} {r:?}", spec.name),
            }
        }
    }
}

/// What every member must satisfy, whatever it minimises.
#[test]
fn every_rule_of_the_registry_conforms() {
    let mut rng = Rng::new(9);
    for spec in ALL {
        let rule = Rule::parse(spec.name).expect("its own name");
        assert_eq!(Rule::parse(&rule.to_string()).expect("its own words").values, rule.values);
        assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'));
        for _ in 0..common::cases(100) {
            let n = 1 + rng.below(8) as usize;
            let mut m = common::random_matrix_machine(&mut rng, n);
            m.cost.remote_access = true;
            let d = Distances::of(&m);
            let uses: Vec<ClassCounts> = (0..n).map(|_| [rng.below(20), rng.below(4), rng.below(3)]).collect();
            let home = rng.chance(1, 2).then(|| NodeId(rng.below(n as u64) as u16));
            let question = Question { distances: &d, uses: &uses, home, terms: Terms { move_cost: Cost(5), scale: 3 } };
            let (got, price) = (rule.decide(&question), rule.price(&question));
            assert_eq!(price.len(), n);
            if let Some(k) = got {
                let least = price.iter().min().expect("a price");
                assert_eq!(price[k.index()], *least, "{}: what it chooses is what it calls cheapest", spec.name);
                let staying = home.is_some_and(|h| price[h.index()] == *least);
                assert!(!staying || got == home, "{}: nothing moves for nothing", spec.name);
            }
            let nothing = Question { uses: &vec![[0; 3]; n], ..question };
            assert_eq!(rule.decide(&nothing), None);
        }
    }
}
