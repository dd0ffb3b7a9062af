//! Evaluations priced again from their placements: everything agrees on every machine, and a figure that is off by one does not.
mod common;
use common::{cached, plain};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Machine, models};
use homenode_placement::Start;
use homenode_placement::policies::{ALL, Choice};
use homenode_sim::evaluation::MissTotals;
use homenode_sim::{
    EvalContext, EvalOptions, Evaluation, MissModel, NoObjects, ReplayOptions, Setup, ThreadBinding, Verified, Waits,
    evaluate, verify,
};
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

fn machines() -> Vec<Machine> {
    let registry = models::ALL.iter().map(|s| s.build());
    registry.chain([cached(&[3, 1, 2], (2, 2), (5, 3)), plain(&[1]), plain(&[2, 2])]).collect()
}

fn bindings(machine: &Machine, threads: u16) -> Vec<ThreadBinding> {
    let nodes: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    let binding = |t: u16| {
        let cpu = usize::from(t) * nodes.len() / usize::from(threads);
        ThreadBinding { cpu: cpu as u16, node: NodeId(nodes[cpu]), space: u32::from(t % 2) }
    };
    (0..threads).map(binding).collect()
}

/// Threads that mostly stay with some pages, and now and then go elsewhere; busy waiting, and references across lines and pages.
fn program(rng: &mut Rng, threads: u32, n: u64) -> Vec<Merged> {
    let one = |i: u64| {
        let thread = rng.below(threads.into()) as u32;
        let page = if rng.chance(1, 4) { rng.below(24) } else { u64::from(thread) * 3 + rng.below(3) };
        let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Atomic, Op::Spin][rng.below(6) as usize];
        let size = [1, 4, 8, 8, 64, 200][rng.below(6) as usize];
        Merged {
            addr: 4096 * page + rng.below(4096),
            size,
            thread,
            op,
            site: (i % 6) as u32,
            weight: 1,
            ..Merged::default()
        }
    };
    (0..n).map(one).collect()
}

fn policies(machine: &Machine, block_bytes: u64) -> Vec<Choice> {
    let given = ["ace(2)", "ace(4,1)", "delay(20)", "fixed(1)"].map(|text| Choice::parse(text).ok());
    let all = ALL.iter().map(|s| s.choose(&[]).ok()).chain(given);
    all.flatten().filter(|c| c.engine(machine, block_bytes).is_ok()).collect()
}

struct Case {
    machine: Machine,
    bindings: Vec<ThreadBinding>,
    refs: Vec<Merged>,
    policies: Vec<Choice>,
    block_bytes: u64,
    start: Start,
    model: MissModel,
}

/// By code location: each kind, again and again.
const WAITS: [Waits; 6] =
    [Waits::Independent, Waits::Dependent, Waits::Unknown, Waits::Independent, Waits::Dependent, Waits::Independent];

impl Case {
    fn new(machine: Machine, seed: u64, block_bytes: u64, start: Start) -> Case {
        let threads = 2 + (seed % 5) as u16;
        let refs = program(&mut Rng::new(seed), threads.into(), 3_000);
        let (bindings, policies) = (bindings(&machine, threads), policies(&machine, block_bytes));
        Case { machine, bindings, refs, policies, block_bytes, start, model: MissModel::Latency }
    }
    fn with<T>(&self, ask: impl FnOnce(&mut Listed<'_>, &EvalContext<'_>) -> T) -> T {
        let options = ReplayOptions { model: self.model, ..ReplayOptions::default() };
        let setup = Setup {
            machine: &self.machine,
            bindings: &self.bindings,
            block_bytes: self.block_bytes,
            options,
            waits: &WAITS,
        };
        let options = EvalOptions { start: self.start, ..EvalOptions::default() };
        ask(
            &mut Listed::new(&self.refs),
            &EvalContext { setup, policies: &self.policies, options, workers: &homenode_sim::Alone },
        )
    }
    fn evaluation(&self) -> Evaluation {
        self.with(|source, context| evaluate(source, &mut NoObjects, context).expect("an evaluation"))
    }
    fn verified(&self, evaluation: &Evaluation, memory_bytes: usize) -> Verified {
        self.with(|source, context| verify(source, context, evaluation, memory_bytes).expect("legal placements"))
    }
}

#[test]
fn placements_cost_what_was_said() {
    let (mut checked, mut left_out) = (0, 0);
    for (i, machine) in (0..).zip(machines()) {
        for (block_bytes, start) in [(4096, Start::FreeSet), (256, Start::FreeSingle)] {
            let case = Case::new(machine.clone(), i, block_bytes, start);
            let evaluation = case.evaluation();
            let verified = case.verified(&evaluation, 1 << 30);
            let wrong: Vec<_> = verified.wrong().collect();
            assert!(wrong.is_empty(), "{} {block_bytes}: {wrong:#?}", machine.name);
            assert_eq!(verified.rows.len(), evaluation.policies.len() + evaluation.optimum.len());
            assert!(verified.rows.iter().all(|r| r.checked.is_some() == r.note.is_empty()));
            assert_eq!((verified.blocks, verified.passes), (evaluation.blocks, 2));
            let of_threads: TotalCost = evaluation.threads.iter().map(|t| t.cost).sum();
            let first_touch = evaluation.policies.iter().find(|p| p.name == "first-touch").map(|p| p.total);
            assert!(first_touch.is_none_or(|total| of_threads == total), "{}: threads pay for all", machine.name);
            checked += verified.rows.iter().filter(|r| r.checked.is_some()).count();
            left_out += verified.rows.iter().filter(|r| r.checked.is_none()).count();
        }
    }
    assert!(checked > 10 * left_out && left_out > 0, "{checked} checked, {left_out} not");
}

