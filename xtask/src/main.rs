//! House rules as a program: `cargo run -p xtask -- tidy`, `gen-header [--check]`, `gen-schema [--check]`,
//! `gen-commands [--check]`.
#![forbid(unsafe_code)]

mod arrows;
mod circles;
mod comments;
mod dead;
mod fmt;
mod gen_docs;
mod gen_header;
mod glossary;
mod guest;
mod guest_tests;
mod lengths;
mod picture;
mod prose;
mod purity;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND
  tidy                  check the house rules: arrows, circles, purity, lengths, dead files, links and paths in prose, pronouns, glossary, formatting
  fmt                   format every Rust file by path (rustfmt does not follow `mod` lines inside macros)
  picture               draw the crates and their arrows in ARCHITECTURE.md
  gen-header [--check]  write (or compare) the C headers of the rings and of the agent's plans
  gen-schema [--check]  write (or compare) the JSON schemas of docs/schema, derived from the types of the documents
  gen-commands [--check] write (or compare) the book's pages of commands, from the definition that --help is made of
  guest ... -- COMMAND  run COMMAND in a Linux guest with several memory nodes (guest --help)
  guest-tests           run the scenarios of tests/guest, each in such a guest (guest-tests --help)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["tidy"] => tidy(),
        ["fmt"] => fmt::run(false).map(drop),
        ["picture"] => picture::run(),
        ["gen-header"] => gen_header::run(false),
        ["gen-header", "--check"] => gen_header::run(true),
        ["gen-schema"] => gen_docs::run("gen_schema", false),
        ["gen-schema", "--check"] => gen_docs::run("gen_schema", true),
        ["gen-commands"] => gen_docs::run("gen_commands", false),
        ["gen-commands", "--check"] => gen_docs::run("gen_commands", true),
        ["guest-tests", ref rest @ ..] => return finish(guest_tests::run(rest)),
        ["guest", ref rest @ ..] => return finish(guest::run(rest)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    finish(done.map(|()| 0))
}

/// Says what failed.
fn finish(done: anyhow::Result<u8>) -> ExitCode {
    match done {
        Ok(status) => ExitCode::from(status),
        Err(e) => {
            eprintln!("xtask: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every check and prints every problem, not just the first.
fn tidy() -> anyhow::Result<()> {
    let tree = tree::Tree::read()?;
    let mut problems = Vec::new();
    problems.extend(arrows::check()?);
    problems.extend(circles::check(&tree)?);
    problems.extend(picture::check(&tree)?);
    problems.extend(purity::check(&tree));
    problems.extend(lengths::check(&tree)?);
    problems.extend(dead::check(&tree));
    problems.extend(prose::check(&tree));
    problems.extend(comments::check(&tree));
    problems.extend(glossary::check(&tree));
    problems.extend(fmt::run(true)?);
    problems.iter().for_each(|p| eprintln!("tidy: {p}"));
    anyhow::ensure!(problems.is_empty(), "{} problems", problems.len());
    println!("tidy: {} files keep the house rules", tree.files.len());
    Ok(())
}
