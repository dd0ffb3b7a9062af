//! The order rules against brute force.
mod common;
use common::{Graph, Log, cases, check};
use homenode_base::Rng;
use homenode_synthetic::{Builder, PROGRAMS, Scale, random, t_f, t_gamma, t_s};
use homenode_trace::dataset::{EVENTS_FILE, scan_events};
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::events::EventEncoder;
use homenode_trace::framing::Codec;
use homenode_trace::order::{Feeds, Next, Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Merged, Op, Sampling, TraceError};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;

fn log(data: &DatasetReader, kind: OrderKind) -> Log {
    let (log, summary) = Log::of(data, kind).expect("acyclic");
    assert_eq!(summary.refs + summary.events, log.entries.len() as u64);
    log
}

/// Seed, threads and steps of a random program; what fails is shortened.
fn programs(threads: std::ops::Range<u32>, steps: std::ops::Range<u64>) -> impl Strategy<Value = (u64, u32, u64)> {
    (any::<u64>().no_shrink(), threads, steps)
}

#[test]
fn model_order_is_the_smallest_of_all_legal_merges() {
    let [seen, several] = [const { Cell::new(0_u64) }; 2];
    check(cases(3_000, 60_000), &programs(2..5, 4..8), |(seed, threads, steps)| {
        let data = random(seed, threads, steps).open().expect("valid");
        let graph = Graph::new(&data);
        let all = graph.all_merges(false, 20_000);
        if all.len() == 20_000 {
            return;
        }
        let priorities = |m: &Vec<usize>| m.iter().map(|&i| graph.priority(i)).collect::<Vec<_>>();
        let smallest = all.iter().min_by_key(|m| priorities(m)).expect("a builder's program can happen");
        assert_eq!(log(&data, OrderKind::Model).entries, graph.log(smallest));
        seen.set(seen.get() + 1);
        several.set(several.get() + u64::from(all.len() > 1));
    });
    let (seen, several) = (seen.get(), several.get());
    assert!(several * 10 > seen * 5 && seen > 1_000, "the cases must leave a choice: {several} of {seen}");
}

#[test]
fn model_order_equals_slow_kahn_on_longer_programs() {
    check(cases(300, 5_000), &programs(1..7, 1..130), |(seed, threads, steps)| {
        let data = random(seed, threads, steps).open().expect("valid");
        let graph = Graph::new(&data);
        let order = graph.model().expect("a builder's program can happen");
        let got = log(&data, OrderKind::Model);
        assert_eq!(got.entries, graph.log(&order));
        for (at, time) in got.times {
            assert_eq!(time, graph.time[order[at]], "time of node {at}");
        }
    });
}

/// Sampled recordings are ordered by what was stamped, also where a backend's stamps are equal, missing on events, or
/// contradict the edges.
#[test]
fn stamped_order_equals_slow_kahn() {
    let mut differs = 0;
    for seed in 0..cases(600, 20_000) {
        let mut b = random(seed ^ 0x5A3, 1 + (seed % 5) as u32, 10 + seed % 90);
        let exact = log(&b.open().expect("valid"), OrderKind::Model).entries;
        b.sampled(Sampling::default());
        let data = if seed % 3 == 0 { coarse(&b, seed) } else { b.open() }.expect("valid");
        let graph = Graph::new(&data);
        let order = graph.model().expect("a builder's program can happen");
        let got = log(&data, OrderKind::Model);
        assert_eq!(got.entries, graph.log(&order), "seed {seed}");
        differs += u64::from(got.entries != exact);
        for (at, time) in got.times {
            assert_eq!(time, graph.time[order[at]], "time of node {at}, seed {seed}");
        }
    }
    assert!(differs > 100, "stamps must matter: {differs}");
}

