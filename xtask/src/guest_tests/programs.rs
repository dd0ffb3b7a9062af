//! Programs that scenarios run: C of tests/guest/programs and workloads, compiled by the harness, and the command under test.
use super::scenario::Scenario;
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command under test.
const HOMENODE: &str = "homenode";
/// An example of the workspace: the project's own mover, at random.
const RANDOM_MOVES: &str = "random_moves";
const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-g1", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// Name, source relative to the root, further flags.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("where", "tests/guest/programs/where.c", &[]),
    ("mover", "tests/guest/programs/mover.c", &[]),
    ("pattern", "tests/guest/programs/pattern.c", &[]),
    ("hinting", "tests/guest/programs/hinting.c", &[]),
    ("bound", "tests/guest/programs/bound.c", &[]),
    ("hog", "tests/guest/programs/hog.c", &[]),
    ("owners", "tests/guest/programs/owners.c", &[]),
    ("owners_static", "tests/guest/programs/owners.c", &["-static"]),
    ("stencil", "workloads/stencil.c", &[]),
];

/// Whether a scenario may ask for it.
pub(crate) fn is_known(name: &str) -> bool {
    [HOMENODE, RANDOM_MOVES].contains(&name) || PROGRAMS.iter().any(|p| p.0 == name)
}

/// Puts all programs of these scenarios into a folder.
///
/// # Errors
/// What the compiler says; how to build the command under test if it is not there.
pub(crate) fn prepare(scenarios: &[Scenario], homenode: &Path, folder: &Path) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = scenarios.iter().flat_map(|s| &s.programs).map(String::as_str).collect();
    for name in names {
        let to = folder.join(name);
        match name {
            HOMENODE => strip(homenode, &to)?,
            RANDOM_MOVES => strip(&random_moves()?, &to)?,
            _ => compile(name, &to)?,
        }
    }
    Ok(())
}

fn compile(name: &str, to: &Path) -> anyhow::Result<()> {
    let program = PROGRAMS.iter().find(|p| p.0 == name).with_context(|| format!("there is no program {name}"))?;
    let mut gcc = Command::new("gcc");
    gcc.args(FLAGS).arg("-o").arg(to).arg(crate::tree::root().join(program.1)).args(program.2).arg("-lm");
    let done = gcc.output().context("running gcc (Debian packages gcc, libc6-dev)")?;
    ensure!(done.status.success(), "compiling {}:\n{}", program.1, String::from_utf8_lossy(&done.stderr));
    Ok(())
}

fn random_moves() -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::tree::root());
    cargo.args(["build", "-q", "--release", "--locked", "-p", "homenode-migrate", "--example", RANDOM_MOVES]);
    ensure!(cargo.status().context("running cargo")?.success(), "{RANDOM_MOVES} does not build");
    Ok(super::built("examples").join(RANDOM_MOVES))
}

/// The guest's memory holds the files: symbols would take most of it.
fn strip(program: &Path, to: &Path) -> anyhow::Result<()> {
    let help = "build it (cargo build --release -p homenode-cli) or name it (--homenode PATH)";
    ensure!(program.is_file(), "{} is not there: {help}", program.display());
    let done = Command::new("strip").arg("-o").arg(to).arg(program).output();
    let done = done.context("running strip (Debian package binutils)")?;
    ensure!(done.status.success(), "strip: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
