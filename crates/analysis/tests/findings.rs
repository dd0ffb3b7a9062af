//! Small programs with a known fault, and innocent ones beside them.
mod common;

use common::{PAGE, Program, TestObject, machine};
use homenode_analysis::rows::FindingKind;
use homenode_analysis::{Analysed, Candidate, Making, Part, Transform};
use homenode_base::TotalCost;
use homenode_trace::Op::{Atomic as A, Read as R, Write as W};

const HEAP: u64 = 0x7f00_0000_0000;

/// A grid of `pages` pages, filled by thread `filler` and swept `sweeps` times by all `threads` in contiguous parts.
fn grid(p: &mut Program, at: u64, pages: u64, filler: Option<u32>, threads: u32, sweeps: u32) {
    let (fill, sweep) = (p.site("grid.c:57", "init_serial"), p.site("grid.c:80", "sweep"));
    let words = pages * PAGE / 64;
    let owner = |i: u64| (i * u64::from(threads) / words) as u32;
    (0..words).for_each(|i| p.go(filler.unwrap_or_else(|| owner(i)), W, at + i * 64, 8, fill));
    for _ in 0..sweeps {
        for i in 0..words {
            p.go(owner(i), R, at + i * 64, 8, sweep);
            p.go(owner(i), W, at + i * 64, 8, sweep);
        }
    }
}

fn only(a: &Analysed) -> &Candidate {
    assert_eq!(a.candidates.len(), 1, "{:#?}", a.candidates);
    &a.candidates[0]
}

#[test]
fn serial_initialisation_is_found_at_every_thread_count() {
    for threads in [2u32, 3, 4, 8, 16] {
        let mut p = Program::default();
        let at = p.object("heat", "grid.c:41", HEAP, 64 * PAGE);
        grid(&mut p, at, 64, Some(0), threads, 5);
        for m in [machine(2, false), machine(4, false)] {
            let a = p.analyse(&m, threads);
            let c = only(&a);
            assert_eq!((c.kind, c.name.as_str()), (FindingKind::FirstTouch, "heat"));
            assert_eq!(c.places, ["grid.c:41", "grid.c:57"]);
            let expected = format!(
                "`heat` (256 KiB, allocated at grid.c:41) is first touched by thread 0 (init_serial, grid.c:57), so it \
                 lives on node 0, but it is used by threads 0-{}.",
                threads - 1
            );
            assert_eq!(c.sentence, expected);
            let Transform::InitialiseInParallel { blocks } = &c.remedy else { panic!("{:?}", c.remedy) };
            let moved = (0..64u64).map(|b| (HEAP / PAGE + b, (b * u64::from(threads) / 64) as u32));
            let moved: Vec<(u64, u32)> = moved.collect();
            if 64 % threads == 0 {
                assert_eq!(*blocks, moved);
            }
            // Everything that the sweeps make remote today becomes local, except in pages that two nodes use; and best
            // static is worse by the initialisation, which it leaves with thread 0.
            let remote: TotalCost = a.objects.iter().map(|o| o.remote_cost).sum();
            let (estimate, removable) = (c.estimate.0, remote.0 * 80 / 180);
            assert!(estimate <= removable && estimate * 100 >= removable * 97, "{estimate} of {removable}");
            assert!((a.total - a.best_static).0 < estimate);
            if 64 % threads == 0 {
                assert_eq!(estimate, removable);
                assert_eq!(estimate * 9, (a.total - a.best_static).0 * 10);
            }
        }
    }
}

#[test]
fn the_initialiser_need_not_be_thread_0_nor_a_user() {
    let mut p = Program::default();
    let at = p.object("heat", "grid.c:41", HEAP, 64 * PAGE);
    let (fill, sweep) = (p.site("grid.c:57", "load"), p.site("grid.c:80", "sweep"));
    (0..64 * 64).for_each(|i| p.go(3, W, at + i * 64, 8, fill));
    (0..5 * 64 * 64u64).for_each(|i| p.go((i / 2048 % 2) as u32, R, at + i % 4096 * 64, 8, sweep));
    let a = p.analyse(&machine(2, false), 4);
    assert!(only(&a).sentence.contains("first touched by thread 3 (load, grid.c:57), so it lives on node 1"));
}

