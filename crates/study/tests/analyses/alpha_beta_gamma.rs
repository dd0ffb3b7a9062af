//! Equations 3.1 to 3.5 against the printed and the recomputed tables, and against counts of a trace.
use crate::common::{ask, bindings, cases, csv, number, question, random_refs};
use homenode_base::Rng;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::NoObjects;
use homenode_study::analyses::{Costs, Input, Model, Overhead, Spec, Times, misprints};
use homenode_table::Cell;
use homenode_trace::order::Listed;

fn times(row: &[String]) -> Times {
    Times { global: number(&row[1]), numa: number(&row[2]), local: number(&row[3]) }
}

#[test]
fn recomputed_table_3_1_is_reproduced_row_by_row() {
    let (printed, recomputed) = (csv("table_3_1"), csv("check_table_3_1"));
    assert_eq!((printed.len(), recomputed.len()), (11, 11));
    for (p, r) in printed.iter().zip(&recomputed) {
        assert_eq!(p[0], r[0]);
        let close = |a: f64, b: f64| (a - b).abs() <= 0.5e-4 + 1e-12;
        let ratio = number(&r[1]);
        let got = times(p).solve(ratio).unwrap();
        assert!(close(got.alpha.unwrap(), number(&r[3])), "alpha of {}", p[0]);
        assert!(close(got.beta, number(&r[5])) && close(got.gamma, number(&r[10])), "{}: {got:?}", p[0]);
        for (g_over_l, cell) in [(2.0, 6), (2.3, 7), (1.7, 8)] {
            assert!(close(times(p).solve(g_over_l).unwrap().beta, number(&r[cell])), "{} with {g_over_l}", p[0]);
        }
        assert!((got.gamma_from_shares(ratio).unwrap() - got.gamma).abs() < 1e-12, "3.2 agrees with 3.1");
    }
}

/// Ten columns agree as printed; beta of two rows does not follow from the times of its own row.
#[test]
fn two_betas_are_misprints_and_nothing_else_is() {
    let mut found = Vec::new();
    for p in csv("table_3_1") {
        let computed = times(&p).solve(number(&p[7])).unwrap();
        let wrong = misprints([&p[4], &p[5], &p[6]], &computed);
        found.extend(wrong.into_iter().map(|what| (p[0].clone(), what)));
    }
    assert_eq!(found, [("matmult".to_owned(), "beta"), ("e-fft".to_owned(), "beta")]);
    let computed = Model { alpha: None, beta: 0.5, gamma: 1.049 };
    assert_eq!(misprints(["", ".50", "1.0"], &computed), Vec::<&str>::new());
    assert_eq!(misprints(["", ".51", "1.04"], &computed), ["beta", "gamma"]);
}

#[test]
fn overhead_shares_are_those_of_table_3_2_but_for_its_wrong_divisor() {
    let rows = csv("table_3_2");
    for r in &rows {
        let o = Overhead { system_numa: number(&r[1]), system_global: number(&r[2]), numa: number(&r[4]) };
        match o.share() {
            None => assert_eq!((r[0].as_str(), r[3].as_str()), ("Primes1", ""), "less system time under the policy"),
            Some(share) => assert!((100.0 * share - number(&r[5])).abs() <= 0.1, "{}: {share}", r[0]),
        }
    }
    // The first row divides by T_global of table 3.1; by T_numa the share is 4.8 %.
    let right = Overhead { system_numa: 4.5, system_global: 1.2, numa: 69.0 }.share().unwrap();
    assert_eq!((100.0 * right * 10.0).round() / 10.0, 4.8);
}

#[test]
fn times_out_of_range_are_refused_and_equal_times_have_no_alpha() {
    let good = Times { global: 2.0, numa: 1.5, local: 1.0 };
    assert_eq!(good.solve(2.0).unwrap(), Model { alpha: Some(0.5), beta: 1.0, gamma: 1.5 });
    for ratio in [1.0, 0.0, f64::NAN, f64::INFINITY] {
        assert!(good.solve(ratio).unwrap_err().to_string().contains("G/L"));
    }
    for local in [0.0, -1.0, f64::NAN] {
        assert!(Times { local, ..good }.solve(2.0).is_err());
    }
    assert_eq!(Times { global: 1.0, numa: 1.0, local: 1.0 }.solve(2.0).unwrap().alpha, None);
}

