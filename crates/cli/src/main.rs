//! The `homenode` command: see the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // Where it cannot be found, whatever has this name on the search path is what the user calls so too.
    let itself = std::env::current_exe().unwrap_or_else(|_| "homenode".into());
    ExitCode::from(homenode_cli::run(std::env::args_os().collect(), vec![itself.into()]))
}