#[test]
fn several_arrays_of_one_loop_are_found_each_once() {
    let mut p = Program::default();
    let names = ["a", "b", "c"];
    for (i, name) in names.into_iter().enumerate() {
        let at = p.object(name, "grid.c:41", HEAP + (i as u64) * 1024 * PAGE, 32 * PAGE);
        grid(&mut p, at, 32, Some(0), 4, 5);
    }
    let a = p.analyse(&machine(2, false), 4);
    let mut found: Vec<&str> = a.candidates.iter().map(|c| c.name.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, names);
}

#[test]
fn allocations_of_one_line_fold_into_one_finding() {
    let mut p = Program::default();
    let extents: Vec<(u64, u64)> = (0..16).map(|i| (HEAP + i * 8 * PAGE, 4 * PAGE)).collect();
    p.objects.push(TestObject { name: "rows", kind: "heap", place: Some("grid.c:41"), extents: extents.clone() });
    for (i, (at, _)) in extents.into_iter().enumerate() {
        let (fill, sweep) = (p.site("grid.c:57", "init"), p.site("grid.c:80", "sweep"));
        (0..256).for_each(|k| p.go(0, W, at + k * 64, 8, fill));
        (0..256 * 4).for_each(|k| p.go(i as u32 / 4, R, at + k % 256 * 64, 8, sweep));
    }
    let a = p.analyse(&machine(2, false), 4);
    assert!(only(&a).sentence.starts_with("`rows` (256 KiB, 16 allocations, allocated at grid.c:41)"));
    assert_eq!((a.objects.len(), a.objects[0].instances), (1, 16));
}

#[test]
fn innocent_programs_are_left_in_peace() {
    let mut p = Program::default();
    // Filled and swept in parallel.
    let at = p.object("fixed", "grid.c:41", HEAP, 64 * PAGE);
    grid(&mut p, at, 64, None, 4, 5);
    // Filled by one thread and used by that thread.
    let at = p.object("journal", "grid.c:42", HEAP + 0x100_0000, 64 * PAGE);
    grid(&mut p, at, 64, Some(1), 1, 0);
    (0..20_000u64).for_each(|i| p.go(1, W, at + i % 4096 * 64, 8, 0));
    // Filled by one and used by neighbours on its node.
    let at = p.object("near", "grid.c:43", HEAP + 0x200_0000, 64 * PAGE);
    (0..4096).for_each(|i| p.go(0, W, at + i * 64, 8, 0));
    (0..20_000u64).for_each(|i| p.go((i % 2) as u32, W, at + i % 4096 * 64, 8, 0));
    // Filled by one, used evenly by all: no home is better than another.
    let at = p.object("table", "grid.c:44", HEAP + 0x300_0000, 16 * PAGE);
    (0..1024).for_each(|i| p.go(0, W, at + i * 64, 8, 0));
    (0..20_000u64).for_each(|i| p.go((i % 4) as u32, W, at + i / 4 * 7 % 1024 * 64, 8, 0));
    // A fault that is not worth a word.
    let at = p.object("trifle", "grid.c:45", HEAP + 0x400_0000, PAGE);
    grid(&mut p, at, 1, Some(0), 1, 0);
    (0..100u64).for_each(|i| p.go(3, W, at + i % 64 * 64, 8, 0));
    for caches in [false, true] {
        let a = p.analyse(&machine(2, caches), 4);
        assert_eq!(a.candidates, [], "caches: {caches}");
    }
}

