//! Blocks of different colours replayed apart: whoever works at the same time, the evaluation is that of one replay, to the last digit.
mod common;
use common::objects::Arrays;
use homenode_analysis::{ObjectName, SiteName};
use homenode_base::NodeId;
use homenode_machine::Machine;
use homenode_placement::policies::{self, Choice};
use homenode_sim::{EvalContext, EvalOptions, Job, ObjectRange, Objects, Setup, ThreadBinding, Workers, evaluate};
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::order::Listed;
use homenode_trace::{Event, Merged, Op};
use proptest::prelude::*;

/// Jobs one after the other, the last first, before or after what is done here.
struct Backwards(usize);

impl Workers for Backwards {
    fn count(&self) -> usize {
        self.0
    }
    fn run(&self, here: &mut dyn FnMut(), jobs: &mut [Job<'_>]) {
        let odd = self.0 % 2 == 1;
        if odd {
            here();
        }
        jobs.iter_mut().rev().for_each(|job| job());
        if !odd {
            here();
        }
    }
}

/// Objects of which there is only one: they are not replayed apart.
struct Single(Arrays);

impl Objects for Single {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
    fn at(&mut self, space: u32, addr: u64) -> ObjectRange {
        self.0.at(space, addr)
    }
    fn object(&self, object: u32) -> ObjectName {
        self.0.object(object)
    }
    fn extent(&self, object: u32, space: u32, addr: u64) -> Option<(u64, u64)> {
        self.0.extent(object, space, addr)
    }
    fn site(&self, site: u32) -> SiteName {
        self.0.site(site)
    }
}

const BASE: u64 = 0x10_0000_0000;
const BYTES: u64 = 1 << 18;
const APART: u64 = 1 << 20;

/// A program of few threads on two arrays, with locks; addresses are near each other and across borders of lines and blocks.
fn program() -> impl Strategy<Value = Vec<(u32, u8, u64, u32)>> {
    let near = (0..64u64, 0..4096u64).prop_map(|(block, at)| block * 4096 + at);
    let hot = (0..8u64).prop_map(|at| at * 8);
    let size = prop_oneof![4 => Just(8u32), 2 => Just(4), 1 => 0..300u32, 1 => 4096..20_000u32];
    prop::collection::vec((0..6u32, 0..8u8, prop_oneof![3 => near, 2 => hot], size), 1..900)
}

/// References and what happens between them.
fn trace(steps: &[(u32, u8, u64, u32)]) -> (Vec<Merged>, Vec<(usize, Event)>) {
    let (mut refs, mut events) = (Vec::new(), Vec::new());
    for &(thread, kind, at, size) in steps {
        let op =
            [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Atomic, Op::Spin, Op::Atomic][usize::from(kind)];
        // In one array, whatever their length: beyond its end each block belongs to what lies there.
        let addr = BASE + at % BYTES + (at >> 12 & 1) * APART;
        if kind == 7 {
            let kind = EventKind::Acquire { object: addr, epoch: 0, seq: 0, sync: SyncKind::Mutex };
            events.push((refs.len(), Event { thread, at: 0, stamp: 0, kind }));
        }
        refs.push(Merged { addr, size, site: kind.into(), weight: 1, thread, op, ..Merged::default() });
    }
    (refs, events)
}

fn machines() -> impl Strategy<Value = Machine> {
    let cached = (4..9u32, 1..4u32, 5..10u32, 1..5u32, prop_oneof![Just(1u64), Just(3), Just(5)]).prop_map(
        |(private, ways, shared, more, odd)| common::cached(&[2, 1, 2], (1 << private, ways), (odd << shared, more)),
    );
    prop_oneof![1 => Just(common::plain(&[2, 1, 2])), 4 => cached]
}

fn evaluated(machine: &Machine, block_bytes: u64, steps: &[(u32, u8, u64, u32)], workers: Option<usize>) -> String {
    // Thread 5 has no binding.
    let bindings: Vec<ThreadBinding> = [0, 1, 2, 3, 4]
        .map(|cpu| ThreadBinding { cpu, node: NodeId([0, 0, 1, 2, 2][usize::from(cpu)]), space: 0 })
        .into();
    let setup = Setup::exact(machine, &bindings, block_bytes);
    let policies: Vec<Choice> = policies::reported(machine, block_bytes);
    let options = EvalOptions { finding_permille: 0, ..EvalOptions::default() };
    let arrays = Arrays(vec![("a", BASE, APART), ("b", BASE + APART, APART)]);
    let (refs, events) = trace(steps);
    let mut source = Listed::with_events(&refs, &events);
    let workers_of = Backwards(workers.unwrap_or(1));
    let context = EvalContext { setup, policies: &policies, options, workers: &workers_of };
    let evaluation = match workers {
        None => evaluate(&mut source, &mut Single(arrays), &context),
        Some(_) => evaluate(&mut source, &mut arrays.clone(), &context),
    };
    format!("{:#?}", evaluation.unwrap())
}

fn difference(a: &str, b: &str) -> String {
    a.lines()
        .zip(b.lines())
        .zip(1..)
        .find(|((a, b), _)| a != b)
        .map_or("lengths".into(), |((a, b), n)| format!("line {n}: {a} | {b}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if common::slow() { 3_000 } else { 150 }, ..ProptestConfig::default() })]
    #[test]
    fn who_works_changes_nothing(steps in program(), machine in machines(), block in prop_oneof![Just(128u64), Just(1024), Just(4096)]) {
        let whole = evaluated(&machine, block, &steps, None);
        for workers in [1, 2, 3, 8] {
            let apart = evaluated(&machine, block, &steps, Some(workers));
            prop_assert!(apart == whole, "{} workers: {}", workers, difference(&apart, &whole));
        }
    }
}

/// What changes would save is replayed in parts, too: arrays that one thread initialises and others use.
#[test]
fn findings_do_not_depend_on_who_works() {
    let line = |i: u64| i / 64 * 4096 + i % 64 * 64;
    let initialised = (0..2_048).map(|i| (0, 3, line(i), 8));
    let used = (0..3 * 2_048).map(|i| (1 + (i % 2_048 / 512) as u32, 0, line(i % 2_048), 8));
    let steps: Vec<_> = initialised.chain(used).collect();
    for machine in [common::plain(&[2, 1, 2]), common::cached(&[2, 1, 2], (1 << 6, 2), (1 << 8, 2))] {
        let whole = evaluated(&machine, 128, &steps, None);
        assert!(whole.contains("predicted_all: Some"), "{whole}");
        for workers in [1, 2, 3, 8] {
            let apart = evaluated(&machine, 128, &steps, Some(workers));
            assert!(apart == whole, "{workers} workers: {}", difference(&apart, &whole));
        }
    }
}
