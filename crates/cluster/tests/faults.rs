//! Faults by seed: the protocol survives those that a network may have, and what no protocol survives is found.
mod support;
use homenode_cluster::{ClusterError, Faults, Question, Row, run};
use homenode_hlrc::steps::{self, Step};
use homenode_timed::engine::Options;
use homenode_trace::DatasetReader;
use support::{Few, machine, ordered};

type Shape = (usize, u16);

const SHAPES: [Shape; 5] = [(2, 1), (2, 2), (4, 1), (3, 2), (4, 2)];

fn shape(seed: u64) -> Shape {
    SHAPES[seed as usize % SHAPES.len()]
}
fn program(seed: u64) -> DatasetReader {
    ordered(seed % 50, shape(seed).0 as u32 * u32::from(shape(seed).1))
}

fn row(
    (data, shape): (&DatasetReader, Shape),
    step: &Step,
    faults: Option<Faults>,
    hits_max: usize,
) -> Result<Row, ClusterError> {
    let machine = machine("svm-achievable", shape);
    let options = Options { hits_max, phase: None };
    let question = Question { machine: &machine, map: None, options, checks: true, faults };
    run(&question.bind(data, Few)?, step, || Few)
}

fn faults(text: &str) -> Option<Faults> {
    Some(text.parse().expect("known"))
}
/// All that may go wrong, so often that it happens to programs that are over soon.
fn all(seed: u64) -> Option<Faults> {
    let how = [
        "loss=0.05,timeout=20000,delay=30000,slow=3x,pause=200000,every=300000",
        "loss=0.3,timeout=3000",
        "delay=200000",
        "delay=3000,pause=50000,every=50000",
        "slow=10x,loss=0.01,timeout=500000",
    ];
    // Not in step with the shapes.
    faults(&format!("{seed},{}", how[seed as usize / SHAPES.len() % how.len()]))
}

#[test]
fn whatever_goes_wrong_reads_find_what_was_written_last() {
    let seeds = if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { 10_000 } else { 200 };
    let (mut lost, mut overtaking, mut pauses, mut read) = (0, 0, 0, 0);
    for seed in 0..seeds {
        let data = program(seed);
        for step in steps::ALL {
            let row = row((&data, shape(seed)), step, all(seed), usize::MAX);
            let row = row.unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", step.name));
            assert_eq!(row.stale, Some(0), "seed {seed}, {}", step.name);
            let injected = row.injected.expect("faults were asked for");
            assert_eq!(injected.gone, 0);
            (lost, overtaking) = (lost + injected.lost, overtaking + injected.overtaking);
            (pauses, read) = (pauses + injected.pauses, read + row.read.unwrap_or(0));
        }
    }
    let least = 10 * seeds;
    assert!(
        lost > least && overtaking > least && pauses > least && read > 1000 * seeds,
        "{lost} {overtaking} {pauses} {read}"
    );
}

#[test]
fn the_same_seed_gives_the_same_on_any_thread_and_step_by_step() {
    for seed in 0..15 {
        let step = steps::ALL[seed as usize % steps::ALL.len()];
        let make = |hits_max, seed| {
            std::thread::spawn(move || row((&program(3), shape(3)), step, all(seed), hits_max).expect("runs"))
        };
        let [one, again, slow, other] =
            [make(usize::MAX, seed), make(usize::MAX, seed), make(1, seed), make(usize::MAX, seed + 25)];
        let one = one.join().expect("runs");
        assert_eq!(one, again.join().expect("runs"));
        assert_eq!(one, slow.join().expect("runs"), "runs of hits are single steps");
        assert_ne!(one.cycles, other.join().expect("runs").cycles, "seed {seed}");
    }
}

