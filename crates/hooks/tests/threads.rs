//! Synchronisation, threads and what holds between rings.
mod support;

use homenode_base::ring::*;
use std::collections::{BTreeMap, BTreeSet};
use support::build::{COMPILERS, program};
use support::slots::Item;
use support::{Recording, Ring};

fn record(compiler: &str, source: &str) -> (std::process::Output, Vec<Ring>) {
    let r = Recording::new(MODE_RECORD);
    let (output, rings) = r.run(&program(r.dir.path(), compiler, source, &["-pthread", "-D_GNU_SOURCE"]), &[]);
    assert!(output.status.success(), "{compiler} {output:?}");
    (output, rings)
}

type Object = (u64, u64);

/// (sequence number, is a release) of every event of every object over all rings.
fn numbers(rings: &[Ring]) -> BTreeMap<Object, Vec<(u64, u64)>> {
    let mut all = BTreeMap::<Object, Vec<(u64, u64)>>::new();
    for item in rings.iter().flat_map(|r| &r.items) {
        if let Item::Event { kind: kind @ EVENT_RELEASE..=EVENT_ACQ_REL, addr, w1, payload, .. } = item {
            all.entry((*addr, payload[0][0])).or_default().push((*w1, *kind));
        }
    }
    all
}

#[test]
fn each_operation_has_its_events() {
    for compiler in COMPILERS {
        let (output, rings) = record(compiler, "sync.c");
        let expected: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
        let found: Vec<String> = rings[0]
            .phase("each")
            .into_iter()
            .filter(|l| !l.starts_with(['r', 'w']) || !l.contains(" 0x7ff"))
            .collect();
        // `sync_event` for the semaphore is printed before the calls; everything else after them.
        assert_eq!(found, expected, "{compiler}");
    }
}

#[test]
fn no_number_is_given_twice_and_lockers_alternate() {
    let (_, rings) = record("gcc", "sync.c");
    for (object, mut events) in numbers(&rings) {
        events.sort_unstable();
        let distinct: BTreeSet<u64> = events.iter().map(|e| e.0).collect();
        assert_eq!(distinct.len(), events.len(), "{object:x?}: {events:?}");
    }
}

#[test]
fn synchronisation_says_what_it_is() {
    for compiler in COMPILERS {
        let (_, rings) = record(compiler, "sync.c");
        let mut kinds = BTreeMap::<Object, BTreeSet<(u64, u64)>>::new();
        for item in rings.iter().flat_map(|r| &r.items) {
            if let Item::Event { kind: EVENT_RELEASE..=EVENT_ACQ_REL, addr, payload, sync, .. } = item {
                let of_allocator = u64::from(payload[0][0] == EPOCH_ALLOCATOR);
                kinds.entry((*addr, of_allocator)).or_default().insert(*sync);
            }
        }
        // Whether anybody has to wait for the condition is the host's doing.
        let of = |k: &BTreeSet<(u64, u64)>| k.iter().map(|s| s.0).filter(|s| *s != SYNC_CONDITION).collect();
        let found: BTreeSet<Vec<u64>> = kinds.values().map(of).collect();
        let conditions = [vec![SYNC_SIGNAL, SYNC_BROADCAST], vec![SYNC_SIGNAL]];
        let single = [SYNC_MUTEX, SYNC_SEMAPHORE, SYNC_JOIN, SYNC_ONCE, SYNC_ALLOCATOR].map(|kind| vec![kind]);
        let barriers = [vec![SYNC_BARRIER, SYNC_BARRIER], vec![SYNC_RW_READ, SYNC_RW_WRITE]];
        let expected: BTreeSet<Vec<u64>> = single.into_iter().chain(conditions).chain(barriers).collect();
        assert_eq!(found, expected, "{compiler}: {kinds:x?}");
        let parties: BTreeSet<u64> = kinds.values().flatten().filter(|s| s.0 == SYNC_BARRIER).map(|s| s.1).collect();
        assert_eq!(parties, BTreeSet::from([2, 3]), "{compiler}");
    }
}

