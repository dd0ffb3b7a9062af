//! Programs written in PARMACS, as those of SPLASH: every macro of `include/parmacs.m4`, with pthreads and on nodes, in one binary.
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{cluster, compile_all, on};

const COMMANDS: [&str; 9] = ["create", "each", "lock", "barrier", "pause", "condvar", "getsub", "memory", "fences"];

/// The program, if there is an m4 that makes C of it.
fn program() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if Command::new("m4").arg("--version").output().is_err() {
            println!("SKIPPED: there is no m4; `./bootstrap test` installs it");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["parmacs.c", "parmacs_more.c", "parmacs_more.h"] {
            expand(name, folder.path());
        }
        let sources = ["parmacs.c", "parmacs_more.c"].map(|name| folder.path().join(name));
        let program = compile_all(&sources, folder.path(), &["-g", "-std=c11", "-D_POSIX_C_SOURCE=200112", "-Werror"]);
        Some((folder, program))
    });
    built.as_ref().map(|(_, program)| program.as_path())
}

fn expand(name: &str, folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (macros, source) = (root.join("../../include/parmacs.m4"), root.join("tests/c").join(format!("{name}.in")));
    let done = Command::new("m4").arg(macros).arg(source).output().expect("m4 runs");
    assert!(done.status.success() && done.stderr.is_empty(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    fs::write(folder.join(name), done.stdout).expect("written");
}

#[test]
fn every_macro_with_pthreads() {
    let Some(program) = program() else { return };
    for threads in ["1", "2", "5"] {
        for command in COMMANDS {
            let done = Command::new(program).args([command, threads]).output().expect("it starts");
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{command}, {threads} threads: {said}");
        }
    }
}

#[test]
fn every_macro_on_nodes() {
    let Some(program) = program() else { return };
    for (step, nodes, threads) in [("base", 2, 1), ("base", 2, 2), ("genima", 2, 1), ("genima", 2, 2), ("genima", 4, 1)]
    {
        for command in COMMANDS {
            let all = (nodes * threads).to_string();
            let doc = on(&cluster(nodes, threads, step), program, &[command, &all]).expect("it runs");
            assert_eq!(doc.exit_status, 0, "{command}: {step}, {nodes} x {threads}");
            assert_eq!(doc.nodes.len(), usize::from(nodes));
        }
    }
}

#[test]
fn memory_is_known_by_the_programs_own_lines() {
    let Some(program) = program() else { return };
    let doc = on(&cluster(2, 1, "genima"), program, &["memory", "2"]).expect("it runs");
    let taken = |small: bool| doc.objects.iter().filter(move |o| (o.site.contains("homenode_parmacs.h:")) == small);
    assert!(taken(false).count() > 0 && taken(false).all(|o| o.site.contains("parmacs")), "{:?}", doc.objects);
    // Small allocations are cut from pieces of the header's own.
    assert!(taken(true).all(|o| o.asked_bytes == 1 << 16), "{:?}", doc.objects);
}

#[test]
fn fewer_threads_than_the_nodes_have_are_refused() {
    let Some(program) = program() else { return };
    let doc = on(&cluster(3, 1, "genima"), program, &["lock", "2"]).expect("it runs");
    assert_eq!(doc.exit_status, 1);
}
