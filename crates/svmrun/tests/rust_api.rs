//! Programs in Rust, of crate `parallel`: the files that run by themselves run on nodes.
mod support;

use homenode_command::Failure;
use homenode_svmrun::SvmDoc;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use support::{cluster, compile_all, is_slow, on, on_hosts, over};

/// An example of the crate, built by a cargo of its own: cargo builds no examples of other crates.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parallel");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root).args(["build", "--release", "--locked", "-p", "homenode-parallel", "--examples"]);
        let done = cargo.arg("--target-dir").arg(&folder).output().expect("cargo runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        folder.join("release/examples")
    };
    BUILT.get_or_init(build).join(name)
}

/// Clusters: nodes, threads a node, step, transport.
const FEW: [(u16, u16, &str, &str); 4] =
    [(2, 1, "nil", "shm"), (3, 2, "base", "shm"), (4, 1, "nil", "tcp"), (2, 2, "base", "tcp")];

fn all() -> Vec<(u16, u16, &'static str, &'static str)> {
    let steps = ["base", "nil"].into_iter().flat_map(|step| [(step, "shm"), (step, "tcp")]);
    let sizes = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)];
    steps.flat_map(|(step, over)| sizes.map(|(n, t)| (n, t, step, over))).collect()
}

fn holds(name: &str, words: &[&str]) {
    let clusters = if is_slow() { all() } else { FEW.to_vec() };
    for (nodes, threads, step, transport) in clusters {
        let what = format!("{name} {words:?}: {nodes} x {threads}, {step}, {transport}");
        let doc = on(&over(transport, cluster(nodes, threads, step)), &program(name), words);
        let doc = doc.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!((doc.exit_status, &doc.notes[..]), (0, &[][..]), "{what}");
        assert_eq!(doc.nodes.len(), usize::from(nodes), "{what}");
    }
}

#[test]
fn sor_is_that_of_one_thread() {
    holds("sor", &["70", "6"]);
}

#[test]
fn a_list_of_work_is_done_once() {
    holds("queue", &["30000"]);
}

#[test]
fn promises_hold() {
    for command in ["counts", "turns", "reductions", "memory", "std", "nested"] {
        holds("promises", &[command]);
    }
}

#[test]
fn runs_share_their_barrier() {
    let doc = on(&cluster(2, 2, "nil"), &program("promises"), &["again"]).expect("it runs");
    assert_eq!(doc.exit_status, 0);
    // There is room for so many names in a cluster, and for as many runs as a program likes.
    let barriers: Vec<u64> = doc.locks.iter().filter(|lock| lock.what == "barrier").map(|lock| lock.times).collect();
    assert_eq!(barriers, [4 * 20]);
}

fn hosts(nodes: u16, threads: u16, name: &str, words: &[&str]) -> Result<SvmDoc, Failure> {
    on(&on_hosts(2, cluster(nodes, threads, "nil")), &program(name), words)
}

#[test]
fn programs_run_on_hosts_as_they_are() {
    // Rust's library has printed and knows the arguments by then: its variables begin anew elsewhere.
    for (name, words) in [
        ("sor", &["70", "6"][..]),
        ("queue", &["30000"]),
        ("promises", &["counts"]),
        ("promises", &["turns"]),
        ("promises", &["memory"]),
        ("promises", &["std"]),
    ] {
        for (nodes, threads) in [(2, 1), (3, 2)] {
            let doc = hosts(nodes, threads, name, words).unwrap_or_else(|e| panic!("{name} {words:?}: {e}"));
            assert_eq!((doc.exit_status, &doc.notes[..]), (0, &[][..]), "{name} {words:?}");
            let last = doc.nodes.last().and_then(|node| node.host.as_deref());
            assert_eq!((doc.nodes.len(), last), (usize::from(nodes), Some("127.0.0.2")), "{name} {words:?}");
        }
    }
}

#[test]
fn a_panic_ends_all_nodes() {
    for command in ["panic-first", "panic-last"] {
        for transport in ["shm", "tcp"] {
            let request = over(transport, cluster(3, 2, "nil"));
            assert_eq!(on(&request, &program("promises"), &[command]).expect("it ends").exit_status, 101, "{command}");
        }
        assert_eq!(hosts(2, 2, "promises", &[command]).expect("it ends").exit_status, 101, "{command}");
    }
}

#[test]
fn a_stack_that_is_full_is_a_crash_of_its_node() {
    let why = on(&cluster(2, 1, "nil"), &program("promises"), &["overflow"]).expect_err("a crash").message;
    assert!(why.contains("node 1 (process "), "{why}");
}

#[test]
fn a_library_of_another_version_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("older.c");
    std::fs::write(&source, "unsigned homenode_svm_threads(void) { return 2; }\n").expect("written");
    let library = compile_all(&[source], folder.path(), &["-shared", "-fPIC"]);
    let run = |name| Command::new(program(name)).env("LD_PRELOAD", &library).output().expect("it runs");
    let said = String::from_utf8_lossy(&run("queue").stderr).into_owned();
    assert!(
        said.starts_with("queue: this process has functions") && said.contains("but not homenode_create: use"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// What a test of this file prints as a process of its own.
fn of(test: &str) -> Output {
    let own = std::env::current_exe().expect("known");
    let mut child = Command::new(own);
    child.args(["--exact", test, "--ignored", "--nocapture"]).env("RUST_BACKTRACE", "0");
    child.output().expect("it runs")
}

#[test]
fn nodes_print_whole_lines_once() {
    for test in ["prints_here", "prints_on_hosts"] {
        let done = of(test);
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{text}");
        for thread in 0..4 {
            for wanted in [format!("thread {thread} says something\n"), format!("and the rest of thread {thread}; ")] {
                assert_eq!(text.matches(&wanted).count(), 1, "{test}: {wanted:?} in {text}");
            }
        }
        for wanted in ["before\n", "begun; ", "after\n"] {
            assert_eq!(text.matches(wanted).count(), 1, "{test}: {wanted:?} in {text}");
        }
    }
}

#[test]
#[ignore = "nodes_print_whole_lines_once runs it"]
fn prints_here() {
    assert_eq!(on(&cluster(4, 1, "nil"), &program("promises"), &["std"]).expect("it runs").exit_status, 0);
}

#[test]
#[ignore = "nodes_print_whole_lines_once runs it"]
fn prints_on_hosts() {
    assert_eq!(hosts(4, 1, "promises", &["std"]).expect("it runs").exit_status, 0);
}

#[test]
fn a_panic_is_said_in_a_line() {
    let done = of("panics_here");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(said.matches("homenode: thread 3 (node 1) panicked: the program ends\n").count(), 1, "{said}");
}

#[test]
#[ignore = "a_panic_is_said_in_a_line runs it"]
fn panics_here() {
    assert_eq!(on(&cluster(2, 2, "nil"), &program("promises"), &["panic-last"]).expect("it ends").exit_status, 101);
}
