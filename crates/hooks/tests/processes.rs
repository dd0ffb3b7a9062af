//! Ends, signals and forks: the runtime loses nothing and invents nothing, whatever the program does to itself.
mod support;

use homenode_base::ring::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use support::build::{COMPILERS, program};
use support::slots::Item;
use support::{Recording, Ring};

const REFS: u64 = 200_000;

fn first_number(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let word = text.split_whitespace().next().unwrap_or_else(|| panic!("nothing printed: {output:?}"));
    u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()
}

/// How many writes of the sequence the ring holds, which must be its first ones; other references are not looked at.
fn sequence_length(ring: &Ring, cells: u64) -> u64 {
    let mut n = 0;
    for item in &ring.items {
        if let Item::Ref { addr, op, size, .. } = item
            && (cells..cells + 256).contains(addr)
        {
            assert_eq!((*op, *size, *addr), ('w', 4, cells + n * 7 % 64 * 4), "write {n}");
            n += 1;
        }
    }
    n
}

#[test]
fn no_end_of_a_process_loses_a_reference() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let ends = program(dir.path(), compiler, "ends.c", &["-pthread"]);
        let orderly = ["return", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thread", "running"];
        for how in orderly.into_iter().chain(["abort", "abort twice", "kill", "crash"]) {
            let r = Recording::new(MODE_RECORD);
            let (output, rings) = r.run(&ends, &[how]);
            assert_eq!(output.status.success(), orderly.contains(&how), "{how}: {output:?}");
            assert!(orderly.contains(&how) || output.status.signal().is_some(), "{how}: {output:?}");
            for ring in &rings {
                assert_eq!(sequence_length(ring, first_number(&output)), REFS, "{compiler} {how}");
            }
            assert_eq!(rings.len(), if ["thread", "running"].contains(&how) { 2 } else { 1 });
            let done = orderly.contains(&how);
            assert_eq!(rings[0].state, if done { ENTRY_DONE } else { ENTRY_ACTIVE }, "{compiler} {how}");
            assert_eq!(rings[0].events(EVENT_EXIT).len(), usize::from(done), "{compiler} {how}");
            assert_eq!(r.get64(CONTROL_OFF_DROPPED), 0, "{compiler} {how}");
        }
    }
}

/// 20 times by default, 200 in the slow tier.
#[test]
fn a_kill_at_any_moment_loses_at_most_the_write_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    let ends = program(dir.path(), "clang", "ends.c", &["-pthread"]);
    let times = if std::env::var_os("HOMENODE_SLOW").is_some() { 200 } else { 20 };
    let mut told = 0;
    for round in 0..times {
        let r = Recording::new(MODE_RECORD);
        let note = r.dir.path().join("written");
        std::fs::write(&note, [0; 4096]).unwrap();
        // `timeout` sends SIGKILL after 2 to 40 ms.
        let after = format!("{:.4}", 0.002 + 0.038 * f64::from(round * 7 % 20) / 20.0);
        let mut command = std::process::Command::new("timeout");
        command.args(["-s", "KILL", &after]).arg(&ends).arg("endless").arg(&note);
        command.env(CONTROL_ENV, r.control_path());
        let (output, rings) = r.run_command(command);
        let bytes = std::fs::read(&note).unwrap();
        let written = u64::from(u32::from_le_bytes(bytes[..4].try_into().unwrap()));
        if written > 0 {
            told += 1;
            let recorded = sequence_length(&rings[0], first_number(&output));
            assert!((written..=written + 1).contains(&recorded), "{recorded} of {written}");
        }
    }
    assert!(told >= times / 2, "most kills came after the first write");
}

#[test]
fn signals_neither_tear_nor_add_to_what_they_interrupt() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let signals = program(dir.path(), compiler, "signals.c", &[]);
        for args in [&[][..], &["jump"]] {
            let r = Recording::new(MODE_RECORD);
            let (output, mut rings) = r.run(&signals, args);
            assert!(output.status.success(), "{compiler} {output:?}");
            let text = String::from_utf8_lossy(&output.stdout).to_string();
            let jumps: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
            // A jump between a write and its note makes the write happen twice; nothing else may be different.
            let cells = first_number(&output);
            let again = repeat_aware_length(&mut rings[0], cells, jumps);
            assert_eq!(again, 3_000_000, "{compiler} {args:?} after {jumps} jumps");
            assert!(r.get64(CONTROL_OFF_SIGNAL_REFS) >= 32, "handlers are counted");
            assert!(r.get64(CONTROL_OFF_UNNUMBERED) >= 1 && (args.is_empty() || jumps > 10), "{text}");
        }
    }
}

