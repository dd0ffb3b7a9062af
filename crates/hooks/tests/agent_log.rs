//! What the agent logs of programs that were not compiled for it.
mod support;

use homenode_base::ring::*;
use std::collections::{BTreeMap, BTreeSet};
use support::build::COMPILERS;
use support::preload::{self, Key};
use support::{Recording, Ring};

fn record(program: &std::path::Path) -> (String, Vec<Ring>, Recording) {
    let r = Recording::new(MODE_RECORD);
    let mut c = r.command(program, &[]);
    c.env("LD_PRELOAD", preload::library());
    let (output, rings) = r.run_command(c);
    assert!(output.stderr.is_empty(), "{output:?}");
    (preload::text(&output), rings, r)
}

/// A thread's first allocation event is its stack.
fn stack(ring: &Ring) -> std::ops::Range<u64> {
    let first = ring.events(EVENT_ALLOC)[0];
    first.addr()..first.addr() + first.w1()
}

#[test]
fn a_recorder_sees_a_program_without_references() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = preload::plain(dir.path(), compiler, "objects.c", &[]);
        let (text, rings, r) = record(&program);
        assert_eq!(r.get32(CONTROL_OFF_ATTACHED), 1);
        assert_eq!(rings.len(), 4, "the initial thread and three others");
        assert!(rings.iter().all(|r| r.refs().is_empty() && r.state == ENTRY_DONE && r.events(EVENT_EXIT).len() == 1));
        assert_eq!(rings[0].events(EVENT_PROCESS).len(), 1);
        let names: BTreeSet<String> = rings[0].events(EVENT_MODULE).iter().map(|e| e.text()).collect();
        assert!(names.contains(program.to_str().unwrap()), "{names:?}");
        let (places, keys) = (preload::places(&text), preload::keys(&rings));
        for (name, place) in places.iter().filter(|(n, _)| !["zero", "initial", "crumbs"].contains(&n.as_str())) {
            if name.starts_with("stack") {
                assert!(rings.iter().any(|r| stack(r).contains(&place.addr)), "{name}: {place:x?}");
            } else {
                assert!(keys.contains_key(&(place.addr, place.bytes)), "{name} {place:x?}");
            }
        }
        let sizes: Vec<u64> = keys.values().map(|k| k.size).collect();
        assert!(sizes.iter().all(|&s| s >= 4096), "{sizes:?}");
    }
}

/// Every object that is given back or replaced is logged as freed once.
#[test]
fn frees_and_reallocations_pair_up() {
    let dir = tempfile::tempdir().unwrap();
    let (text, rings, _) = record(&preload::plain(dir.path(), "gcc", "objects.c", &[]));
    let places = preload::places(&text);
    let main = &rings[0];
    let freed = |addr: u64| main.events(EVENT_FREE).iter().filter(|e| e.addr() == addr).count();
    for name in ["small", "aligned", "grown", "grown-again"] {
        assert!(freed(places[name].addr) >= 1, "{name}");
    }
    assert_eq!(freed(places["heap0"].addr), 0);
    assert_eq!(main.events(EVENT_REALLOC).len(), 3);
    let map = places["map"].addr;
    assert_eq!(main.events(EVENT_MAP).iter().filter(|e| e.addr() == map).count(), 1);
    assert_eq!(main.events(EVENT_UNMAP).len(), 3, "mremap and two times munmap");
}

#[test]
fn keys_survive_address_randomisation_and_another_schedule() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = preload::plain(dir.path(), compiler, "objects.c", &[]);
        let all: Vec<BTreeMap<String, Option<Key>>> = (0..10).map(|_| preload::recorded(&program, &[])).collect();
        assert!(all.iter().all(|keys| *keys == all[0]));
        let key = |name: &str| all[0][name].clone().unwrap();
        assert_eq!((key("heap0").ordinal, key("heap2").ordinal), (0, 2));
        assert_eq!(key("heap0").stack, key("heap1").stack);
        assert_ne!(key("heap0").stack, key("small").stack, "another line of main");
        assert_eq!((key("worker1.1").path, key("worker1.1").ordinal), (vec![1], 1));
        assert_eq!(key("worker0.0").stack, key("worker2.1").stack);
        assert_eq!(key("map").build_id, preload::build_id(program.to_str().unwrap()));
    }
}
