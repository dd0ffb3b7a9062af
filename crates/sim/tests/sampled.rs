//! Samples: weights are repetitions, estimates are unbiased, intervals hold the truth, what cannot be known is not said.
mod common;
use common::{cached, objects::Arrays, plain, slow};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::Machine;
use homenode_placement::policies::{ALL, Choice};
use homenode_sim::evaluation::FindingKind;
use homenode_sim::{EvalContext, EvalOptions, Evaluation, ReplayOptions, Setup, ThreadBinding, evaluate};
use homenode_thin::{Method, Thin, Thinner};
use homenode_trace::manifest::{Manifest, Process, Thread};
use homenode_trace::order::{Listed, rest};
use homenode_trace::{Counting, DataSource, Merged, Op, SampleUnit};

const REFERENCES: Counting = Counting { unit: SampleUnit::Reference, sees_writes: true };
const MISSES: Counting = Counting { unit: SampleUnit::Miss, sees_writes: true };

fn run(machine: &Machine, refs: &[Merged], sampled: Option<Counting>, policies: &[&str]) -> Evaluation {
    let bindings: Vec<ThreadBinding> =
        (0..4).map(|t| ThreadBinding { cpu: t, node: NodeId(t / 2), space: 0 }).collect();
    let choices: Vec<Choice> = match policies {
        [] => ALL.iter().map(|s| s.choose(&[]).unwrap()).filter(|c| c.engine(machine, 4096).is_ok()).collect(),
        names => names.iter().map(|n| Choice::parse(n).unwrap()).collect(),
    };
    let options = ReplayOptions { sampled, ..ReplayOptions::default() };
    let setup = Setup { machine, bindings: &bindings, block_bytes: 4096, options, waits: &[] };
    let context =
        EvalContext { setup, policies: &choices, options: EvalOptions::default(), workers: &homenode_sim::Alone };
    evaluate(&mut Listed::new(refs), &mut arrays(), &context).unwrap()
}

fn arrays() -> Arrays {
    Arrays(vec![("grid", 0x10_0000, 32 * 4096), ("table", 0x20_0000, 8 * 4096), ("log", 0x30_0000, 4096)])
}

/// Thread 0 initialises everything; then each thread works on its part of the grid and all read the table.
fn program(rounds: u64) -> Vec<Merged> {
    let mut out = Vec::new();
    let mut go = |thread: u32, addr: u64, op: Op, site: u32| {
        out.push(Merged { addr, size: 8, site, weight: 1, thread, op, ..Merged::default() });
    };
    (0..41).for_each(|page| {
        let addr = if page < 32 { 0x10_0000 } else { 0x20_0000 - 32 * 4096 } + page * 4096;
        go(0, if page == 40 { 0x30_0000 } else { addr }, Op::Write, 1);
    });
    let mut rng = Rng::new(9);
    for i in 0..rounds {
        for t in 0..4u32 {
            let own = 0x10_0000 + u64::from(t) * 8 * 4096;
            go(t, own + i * 40 % (8 * 4096), Op::Read, 2);
            go(t, own + i * 40 % (8 * 4096), Op::Write, 3);
            go(t, 0x20_0000 + rng.below(4096) * 8, Op::Read, 4);
        }
        if i % 50 == 0 {
            go(3, 0x30_0000, Op::Write, 5);
        }
    }
    out
}

/// An access of weight w is w equal ones, for every policy, bound, table and count.
#[test]
fn weights_are_repetitions() {
    let mut rng = Rng::new(3);
    let machine = plain(&[2, 2]);
    let weighted: Vec<Merged> = program(60).iter().map(|r| Merged { weight: 1 + rng.below(5) as u32, ..*r }).collect();
    let once = |r: &Merged| std::iter::repeat_n(Merged { weight: 1, ..*r }, r.weight as usize);
    let repeated: Vec<Merged> = weighted.iter().flat_map(once).collect();
    let (a, b) = (run(&machine, &weighted, Some(REFERENCES), &[]), run(&machine, &repeated, Some(REFERENCES), &[]));
    let rows = |e: &Evaluation| {
        let bare = |o: &homenode_sim::evaluation::ObjectRow| {
            format!("{:?}", homenode_sim::evaluation::ObjectRow { share_interval: None, ..o.clone() })
        };
        let objects: Vec<String> = e.objects.iter().map(bare).collect();
        let rest = format!("{:?}", (&e.policies, &e.optimum, &e.lines, &e.patterns, &e.threads));
        let findings: Vec<_> = e.findings.iter().map(|f| (f.sentence.clone(), f.saving)).collect();
        (objects, rest, findings, e.totals.refs, e.totals.bytes, e.totals.memory_accesses, e.blocks)
    };
    assert_eq!(rows(&a), rows(&b));
    let cells = |e: &Evaluation| e.heat.rows.iter().flat_map(|r| r.cells.iter().flatten()).sum::<u64>();
    assert_eq!(cells(&a), repeated.len() as u64);
    assert_eq!(a.totals.sampled.as_ref().map(|s| (s.samples, s.weight)), Some((weighted.len() as u64, cells(&b))));
    // And samples of weight 1 cost what the exact recording costs on a machine without caches.
    let exact = run(&machine, &repeated, None, &[]);
    assert!(exact.policies.iter().zip(&b.policies).all(|(x, y)| x.total == y.total));
    assert!(exact.totals.sampled.is_none() && exact.spread.is_none());
    assert!(exact.objects.iter().all(|o| o.share_interval.is_none()));
}

