//! Repetitions that are left out of rings: what is recorded is the same.
mod support;

use homenode_base::ring::*;
use support::build::{COMPILERS, program};
use support::slots::Item;
use support::{Recording, Ring};

/// What a run of `repeats.c` referred to, as if it lay at address 0; and the slots that its rings had.
fn run(compiler: &str, level: &str, arguments: &[&str], repeats: bool) -> (Vec<Item>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path(), compiler, "repeats.c", &[level]);
    let r = Recording::new(MODE_RECORD);
    r.set32(CONTROL_OFF_REPEATS, u64::from(repeats));
    let (output, rings) = r.run(&program, arguments);
    let base = String::from_utf8(output.stdout).unwrap();
    let base = u64::from_str_radix(base.trim().trim_start_matches("0x"), 16).unwrap();
    let Ring { items, slots, .. } = rings.into_iter().next().unwrap();
    let near = |addr: &u64| addr.abs_diff(base) < 1 << 20;
    let placed = |item: Item| match item {
        Item::Ref { op, size, addr, pc } if near(&addr) => {
            Some(Item::Ref { op, size, addr: addr.wrapping_sub(base), pc: pc.wrapping_sub(base) })
        }
        Item::Event { kind: kind @ (EVENT_ACQ_REL | EVENT_NO_WAIT), w1, .. } => {
            Some(Item::Event { kind, addr: 0, w1, sync: (0, 0), payload: Vec::new() })
        }
        _ => None,
    };
    (items.into_iter().filter_map(placed).collect(), slots)
}

#[test]
fn what_is_recorded_is_the_same_with_and_without_repetitions() {
    for (compiler, level) in COMPILERS.iter().flat_map(|c| ["-O1", "-O2"].map(|level| (c, level))) {
        let ((all, slots), (short, fewer)) = (run(compiler, level, &[], false), run(compiler, level, &[], true));
        assert!(all.len() > 100_000, "{}", all.len());
        let wrong = all.iter().zip(&short).position(|(a, b)| a != b);
        assert!(wrong.is_none(), "{compiler} {level}: {wrong:?} {:?} {:?}", all[wrong.unwrap()], short[wrong.unwrap()]);
        assert_eq!(all.len(), short.len(), "{compiler} {level}");
        assert!(fewer * 2 < slots, "{compiler} {level}: {fewer} of {slots} slots");
    }
}

#[test]
fn a_killed_program_leaves_all_that_it_did() {
    let ((all, _), (short, _)) = (run("gcc", "-O2", &["kill"], false), run("gcc", "-O2", &["kill"], true));
    assert!(all.len() > 30_000 && all == short, "{} {}", all.len(), short.len());
}
