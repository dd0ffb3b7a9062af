//! Instructions between references: counted ones come through, and estimates are held against what valgrind counts.
#[path = "../../capture/tests/support/mod.rs"]
mod support;
use homenode_capture::{RecordOptions, record};
use homenode_hooks::{Mode, install, plain};
use homenode_report::info::InfoInstructions;
use homenode_symbols::paths;
use homenode_synthetic::Builder;
use homenode_toolkit::info;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::store::Store;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(format!("{name}.c"))
}

/// The program with hooks, or as everybody builds it; same options.
fn build(folder: &Path, source: &Path, hooks: bool) -> PathBuf {
    support::build(folder.join(if hooks { "hooked" } else { "without" }), source, hooks, &["-O2"])
}

/// The program with hooks by `homenode cc --plain`, which builds it without them, too, beside it.
fn build_both(folder: &Path, source: &Path) -> PathBuf {
    let program = folder.join("both");
    let mut args: Vec<OsString> =
        ["--compiler=gcc", "--plain", "-O2", "-g", "-std=gnu11", "-pthread", "-o"].map(OsString::from).into();
    args.extend([program.clone().into(), source.into(), "-lm".into()]);
    let archive = install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let build_id = |of: &Path| homenode_symbols::read_module(of).unwrap().build_id;
    assert_eq!(plain::build(Mode::Cc, &args, &archive, &build_id).unwrap(), 0);
    assert_eq!(build_id(&program), build_id(&plain::beside(&program)));
    program
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

/// How often callgrind counts each instruction of the program itself, without libraries, by address in its file.
fn executed(folder: &Path, program: &Path, arguments: &[&str]) -> HashMap<u64, u64> {
    let file = folder.join("callgrind");
    let to = format!("--callgrind-out-file={}", file.display());
    let mut command = Command::new("valgrind");
    let done =
        command.args(["--tool=callgrind", "--dump-instr=yes", &to]).arg(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut counts, mut own, mut called, mut at, mut names) = (HashMap::new(), false, false, 0u64, HashMap::new());
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
            let words: Vec<&str> = line.split(' ').collect();
            at = match (words[0].split_at(1), words[0].strip_prefix("0x")) {
                (_, Some(digits)) => u64::from_str_radix(digits, 16).unwrap(),
                (("+", by), _) => at + by.parse::<u64>().unwrap(),
                (("-", by), _) => at - by.parse::<u64>().unwrap(),
                _ => at,
            };
            if own && !std::mem::take(&mut called) {
                *counts.entry(at).or_default() += words.get(2).map_or(0, |n| n.parse::<u64>().unwrap());
            }
            called = false;
        }
    }
    counts
}

/// A program's instructions by count and by estimate.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Executed without hooks.
    without: u64,
    /// Executed with hooks, of those that the rules call the program's own, each as often as it counts.
    own: u64,
    /// The estimate from a recording.
    estimated: u64,
    /// Of references, those with an estimate.
    share: f64,
}

impl Held {
    fn new(folder: &Path, program: &Path, without: u64, arguments: &[&str]) -> Held {
        let counts = executed(folder, program, arguments);
        let rules = paths::counted(program, &homenode_hooks::ARCHIVE, plain::beside).expect("a program");
        let own = rules.iter().map(|(at, n)| counts.get(at).copied().unwrap_or(0) * u64::from(*n)).sum();
        let known = of_recording(folder, program, arguments);
        let share = known.estimated_refs as f64 / (known.estimated_refs + known.unknown_refs) as f64;
        Held { without, own, estimated: known.estimated, share }
    }
    /// How far the estimate is from a count of the same instructions.
    fn of_paths(&self) -> f64 {
        self.estimated as f64 / self.own as f64 - 1.0
    }
    /// How far those are from what the program executes without hooks.
    fn of_compiler(&self) -> f64 {
        self.own as f64 / self.without as f64 - 1.0
    }
    fn total(&self) -> f64 {
        self.estimated as f64 / self.without as f64 - 1.0
    }
    fn percents(&self) -> String {
        [self.of_paths(), self.of_compiler(), self.total()].map(|v| format!("{:>9.1}%", 100.0 * v)).concat()
    }
}

/// Programs that nothing was fitted to, and programs that the way of learning from a build without hooks was chosen by.
const PROGRAMS: [&str; 16] = [
    "lu",
    "sor",
    "radix",
    "fft",
    "stencil",
    "matmult",
    "gauss",
    "msort",
    "em3d",
    "water",
    "barnes",
    "qsort_tasks",
    "bfs",
    "kv",
    "mp3d",
    "raytrace",
];
const JUDGED: [&str; 3] = ["lu", "sor", "radix"];

/// Slow tier: `HOMENODE_SLOW=1 cargo test --release -p homenode-toolkit --test instructions -- --nocapture`.
#[test]
fn estimates_of_whole_programs_are_held_against_counts() {
    if std::env::var_os("HOMENODE_SLOW").is_none_or(|v| v != "1") {
        return support::skipped("slow tier (HOMENODE_SLOW=1)");
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return support::skipped("there is no valgrind");
    }
    let (mut far, mut lines) = (Vec::new(), Vec::new());
    for name in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let (folder, source, arguments) = (folder.path(), workload(name), ["-s", "XS", "-p", "2"]);
        let without = executed(folder, &build(folder, &source, false), &arguments).values().sum();
        let rules = Held::new(folder, &build(folder, &source, true), without, &arguments);
        let learnt = Held::new(folder, &build_both(folder, &source), without, &arguments);
        lines.push(format!("{name:<12}{without:>11}{}{}", rules.percents(), learnt.percents()));
        let paths = [rules, learnt].iter().all(|h| h.of_paths().abs() <= 0.1 && h.share >= 0.99);
        if JUDGED.contains(&name) && !(paths && rules.total().abs() <= 0.25 && learnt.total().abs() <= 0.1) {
            far.push((name, rules, learnt));
        }
    }
    println!("{:<12}{:>11}  from the code with hooks alone  with a build without hooks", "", "executed");
    println!("{:<12}{:>11}{}", "", "", ["paths", "compiler", "total"].map(|h| format!("{h:>10}")).concat().repeat(2));
    lines.iter().for_each(|line| println!("{line}"));
    assert!(far.is_empty(), "too far off, or not known: {far:?}");
}