/// The dataset with the stamps of its events rounded, dropped or moved.
fn coarse(b: &Builder, seed: u64) -> Result<DatasetReader, TraceError> {
    let store = b.store();
    let (mut events, _, fault) = scan_events(&store.get(EVENTS_FILE).expect("written"));
    assert!(fault.is_none());
    let mut rng = Rng::new(seed);
    events.iter_mut().for_each(|e| e.stamp = [0, e.stamp / 16 * 16, e.stamp + rng.below(40)][rng.below(3) as usize]);
    let mut bytes = Vec::new();
    EventEncoder::default().encode(0, &events, Codec::Lz4, &mut bytes);
    store.put(EVENTS_FILE, bytes);
    DatasetReader::open(store)
}

#[test]
fn recorded_order_is_always_legal() {
    for seed in 0..cases(400, 10_000) {
        let data = random(seed ^ 0x55, 2 + (seed % 4) as u32, 60).open().expect("valid");
        let graph = Graph::new(&data);
        let got = log(&data, OrderKind::Recorded { seed: seed * 7 }).entries;
        let mut done = vec![false; graph.nodes.len()];
        for (thread, op, addr) in got {
            let i = (0..done.len()).find(|&i| !done[i] && graph.nodes[i].thread == thread).expect("a node is left");
            assert_eq!((graph.nodes[i].op, graph.nodes[i].addr), (op, addr), "program order, seed {seed}");
            assert!(graph.before[i].iter().all(|&a| done[a]), "synchronisation, seed {seed}");
            assert!((0..done.len()).all(|a| done[a] || !graph.batch_before(a, i)), "batches, seed {seed}");
            done[i] = true;
        }
        assert!(done.iter().all(|&d| d));
    }
}

/// A tiny program with short batches, one address per reference.
fn tiny(seed: u64) -> Builder {
    let mut rng = Rng::new(seed);
    let mut b = Builder::new(2 + (seed % 2) as u32);
    b.batch_refs(1 + rng.below(2) as usize);
    for addr in 0..6 {
        let t = rng.below(u64::from(b.threads())) as u32;
        match rng.below(8) {
            0 => b.release(t, 1, 0),
            1 => b.acquire(t, 1, 0),
            _ => b.read(t, addr),
        };
    }
    b
}

#[test]
fn recorded_order_reaches_every_legal_merge() {
    let (mut tried, mut restricted) = (0, 0);
    for seed in 0..cases(60, 1_000) {
        let data = tiny(seed).open().expect("valid");
        let graph = Graph::new(&data);
        let merges = graph.all_merges(true, 1_000);
        if merges.len() > 40 {
            continue;
        }
        let legal: BTreeSet<_> = merges.iter().map(|m| graph.log(m)).collect();
        let mut reached = BTreeSet::new();
        for seed in 0..100_000 {
            if reached.len() == legal.len() {
                break;
            }
            reached.insert(log(&data, OrderKind::Recorded { seed }).entries);
        }
        assert!(reached == legal, "program {seed}: reached {} of {} legal merges", reached.len(), legal.len());
        tried += 1;
        restricted += usize::from(merges.len() < graph.all_merges(false, 1_000).len());
    }
    assert!(tried > 20 && restricted > 10, "in {restricted} of {tried} cases batches forbade something");
}

#[test]
fn threads_released_by_a_barrier_go_on_in_step() {
    let mut b = Builder::new(2);
    (0..100).for_each(|i| {
        b.read(0, i);
    });
    b.barrier(0, 0..2);
    (0..10).for_each(|i| {
        b.read(0, 1000 + i).read(1, 2000 + i);
    });
    let data = b.open().expect("valid");
    let refs: Vec<_> = log(&data, OrderKind::Model).entries.into_iter().filter(|e| e.1.is_some()).collect();
    let threads: Vec<u32> = refs[100..].iter().map(|r| r.0).collect();
    assert_eq!(threads, [0, 1].repeat(10));
}

