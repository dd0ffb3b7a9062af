//! Intervals: the exact bootstrap of few parts, closed forms, coverage of known truths; what is refused.
use crate::common::{Log, ask, bindings, cases, merged, question, replayed};
use homenode_base::Rng;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::NoObjects;
use homenode_study::analyses::{Bootstrap, Input, Judged, PARTS_MIN, judge, window_answers};
use homenode_study::{Want, What, plain};
use homenode_synthetic::{Builder, PROGRAMS, Scale};
use homenode_thin::{Method, Thin, Thinner};
use homenode_trace::order::{Listed, rest};
use homenode_trace::{Counting, Manifest, Merged, Op, SampleUnit};

const BOOTSTRAP: Bootstrap = Bootstrap { seed: 4, resamples: 2000 };

/// The mean of n parts: the bootstrap's standard error is the root of the sum of squared deviations, over n.
#[test]
fn interval_of_a_mean_is_that_of_its_standard_error() {
    for seed in 0..cases(20, 200) {
        let mut rng = Rng::new(seed);
        let xs: Vec<f64> = (0..200).map(|_| (rng.below(1000) + 1) as f64).collect();
        let parts: Vec<Vec<f64>> = xs.iter().map(|x| vec![*x, 1.0]).collect();
        let e = Bootstrap { seed, resamples: 4000 }.estimate(&parts, |s| s[0] / s[1]).unwrap();
        let mean = xs.iter().sum::<f64>() / 200.0;
        let se = xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt() / 200.0;
        assert!((e.value - mean).abs() < 1e-9 && e.parts == 200);
        for (end, z) in [(e.interval.low, -1.96), (e.interval.high, 1.96)] {
            assert!(
                ((end - mean) / se - z).abs() < 0.25,
                "seed {seed}: {} standard errors, not {z}",
                (end - mean) / se
            );
        }
    }
}

/// All ways of drawing eight parts with replacement, as counts with their multinomial probability: the exact bootstrap
/// distribution, of which the interval's ends must be quantiles.
#[test]
fn ends_are_quantiles_of_the_exact_bootstrap_distribution() {
    let costs = [3.0, 8.0, 1.0, 40.0, 9.0, 2.0, 14.0, 5.0];
    let parts: Vec<Vec<f64>> = costs.iter().zip(1..).map(|(c, n)| vec![*c, f64::from(n)]).collect();
    let mut distribution: Vec<(f64, f64)> = Vec::new();
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    fn draws(left: u32, at: usize, counts: &mut [u32; 8], each: &mut dyn FnMut(&[u32; 8])) {
        if at == 7 {
            counts[7] = left;
            return each(counts);
        }
        for n in 0..=left {
            counts[at] = n;
            draws(left - n, at + 1, counts, each);
        }
    }
    draws(8, 0, &mut [0; 8], &mut |counts| {
        let sums = |i: usize| counts.iter().zip(&parts).map(|(n, p)| f64::from(*n) * p[i]).sum::<f64>();
        let ways = factorial(8) / counts.iter().map(|n| factorial(*n)).product::<f64>();
        distribution.push((sums(0) / sums(1), ways / 8f64.powi(8)));
    });
    assert_eq!(distribution.len(), 6435);
    let below = |x: f64| distribution.iter().filter(|(v, _)| *v < x).map(|(_, p)| p).sum::<f64>();
    let at_most = |x: f64| distribution.iter().filter(|(v, _)| *v <= x).map(|(_, p)| p).sum::<f64>();
    let e = Bootstrap { seed: 9, resamples: 20_000 }.estimate(&parts, |s| s[0] / s[1]).unwrap();
    assert!(below(e.interval.low) < 0.029 && at_most(e.interval.low) > 0.021, "{}", at_most(e.interval.low));
    assert!(below(e.interval.high) < 0.979 && at_most(e.interval.high) > 0.971, "{}", below(e.interval.high));
}

#[test]
fn few_parts_empty_parts_and_nonsense_give_no_interval() {
    let part = vec![2.0, 1.0];
    let ratio = |s: &[f64]| s[0] / s[1];
    assert!(BOOTSTRAP.estimate(&vec![part.clone(); PARTS_MIN - 1], ratio).is_none());
    let mut with_zeros = vec![part.clone(); PARTS_MIN - 1];
    with_zeros.extend(vec![vec![0.0, 0.0]; 100]);
    assert!(BOOTSTRAP.estimate(&with_zeros, ratio).is_none(), "parts without samples say nothing");
    assert!(BOOTSTRAP.estimate(&[], ratio).is_none());
    assert!(BOOTSTRAP.estimate(&vec![part.clone(); 20], |s| s[0] / (s[1] - s[1])).is_none());
    let e = BOOTSTRAP.estimate(&vec![part; 20], ratio).unwrap();
    assert_eq!((e.value, e.interval.low, e.interval.high), (2.0, 2.0, 2.0));
}

