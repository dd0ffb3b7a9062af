//! Sampling an exact recording: the truth is known, so the estimates can be held against it.
use homenode_base::Rng;
use homenode_synthetic::random;
use homenode_thin::{Method, Thin, Thinner, thin_dataset};
use homenode_trace::check::check;
use homenode_trace::order::{Order, OrderKind, Stream, rest};
use homenode_trace::{DatasetReader, Merged, Op, SampleUnit};
use std::collections::{BTreeMap, BTreeSet};

/// Raises the number of cases in the slow tier.
fn cases(default: u64, slow: u64) -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { slow } else { default }
}

/// Thread, and what it read or wrote and where; events do nothing anywhere.
fn entries(stream: &mut dyn Stream) -> Vec<(u32, Option<(Op, u64)>)> {
    let mut entries = Vec::new();
    while let Some(piece) = stream.pull().expect("ordered") {
        entries.extend(piece.refs.iter().map(|r| (r.thread, Some((r.op, r.addr)))));
        entries.extend(piece.event.map(|(event, _)| (event.thread, None)));
    }
    entries
}

fn order(data: &DatasetReader) -> Order<'_> {
    Order::new(data, OrderKind::Model).expect("ordered")
}

fn rows(data: &DatasetReader) -> Vec<Merged> {
    rest(&mut order(data)).expect("ordered")
}

fn thinned(data: &DatasetReader, thin: Thin) -> Vec<Merged> {
    rest(&mut Thinner::new(thin, data.manifest(), order(data))).expect("ordered")
}

const METHODS: [Method; 6] = [
    Method::Independent { period: 10 },
    Method::Fixed { period: 7 },
    Method::RandomPeriod { period: 5 },
    Method::Bursts { period: 10, length: 16 },
    Method::Independent { period: 1 },
    Method::FirstTouchers { window_refs: 50, page_bytes: 128 },
];

#[test]
fn the_sampled_dataset_is_what_the_adaptor_gives() {
    for (seed, method) in (0..cases(30, 500)).flat_map(|s| METHODS.map(|m| (s, m))) {
        // Too short for anything to be taken in turns: a sampled recording has its stamps for that.
        let exact = random(seed, 4, 100).open().expect("valid");
        let thin = Thin::new(method, seed);
        let sampled =
            DatasetReader::open(thin_dataset(&exact, OrderKind::Model, &thin).expect("ordered")).expect("valid");
        assert_eq!(check(&sampled).problems, [], "{method:?}");
        assert_eq!(sampled.manifest().sampling.as_ref().map(|s| s.sees_writes), Some(true));
        // The same references with the same weights in the same order, and all events between the same of them.
        let as_row = |r: &Merged| (r.addr, r.size, r.op, r.thread, r.weight, r.site);
        let adapted = thinned(&exact, thin);
        assert!(adapted.iter().map(as_row).eq(rows(&sampled).iter().map(as_row)), "{method:?} {seed}");
        let thinned = entries(&mut Thinner::new(thin, exact.manifest(), order(&exact)));
        assert_eq!(thinned, entries(&mut order(&sampled)), "{method:?} {seed}");
    }
}

/// Over many seeds the mean weight of every thread's part of every line comes near the truth: within 5 standard errors,
/// which the draws themselves give.
#[test]
fn weights_are_unbiased() {
    let exact = random(77, 3, 4_000).open().expect("valid");
    let group = |r: &Merged| (r.thread, r.addr / 64, r.op == Op::Write);
    let mut truth: BTreeMap<_, f64> = BTreeMap::new();
    rows(&exact).iter().filter(|r| r.op != Op::Spin).for_each(|r| *truth.entry(group(r)).or_default() += 1.0);
    let draws = cases(400, 5_000);
    for method in &METHODS[..5] {
        let mut sums: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        for seed in 0..draws {
            let mut one: BTreeMap<_, f64> = BTreeMap::new();
            let kept = thinned(&exact, Thin::new(*method, Rng::new(seed).next_u64()));
            kept.iter().for_each(|r| *one.entry(group(r)).or_default() += f64::from(r.weight));
            for (g, w) in one {
                let s = sums.entry(g).or_default();
                *s = (s.0 + w, s.1 + w * w);
            }
        }
        let n = draws as f64;
        for (g, true_count) in &truth {
            let (sum, squares) = sums.get(g).copied().unwrap_or_default();
            let (mean, error) = (sum / n, ((squares / n - (sum / n).powi(2)).max(0.0) / n).sqrt());
            assert!((mean - true_count).abs() <= 5.0 * error + 1e-9, "{method:?} {g:?}: {mean} for {true_count}");
        }
    }
}

