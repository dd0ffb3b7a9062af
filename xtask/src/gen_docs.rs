//! What is derived from the command line and its documents: the JSON schemas of `docs/schema`, the pages of `docs/commands`. It takes the
//! crates of all commands, which the house rules are not to wait for: examples of the command line do it.
use anyhow::Context;
use std::process::Command;

/// Has an example of the command line write its files, or with `check` compare the committed ones. Errors if one differs or
/// cannot be read or written.
pub(crate) fn run(example: &str, check: bool) -> anyhow::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(crate::tree::root());
    cargo.args(["run", "-q", "--release", "--locked", "-p", "homenode-cli", "--example", example, "--"]);
    if check {
        cargo.arg("--check");
    }
    let status = cargo.status().context("cargo run")?;
    anyhow::ensure!(status.success(), "{example}: {status}");
    Ok(())
}
