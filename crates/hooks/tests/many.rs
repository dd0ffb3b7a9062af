//! More threads than rings, threads on the smallest stacks, threads that nobody announced.
mod support;

use homenode_base::ring::*;
use support::build::program;
use support::{Recording, Ring};

fn writes(ring: &Ring) -> usize {
    ring.refs().len()
}

#[test]
fn a_thousand_threads_at_once_on_small_stacks() {
    let r = Recording::new(MODE_RECORD);
    let (output, rings) = r.run(&program(r.dir.path(), "gcc", "many.c", &["-pthread"]), &["1000", "at once"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rings.len(), 1001);
    assert!(rings[1..].iter().all(|r| writes(r) == 100 && r.state == ENTRY_DONE && r.parent == 0));
}

#[test]
fn threads_beyond_the_table_are_counted_and_run() {
    let r = Recording::new(MODE_RECORD);
    let taken = u64::from(RINGS_MAX) - 50; // as if so many threads had been before
    r.set32(CONTROL_OFF_NEXT_RING, taken);
    let (output, rings) = r.run(&program(r.dir.path(), "clang", "many.c", &["-pthread"]), &["100"]);
    assert!(output.status.success(), "{output:?}");
    assert!(rings[taken as usize + 1..].iter().all(|r| writes(r) == 100));
    assert_eq!(rings.len(), RINGS_MAX as usize);
    assert_eq!((r.get64(CONTROL_OFF_UNRINGED), r.get64(CONTROL_OFF_DROPPED)), (51, 51 * 100));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "said once");
}

#[test]
fn threads_of_c11_are_announced_like_others() {
    let r = Recording::new(MODE_RECORD);
    let (output, rings) = r.run(&program(r.dir.path(), "gcc", "many.c", &["-pthread", "-DC11"]), &["20"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rings.len(), 21);
    assert!(rings[1..].iter().all(|r| writes(r) == 100 && r.parent == 0 && r.state == ENTRY_DONE));
}

/// Created behind the runtime's back, though joined before its eyes.
#[test]
fn unannounced_threads_are_met_at_their_first_reference() {
    let r = Recording::new(MODE_RECORD);
    let (output, rings) = r.run(&program(r.dir.path(), "gcc", "many.c", &["-pthread", "-DHIDDEN"]), &["20"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rings.len(), 21);
    assert!(rings[1..].iter().all(|r| writes(r) == 100 && r.parent == u32::MAX && r.state == ENTRY_DONE));
    // What the thread does comes before what its join is followed by, all the same.
    let objects = |ring: &Ring, kind| ring.events(kind).iter().map(|e| (e.addr(), e.w1())).collect::<Vec<_>>();
    for child in &rings[1..] {
        let ended = *objects(child, EVENT_RELEASE).last().unwrap();
        assert!(objects(&rings[0], EVENT_ACQUIRE).iter().any(|(o, n)| *o == ended.0 && *n > ended.1));
    }
}

/// Rings lie in memory where the recorder says so; where that is full or gone they lie beside the control file.
#[test]
fn a_directory_in_memory_is_preferred_and_can_vanish() {
    let r = Recording::new(MODE_RECORD);
    let program = program(r.dir.path(), "gcc", "many.c", &["-pthread"]);
    for (there, on_disk) in [(true, 0), (false, 6)] {
        let r = Recording::new(MODE_RECORD);
        let memory = r.dir.path().join("memory");
        if there {
            std::fs::create_dir(&memory).unwrap();
        }
        r.set_memory(&memory);
        let output = r.command(&program, &["5"]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let rings = |dir: &std::path::Path| {
            let files = std::fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path());
            files.filter(|p| p.extension().is_some_and(|e| e == "ring")).count()
        };
        assert_eq!((rings(&memory), rings(r.dir.path())), (6 - on_disk, on_disk));
        assert_eq!(r.get64(CONTROL_OFF_UNRINGED), 0);
    }
}
