//! Plain references: every size, in program order, from both compilers.
mod support;

use homenode_base::ring::*;
use support::build::{COMPILERS, program};
use support::{Recording, slots::Item};

/// Expected lines that the program printed.
fn printed(output: &std::process::Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

#[test]
fn every_size_is_recorded_in_program_order() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let (output, rings) = r.run(&program(r.dir.path(), compiler, "plain.c", &[]), &[]);
        let expected: Vec<String> = printed(&output).into_iter().filter(|l| !l.starts_with(['R', 'W'])).collect();
        assert_eq!(rings.len(), 1);
        assert_eq!(rings[0].phase("plain"), expected, "{compiler}");
        assert_eq!((rings[0].state, rings[0].parent), (ENTRY_DONE, u32::MAX));
        assert_eq!(rings[0].tid, rings[0].pid);
    }
}