#[test]
fn packets_of_a_pair_out_of_order_are_found() {
    let (mut stale, mut errors) = (0, 0);
    for seed in 0..40 {
        let data = program(seed);
        for step in steps::ALL {
            let unordered = faults(&format!("{seed},delay=30000")).map(Faults::unordered);
            match row((&data, shape(seed)), step, unordered, usize::MAX) {
                Ok(row) => stale += u64::from(row.stale != Some(0)),
                Err(ClusterError::Deadlock { .. }) => errors += 1,
                Err(e) => panic!("{e}"),
            }
        }
    }
    assert!(stale > 0, "{stale} {errors}");
}

#[test]
fn packets_that_are_not_sent_again_end_in_an_error_that_says_who_waits() {
    let (mut deadlocks, mut over) = (Vec::new(), 0);
    for seed in 0..40 {
        let data = program(seed);
        for step in steps::ALL {
            match row((&data, shape(seed)), step, faults(&format!("{seed},loss=0.01,tries=1")), usize::MAX) {
                Ok(row) => over += row.injected.map_or(0, |i| i.gone),
                Err(e @ ClusterError::Deadlock { gone, .. }) => {
                    assert!(gone > 0);
                    deadlocks.push(e.to_string());
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
    assert!(deadlocks.len() > 100, "{} {over}", deadlocks.len());
    for word in ["for page 0x1", "for lock 0x80", "at barrier 0x9000, where thread", "lost for ever"] {
        assert!(deadlocks.iter().any(|e| e.contains(word)), "{word}: {deadlocks:?}");
    }
}

#[test]
fn faults_of_no_size_change_nothing() {
    for (seed, step) in (0..).zip(steps::ALL) {
        let data = program(seed);
        let plain = row((&data, shape(seed)), step, None, usize::MAX).expect("runs");
        let none = row((&data, shape(seed)), step, faults("7,loss=0"), usize::MAX).expect("runs");
        let injected = none.injected.clone().expect("asked for");
        assert_eq!((injected.lost, injected.delayed, injected.pauses, injected.slow_node), (0, 0, 0, None));
        // Messages that leave at the same time may change places.
        assert!(plain.cycles.abs_diff(none.cycles) * 100 < plain.cycles, "{}", step.name);
        assert_eq!((plain.compute, plain.refs, plain.read), (none.compute, none.refs, none.read));
    }
}

#[test]
fn a_slow_node_computes_so_many_times_as_long() {
    let data = ordered(1, 4);
    let one = |faults| row((&data, (1, 4)), steps::ALL[4], faults, usize::MAX).expect("runs");
    let (plain, slow) = (one(None), one(faults("1,slow=3x")));
    // What a reference that misses takes is its memory's time, but for the cycle in which it is made.
    assert!((3 * plain.compute..7 * plain.compute / 2).contains(&slow.compute), "{} {}", plain.compute, slow.compute);
    assert_eq!(slow.sequential, plain.sequential);
    assert_eq!(slow.injected.expect("asked for").slow_node, Some(0));
    let two = |faults| row((&data, (2, 2)), steps::ALL[0], faults, usize::MAX).expect("runs");
    let (plain, slow) = (two(None), two(faults("1,slow=3x")));
    assert!(plain.compute < slow.compute && slow.compute < 3 * plain.compute);
    assert!(plain.work.twins < slow.work.twins && plain.work.handlers < slow.work.handlers);
}

#[test]
fn processors_of_a_node_stand_still_together() {
    let data = ordered(1, 4);
    let one = |faults| row((&data, (1, 4)), steps::ALL[4], faults, usize::MAX).expect("runs");
    let paused = one(faults("1,pause=1000,every=20000"));
    let injected = paused.injected.clone().expect("asked for");
    assert!(injected.pauses > 0 && injected.longest_pause <= 1000, "{injected:?}");
    assert!(paused.interrupted > 0 && paused.interrupted <= 4 * 1000 * injected.pauses, "{}", paused.interrupted);
    assert_eq!((one(None).interrupted, one(None).compute), (0, paused.compute));
}