/// A program on many pages of unequal use, of which every home is known.
fn program(seed: u64) -> Builder {
    let mut b = Builder::new(4);
    let mut rng = Rng::new(seed);
    b.spawn_all();
    for _ in 0..60_000 {
        let thread = rng.below(4) as u32;
        let page = rng.below(1 + rng.clone().below(80));
        let addr = 0x1000_0000 + page * 8192 + 4 * rng.below(64);
        let op = if rng.chance(1, 3) { Op::Write } else { Op::Read };
        b.access(thread, addr, 4, op, 0x40_1000);
    }
    b
}

fn sampled(log: &Log, manifest: &Manifest, seed: u64) -> Vec<Merged> {
    let thin = Thin::new(Method::Independent { period: 200 }, seed);
    rest(&mut Thinner::new(thin, manifest, replayed(log).listed())).unwrap()
}

/// 95 % intervals hold the truth of exact recordings about that often: by blocks and by windows.
#[test]
fn intervals_hold_the_truth_of_the_exact_recording() {
    let program = program(2);
    let log = merged(&program);
    let data = program.open().unwrap();
    let bindings = bindings(4);
    let mut exact = question(models::find("butterfly").unwrap(), &bindings, &[4096]);
    exact.policies = vec![Choice::parse("interleave").unwrap(), Choice::parse("fixed(1)").unwrap()];
    let mut q = exact.clone();
    q.options.sampled = Some(Counting { unit: SampleUnit::Reference, sees_writes: true });
    let truth = plain::answer(&exact, &log.refs()).unwrap();
    let (mut by_blocks, mut by_windows, mut all) = (0, 0, 0);
    for seed in 0..cases(60, 600) {
        let refs = sampled(&log, data.manifest(), seed);
        let mut source = Listed::new(&refs);
        let parts = ask(&q, &mut source).unwrap();
        let mut input = Input {
            source: &mut source,
            question: &q,
            ask: &ask,
            objects: &|| Box::new(NoObjects),
            seed,
            repeats: 200,
        };
        let windows = window_answers(&mut input, &q, 40).unwrap();
        let bootstrap = Bootstrap { seed, resamples: 400 };
        let judged = |parts| judge(&q, parts, bootstrap).unwrap();
        for ((row, b), (_, w)) in judged(&parts).into_iter().zip(judged(&windows)) {
            let true_row = truth.rows.iter().find(|r| r.what == row.what).unwrap();
            let value = true_row.cost.as_f64() / truth.accesses as f64;
            let holds =
                |j: &Judged| matches!(j, Judged::Known(e, _) if e.interval.low <= value && value <= e.interval.high);
            by_blocks += u64::from(holds(&b));
            by_windows += u64::from(holds(&w));
            all += 1;
        }
    }
    println!("held by blocks {by_blocks}, by windows {by_windows}, of {all}");
    assert!(by_blocks * 100 >= all * 90 && by_windows * 100 >= all * 90, "{by_blocks} {by_windows} of {all}");
    assert!(by_windows < all, "intervals that always hold say too little");
}

#[test]
fn what_samples_cannot_know_is_said() {
    let log = merged(&(PROGRAMS[3].build)(1, Scale { threads: 4, rounds: 40 }));
    let mut q = question(models::find("butterfly").unwrap(), &bindings(4), &[64, 4096]);
    q.policies = ["interleave", "first-touch", "migrate-on-write", "ace"].map(|p| Choice::parse(p).unwrap()).to_vec();
    (q.best_static, q.with_replication, q.without_replication) = (Want::Cost, Want::Cost, Want::Cost);
    let counting = Counting { unit: SampleUnit::Reference, sees_writes: false };
    q.options.sampled = Some(counting);
    // Many copies of the one part that the program touches: the parts only have to be many.
    let one = plain::answer(&q, &log.refs()).unwrap();
    let parts = vec![one.clone(); 10];
    for (row, judged) in judge(&q, &parts, BOOTSTRAP).unwrap() {
        let known = matches!(judged, Judged::Known(..));
        let expected = row.what.as_policy().map_or(row.what == What::BEST_STATIC, |p| p < 2);
        assert_eq!(known, expected, "{:?}: {judged:?}", row.what);
        if let Judged::Known(e, note) = judged {
            assert!(note.contains("stores were not seen"), "{note}");
            assert!((e.interval.low - e.value).abs() < 1e-12);
        }
    }
    for (_, judged) in judge(&q, &parts[..3], BOOTSTRAP).unwrap() {
        assert!(matches!(judged, Judged::Unknown(_)), "three parts are too few");
    }
}