#[test]
fn each_method_draws_as_it_says() {
    let mut b = homenode_synthetic::Builder::new(1);
    (0..10_000).for_each(|i| {
        b.read(0, 8 * i);
    });
    let exact = b.open().expect("valid");
    for seed in 0..50 {
        let at = |method| thinned(&exact, Thin::new(method, seed)).iter().map(|r| r.addr / 8).collect::<Vec<_>>();
        let gaps = |v: &[u64]| v.windows(2).map(|w| w[1] - w[0]).collect::<BTreeSet<_>>();
        let fixed = at(Method::Fixed { period: 7 });
        assert!(fixed[0] < 7 && gaps(&fixed) == BTreeSet::from([7]));
        let random = at(Method::RandomPeriod { period: 5 });
        assert!(random[0] < 9 && gaps(&random) == (1..=9).collect());
        let bursts = at(Method::Bursts { period: 10, length: 16 });
        let starts: Vec<u64> = bursts.chunks(16).map(|c| c[0]).collect();
        assert!(bursts.chunks(16).all(|c| gaps(c) == BTreeSet::from([1])));
        assert!(starts.iter().enumerate().all(|(i, s)| s / 160 == i as u64 && s % 16 == 0));
        assert_eq!(at(Method::Independent { period: 1 }).len(), 10_000);
    }
}

/// By brute force from the definition.
#[test]
fn windows_show_the_first_toucher_of_each_page_of_each_process() {
    let mut b = random(9, 4, 2_000);
    let second = b.process();
    b.manifest().threads[3].process = second;
    let exact = b.open().expect("valid");
    let seen: Vec<Merged> = rows(&exact).into_iter().filter(|r| r.op != Op::Spin).collect();
    let mut want = Vec::new();
    for window in seen.chunks(100) {
        let page = |r: &Merged| (r.thread == 3, r.addr / 128);
        want.extend(
            window.iter().enumerate().filter(|(i, r)| window[..*i].iter().all(|x| page(x) != page(r))).map(|p| *p.1),
        );
    }
    let thin = Thin::new(Method::FirstTouchers { window_refs: 100, page_bytes: 128 }, 0);
    assert_eq!(thinned(&exact, thin), want);
    assert_eq!(thin.sampling().unit, SampleUnit::Window);
}

#[test]
fn loads_only_sees_no_store_and_counts_none() {
    let exact = random(4, 2, 3_000).open().expect("valid");
    let thin = Thin { loads_only: true, ..Thin::new(Method::Independent { period: 1 }, 3) };
    let reads = rows(&exact).into_iter().filter(|r| matches!(r.op, Op::Read | Op::Atomic)).collect::<Vec<_>>();
    assert_eq!(thinned(&exact, thin), reads);
    assert!(!thin.sampling().sees_writes);
}

#[test]
fn a_sample_of_a_sample_weighs_both_periods() {
    let exact = random(6, 2, 3_000).open().expect("valid");
    let once = Thin::new(Method::Fixed { period: 3 }, 1);
    let sampled = DatasetReader::open(thin_dataset(&exact, OrderKind::Model, &once).expect("ordered")).expect("valid");
    let twice = thinned(&sampled, Thin::new(Method::Fixed { period: 5 }, 2));
    assert!(!twice.is_empty() && twice.iter().all(|r| r.weight == 15));
}
