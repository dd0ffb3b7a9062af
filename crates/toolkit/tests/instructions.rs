//! Instructions between references: counted ones come through, and estimates are held against what valgrind counts.
#[path = "../../capture/tests/support/mod.rs"]
mod support;
use homenode_capture::{RecordOptions, record};
use homenode_report::info::InfoInstructions;
use homenode_toolkit::info;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::store::Store;
use homenode_trace::synthetic::Builder;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(format!("{name}.c"))
}

/// The program with hooks, or as everybody builds it; same options.
fn build(folder: &Path, source: &Path, hooks: bool) -> PathBuf {
    support::build(folder.join(if hooks { "hooked" } else { "plain" }), source, hooks, &["-O2"])
}

fn of_recording(folder: &Path, program: &Path, arguments: &[&str]) -> InfoInstructions {
    let command = [program.into()].into_iter().chain(arguments.iter().map(OsString::from)).collect();
    let out = folder.join("x.hnt");
    let options =
        RecordOptions { command, out: out.clone(), backend: "hooks".into(), force: true, ..RecordOptions::default() };
    assert_eq!(record(&options, &mut ()).unwrap().exit_status, Some(0));
    info(&out, &mut ()).unwrap().instructions.expect("an exact recording")
}

#[test]
fn counted_instructions_come_through() {
    let mut program = Builder::new(1);
    program.write(0, 8).column(0, INSTRUCTIONS, 1 + 17).read(0, 8).column(0, INSTRUCTIONS, 1 + 4).read(0, 16);
    let (folder, dataset) = (tempfile::tempdir().unwrap(), program.store());
    for name in dataset.names().unwrap() {
        let file = folder.path().join("x.hnt").join(&name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, dataset.get(&name).unwrap().as_slice()).unwrap();
    }
    let found = info(&folder.path().join("x.hnt"), &mut ()).unwrap();
    let known = found.instructions.unwrap();
    assert_eq!((known.counted, known.counted_refs, known.unknown_refs, known.estimated), (21, 2, 1, 0));
    assert!(found.to_text().contains("21 instructions counted"), "{}", found.to_text());
}

/// One path from each reference to the next: what the compiler made of it can be read off.
#[test]
fn a_straight_loop_is_estimated_and_another_file_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("loop.c");
    let text = "volatile long a[1000]; int main(void) { for (int r = 0; r < 50; r++) for (int i = 0; i < 1000; i++) a[i] = i; }";
    std::fs::write(&source, text.replace("; }", "; return 0; }")).unwrap();
    let program = build(folder.path(), &source, true);
    let known = of_recording(folder.path(), &program, &[]);
    assert_eq!((known.estimated_refs, known.unknown_refs), (49_999, 1), "{known:?}");
    // A store, a step, a comparison and a jump, and a few more by taste of the compiler.
    assert!((3 * 49_999..=9 * 49_999).contains(&known.estimated), "{known:?}");
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    build(folder.path(), &source, true);
    let info = info(&folder.path().join("x.hnt"), &mut ()).unwrap();
    let known = info.instructions.unwrap();
    assert_eq!((known.estimated_refs, known.estimated), (0, 0), "the program is another one now");
}

/// Instructions of the program itself, without libraries, as callgrind counts them.
fn counted(folder: &Path, program: &Path, arguments: &[&str]) -> u64 {
    let file = folder.join("callgrind");
    let to = format!("--callgrind-out-file={}", file.display());
    let done = Command::new("valgrind").args(["--tool=callgrind", &to]).arg(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut sum, mut own, mut called, mut names) = (0, false, false, std::collections::HashMap::new());
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let object = line.strip_prefix("ob=").or(line.strip_prefix("cob=")).and_then(|l| l.split_once(')'));
        if let Some((number, name)) = object {
            if !name.is_empty() {
                names.insert(number.to_owned(), Path::new(name.trim()) == program);
            }
            own = if line.starts_with("ob=") { names.get(number).copied().unwrap_or(false) } else { own };
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            sum += if own && !called { cost } else { 0 };
            called = false;
        }
    }
    sum
}

/// Slow tier: `HOMENODE_SLOW=1 cargo test --release -p homenode-toolkit --test instructions -- --nocapture`.
#[test]
fn estimates_of_whole_programs_are_held_against_counts() {
    if std::env::var_os("HOMENODE_SLOW").is_none_or(|v| v != "1") {
        return support::skipped("slow tier (HOMENODE_SLOW=1)");
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return support::skipped("there is no valgrind");
    }
    let mut far = Vec::new();
    println!("program     counted   estimated  difference  references with an estimate");
    for name in ["lu", "sor", "radix"] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-s", "XS", "-p", "2"];
        let exact = counted(folder.path(), &build(folder.path(), &workload(name), false), &arguments);
        let known = of_recording(folder.path(), &build(folder.path(), &workload(name), true), &arguments);
        let off = known.estimated as f64 / exact as f64 - 1.0;
        let share = known.estimated_refs as f64 / (known.estimated_refs + known.unknown_refs) as f64;
        println!("{name:<7} {exact:>11} {:>11} {:>10.1}% {:>11.2}%", known.estimated, 100.0 * off, 100.0 * share);
        if off.abs() > 0.25 || share < 0.99 {
            far.push(name);
        }
    }
    assert!(far.is_empty(), "more than a quarter off, or not known: {far:?}");
}
