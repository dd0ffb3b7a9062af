//! Processes of a cluster are killed at moments drawn at random, from before the nodes are forked to long after, over each transport: the run
//! ends, says who is lost, and leaves no process behind.
mod support;

use homenode_base::Rng;
use homenode_svmrun::{SvmRequest, replay};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{cluster, compile, is_slow, on, on_hosts, over};

/// Every step of the ladder.
const STEPS: [&str; 5] = ["base", "dw", "rf", "dd", "genima"];
const SHAPES: [(u16, u16); 3] = [(2, 1), (4, 1), (2, 2)];
const TRANSPORTS: [&str; 2] = ["shm", "tcp"];

/// Processes that run the program, in order.
fn running(program: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("a list of processes").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> =
        numbers.filter(|p: &u32| fs::read_link(format!("/proc/{p}/exe")).is_ok_and(|exe| exe == program)).collect();
    found.sort_unstable();
    found
}

/// Kills one of the program's processes so long after it has begun; which, and when.
fn kill_one(program: &Path, after: Duration, which: usize) -> (u32, Instant) {
    let since = Instant::now();
    let first = loop {
        assert!(since.elapsed() < Duration::from_secs(60), "the program has not begun");
        if let Some(first) = running(program).first() {
            break *first;
        }
    };
    std::thread::sleep(after);
    let processes = running(program);
    let victim = processes.get(which % processes.len().max(1)).copied().unwrap_or(first);
    let killed = Instant::now();
    homenode_sys::process::signal(victim, 9);
    (victim, killed)
}

#[test]
fn whoever_is_killed_whenever_the_run_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/churn.c", folder.path(), &[]).canonicalize().expect("it was built");
    let said = folder.path().join("said");
    let mut rng = Rng::new(5);
    for kill in 0..if is_slow() { 500 } else { 20 } {
        let (nodes, threads) = SHAPES[kill % 3];
        // Some write journals, which are right as far as they go.
        let journals = (kill % 4 < 2).then(|| folder.path().join(format!("journals {kill}")));
        let request = over(TRANSPORTS[kill % 2], cluster(nodes, threads, STEPS[kill % 5]));
        let request = SvmRequest { journals: journals.clone(), ..request };
        // While nodes are forked and find each other, and when they run.
        let most_us = [6_000, 60_000][kill / 2 % 2];
        let (after, which) = (Duration::from_micros(rng.below(most_us)), rng.below(4) as usize);
        let (ended, (victim, killed)) = std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_one(&program, after, which));
            let ended = on(&request, &program, &[said.to_str().expect("a name")]);
            (ended, killer.join().expect("it found one"))
        });
        assert!(killed.elapsed() < Duration::from_secs(5), "{kill}: {:?}", killed.elapsed());
        assert_eq!(running(&program), Vec::<u32>::new(), "{kill}");
        if let Some(folder) = journals {
            let replayed = replay(&folder).expect("journals");
            assert!(replayed.is_equal(), "{kill}: {}", replayed.to_text());
        }
        match ended {
            Err(why) => assert!(why.message.contains(&format!("(process {victim})")), "{kill}, {victim}: {why}"),
            // It had not said yet that it was a node; node 0 saw it.
            Ok(doc) => {
                let said = fs::read_to_string(&said).expect("what the nodes said");
                assert!(doc.exit_status == 1 && said.contains("ended before it had begun"), "{kill}: {said}");
            }
        }
    }
}

/// The same on two hosts, agents among those that are killed.
#[test]
fn whoever_is_killed_on_hosts_the_run_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/churn.c", folder.path(), &[]).canonicalize().expect("it was built");
    let said = folder.path().join("said");
    let mut rng = Rng::new(6);
    for kill in 0..if is_slow() { 200 } else { 10 } {
        let (nodes, threads) = SHAPES[kill % 3];
        let request = on_hosts(2, cluster(nodes, threads, STEPS[kill % 5]));
        let agent = request.homenode.clone().expect("one").canonicalize().expect("it was built");
        let (after, which) = (Duration::from_micros(rng.below([20_000, 80_000][kill / 2 % 2])), rng.below(5) as usize);
        let (ended, (victim, killed)) = std::thread::scope(|scope| {
            let victim = if kill % 4 == 3 { &agent } else { &program };
            let killer = scope.spawn(|| kill_one(victim, after, which));
            let ended = on(&request, &program, &[said.to_str().expect("a name")]);
            (ended, killer.join().expect("it found one"))
        });
        assert!(killed.elapsed() < Duration::from_secs(5), "{kill}: {:?}", killed.elapsed());
        // What an agent leaves that was killed, the system kills, in its time.
        while let Some(left) = [running(&program), running(&agent)].concat().first() {
            assert!(killed.elapsed() < Duration::from_secs(5), "{kill}: {left} is left");
        }
        let why = ended.expect_err("it never ends by itself").message;
        assert!(why.contains("node ") || why.contains("127.0.0."), "{kill}, {victim}: {why}");
        assert!(why.contains("killed") || why.contains("its agent ended"), "{kill}, {victim}: {why}");
    }
}