#[test]
fn several_initialisers_of_one_node_are_found() {
    let mut p = Program::default();
    let at = p.object("halves", "grid.c:41", HEAP, 64 * PAGE);
    let (fill, sweep) = (p.site("grid.c:57", "fill"), p.site("grid.c:80", "use"));
    (0..4096).for_each(|i| p.go((i / 2048) as u32, W, at + i * 64, 8, fill));
    (0..20_000u64).for_each(|i| p.go((i % 4096 / 1024) as u32, R, at + i % 4096 * 64, 8, sweep));
    let a = p.analyse(&machine(2, false), 4);
    let c = only(&a);
    assert_eq!(c.kind, FindingKind::FirstTouch);
    let expected = "32 of the 64 blocks of `halves` (256 KiB, allocated at grid.c:41) are first touched by thread 1 (fill, \
                    grid.c:57), so they live on node 0, but they are used by threads 2-3.";
    assert_eq!(c.sentence, expected);
    let Transform::InitialiseInParallel { blocks } = &c.remedy else { panic!("{:?}", c.remedy) };
    assert!(blocks.iter().copied().eq((0..64).map(|b| (HEAP / PAGE + b, b as u32 / 16))));
}

#[test]
fn parallel_initialisation_by_the_wrong_threads_is_found() {
    // Rotated by half, and dealt page by page against blocks; each thread then uses a contiguous part.
    for rotated in [true, false] {
        let mut p = Program::default();
        let at = p.object("grid", "grid.c:41", HEAP, 64 * PAGE);
        let (fill, sweep) = (p.site("grid.c:57", "fill"), p.site("grid.c:80", "use"));
        let page = |i: u64| i / 64;
        let filler = |i: u64| if rotated { (page(i) / 16 + 2) % 4 } else { page(i) % 4 };
        (0..4096).for_each(|i| p.go(filler(i) as u32, W, at + i * 64, 8, fill));
        (0..20_000u64).for_each(|i| p.go((i % 4096 / 1024) as u32, R, at + i % 4096 * 64, 8, sweep));
        let a = p.analyse(&machine(2, false), 4);
        let c = only(&a);
        let start = "`grid` (256 KiB, allocated at grid.c:41) is first touched by threads 0-3 (fill, grid.c:57), but";
        assert!(c.sentence.starts_with(start), "{}", c.sentence);
        let pair =
            if rotated { "thread 0 touches what thread 2 uses" } else { "thread 0 touches what thread 2 uses, " };
        assert!(c.sentence.contains(pair), "{}", c.sentence);
        assert_eq!(c.advice, "Let each thread initialise the part of `grid` that it uses later (now fill, grid.c:57).");
        let Transform::InitialiseInParallel { blocks } = &c.remedy else { panic!("{:?}", c.remedy) };
        assert!(blocks.iter().copied().eq((0..64).map(|b| (HEAP / PAGE + b, b as u32 / 16))));
    }
}

#[test]
fn what_is_handed_on_as_it_is_made_has_no_initialisation() {
    let mut p = Program::default();
    let at = p.object("log", "pipe.c:4", HEAP, 64 * PAGE);
    let (put, get) = (p.site("pipe.c:5", "put"), p.site("pipe.c:6", "get"));
    for page in 0..64 {
        (0..64).for_each(|i| p.go(0, W, at + page * PAGE + i * 64, 8, put));
        (0..256).for_each(|i| p.go(3, R, at + page * PAGE + i % 64 * 64, 8, get));
    }
    for caches in [false, true] {
        assert_eq!(p.analyse(&machine(2, caches), 4).candidates, [], "caches: {caches}");
    }
}

#[test]
fn tables_that_are_still_written_are_left_in_peace() {
    let mut p = Program::default();
    let at = p.object("table", "grid.c:44", HEAP, 16 * PAGE);
    p.site("grid.c:57", "fill");
    p.site("grid.c:80", "use");
    (0..1024).for_each(|i| p.go(0, W, at + i * 64, 8, 0));
    for i in 0..60_000u64 {
        let line = i / 4 * 7 % 1024;
        p.go((i % 4) as u32, if line % 8 == 0 { W } else { R }, at + line * 64, 8, 1);
    }
    assert_eq!(p.analyse(&machine(2, false), 4).candidates, [], "copies of what is written help nobody");
}