#[test]
fn barrier_generations_do_not_depend_on_who_is_late() {
    for compiler in COMPILERS {
        let (output, rings) = record(compiler, "sync.c");
        let text = String::from_utf8_lossy(&output.stderr);
        let address = text.lines().find_map(|l| l.strip_prefix("barrier 0x")).unwrap();
        let barrier = u64::from_str_radix(address, 16).unwrap();
        let mut per_epoch = BTreeMap::<u64, (usize, usize)>::new();
        for ((_, epoch), events) in numbers(&rings).into_iter().filter(|((object, _), _)| *object == barrier) {
            let releases = events.iter().filter(|e| e.1 == EVENT_RELEASE).count();
            per_epoch.insert(epoch, (releases, events.len() - releases));
            let last_release = events.iter().filter(|e| e.1 == EVENT_RELEASE).map(|e| e.0).max();
            assert!(events.iter().filter(|e| e.1 == EVENT_ACQUIRE).all(|e| Some(e.0) > last_release), "{events:?}");
        }
        let counts: Vec<_> = per_epoch.into_values().collect();
        assert_eq!(counts, [[(3, 3); 7], [(2, 2); 7]].concat(), "{compiler}");
    }
}

#[test]
fn parents_know_their_children_and_join_follows_exit() {
    let (_, rings) = record("clang", "sync.c");
    assert_eq!(rings.len(), 1 + 3 + 2 + 1);
    let spawned: Vec<u64> = rings[0].events(EVENT_SPAWN).iter().map(|e| e.addr()).collect();
    assert_eq!(spawned, [1, 2, 3, 4, 5, 6]);
    for ring in &rings[1..] {
        assert_eq!((ring.parent, ring.pid, ring.state), (0, rings[0].pid, ENTRY_DONE));
        assert_ne!(ring.tid, rings[0].tid);
        assert!(ring.items.last().unwrap().is_event(EVENT_EXIT), "{:?}", ring.items.last());
        let release = &ring.items[ring.items.len() - 2];
        let joined =
            rings[0].events(EVENT_ACQUIRE).into_iter().any(|a| a.addr() == release.addr() && a.w1() > release.w1());
        assert!(release.is_event(EVENT_RELEASE) && joined);
        let stack = ring.events(EVENT_ALLOC)[0];
        assert!(matches!(stack, Item::Event { payload, .. } if payload[0][0] == 1), "the thread's stack is an object");
    }
}

#[test]
fn cpp_programs_record_with_sites_of_new_expressions() {
    for compiler in COMPILERS {
        let (output, rings) = record(compiler, "threads.cc");
        assert_eq!(rings.len(), 5, "{compiler}");
        assert!(rings[1..].iter().all(|r| r.refs().len() > 3000), "each thread's work is in its own ring");
        let text = String::from_utf8_lossy(&output.stdout);
        let shape = u64::from_str_radix(text.trim().rsplit("0x").next().unwrap(), 16).unwrap();
        let alloc = rings[0].events(EVENT_ALLOC).into_iter().rfind(|a| a.addr() == shape).expect("the object is known");
        let Item::Event { payload, .. } = alloc else { unreachable!() };
        let executable = rings[0].events(EVENT_MODULE)[0];
        let site = payload[1][0].wrapping_sub(executable.addr());
        assert!(site < executable.w1(), "the site of `new` is in the program, not in libstdc++: {payload:x?}");
    }
}

/// Wherever it is cancelled, a thread has recorded all it did before and all that its destructors do.
#[test]
fn threads_cancelled_asynchronously_lose_nothing() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let cancel = program(r.dir.path(), compiler, "cancel.c", &["-pthread", "-D_GNU_SOURCE"]);
        for _ in 0..10 {
            let r = Recording::new(MODE_RECORD);
            let (output, rings) = r.run(&cancel, &[]);
            assert!(output.status.success(), "{compiler} {output:?}");
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(text.lines().count(), 20);
            for line in text.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let address = |hex: &str| u64::from_str_radix(&hex[2..], 16).unwrap();
                let (data, done, last) = (address(words[0]), words[1].parse::<usize>().unwrap(), address(words[2]));
                let refs = || rings.iter().flat_map(Ring::refs);
                let puts = refs().filter(|i| (data..data + 8 * 4096).contains(&i.addr())).count();
                assert!(puts == done || puts == done + 1, "{compiler}: {puts} recorded of {done}");
                assert_eq!(refs().filter(|i| i.addr() == last).count(), 1, "{compiler}: the destructor's");
            }
            assert!(rings[1..].iter().all(|r| r.items.last().unwrap().is_event(EVENT_EXIT)), "each ends in order");
        }
    }
}