/// From a trace: beta is the share of references to written blocks, alpha the share of these that the policy serves
/// locally, counted one by one.
#[test]
fn shares_from_a_trace_are_those_that_counting_gives() {
    for seed in 0..cases(20, 300) {
        let mut rng = Rng::new(seed);
        let mut refs = random_refs(&mut rng, 4, 16 * 1024, 3000);
        // Some blocks are only read.
        refs.iter_mut().filter(|r| r.addr / 4096 % 3 == 0).for_each(|r| r.op = homenode_trace::Op::Read);
        let mut q = question(models::find("ace").unwrap(), &bindings(4), &[4096]);
        q.policies = vec![Choice::parse("ace").unwrap(), Choice::parse("global").unwrap()];
        let mut source = Listed::new(&refs);
        let mut input =
            Input { source: &mut source, question: &q, ask: &ask, objects: &|| Box::new(NoObjects), seed, repeats: 1 };
        let tables = Spec::find("alpha-beta-gamma").unwrap().run(&mut input).unwrap();
        let written = |block: u64| refs.iter().any(|r| r.addr / 4096 == block && r.op.writes());
        let writable = refs.iter().filter(|r| written(r.addr / 4096)).count();
        let answer = homenode_study::plain::answer(&q, &refs).unwrap();
        for (row, cells) in answer.rows.iter().zip(tables[0].rows()) {
            let Cell::Real(beta) = cells[7] else { panic!("{cells:?}") };
            assert!((beta - writable as f64 / 3000.0).abs() < 1e-9);
            let (Cell::Real(alpha), Cell::Real(gamma)) = (&cells[6], &cells[8]) else { panic!("{cells:?}") };
            let parts = row.parts.unwrap();
            let global = parts.global.0 as f64 / 2.0;
            let read_only_global = if cells[2] == Cell::from("global") { 3000.0 - writable as f64 } else { 0.0 };
            if read_only_global == 0.0 {
                assert!((alpha - (1.0 - global / writable as f64)).abs() < 1e-9, "seed {seed}: {alpha}");
            }
            assert!((gamma - (parts.local + parts.global).0 as f64 / 3000.0).abs() < 1e-9);
        }
        let costs = Costs { words: 3000, writable: writable as u64 };
        assert_eq!(costs.times(&answer.rows[0].parts.unwrap(), 1, 2).global, (3000 + writable) as f64);
    }
}

/// Share of loads among references, percent, from table 2.1, of the programs of table 3.1 that are traced too.
const LOADS: [(&str, f64); 6] =
    [("matmult", 97.0), ("e-fft", 51.0), ("gauss", 83.0), ("e-nasa", 68.0), ("e-hyd", 77.0), ("plytrace", 66.0)];
/// Times of a local load and store, microseconds (section 3.1.1).
const LOCAL_US: [f64; 2] = [0.65, 0.84];
/// Processors of tables 3.1 and 3.2.
const TABLE_PROCESSORS: f64 = 7.0;

/// The clock of PLATINUM: references to writable data in a second, of all processors, as equation 3.2 has them.
#[test]
fn the_printed_times_imply_five_million_references_a_second() {
    let printed = csv("table_3_1");
    let rates = LOADS.map(|(name, loads)| {
        let row = printed.iter().find(|r| r[0] == name).expect("a row of table 3.1");
        let model = times(row).solve(number(&row[7])).unwrap();
        let reference_us = (loads * LOCAL_US[0] + (100.0 - loads) * LOCAL_US[1]) / 100.0;
        TABLE_PROCESSORS * model.beta / model.gamma / reference_us
    });
    let rounded = rates.map(|r| (10.0 * r).round() / 10.0);
    assert_eq!(rounded, [1.7, 5.2, 5.6, 5.5, 5.0, 4.8], "million a second");
    let mut sorted = rates;
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[2] + sorted[3]) / 2.0;
    let default = f64::from(homenode_placement::policies::REFERENCES_PER_SECOND) / 1e6;
    assert!((median / default - 1.0).abs() < 0.05, "{median} million");
    // The trace of gauss has 270 million references (table 2.1); on 7 processors it took a seventh of its user time.
    let gauss = printed.iter().find(|r| r[0] == "gauss").expect("a row of table 3.1");
    assert_eq!((10.0 * 270.0 * TABLE_PROCESSORS / times(gauss).numa).round() / 10.0, 4.5);
}