#[test]
fn a_table_that_stays_in_caches_is_left_in_peace() {
    let mut p = Program::default();
    let at = p.object("data", "grid.c:40", HEAP, 512 * PAGE);
    grid(&mut p, at, 512, None, 4, 1);
    let at = p.object("table", "grid.c:44", HEAP + 0x300_0000, PAGE);
    (0..64).for_each(|i| p.go(0, W, at + i * 64, 8, 0));
    (0..50_000u64).for_each(|i| p.go((i % 4) as u32, R, at + i / 4 * 7 % 64 * 64, 8, 0));
    assert_eq!(p.analyse(&machine(2, true), 4).candidates, []);
}

#[test]
fn a_large_table_read_by_all_nodes_wants_copies() {
    let mut p = Program::default();
    let at = p.object("table", "grid.c:44", HEAP, 16 * PAGE);
    (0..1024).for_each(|i| p.go(0, W, at + i * 64, 8, 0));
    p.site("grid.c:9", "look_up");
    (0..60_000u64).for_each(|i| p.go((i % 4) as u32, R, at + i / 4 * 7 % 1024 * 64, 8, 0));
    let a = p.analyse(&machine(2, false), 4);
    assert_eq!(a.candidates.len(), 2);
    for (c, how) in a.candidates.iter().zip([Making::Build, Making::Copy]) {
        assert_eq!(
            (c.kind, &c.places[..]),
            (FindingKind::ReadShared, &["grid.c:44".to_owned(), "grid.c:9".to_owned()][..])
        );
        let Transform::CopyPerNode { blocks, makers, making } = &c.remedy else { panic!("{:?}", c.remedy) };
        assert!(blocks.iter().copied().eq(HEAP / PAGE..HEAP / PAGE + 16));
        assert_eq!((makers.as_slice(), *making), ([0, 2].as_slice(), how));
        // Half of the reads become local; at least a write for each of 1,024 words makes the copy.
        assert_eq!(c.estimate, TotalCost(30_000 * 80 - 1024 * 100));
    }
}

/// Each of `threads` counts in its own element of `element` bytes; all are zeroed by one thread and summed up by it.
fn counters(p: &mut Program, at: u64, element: u64, fields: &[u64], threads: u32, rounds: u32) {
    let (zero, count, sum) = (p.site("kv.c:20", "main"), p.site("kv.c:120", "work"), p.site("kv.c:150", "verify"));
    (0..u64::from(threads) * element / 4).for_each(|i| p.go(0, W, at + i * 4, 4, zero));
    for _ in 0..rounds {
        for t in 0..threads {
            for f in fields {
                p.go(t, R, at + u64::from(t) * element + f, 4, count);
                p.go(t, W, at + u64::from(t) * element + f, 4, count);
            }
        }
    }
    (0..u64::from(threads) * element / 4).for_each(|i| p.go(0, R, at + i * 4, 4, sum));
}

#[test]
fn false_sharing_names_the_element() {
    let layouts: [(u64, &[u64]); 5] = [(4, &[0]), (8, &[0]), (16, &[0, 8]), (24, &[0, 8, 16]), (32, &[8])];
    for (element, fields) in layouts {
        for threads in [2u32, 3, 8, 40] {
            let mut p = Program::default();
            let at = p.object("stats", "kv.c:160", HEAP, u64::from(threads) * element);
            counters(&mut p, at, element, fields, threads, 200);
            let a = p.analyse(&machine(2, true), threads);
            let c = only(&a);
            assert_eq!((c.kind, c.name.as_str()), (FindingKind::FalseSharing, "stats"));
            assert_eq!(c.places, ["kv.c:160", "kv.c:120"]);
            let arrays = vec![(at, u64::from(threads))];
            let expected = Transform::PadElements { arrays, element_bytes: element, to_bytes: 64 };
            assert_eq!(c.remedy, expected, "{element}-byte elements, {threads} threads");
            let row = &a.false_sharing[0];
            assert_eq!((row.object.as_str(), row.offset), ("stats", (row.addr - at) as i64));
            let counted = row.words.iter().filter(|w| w.writes > 0);
            assert!(counted.clone().count() > 0);
            assert!(counted.into_iter().all(|w| w.sites.contains(&"kv.c:120".to_owned())));
        }
    }
}

