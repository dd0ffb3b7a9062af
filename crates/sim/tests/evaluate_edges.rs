//! Evaluations at the edges: nothing recorded, many threads, hostile references, odd machines.
mod common;
use common::{cached, objects::Arrays, plain};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Machine, models};
use homenode_placement::policies::{ALL, Choice};
use homenode_sim::{
    EvalContext, EvalOptions, Evaluation, NoObjects, Objects, ReplayOptions, Setup, SimError, ThreadBinding, evaluate,
};
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

fn bindings(machine: &Machine, threads: usize) -> Vec<ThreadBinding> {
    let cpus: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    (0..threads)
        .map(|t| ThreadBinding {
            cpu: (t % cpus.len()) as u16,
            node: NodeId(cpus[t % cpus.len()]),
            space: t as u32 % 3,
        })
        .collect()
}

fn run(
    machine: &Machine,
    threads: usize,
    refs: &[Merged],
    objects: &mut dyn Objects,
    options: ReplayOptions,
) -> Result<Evaluation, SimError> {
    let bindings = bindings(machine, threads);
    let all: Vec<Choice> = ALL.iter().map(|s| s.choose(&[]).unwrap()).collect();
    let usable: Vec<Choice> = all.into_iter().filter(|c| c.engine(machine, 4096).is_ok()).collect();
    let setup = Setup { machine, bindings: &bindings, block_bytes: 4096, options, waits: &[] };
    let context =
        EvalContext { setup, policies: &usable, options: EvalOptions::default(), workers: &homenode_sim::Alone };
    evaluate(&mut Listed::new(refs), objects, &context)
}

fn machines() -> Vec<Machine> {
    let registry = models::ALL.iter().map(|s| s.build()).filter(|m| m.cost.remote_access);
    registry.chain([cached(&[3, 0, 70], (2, 2), (5, 3)), plain(&[1])]).collect()
}

/// What must hold of every evaluation on a machine with remote accesses.
fn assert_sums(e: &Evaluation) {
    let base = e.policies.iter().find(|p| p.name == "first-touch").unwrap();
    for p in &e.policies {
        assert_eq!(p.local + p.remote + p.global + p.movement + p.transfer, p.total, "{} {}", e.machine, p.name);
    }
    let sums = [
        e.patterns.iter().map(|p| p.cost).sum::<TotalCost>(),
        e.objects.iter().map(|o| o.cost).sum(),
        e.lines.iter().map(|l| l.cost).sum(),
    ];
    assert_eq!(sums, [base.total; 3], "{}", e.machine);
    assert_eq!(e.patterns.len(), 6);
}

#[test]
fn nothing_recorded() {
    for machine in machines() {
        let e = run(&machine, 0, &[], &mut NoObjects, ReplayOptions::default()).unwrap();
        assert_sums(&e);
        assert_eq!((e.totals.refs, e.blocks, e.threads.len(), e.findings.len()), (0, 0, 0, 0));
        assert!(e.policies.iter().all(|p| p.total == TotalCost::ZERO && p.ratio == 1.0));
    }
}

#[test]
fn a_thousand_threads() {
    for machine in machines() {
        let one = |i: u64| {
            let op = if i.is_multiple_of(7) { Op::Write } else { Op::Read };
            Merged {
                addr: i % 1000 / 4 * 96,
                size: 16,
                site: i as u32 % 40,
                weight: 1,
                thread: (i % 1000) as u32,
                op,
                ..Merged::default()
            }
        };
        let refs: Vec<Merged> = (0..20_000).map(one).collect();
        let e = run(&machine, 1000, &refs, &mut NoObjects, ReplayOptions::default()).unwrap();
        assert_sums(&e);
        assert_eq!((e.threads.len(), e.totals.refs), (1000, 20_000));
    }
}

#[test]
fn hostile_references() {
    let mut rng = Rng::new(3);
    let ends = [0, 1, u64::MAX, u64::MAX - 1, 1 << 47, 1 << 63, (1 << 47) - 1, 4095, u64::MAX - 4096];
    let one = |rng: &mut Rng| Merged {
        weight: 1,
        addr: ends[rng.below(9) as usize].wrapping_add(rng.below(3)),
        size: [0, 1, 8, 64, 4096, 70_000][rng.below(6) as usize],
        site: if rng.chance(1, 5) { u32::MAX } else { rng.below(4) as u32 },
        thread: [0, 1, 2, 3, 4, u32::MAX][rng.below(6) as usize],
        op: Op::ALL[rng.below(4) as usize],
        ..Merged::default()
    };
    let refs: Vec<Merged> = (0..600).map(|_| one(&mut rng)).collect();
    for machine in machines() {
        for charge_spins in [false, true] {
            let options = ReplayOptions { charge_spins, ..ReplayOptions::default() };
            let mut arrays = Arrays(vec![("low", 0, 4096), ("high", 1 << 47, 1 << 20)]);
            let e = run(&machine, 4, &refs, &mut arrays, options).unwrap();
            assert_sums(&e);
            assert!(e.evidence.gaps.iter().any(|g| g.sentence.contains("does not list")), "{:?}", e.evidence);
        }
    }
}

#[test]
fn charged_spins_are_charged_and_others_priced() {
    let machine = plain(&[1, 1]);
    let spin = |thread| Merged { addr: 64, size: 4, site: 0, weight: 1, thread, op: Op::Spin, ..Merged::default() };
    let touch = Merged { op: Op::Write, ..spin(0) };
    let refs: Vec<Merged> = std::iter::once(touch).chain((0..100).map(|_| spin(3))).collect();
    // Threads 0 and 3 share address space 0 and sit on nodes 0 and 1.
    let left_out = run(&machine, 4, &refs, &mut NoObjects, ReplayOptions::default()).unwrap();
    let options = ReplayOptions { charge_spins: true, ..ReplayOptions::default() };
    let charged = run(&machine, 4, &refs, &mut NoObjects, options).unwrap();
    let total = |e: &Evaluation| e.policies[0].total.0;
    assert_eq!((total(&left_out), left_out.totals.spin_cost.0, left_out.totals.spins), (11, 100 * 50, 100));
    assert_eq!(total(&charged), 11 + 100 * 50);
    assert_sums(&charged);
}

#[test]
fn machines_without_remote_accesses_have_no_first_touch_and_say_so() {
    let mut machine = plain(&[1, 1]);
    machine.cost.remote_access = false;
    let refs: Vec<Merged> = (0..100)
        .map(|i| Merged {
            addr: 64,
            size: 4,
            site: 0,
            weight: 1,
            thread: i % 2 * 3,
            op: Op::Write,
            ..Merged::default()
        })
        .collect();
    let e = run(&machine, 4, &refs, &mut NoObjects, ReplayOptions::default()).unwrap();
    assert!(e.policies.iter().all(|p| p.name != "first-touch"));
    assert!(e.findings.is_empty() && !e.warnings.is_empty());
    let copy = i128::from(machine.copy_cost(4096, machine_node(0), machine_node(1)).0);
    assert_eq!(e.optimum[0].total.0, 100 * 11 + 99 * copy, "every write by the other node moves the block");
}

fn machine_node(n: u16) -> homenode_machine::Location {
    homenode_machine::Location::Node(NodeId(n))
}
