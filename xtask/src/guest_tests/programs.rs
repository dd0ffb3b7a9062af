//! Programs that scenarios run: C of tests/guest/programs and workloads, compiled by the harness, examples of the workspace, and
//! the command under test.
use super::scenario::Scenario;
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command under test.
const HOMENODE: &str = "homenode";
/// Examples of the workspace, with their crates: the project's own mover at random, and how fast it is; owners found by
/// windows against a full recording.
const EXAMPLES: &[(&str, &str)] =
    &[("random_moves", "homenode-migrate"), ("move_speed", "homenode-migrate"), ("window_owners", "homenode-capture")];
/// Workloads with the capture hooks, built by the command under test.
const HOOKED: &[(&str, &str)] =
    &[("lu_hooks", "workloads/lu.c"), ("sor_hooks", "workloads/sor.c"), ("kv_hooks", "workloads/kv.c")];
const BUILD_IT: &str = "build it (cargo build --release -p homenode-cli) or name it (--homenode PATH)";
const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-g1", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// Name, source relative to the root, further flags.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("where", "tests/guest/programs/where.c", &[]),
    ("mover", "tests/guest/programs/mover.c", &[]),
    ("pattern", "tests/guest/programs/pattern.c", &[]),
    ("hinting", "tests/guest/programs/hinting.c", &[]),
    ("bound", "tests/guest/programs/bound.c", &[]),
    ("hog", "tests/guest/programs/hog.c", &[]),
    ("shifting", "tests/guest/programs/shifting.c", &[]),
    ("sparse", "tests/guest/programs/sparse.c", &[]),
    ("hold", "tests/guest/programs/hold.c", &[]),
    ("near", "tests/guest/programs/near.c", &[]),
    ("owners", "tests/guest/programs/owners.c", &[]),
    ("owners_static", "tests/guest/programs/owners.c", &["-static"]),
    ("stencil", "workloads/stencil.c", &[]),
    ("lu", "workloads/lu.c", &[]),
    ("sor", "workloads/sor.c", &[]),
    ("kv", "workloads/kv.c", &[]),
];

/// Whether a scenario may ask for it.
pub(crate) fn is_known(name: &str) -> bool {
    let listed = |list: &[(&str, &str)]| list.iter().any(|p| p.0 == name);
    name == HOMENODE || listed(EXAMPLES) || listed(HOOKED) || PROGRAMS.iter().any(|p| p.0 == name)
}

/// Puts all programs of these scenarios into a folder.
///
/// # Errors
/// What the compiler says; how to build the command under test if it is not there.
pub(crate) fn prepare(scenarios: &[Scenario], homenode: &Path, folder: &Path) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = scenarios.iter().flat_map(|s| &s.programs).map(String::as_str).collect();
    for name in names {
        let to = folder.join(name);
        let listed = |list: &[(&str, &'static str)]| list.iter().find(|p| p.0 == name).map(|p| p.1);
        match (listed(EXAMPLES), listed(HOOKED)) {
            _ if name == HOMENODE => strip(homenode, &to)?,
            (Some(package), _) => strip(&example(package, name)?, &to)?,
            (None, Some(source)) => compile_hooked(homenode, source, &to)?,
            (None, None) => compile(name, &to)?,
        }
    }
    Ok(())
}

fn compile(name: &str, to: &Path) -> anyhow::Result<()> {
    let program = PROGRAMS.iter().find(|p| p.0 == name).with_context(|| format!("there is no program {name}"))?;
    run_compiler(Command::new("gcc"), program.1, program.2, to)
}

fn compile_hooked(homenode: &Path, source: &str, to: &Path) -> anyhow::Result<()> {
    ensure!(homenode.is_file(), "{} is not there: {BUILD_IT}", homenode.display());
    let mut cc = Command::new(homenode);
    cc.arg("cc");
    run_compiler(cc, source, &[], to)
}

fn run_compiler(mut cc: Command, source: &str, more: &[&str], to: &Path) -> anyhow::Result<()> {
    cc.args(FLAGS).arg("-o").arg(to).arg(crate::tree::root().join(source)).args(more).arg("-lm");
    let done = cc.output().context("running the compiler (Debian packages gcc, libc6-dev)")?;
    ensure!(done.status.success(), "compiling {source}:\n{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::tree::root());
    cargo.args(["build", "-q", "--release", "--locked", "-p", package, "--example", name]);
    ensure!(cargo.status().context("running cargo")?.success(), "{name} does not build");
    Ok(super::built("examples").join(name))
}

/// The guest's memory holds the files: symbols would take most of it.
fn strip(program: &Path, to: &Path) -> anyhow::Result<()> {
    ensure!(program.is_file(), "{} is not there: {BUILD_IT}", program.display());
    let done = Command::new("strip").arg("-o").arg(to).arg(program).output();
    let done = done.context("running strip (Debian package binutils)")?;
    ensure!(done.status.success(), "strip: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