#[test]
fn padded_counters_and_truly_shared_ones_are_left_in_peace() {
    let mut p = Program::default();
    let at = p.object("padded", "kv.c:160", HEAP, 8 * 64);
    counters(&mut p, at, 64, &[0, 8], 8, 200);
    let at = p.object("shared", "kv.c:161", HEAP + PAGE, 64);
    (0..4_000u32).for_each(|i| p.go(i % 8, A, at, 8, 0));
    let at = p.object("ring", "kv.c:162", HEAP + 2 * PAGE, 64);
    for i in 0..1_000u64 {
        p.go(0, W, at + i % 8 * 8, 8, 0);
        p.go(5, R, at + i % 8 * 8, 8, 0);
    }
    let a = p.analyse(&machine(2, true), 8);
    let c = only(&a);
    assert_eq!((c.kind, c.name.as_str()), (FindingKind::SharedUpdates, "shared"), "{}", c.sentence);
    assert_eq!(c.remedy, Transform::CopyPerProcessor { ranges: vec![(HEAP + PAGE, 64)] });
    assert!(a.objects.iter().find(|o| o.name == "shared").unwrap().transfer_cost > TotalCost(500_000));
}

#[test]
fn a_hash_table_used_by_all_is_left_in_peace() {
    // Records of 16 bytes, four to a line, written and read by whoever comes: lines travel, and often for nothing, but
    // there is no border between threads to pad at.
    let mut p = Program::default();
    let at = p.object("records", "kv.c:160", HEAP, 1024 * 16);
    p.site("kv.c:120", "work");
    let mut rng = homenode_base::Rng::new(3);
    for _ in 0..60_000 {
        let (thread, record) = (rng.below(8) as u32, rng.below(1024));
        p.go(thread, R, at + record * 16, 8, 0);
        if rng.chance(1, 4) {
            p.go(thread, W, at + record * 16 + 8, 8, 0);
        }
    }
    let a = p.analyse(&machine(2, true), 8);
    assert!(a.objects[0].transfer_cost.0 * 4 > a.total.0, "lines do travel");
    assert_eq!(a.candidates, []);
}

#[test]
fn records_that_change_hands_now_and_then_are_padded() {
    let mut p = Program::default();
    let at = p.object("jobs", "kv.c:160", HEAP, 8 * 16);
    p.site("kv.c:120", "work");
    for i in 0..16_000u64 {
        // In each of four phases a thread has one record to itself, every time another one.
        let (thread, phase) = (i % 8, i / 4_000);
        let record = (thread + phase) % 8;
        p.go(thread as u32, A, at + record * 16, 8, 0);
        if phase == 0 && i % 100 < 8 {
            // A tag that only one thread writes, and seldom, does not make the record its own.
            p.go(thread as u32, W, at + record * 16 + 8, 4, 0);
        }
    }
    let a = p.analyse(&machine(2, true), 8);
    assert_eq!(a.false_sharing.len(), 2, "nearly all transfers are for another record");
    let expected = Transform::PadElements { arrays: vec![(at, 8)], element_bytes: 16, to_bytes: 64 };
    assert_eq!(only(&a).remedy, expected, "whoever has a record has it for a while");
}

