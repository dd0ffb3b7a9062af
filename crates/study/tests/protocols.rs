//! Protocols of page coherence: the folded engine against the plain one, bit for bit; and which references they are about.
mod common;

use common::{bindings, model, reference, same};
use homenode_base::Rng;
use homenode_coherence::Choice;
use homenode_machine::{Coherence, Machine};
use homenode_sim::Objects;
use homenode_sim::names::NameTable;
use homenode_study::{Question, SharedRefs, StudyError, Want, What, plain};
use homenode_synthetic::Builder;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::order::{Again, OrderKind, Source};
use homenode_trace::{Counting, Merged, Op, SampleUnit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// All of the registry, some with windows and counters short enough for short traces.
const PROTOCOLS: [&str; 14] = [
    "upt",
    "inv",
    "inv-freez",
    "upt-del",
    "inv-del",
    "inv-freez-del",
    "upt(1)",
    "upt-del(3,1)",
    "inv-freez(20,50)",
    "inv-freez(7,300)",
    "inv-del(2,0,1)",
    "inv-freez-del(2,15,60)",
    "inv-freez-del(1,40,33,0,0,1)",
    "inv-freez-del(5,9,20,1,1)",
];

fn choices(names: &[&str]) -> Vec<Choice> {
    names.iter().map(|name| Choice::parse(name).expect("a protocol")).collect()
}

fn machines() -> Vec<Machine> {
    let markatos = model("markatos");
    let mut cheap = markatos.clone();
    cheap.name = "cheap".into();
    cheap.sections.coherence =
        markatos.sections.coherence.clone().map(|c| Coherence { fault: c.local, word: c.local, ..c });
    // One without prices has no rows.
    vec![markatos, model("butterfly"), cheap]
}

fn question(rng: &mut Rng, threads: usize, blocks: Vec<u64>) -> Question {
    let spaces: Vec<u32> = (0..threads).map(|_| rng.below(2) as u32 * 7).collect();
    let machines = machines();
    let bindings = machines.iter().map(|m| bindings(rng, m, &spaces)).collect();
    let mut q = Question::new(machines, bindings, blocks);
    q.protocols = choices(&PROTOCOLS);
    q.counters = true;
    q.options.charge_spins = rng.chance(1, 2);
    q
}

/// Bursts of references of all sizes by some threads to a few pages, some of strangers, some spins.
fn traces(threads: u32) -> impl Strategy<Value = Vec<Merged>> {
    let writes = prop::sample::select(&[0_u8, 5, 30, 70][..]);
    let spread = prop::sample::select(&[64_u64, 3000, 1 << 17][..]);
    let size = prop::sample::select(&[1_u32, 4, 4, 8, 16, 100, 0][..]);
    let thread = prop_oneof![99 => 0..threads, 1 => Just(threads + 3)];
    let burst = (thread, any::<u64>(), 1..8_u64, 0..100_u8, size, 0..2_u64);
    (writes, spread, vec(burst, 1..500)).prop_map(|(writes, spread, bursts)| {
        let mut refs = Vec::new();
        for (thread, at, times, what, size, step) in bursts {
            let op = match what {
                0..4 => Op::Spin,
                4..8 => Op::Atomic,
                n if n < 8 + writes => Op::Write,
                _ => Op::Read,
            };
            let at = 0x7000_1000 + at % spread;
            refs.extend((0..times).map(|i| Merged { size, ..reference(thread, op, at + i * step * 4) }));
        }
        refs
    })
}

#[test]
fn random_traces() {
    let cases = if std::env::var_os("HOMENODE_SLOW").is_some() { 300 } else { 15 };
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Config::default() };
    let run = TestRunner::new(config).run(&(any::<u64>().no_shrink(), traces(9)), |(seed, refs)| {
        let mut rng = Rng::new(seed);
        let blocks: Vec<u64> = (2..17).map(|b| 1 << b).filter(|_| rng.chance(1, 2)).chain([1 << 17]).collect();
        let mut q = question(&mut rng, 9, blocks);
        same(&mut rng, &q, &refs, "all");
        for names in [&PROTOCOLS[..2], &["inv-freez"][..], &["inv-freez-del"][..]] {
            (q.protocols, q.counters) = (choices(names), false);
            same(&mut rng, &q, &refs, names[0]);
        }
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn rows_are_those_of_machines_with_prices_and_nothing_is_below_the_optimum() {
    let mut rng = Rng::new(5);
    let mut q = question(&mut rng, 4, vec![64, 4096]);
    let refs: Vec<Merged> = (0..3000)
        .map(|_| {
            let op = if rng.chance(1, 5) { Op::Write } else { Op::Read };
            reference(rng.below(4) as u32, op, rng.below(2000) * 4)
        })
        .collect();
    let mut answer = plain::answer(&q, &refs).expect("it can be answered");
    answer.keep_best_counters();
    assert_eq!(answer.rows.len(), 2 * 2 * (PROTOCOLS.len() + 1 + 4), "two counters for all pages, two by page");
    let counters = answer.rows.iter().filter(|r| r.what.key(&q).starts_with("best ")).collect::<Vec<_>>();
    for pair in counters.chunks(2) {
        let [all, by_page] = [0, 1].map(|i| pair[i].what.key(&q));
        assert!(
            by_page.ends_with(" by page") && !all.ends_with("page") && pair[1].cost <= pair[0].cost,
            "{all}, {by_page}"
        );
    }
    for (name, best) in [("upt-del(1)", 0), ("inv-del(512)", 2)] {
        let mut one = q.clone();
        (one.protocols, one.counters) = (choices(&[name]), false);
        let cost = plain::answer(&one, &refs).expect("it can be answered").rows[0].cost;
        assert!(counters[best].cost <= cost, "{name}");
    }
    assert!(answer.rows.iter().all(|r| r.machine != 1 && r.exact));
    assert!(answer.rows.is_sorted_by_key(|r| (r.machine, r.block_bytes, r.what)));
    for row in &answer.rows {
        let same = |r: &&homenode_study::Row| (r.machine, r.block_bytes) == (row.machine, row.block_bytes);
        let least = answer.rows.iter().filter(same).find(|r| r.what == What::COHERENCE).expect("the optimum is there");
        assert!(row.cost >= least.cost, "{}", row.what.key(&q));
        assert_eq!(row.done.is_none(), row.what == What::COHERENCE || row.what.key(&q).starts_with("best "));
        if let Some(done) = row.done {
            assert_eq!(done.effects.references(), 3000, "{}", row.what.key(&q));
            assert!(done.between <= 3000, "threads of two address spaces share nothing");
        }
    }
    assert_eq!(What::COHERENCE.key(&q), "optimum-coherence");
    assert_eq!(What::protocol(10).key(&q), "inv-del(2,0,1)");
    assert_eq!(What::protocol(14).key(&q), "");
    q.counters = false;
    assert_eq!(counters[0].what.key(&q), "", "not asked");
}

#[test]
fn questions_that_cannot_be_are_refused() {
    let mut rng = Rng::new(1);
    let good = question(&mut rng, 2, vec![64]);
    assert!(good.check().is_ok());
    let mut both = good.clone();
    both.with_replication = Want::Cost;
    assert!(matches!(both.check(), Err(StudyError::ProtocolsAndMore)));
    let mut sampled = good.clone();
    sampled.options.sampled = Some(Counting { unit: SampleUnit::Miss, sees_writes: true });
    assert!(matches!(sampled.check(), Err(StudyError::ProtocolsOfSamples)));
}

/// Addresses that come through, of a program with a stack, a heap block that is given back, and memory nobody knows.
#[test]
fn references_to_stacks_are_left_out() {
    let mut program = Builder::new(2);
    let stack = EventKind::Alloc { addr: 0x9000, bytes: 0x1000, source: AllocSource::Stack, stack: Vec::new() };
    program.event(1, stack);
    program.alloc(0, 0x4000, 0x100, &[]);
    program.write(0, 0x4000).read(1, 0x9010).read(1, 0x4008).write(1, 0x9ff8).read(0, 0x7000_0000);
    program.free(0, 0x4000).read(1, 0x9020).read(0, 0x4000);
    let dataset = program.open().expect("valid");
    let names = NameTable::new(&dataset).expect("events agree");
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let bindings = bindings(&mut Rng::new(1), &model("markatos"), &[0, 0]);
    let mut all = Again { data: &dataset, kind: OrderKind::Model };
    let mut shared = SharedRefs::new(&mut all, &objects, &bindings);
    for _ in 0..2 {
        let mut stream = shared.stream(0).expect("in order");
        let mut kept = Vec::new();
        while let Some(piece) = stream.pull().expect("in order") {
            kept.extend(piece.refs.iter().map(|r| r.addr));
        }
        kept.sort_unstable();
        assert_eq!(kept, [0x4000, 0x4000, 0x4008, 0x7000_0000]);
    }
}