fn thinned(refs: &[Merged], method: Method, seed: u64) -> Vec<Merged> {
    let threads = vec![Thread::default(); 4];
    let manifest = Manifest { threads, processes: vec![Process::default()], ..Manifest::default() };
    rest(&mut Thinner::new(Thin::new(method, seed), &manifest, Listed::new(refs))).unwrap()
}

const METHODS: [Method; 3] = [
    Method::Independent { period: 10 },
    Method::RandomPeriod { period: 10 },
    Method::Bursts { period: 10, length: 32 },
];

/// Where homes do not depend on who comes first, the estimate of the cost has the true cost as its mean.
#[test]
fn costs_are_estimated_without_bias() {
    let (machine, refs) = (plain(&[2, 2]), program(400));
    let cost = |refs: &[Merged], sampled| {
        let e = run(&machine, refs, sampled, &["interleave"]);
        e.policies.iter().find(|p| p.name.starts_with("interleave")).unwrap().total.as_f64()
    };
    let truth = cost(&refs, None);
    for method in METHODS {
        let draws: Vec<f64> = (0..100).map(|seed| cost(&thinned(&refs, method, seed), Some(REFERENCES))).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let error = (draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!((mean - truth).abs() < 4.0 * error, "{method:?}: {mean} for {truth}, error {error}");
    }
}

/// A full trace sampled many times: the 95 % interval of each object's share holds the truth in 90 to 99 % of the draws.
#[test]
fn intervals_hold_the_true_shares() {
    let (machine, refs) = (plain(&[2, 2]), program(800));
    let shares = |e: &Evaluation| {
        let all: TotalCost = e.objects.iter().map(|o| o.cost).sum();
        e.objects.iter().map(|o| (o.name.clone(), o.cost.ratio_to(all))).collect::<Vec<_>>()
    };
    // Homes are what the policy says in both, so that first touch does not differ: one node has all memory.
    let one_home: Vec<Merged> = (0..41).map(first).chain(refs.iter().skip(41).copied()).collect();
    let truth = shares(&run(&machine, &one_home, Some(REFERENCES), &["first-touch"]));
    for method in METHODS {
        let (draws, mut held, mut asked) = (if slow() { 2_000 } else { 150 }, 0u32, 0u32);
        for seed in 0..draws {
            let sample: Vec<Merged> = (0..41)
                .map(|p| Merged { weight: 1, ..first(p) })
                .chain(thinned(&one_home[41..], method, seed))
                .collect();
            let e = run(&machine, &sample, Some(REFERENCES), &["first-touch"]);
            for (name, share) in &truth {
                let row = e.objects.iter().find(|o| o.name == *name);
                let i = row.and_then(|o| o.share_interval).unwrap();
                held += u32::from((i.low..=i.high).contains(share));
                asked += 1;
            }
        }
        let percent = f64::from(held) * 100.0 / f64::from(asked);
        assert!((90.0..=99.0).contains(&percent), "{method:?}: {percent:.1} %");
    }
}

/// The first touch of one of the 41 pages, by thread 0.
fn first(page: u64) -> Merged {
    program(0)[page as usize]
}

#[test]
fn caches_are_not_simulated_and_lines_from_caches_not_charged() {
    let machine = cached(&[2, 2], (4, 2), (8, 2));
    let of = |source, weight, thread, op| Merged {
        addr: 0x20_0ff8,
        size: 64,
        weight,
        thread,
        op,
        source,
        ..Merged::default()
    };
    let refs = [
        of(DataSource::LocalMemory, 100, 0, Op::Read),
        of(DataSource::LocalMemory, 100, 0, Op::Read),
        of(DataSource::Cache, 1_000, 0, Op::Read),
        of(DataSource::RemoteModified, 7, 2, Op::Write),
        of(DataSource::RemoteMemory, 30, 2, Op::Write),
        of(DataSource::Unknown, 1, 3, Op::Read),
    ];
    let e = run(&machine, &refs, Some(MISSES), &["first-touch"]);
    // One access a sample, at its first byte: 200 near loads, 30 far stores, one far load.
    assert_eq!(e.policies[0].total, TotalCost(200 * 10 + 30 * 57 + 50));
    assert_eq!((e.totals.memory_accesses, e.totals.refs, e.totals.transfers, e.blocks), (231, 1_238, 0, 1));
    let sampled = e.totals.sampled.as_ref().unwrap();
    let rows: Vec<_> = sampled.sources.iter().map(|s| (s.source, s.samples, s.weight, s.charged)).collect();
    let want = [
        (DataSource::Unknown, 1, 1, true),
        (DataSource::Cache, 1, 1_000, false),
        (DataSource::LocalMemory, 2, 200, true),
        (DataSource::RemoteMemory, 1, 30, true),
        (DataSource::RemoteModified, 1, 7, false),
    ];
    assert_eq!((rows.as_slice(), sampled.samples, sampled.weight), (&want[..], 6, 1_238));
    assert_eq!(e.spread.map(|s| s.charged), Some(4));
}

#[test]
fn what_depends_on_order_or_words_is_not_claimed() {
    // Two threads of different nodes write two words of one line in turn: false sharing if it were exact.
    let mut refs = Vec::new();
    for i in 0..4_000u64 {
        let thread = (i % 2 * 2) as u32;
        let addr = 0x20_0000 + u64::from(thread) * 8;
        refs.push(Merged { addr, size: 8, weight: 1, thread, op: Op::Write, ..Merged::default() });
    }
    let machine = cached(&[2, 2], (4, 2), (8, 2));
    let exact = run(&machine, &refs, None, &["first-touch"]);
    assert!(!exact.false_sharing.is_empty() && exact.findings[0].kind == FindingKind::FalseSharing);
    let e = run(&machine, &refs, Some(REFERENCES), &["first-touch"]);
    assert!(e.false_sharing.is_empty() && e.findings.iter().all(|f| f.kind != FindingKind::FalseSharing));
    let bytes = |name: &str| e.patterns.iter().find(|p| p.pattern == name).map(|p| p.bytes);
    assert_eq!((bytes("falsely shared"), bytes("migratory")), (Some(0), Some(0)));
    let bounds: Vec<_> = e.optimum.iter().map(|o| (o.name.as_str(), o.exact)).collect();
    assert_eq!(bounds, [("best static", false)]);
    assert!(e.warnings.iter().any(|w| w.contains("no caches are simulated")));
}

/// A program whose grid lives at the wrong node: the finding is there, with an interval that holds what it would save.
#[test]
fn a_first_touch_finding_survives_sampling() {
    let (machine, refs) = (plain(&[2, 2]), program(800));
    let truth = run(&machine, &refs, None, &["first-touch"]).findings[0].clone();
    assert_eq!((truth.kind, truth.object.as_str()), (FindingKind::FirstTouch, "grid"));
    let sample: Vec<Merged> =
        (0..41).map(first).chain(thinned(&refs[41..], Method::Independent { period: 10 }, 5)).collect();
    let e = run(&machine, &sample, Some(REFERENCES), &["first-touch"]);
    let found = &e.findings[0];
    assert_eq!((found.kind, found.object.as_str()), (FindingKind::FirstTouch, "grid"));
    assert!(found.sentence.contains("first seen in use by thread 0"), "{}", found.sentence);
    let i = found.saving_interval.unwrap();
    assert!(i.low < i.high && (i.low..=i.high).contains(&truth.saving_share), "{i:?}, {}", truth.saving_share);
    assert!(truth.saving_interval.is_none());
}

/// Weights as large as they can be must not overflow any sum.
#[test]
fn hostile_weights_do_not_panic() {
    let mut refs = program(300);
    refs.iter_mut().for_each(|r| (r.weight, r.size) = (u32::MAX, 8 << (r.addr / 8 % 14)));
    for machine in [plain(&[2, 2]), cached(&[2, 2], (4, 2), (8, 2))] {
        for counting in [REFERENCES, MISSES] {
            let e = run(&machine, &refs, Some(counting), &[]);
            assert!(e.totals.refs == refs.len() as u64 * u64::from(u32::MAX));
        }
    }
}