#[test]
fn model_order_does_not_depend_on_stamps_or_on_spinning() {
    let entries = |spins: u64, stamps: bool| {
        let mut b = Builder::new(2);
        for i in 0..50 {
            (0..spins).for_each(|_| {
                b.access(0, 8, 8, homenode_trace::Op::Spin, 1 + i);
            });
            b.write(0, i);
            if stamps {
                b.stamp(1);
            }
            b.write(1, i + 100);
        }
        let all = log(&b.open().expect("valid"), OrderKind::Model).entries;
        all.into_iter().filter(|e| e.1 != Some(homenode_trace::Op::Spin)).collect::<Vec<_>>()
    };
    assert_eq!(entries(0, false), entries(3, true));
}

#[test]
fn bolosky_traces_come_out_as_printed() {
    let writes = |b: Builder| -> Vec<(u32, u64)> {
        let entries = log(&b.open().expect("valid"), OrderKind::Model).entries;
        let refs: Vec<_> = entries.into_iter().filter(|e| e.1.is_some()).collect();
        let base = refs[0].2;
        refs.into_iter().map(|(t, _, a)| (t, (a - base) / 4)).collect()
    };
    let (n, p, s) = (48, 4, 8);
    assert_eq!(writes(t_f(n, 4)), (0..n).map(|i| ((i % p) as u32, 0)).collect::<Vec<_>>());
    assert_eq!(writes(t_s(n, 4, s)), (0..n).map(|i| ((i % p) as u32, i % s)).collect::<Vec<_>>());
    assert_eq!(writes(t_gamma(n, 4, s)), (0..n).map(|i| (((i / s) % p) as u32, i % s)).collect::<Vec<_>>());
}

#[test]
fn programs_of_every_kind_have_an_order_in_both_kinds() {
    for program in PROGRAMS {
        let data = (program.build)(5, Scale { threads: 5, rounds: 20 }).open().expect(program.name);
        let model = log(&data, OrderKind::Model);
        let recorded = log(&data, OrderKind::Recorded { seed: 1 });
        assert_eq!(model.entries.len(), recorded.entries.len(), "{}", program.name);
    }
}

#[test]
fn a_thousand_threads_work() {
    let data = (PROGRAMS[5].build)(5, Scale { threads: 1000, rounds: 3 }).open().expect("valid");
    let entries = log(&data, OrderKind::Model).entries;
    assert_eq!(entries.iter().filter(|e| e.1.is_some()).count(), 3 * 1000 * 48);
    log(&data, OrderKind::Recorded { seed: 3 });
}

#[test]
fn equal_addresses_in_two_address_spaces_are_two_objects() {
    let mut b = Builder::new(2);
    let process = b.process();
    b.manifest().threads[1].process = process;
    // In one space thread 0 would have to wait for a release that follows its own.
    b.event(0, EventKind::Acquire { object: 1, epoch: 0, seq: 9, sync: SyncKind::Mutex }).read(0, 1).release(0, 2, 0);
    b.acquire(1, 2, 0).event(1, EventKind::Release { object: 1, epoch: 0, seq: 1, sync: SyncKind::Mutex }).read(1, 2);
    assert_eq!(log(&b.open().expect("valid"), OrderKind::Model).entries.len(), 6);
    b.manifest().threads[1].process = 0;
    assert!(cycle(&b));
}

#[test]
fn rows_of_spins_end_at_events_frames_and_batches() {
    for seed in 0..cases(200, 5_000) {
        let mut rng = Rng::new(seed);
        let mut b = Builder::new(2);
        b.batch_refs(1 + rng.below(9) as usize).frame_refs(1 + rng.below(30) as usize);
        for i in 0..60 {
            let t = rng.below(2) as u32;
            match rng.below(12) {
                0 => b.acq_rel(t, 1, 0),
                1 => b.read(t, i),
                2 => b.stamp(t),
                _ => b.access(t, i, 8, homenode_trace::Op::Spin, 5),
            };
        }
        let data = b.open().expect("valid");
        let graph = Graph::new(&data);
        let order = graph.model().expect("a builder's program can happen");
        assert_eq!(log(&data, OrderKind::Model).entries, graph.log(&order), "seed {seed}");
        let mut recorded = log(&data, OrderKind::Recorded { seed }).entries;
        let mut model = graph.log(&order);
        recorded.sort_by_key(|e| e.0);
        model.sort_by_key(|e| e.0);
        assert_eq!(recorded, model, "the same nodes, seed {seed}");
    }
}

