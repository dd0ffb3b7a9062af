//! Traps, interrupts and forks, tested by really accessing memory. Each case is a process of its own, forked from this one
//! while it has no other thread, since signal handlers and fixed addresses belong to a process as a whole.
//!
//! `cargo test -p homenode-sys --test trapped WORD` runs the cases whose names contain the word.
use std::process::ExitCode;

mod foreign;
mod forks;
mod interrupts;
mod mapping;
mod support;
mod transitions;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let groups = [transitions::CASES, mapping::CASES, foreign::CASES, forks::CASES, interrupts::CASES];
    let mut failed = 0;
    for (name, case) in groups.into_iter().flatten() {
        if words.is_empty() || words.iter().any(|w| name.contains(w.as_str())) {
            let end = support::in_child(*case);
            let good = end == support::GOOD;
            println!("test {name} ... {}", if good { "ok".to_owned() } else { format!("FAILED: {end:?}") });
            failed += u32::from(!good);
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