#[test]
fn results_that_one_thread_writes_and_others_read_piece_by_piece_are_left_in_peace() {
    let mut p = Program::default();
    let at = p.object("block", "lu.c:16", HEAP, 64 * 64);
    let (make, take) = (p.site("lu.c:40", "factor"), p.site("lu.c:60", "update"));
    for round in 0..100u32 {
        (0..512).for_each(|w| p.go(round % 4, W, at + w * 8, 8, make));
        (0..512).for_each(|w| (0..4).for_each(|t| p.go(t, R, at + w * 8, 8, take)));
    }
    let a = p.analyse(&machine(2, true), 4);
    assert!(a.objects[0].transfer_cost.0 * 4 > a.total.0, "lines do travel");
    assert_eq!(a.candidates, []);
    assert!(a.false_sharing.is_empty(), "each of these transfers brings what is needed");
}

#[test]
fn globals_are_defined_and_not_allocated() {
    let mut p = Program::default();
    let at = p.object("u", "main.c:9", HEAP, 64 * PAGE);
    p.objects[0].kind = "global";
    grid(&mut p, at, 64, Some(0), 4, 5);
    let words = &only(&p.analyse(&machine(2, false), 4)).sentence.clone();
    assert!(words.starts_with("`u` (256 KiB, defined at main.c:9) is first touched by thread 0"), "{words}");
    p.objects[0].kind = "stack";
    assert_eq!(p.analyse(&machine(2, false), 4).candidates, [], "nobody initialises a stack in parallel");
    p.objects[0].kind = "global";
    p.objects[0].place = None;
    let words = &only(&p.analyse(&machine(2, false), 4)).sentence.clone();
    assert!(words.starts_with("`u` (256 KiB, global) is first touched by thread 0"), "{words}");
}

#[test]
fn a_monitor_that_reads_all_counters_does_not_hide_false_sharing() {
    let mut p = Program::default();
    let at = p.object("stats", "kv.c:160", HEAP, 8 * 8);
    for round in 0..500u64 {
        (0..8).for_each(|t| p.go(t as u32, A, at + t * 8, 8, 0));
        if round % 20 == 0 {
            (0..8).for_each(|t| p.go(7, R, at + t * 8, 8, 1));
        }
    }
    p.sites = vec![("kv.c:120", "work"), ("kv.c:140", "monitor")];
    let c = p.analyse(&machine(2, true), 8).candidates;
    assert_eq!(c.len(), 1);
    assert_eq!(c[0].remedy, Transform::PadElements { arrays: vec![(at, 8)], element_bytes: 8, to_bytes: 64 });
}

#[test]
fn neighbouring_globals_and_small_allocations_get_lines_of_their_own() {
    let mut p = Program { sites: vec![("kv.c:120", "work")], ..Program::default() };
    p.objects = (0..2u64)
        .map(|i| TestObject {
            name: ["a", "b"][i as usize],
            kind: "global",
            place: None,
            extents: vec![(HEAP + i * 8, 8)],
        })
        .collect();
    (0..1_000u64).for_each(|i| p.go((i % 2) as u32, A, HEAP + i % 2 * 8, 8, 0));
    let found = p.analyse(&machine(2, true), 2).candidates;
    assert_eq!(found.len(), 1);
    let words = "(8 bytes, global) are falsely shared: threads 0-1 use different words of the same cache line";
    assert!(found[0].sentence.contains(words) && found[0].advice.contains("`a`"), "{}", found[0].sentence);
    let parts = (0..2u64).map(|i| Part { addr: HEAP + i * 8, bytes: 8, group: i as u32 }).collect();
    assert_eq!(found[0].remedy, Transform::Regroup { parts, line_bytes: 64 });

    let extents = (0..4u64).map(|i| (HEAP + i * 16, 12)).collect();
    p.objects = vec![TestObject { name: "boxes", kind: "heap", place: Some("kv.c:10"), extents }];
    p.refs.clear();
    (0..1_000u64).for_each(|i| p.go((i % 4) as u32, A, HEAP + i % 4 * 16, 8, 0));
    let found = p.analyse(&machine(2, true), 4).candidates;
    let parts = (0..4u64).map(|i| Part { addr: HEAP + i * 16, bytes: 12, group: i as u32 }).collect();
    assert_eq!(found[0].remedy, Transform::Regroup { parts, line_bytes: 64 });
}
