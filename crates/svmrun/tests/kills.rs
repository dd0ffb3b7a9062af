//! Processes of a cluster are killed at moments drawn at random, from before the program begins to long after: the run ends, says who is
//! lost, and leaves no process behind.
mod support;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use support::{cluster, compile, on};

/// Kills, and after how many microseconds at most.
const KILLS: u64 = if option_env!("HOMENODE_SLOW").is_some() { 500 } else { 20 };
const MOST_US: u64 = 150_000;
/// Every step of the ladder.
const STEPS: [&str; 5] = ["base", "dw", "rf", "dd", "genima"];

/// The mixer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(seed: u64) -> u64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Processes that run the program, with their parents.
fn running(program: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("a list of processes").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> =
        numbers.filter(|p: &u32| fs::read_link(format!("/proc/{p}/exe")).is_ok_and(|exe| exe == program)).collect();
    found.sort_unstable();
    found
}

/// Kills one of the program's processes once the time has come; which, and when.
fn kill_one(program: &Path, seed: u64) -> (u32, Instant) {
    let since = Instant::now();
    thread::sleep(Duration::from_micros(mixed(seed) % MOST_US));
    loop {
        assert!(since.elapsed() < Duration::from_secs(60), "the program has not begun");
        let processes = running(program);
        if let Some(victim) = processes.get(mixed(seed + 1000) as usize % processes.len().max(1)) {
            let killed = Instant::now();
            homenode_sys::process::signal(*victim, 9);
            return (*victim, killed);
        }
    }
}

#[test]
fn whoever_is_killed_whenever_the_run_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/churn.c", folder.path(), &[]).canonicalize().expect("it was built");
    for seed in 0..KILLS {
        let (step, shape) = (STEPS[seed as usize % 5], [(2, 1), (4, 1), (2, 2)][seed as usize % 3]);
        let killer = {
            let program = program.clone();
            thread::spawn(move || kill_one(&program, seed))
        };
        let ended = on(&cluster(shape.0, shape.1, step), &program, &[]);
        let (victim, killed) = killer.join().expect("it found one");
        let took = killed.elapsed();
        assert!(took < Duration::from_secs(5), "seed {seed}: {took:?}");
        match ended {
            Err(said) => {
                let named = said.message.contains(&format!("process {victim})"));
                assert!(named, "seed {seed}, {victim}: {}", said.message);
            }
            // Its parent was just making it, and said so itself.
            Ok(doc) => assert_ne!(doc.exit_status, 0, "seed {seed}"),
        }
        assert_eq!(running(&program), Vec::<u32>::new(), "seed {seed}");
    }
}