fn cycle(b: &Builder) -> bool {
    let data = b.open().expect("valid apart from its order");
    [OrderKind::Model, OrderKind::Recorded { seed: 1 }]
        .into_iter()
        .all(|kind| matches!(Log::of(&data, kind), Err(TraceError::Cycle(_))))
}

#[test]
fn impossible_synchronisation_is_an_error_not_a_hang() {
    let sync = |object, seq, acquire| {
        if acquire {
            EventKind::Acquire { object, epoch: 0, seq, sync: SyncKind::Mutex }
        } else {
            EventKind::Release { object, epoch: 0, seq, sync: SyncKind::Mutex }
        }
    };
    let mut crossed = Builder::new(2);
    crossed.event(0, sync(1, 9, true)).event(0, sync(2, 1, false));
    crossed.event(1, sync(2, 9, true)).event(1, sync(1, 1, false));
    assert!(cycle(&crossed));
    let mut itself = Builder::new(1);
    itself.read(0, 1).event(0, sync(1, 9, true)).event(0, sync(1, 1, false));
    assert!(cycle(&itself));
    let mut own_child = Builder::new(2);
    own_child.read(0, 0).event(1, EventKind::Spawn { child: 1 });
    assert!(cycle(&own_child));
    let mut each_other = Builder::new(3);
    each_other.event(1, EventKind::Spawn { child: 2 }).event(2, EventKind::Spawn { child: 1 });
    assert!(cycle(&each_other));
}

#[test]
fn stamps_that_contradict_synchronisation_are_an_error_not_a_hang() {
    // Thread 1 acquires what thread 0 releases, but its batch ended before the other one's began.
    let mut b = Builder::new(2);
    b.acquire(1, 7, 0).read(1, 1).stamp(1).stamp(0).read(0, 2);
    b.event(0, EventKind::Release { object: 7, epoch: 0, seq: 0, sync: SyncKind::Mutex });
    let data = b.open().expect("valid apart from its stamps");
    assert!(Log::of(&data, OrderKind::Model).is_ok());
    let recorded = Log::of(&data, OrderKind::Recorded { seed: 1 });
    assert!(matches!(recorded, Err(TraceError::Cycle(_))), "{recorded:?}");
}

#[test]
fn pieces_do_not_depend_on_how_long_frames_are() {
    let mut rng = Rng::new(4);
    for program in PROGRAMS {
        let mut b = (program.build)(9, Scale { threads: 3, rounds: 30 });
        let whole = log(&b.open().expect("valid"), OrderKind::Model).entries;
        b.frame_refs(64 + rng.below(100) as usize);
        assert_eq!(whole, log(&b.open().expect("valid"), OrderKind::Model).entries, "{}", program.name);
    }
}

/// Thread, what it did, and where; no event does anything anywhere.
type Entry = (u32, Option<Op>, u64);

/// By a clock of the caller's, reference by reference, the thread of least time first: what came, when each began, and the span.
fn by_clock(data: &DatasetReader, mut ticks: impl FnMut(&Merged) -> u64) -> (Vec<Entry>, Vec<u64>, u64) {
    let (mut entries, mut begins, mut span) = (Vec::new(), Vec::new(), 0);
    let mut feeds = Feeds::new(data, None).expect("valid");
    let mut ready = BTreeSet::new();
    loop {
        while let Some((thread, time)) = feeds.woken() {
            ready.insert((time, thread));
        }
        let Some((time, thread)) = ready.pop_first() else {
            match feeds.give_up_turns() {
                true => continue,
                false => break,
            }
        };
        let after = match feeds.next(thread, time, 1).expect("acyclic") {
            Next::Refs(refs, _) => {
                begins.push(time);
                entries.extend(refs.iter().map(|r| (r.thread, Some(r.op), r.addr)));
                time + refs.iter().map(&mut ticks).sum::<u64>()
            }
            Next::Event(e, at) => {
                assert_eq!(at, time, "the caller's time");
                begins.push(time);
                entries.push((e.thread, None, 0));
                time
            }
            Next::Later(at) => at,
            Next::Waits | Next::End => continue,
        };
        span = span.max(after);
        ready.insert((after, thread));
    }
    feeds.finished().expect("acyclic");
    (entries, begins, span)
}