/// What hits in last levels cost, of all objects and of all lines.
fn by_object(e: &Evaluation) -> TotalCost {
    e.objects.iter().filter_map(|o| o.hit_cost).sum()
}
fn by_line(e: &Evaluation) -> TotalCost {
    e.lines.iter().filter_map(|l| l.hit_cost).sum()
}

/// With misses by class the caches do the same, each total is at most what it was, and placements cost what is said.
#[test]
fn placements_cost_what_was_said_where_misses_have_classes() {
    let machine = models::find("two-socket").expect("in the registry");
    assert!(machine.sections.misses.is_some());
    let (mut classes, mut transfers) = (MissTotals::default(), 0);
    for (seed, block_bytes) in [(0, 4096), (1, 4096), (2, 256), (3, 1024)] {
        let whole = Case::new(machine.clone(), seed, block_bytes, Start::FreeSet);
        let by_class =
            Case { model: MissModel::Overlap, ..Case::new(machine.clone(), seed, block_bytes, Start::FreeSet) };
        let (latency, evaluation) = (whole.evaluation(), by_class.evaluation());
        let verified = by_class.verified(&evaluation, 1 << 30);
        assert_eq!(verified.wrong().count(), 0, "{:#?}", verified.wrong().collect::<Vec<_>>());
        assert!(verified.rows.iter().any(|r| r.checked.is_some()));
        let (hits, last) = (evaluation.totals.hits.expect("priced"), verified.rows.last().expect("rows"));
        assert_eq!((last.name.as_str(), last.checked), ("hits in last levels", Some(hits.cost)));
        let of_threads = evaluation.threads.iter().map(|t| t.hit_cost.expect("priced")).sum();
        assert_eq!(hits.cost, of_threads);
        assert_eq!([by_object(&evaluation), by_line(&evaluation)], [hits.cost; 2], "objects and lines share them");
        assert!(latency.objects.iter().all(|o| o.hit_cost.is_none()));
        assert!(latency.lines.iter().all(|l| l.hit_cost.is_none()));
        let free = Machine {
            sections: homenode_machine::Sections { hits: None, ..machine.sections.clone() },
            ..machine.clone()
        };
        let free =
            Case { model: MissModel::Overlap, ..Case::new(free, seed, block_bytes, Start::FreeSet) }.evaluation();
        let totals = |e: &Evaluation| {
            e.policies.iter().map(|p| p.total).chain(e.optimum.iter().map(|o| o.total)).collect::<Vec<_>>()
        };
        assert_eq!(
            (totals(&free), free.totals.hits),
            (totals(&evaluation), None),
            "no placement changes what hits cost"
        );
        let mut wrong = evaluation.clone();
        wrong.totals.hits = Some(homenode_sim::evaluation::HitTotals { cost: hits.cost + TotalCost(1), ..hits });
        assert_eq!(by_class.verified(&wrong, 1 << 30).wrong().count(), 1);
        assert_eq!(latency.totals.hits, None);
        let misses = evaluation.totals.misses.expect("counted");
        assert_eq!(latency.totals.misses, None);
        assert_eq!(evaluation.totals.transfers, latency.totals.transfers);
        let [now, then] = [&evaluation, &latency].map(|e| e.totals.transfer_cost);
        assert!(now < then || latency.totals.transfers == 0, "{seed}: {now:?} {then:?}");
        transfers += latency.totals.transfers;
        let (static_now, static_then) = (&evaluation.policies[0], &latency.policies[0]);
        assert_eq!(static_now.name, static_then.name);
        assert!(static_now.total < static_then.total, "{seed}: {:?} {:?}", static_now.total, static_then.total);
        let bound = |e: &Evaluation| e.optimum.iter().map(|o| o.total).collect::<Vec<_>>();
        assert!(bound(&evaluation).iter().zip(bound(&latency)).all(|(now, then)| *now <= then), "{seed}");
        classes.waited += misses.waited;
        classes.unknown += misses.unknown;
        classes.overlapped += misses.overlapped;
    }
    assert!(transfers > 0 && classes.waited > 0 && classes.unknown > 0 && classes.overlapped > 0, "{classes:?}");
}

#[test]
fn a_figure_that_is_off_by_one_is_found() {
    let case = Case::new(models::find("two-socket").expect("in the registry"), 3, 4096, Start::FreeSet);
    let sound = case.evaluation();
    let verified = case.verified(&sound, 1 << 30);
    for i in (0..verified.rows.len()).filter(|i| verified.rows[*i].checked.is_some()) {
        let mut wrong = sound.clone();
        match i.checked_sub(wrong.policies.len()) {
            None => wrong.policies[i].total += TotalCost(1),
            Some(bound) => wrong.optimum[bound].total += TotalCost(-1),
        }
        let found: Vec<String> = case.verified(&wrong, 1 << 30).wrong().map(|r| r.name.clone()).collect();
        assert_eq!(found, [verified.rows[i].name.clone()]);
    }
}

/// Little memory means more passes and nothing else.
#[test]
fn what_does_not_fit_is_read_again() {
    let case = Case::new(plain(&[2, 2]), 4, 256, Start::FreeSet);
    let evaluation = case.evaluation();
    let [roomy, tight] = [1 << 30, 4_000].map(|memory_bytes| case.verified(&evaluation, memory_bytes));
    assert!(tight.passes > 10 && roomy.passes == 2, "{} passes", tight.passes);
    assert_eq!(tight.rows, roomy.rows);
}
