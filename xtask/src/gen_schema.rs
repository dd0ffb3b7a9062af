//! The JSON schemas of `docs/schema`. Deriving them takes the crates of all commands, which the house rules are not to wait
//! for: an example of the command line does it.
use anyhow::Context;
use std::process::Command;

/// Writes the schemas, or with `check` compares the committed ones. Errors if one differs or cannot be read or written.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(crate::tree::root());
    cargo.args(["run", "-q", "--release", "--locked", "-p", "homenode-cli", "--example", "gen_schema", "--"]);
    if check {
        cargo.arg("--check");
    }
    let status = cargo.status().context("cargo run")?;
    anyhow::ensure!(status.success(), "gen_schema: {status}");
    Ok(())
}
