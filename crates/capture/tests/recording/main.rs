//! The recorder against a producer whose every reference is known. This test is its own recorded program and its own
//! recorder process: without arguments (or with name filters) it runs the cases below.
mod actor;
mod cases;
mod compacting;
mod crash;
mod dataset;
mod producer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

type Case = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == actor::MARK) {
        return actor::main(&arguments[1..]);
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str()));
    let all: Vec<Case> = [cases::ALL, compacting::ALL, crash::ALL].concat();
    if arguments.iter().any(|a| a == "--list") {
        all.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = Vec::new();
    for (name, case) in all.into_iter().filter(|c| wanted(c.0)) {
        let began = Instant::now();
        let passed = catch_unwind(AssertUnwindSafe(case)).is_ok();
        println!("test {name} ... {} ({:.1} s)", if passed { "ok" } else { "FAILED" }, began.elapsed().as_secs_f64());
        failed.extend((!passed).then_some(name));
    }
    println!(
        "test result: {}",
        if failed.is_empty() { "ok".to_owned() } else { format!("FAILED: {}", failed.join(", ")) }
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