/// Without busy waiting.
fn charged(entries: Vec<Entry>) -> Vec<Entry> {
    entries.into_iter().filter(|e| e.1 != Some(Op::Spin)).collect()
}

#[test]
fn a_clock_that_counts_references_gives_the_model_order() {
    let unit = |r: &Merged| u64::from(r.op != Op::Spin);
    let mut all: Vec<DatasetReader> = (0..cases(300, 3_000))
        .map(|seed| random(seed ^ 0xC10C, 1 + (seed % 6) as u32, 40 + seed % 90).open().expect("valid"))
        .collect();
    all.extend(PROGRAMS.iter().map(|p| (p.build)(3, Scale { threads: 4, rounds: 40 }).open().expect("valid")));
    for (i, data) in all.iter().enumerate() {
        let (log, summary) = Log::of(data, OrderKind::Model).expect("acyclic");
        let (entries, _, span) = by_clock(data, unit);
        assert!(entries == charged(log.entries) && span == summary.span.0, "case {i}");
    }
}

#[test]
fn any_clock_gives_a_legal_merge_in_the_order_of_its_times() {
    let mut differs = 0;
    for seed in 0..cases(300, 5_000) {
        let data = random(seed ^ 0xD1A1, 2 + (seed % 5) as u32, 40 + seed % 60).open().expect("valid");
        let (graph, mut rng) = (Graph::new(&data), Rng::new(seed));
        let (entries, begins, span) = by_clock(&data, |_| rng.below(50));
        assert!(begins.is_sorted() && begins.last().is_none_or(|last| *last <= span), "seed {seed}");
        // The n-th entry of a thread is its n-th node, spins aside.
        let mut done: Vec<bool> = graph.nodes.iter().map(|n| n.op == Some(Op::Spin)).collect();
        for (thread, _, _) in &entries {
            let node = (0..done.len()).find(|&n| !done[n] && graph.nodes[n].thread == *thread).expect("a node");
            assert!(graph.before[node].iter().all(|b| done[*b]), "node {node}, seed {seed}");
            done[node] = true;
        }
        assert!(done.iter().all(|d| *d), "everything comes, seed {seed}");
        differs += u32::from(entries != charged(log(&data, OrderKind::Model).entries));
    }
    assert!(differs > 200, "{differs}");
}

#[test]
fn a_slow_thread_comes_less_often() {
    let mut b = Builder::new(2);
    (0..30).for_each(|i| _ = b.read(0, 8 * i).read(1, 0x1000 + 8 * i));
    let data = b.open().expect("valid");
    let (entries, begins, span) = by_clock(&data, |r| if r.thread == 0 { 3 } else { 1 });
    let first: Vec<u32> = entries.iter().take(12).map(|e| e.0).collect();
    assert_eq!(first, [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]);
    assert_eq!((begins[4], begins[5], span), (3, 3, 90));
}

/// Whoever has enough stops; whoever goes on after the end is told so again.
#[test]
fn a_stream_can_be_left_and_ends_for_good() {
    let data = random(9, 3, 500).open().expect("valid");
    let mut order = Order::new(&data, OrderKind::Model).expect("valid");
    let first = order.pull().expect("acyclic").map(|p| p.refs.len() as u64 + u64::from(p.event.is_some()));
    let summary = order.summary();
    assert_eq!(first, Some(summary.refs + summary.events), "nothing was read ahead of what was given");
    while order.pull().expect("acyclic").is_some() {}
    assert!(order.pull().expect("still over").is_none());
    assert_eq!(order.summary().events, data.events().len() as u64);
}
