//! Pure crates forbid unsafe and touch no OS; unsafe elsewhere lives where the house says and states its reason.
use crate::tree::{File, Tree};

const PURE: &[&str] = &[
    "base",
    "table",
    "trace",
    "thin",
    "threads",
    "synthetic",
    "objects",
    "openmp",
    "machine",
    "placement",
    "coherence",
    "hlrc",
    "analysis",
    "sim",
    "realign",
    "timed",
    "cluster",
    "study",
    "report",
    "planner",
];
/// The system, what is linked into recorded programs, and both sides of the C functions for programs: the library that has them, and the crate
/// for programs in Rust, which calls them and hands out memory that threads share.
const MAY_BE_UNSAFE: &[&str] = &["crates/sys/", "crates/hooks/", "crates/capi/", "crates/parallel/"];
/// Paths that reach the operating system or the wall clock.
const IMPURE: &[&str] =
    &["std::fs", "std::net", "std::process", "std::env", "std::thread", "std::os::", "Instant::now", "SystemTime"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for name in PURE {
        let path = format!("crates/{name}/src/lib.rs");
        let forbids = tree.files.iter().any(|f| f.path == path && f.text.contains("#![forbid(unsafe_code)]"));
        if !forbids {
            problems.push(format!("{path}: a pure crate must say #![forbid(unsafe_code)]"));
        }
    }
    for file in tree.ending(".rs").filter(|f| !f.path.starts_with("xtask/")) {
        problems.extend(in_file(file));
    }
    problems
}

fn in_file(file: &File) -> Vec<String> {
    let pure = PURE.iter().any(|n| file.path.starts_with(&format!("crates/{n}/src/")));
    let may_be_unsafe = MAY_BE_UNSAFE.iter().any(|p| file.path.starts_with(p));
    let mut problems = Vec::new();
    let lines: Vec<&str> = file.text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        if pure && let Some(word) = IMPURE.iter().find(|w| code.contains(**w)) {
            problems.push(format!("{}:{}: {word} in a pure crate", file.path, i + 1));
        }
        let is_unsafe = ["unsafe {", "unsafe impl", "unsafe extern"].iter().any(|w| code.contains(w));
        if is_unsafe && !may_be_unsafe {
            problems.push(format!("{}:{}: unsafe outside sys, hooks and the C ABI", file.path, i + 1));
        }
        if is_unsafe && !lines[i.saturating_sub(8)..=i].iter().any(|l| l.contains("SAFETY")) {
            problems.push(format!("{}:{}: unsafe without a SAFETY reason", file.path, i + 1));
        }
    }
    problems
}
