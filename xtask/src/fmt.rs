//! rustfmt over every file by path: `cargo fmt` does not see files whose `mod` line sits in a macro.
use anyhow::Context;
use std::process::Command;

/// Formats, or with `check` lists the files that are not formatted.
pub(crate) fn run(check: bool) -> anyhow::Result<Vec<String>> {
    let tree = crate::tree::Tree::read()?;
    let files: Vec<&str> = tree.ending(".rs").map(|f| f.path.as_str()).collect();
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.current_dir(crate::tree::root()).args(["--edition", "2024"]).args(&files);
    if check {
        rustfmt.args(["--check", "-l"]);
    }
    let out = rustfmt.output().context("rustfmt")?;
    let listed = String::from_utf8_lossy(&out.stdout);
    let mut problems: Vec<String> = Vec::new();
    if !out.status.success() {
        let here = format!("{}/", crate::tree::root().canonicalize()?.display());
        problems.extend(
            listed.lines().map(|l| format!("{}: not formatted (cargo run -p xtask -- fmt)", l.replace(&here, ""))),
        );
        if problems.is_empty() {
            problems.push(format!("rustfmt: {}", String::from_utf8_lossy(&out.stderr)));
        }
        problems.sort();
        problems.dedup();
    }
    Ok(problems)
}