/// Length of the sequence if up to `repeats` of its writes stand there twice in a row.
fn repeat_aware_length(ring: &mut Ring, cells: u64, repeats: u64) -> u64 {
    let (mut n, mut left, mut last) = (0, repeats, 0);
    ring.items.retain(|item| {
        let addr = item.addr();
        let mine = item.is_ref() && (cells..cells + 256).contains(&addr);
        if mine && addr == cells + n * 7 % 64 * 4 {
            n += 1;
        } else if mine {
            assert!(left > 0 && addr == last, "write {n} is at {addr:#x}, the one before at {last:#x}");
            left -= 1;
        }
        last = if mine { addr } else { last };
        mine
    });
    n
}

/// Such a child lives as it would unrecorded; what it did before is there, and what it did afterwards is counted.
#[test]
fn who_forbids_itself_the_clock_or_system_calls_is_let_go() {
    for (compiler, how) in COMPILERS.into_iter().flat_map(|c| [(c, "tsc"), (c, "strict")]) {
        let r = Recording::new(MODE_RECORD);
        let confined = program(r.dir.path(), compiler, "confined.c", &["-pthread"]);
        let alone = std::process::Command::new(&confined).arg(how).output().unwrap();
        assert!(alone.status.success(), "{compiler} {how}: without a recorder: {alone:?}");
        let (output, rings) = r.run(&confined, &[how]);
        assert!(output.status.success(), "{compiler} {how}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not recorded"), "{compiler} {how}: {said}");
        let cells = first_number(&output);
        assert!(rings.iter().any(|ring| sequence_length(ring, cells) == 1000), "{compiler} {how}");
        // Strict: the last count is never brought home, as the child ends by a bare system call.
        let after = if how == "tsc" { 1_500_000 } else { 400_000 };
        let dropped = r.get64(CONTROL_OFF_DROPPED);
        assert!(dropped >= after, "{compiler} {how}: {dropped} dropped");
    }
}

#[test]
fn forked_and_executed_programs_have_rings_of_their_own() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let (output, rings) = r.run(&program(r.dir.path(), compiler, "forks.c", &["-pthread"]), &[]);
        assert!(output.status.success(), "{compiler} {output:?}");
        let cells = first_number(&output);
        let begun: Vec<&Ring> = rings.iter().filter(|r| !r.items.is_empty()).collect();
        let lengths = |n| begun.iter().filter(|r| sequence_length(r, cells) == n).count();
        // Five children, each with a child of its own; the initial thread; the executed program is at other addresses.
        assert_eq!((lengths(1000), lengths(500), lengths(300)), (5, 5, 1), "{compiler}");
        let executed = begun.iter().filter(|r| r.refs().len() >= 77 && r.refs().len() < 90).count();
        assert_eq!(executed, 1, "{compiler}: the executed program attached by itself");
        let children: Vec<&&Ring> = begun.iter().filter(|r| sequence_length(r, cells) == 1000).collect();
        for child in children {
            assert_eq!((child.parent, child.state), (0, ENTRY_DONE));
            let process = child.events(EVENT_PROCESS)[0];
            assert_eq!((process.addr(), process.w1()), (child.pid.into(), rings[0].pid.into()));
            assert!(rings[0].events(EVENT_SPAWN).iter().any(|e| e.addr() == u64::from(child.index)));
            assert!(!child.events(EVENT_MODULE).is_empty());
        }
        assert_eq!(r.get32(CONTROL_OFF_ATTACHED), 12, "{compiler}");
        assert_eq!(rings[0].events(EVENT_EXIT).len(), 1, "vfork children end nothing of their parent's");
    }
}
