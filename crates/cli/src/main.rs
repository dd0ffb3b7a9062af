//! # homenode: the command
//!
//! **Invariant:** results go to stdout, progress and warnings to stderr; the exit status is 0 ok, 1 the work failed,
//! 2 usage, 3 bad input. No logic lives here: every command is a call into `homenode-toolkit`.
//!
//! Reading order: `args` (the one list that feeds the parser, `--help`, the man pages and the completions),
//! `run`, `usage.rs`, `progress.rs`.
#![forbid(unsafe_code)]

mod args;
mod progress;
mod run;
mod usage;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    homenode_toolkit::prepare();
    let asked = match args::SweepWorker::asked() {
        Some(worker) => worker.map(|w| run::worker(&w)),
        None => args::Cli::try_parse().map(run::run),
    };
    let done = match asked {
        Ok(done) => done,
        Err(e) => {
            match usage::mistake(&e) {
                Some(line) => eprintln!("homenode: {line}"),
                // Help and version. Nobody is left to tell that they could not be printed.
                None => drop(e.print()),
            }
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(2));
        }
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(e) => {
            eprintln!("homenode: {e}");
            ExitCode::from(e.class.exit_status())
        }
    }
}
