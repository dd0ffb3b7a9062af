//! References and atomics of one thread: every entry point, in program order, from both compilers.
mod support;

use homenode_base::ring::*;
use std::collections::HashMap;
use std::process::Output;
use support::build::{COMPILERS, program};
use support::slots::Item;
use support::{Recording, Ring};

/// Expected lines that the program printed.
fn printed(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

fn record(compiler: &str, source: &str, flags: &[&str]) -> (Recording, Vec<String>, Ring) {
    let r = Recording::new(MODE_RECORD);
    let scratch = r.dir.path().join("scratch");
    let (output, mut rings) = r.run(&program(r.dir.path(), compiler, source, flags), &[scratch.to_str().unwrap()]);
    assert_eq!(rings.len(), 1, "{compiler} {source}");
    (r, printed(&output), rings.remove(0))
}

/// Numbers of one object rise strictly.
fn check_numbers(ring: &Ring) {
    let mut last = HashMap::new();
    for item in &ring.items {
        if let Item::Event { kind: EVENT_RELEASE..=EVENT_ACQ_REL, addr, w1, payload, .. } = item {
            let before = last.insert((*addr, payload[0][0]), *w1);
            assert!(before.is_none_or(|b| b < *w1), "{item:?} after {before:?}");
        }
    }
}

#[test]
fn every_size_is_recorded_in_program_order() {
    for compiler in COMPILERS {
        let (_, lines, ring) = record(compiler, "plain.c", &[]);
        let (loops, plain): (Vec<_>, Vec<_>) = lines.into_iter().partition(|l| l.starts_with(['R', 'W']));
        assert_eq!(ring.phase("plain"), plain, "{compiler}");
        // Compilers may keep a value that they have just stored, and read two operands in either order.
        let lower: Vec<String> = loops.iter().map(|l| l.to_lowercase()).collect();
        let found = ring.phase("loop");
        let only =
            |lines: &[String], op| -> Vec<String> { lines.iter().filter(|l| l.starts_with(op)).cloned().collect() };
        assert_eq!(only(&found, 'w'), only(&lower, 'w'), "{compiler}");
        assert!(only(&found, 'r').len() >= 199 && found.iter().all(|l| lower.contains(l)), "{compiler}: {found:?}");
        assert_eq!((ring.state, ring.parent, ring.tid), (ENTRY_DONE, u32::MAX, ring.pid));
    }
}

#[test]
fn atomics_and_busy_waiting() {
    for compiler in COMPILERS {
        let (r, lines, ring) = record(compiler, "atomics.c", &[]);
        // gcc keeps the expected value of a compare-and-swap on the stack, in sight of the instrumentation.
        let mut found = ring.phase("atomics");
        found.retain(|l| !l.contains(" 0x7ff") && *l != format!("event {EVENT_NO_WAIT}"));
        assert_eq!(found, lines, "{compiler}");
        check_numbers(&ring);
        assert_eq!(r.get64(CONTROL_OFF_UNNUMBERED), 0);
    }
}

#[test]
fn sixteen_byte_atomics() {
    for compiler in COMPILERS {
        let (_, lines, ring) = record(compiler, "wide_atomics.c", &["-mcx16"]);
        assert_eq!(ring.phase("wide"), lines, "{compiler}");
    }
}

#[test]
fn library_functions_are_ranges_of_their_callers() {
    for compiler in COMPILERS {
        let (_, lines, ring) = record(compiler, "ranges.c", &["-fno-builtin", "-D_GNU_SOURCE"]);
        let found: Vec<String> =
            ["memory", "strings", "rare memory", "rare strings", "wide", "fortified", "files", "stdio"]
                .iter()
                .flat_map(|p| ring.phase(p))
                .filter(|l| !l.starts_with("alloc"))
                .collect();
        assert_eq!(found.len(), lines.len(), "{compiler}: {found:?} {lines:?}");
        for (f, l) in found.iter().zip(&lines) {
            assert!(f == l || l.strip_suffix('?').is_some_and(|l| f.starts_with(l)), "{compiler}: {f} is not {l}");
        }
        let executable = ring.events(EVENT_MODULE)[0];
        let code = executable.addr()..executable.addr() + executable.w1();
        assert!(ring.refs().iter().all(|r| code.contains(&r.w1())), "sites are in the program, not in a library");
    }
}

#[test]
fn aggregates_are_whole_in_bytes_and_wide_accesses_are_counted() {
    for compiler in COMPILERS {
        let (r, _, ring) = record(compiler, "wide.c", &[]);
        let lines = ring.phase("copy");
        let bytes = |op: &str| -> u64 {
            let of_op = lines.iter().filter(|l| l.starts_with(op));
            of_op.map(|l| l.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).sum()
        };
        assert_eq!((bytes("r"), bytes("w")), (72, 72), "{compiler} {lines:?}");
        let wide = lines.iter().filter(|l| l.split(' ').nth(1).unwrap().parse::<u64>().unwrap() > 16).count();
        // memcpy and its like are no vector accesses: clang calls it for the larger aggregate.
        let counted = r.get64(CONTROL_OFF_WIDE);
        assert!(if compiler == "gcc" { counted == wide as u64 && wide == 4 } else { counted == 0 }, "{lines:?}");
    }
}
