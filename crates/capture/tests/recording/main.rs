//! The recorder against a producer whose every reference is known. This test is its own recorded program and its own
//! recorder process: without arguments (or with name filters) it runs the cases below, each in a process of its own, as many at
//! a time as there are processors.
mod actor;
mod cases;
mod compacting;
mod crash;
mod dataset;
mod producer;

use std::io::Write;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Instant;

type Case = (&'static str, fn());

/// Before the name of the one case that a process is to run.
const CASE: &str = "--case=";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == actor::MARK) {
        return actor::main(&arguments[1..]);
    }
    let all: Vec<Case> = [cases::ALL, compacting::ALL, crash::ALL].concat();
    if let Some(name) = arguments.first().and_then(|a| a.strip_prefix(CASE)) {
        all.iter().find(|case| case.0 == name).expect("a case").1();
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str()));
    if arguments.iter().any(|a| a == "--list") {
        all.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (open, failed) = (Mutex::new(all.into_iter().map(|c| c.0).filter(|n| wanted(n))), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let next = || open.lock().unwrap().next();
                while let Some(name) = next() {
                    if !run(name) {
                        failed.lock().unwrap().push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!(
        "test result: {}",
        if failed.is_empty() { "ok".to_owned() } else { format!("FAILED: {}", failed.join(", ")) }
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a case in a process of its own; what it said is shown if it failed, or could not run.
fn run(name: &str) -> bool {
    let began = Instant::now();
    let done = Command::new(std::env::current_exe().unwrap()).arg(format!("{CASE}{name}")).output().unwrap();
    let passed = done.status.success();
    let mut line =
        format!("test {name} ... {} ({:.1} s)\n", if passed { "ok" } else { "FAILED" }, began.elapsed().as_secs_f64());
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    if !passed || said.contains("SKIPPED") {
        line = said + &line;
    }
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    passed
}
