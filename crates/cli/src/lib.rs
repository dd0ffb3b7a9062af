//! # homenode-cli: the command
//!
//! **Invariant:** results go to stdout, progress and warnings to stderr; the exit status is 0 ok, 1 the work failed,
//! 2 usage, 3 bad input. No logic lives here: every command is a call into `homenode-toolkit`.
//!
//! Reading order: `args` (the one list that feeds the parser, `--help`, the man pages and the completions),
//! `run`, `usage.rs`, `progress.rs`.
//!
//! ```
//! // No such command: usage.
//! let words = ["homenode", "frobnicate"].map(Into::into).to_vec();
//! assert_eq!(homenode_cli::run(words, vec!["homenode".into()]), 2);
//! ```
#![forbid(unsafe_code)]

mod args;
mod progress;
mod run;
mod usage;

use clap::Parser;
use std::ffi::OsString;

/// Runs a command line, of which the first word is the command's own name, and returns the exit status. `itself` is what starts
/// another process that does this, to which its words are added.
pub fn run(words: Vec<OsString>, itself: Vec<OsString>) -> u8 {
    homenode_toolkit::prepare();
    let asked = match args::SweepWorker::asked(&words) {
        Some(worker) => worker.map(|w| run::worker(&w)),
        None => args::Cli::try_parse_from(&words).map(|cli| run::run(cli, itself)),
    };
    let done = match asked {
        Ok(done) => done,
        Err(e) => {
            match usage::mistake(&e, &words) {
                Some(line) => eprintln!("homenode: {line}"),
                // Help and version. Nobody is left to tell that they could not be printed.
                None => drop(e.print()),
            }
            return u8::try_from(e.exit_code()).unwrap_or(2);
        }
    };
    done.unwrap_or_else(|e| {
        eprintln!("homenode: {e}");
        e.class.exit_status()
    })
}
