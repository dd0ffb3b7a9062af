//! Programs that do everything, by every step of the protocol, on clusters of every shape.
mod support;
use homenode_base::Rng;
use homenode_cluster::{ClusterError, Question, Row, run};
use homenode_hlrc::steps;
use homenode_machine::Machine;
use homenode_synthetic::Builder;
use homenode_timed::engine::Options;
use homenode_trace::DatasetReader;
use support::{BARRIER, Few, PAGES, SHARED, machine, ordered};

/// Threads that refer to shared pages and their own, with and without locks, between barriers.
fn random(seed: u64, threads: u32) -> DatasetReader {
    let (mut rng, mut b) = (Rng::new(seed), Builder::new(threads));
    (0..threads).for_each(|t| _ = b.read(t, 0x200_0000 + 0x1_0000 * u64::from(t)));
    for _ in 0..4 {
        for _ in 0..30 * threads {
            let t = rng.below(threads.into()) as u32;
            step(&mut b, &mut rng, t);
        }
        b.barrier(BARRIER, 0..threads);
    }
    b.open().expect("valid")
}

fn step(b: &mut Builder, rng: &mut Rng, t: u32) {
    let address = SHARED + 4096 * rng.below(PAGES) + 8 * rng.below(512);
    match rng.below(8) {
        0 => {
            let lock = 0x8000 + 64 * rng.below(3);
            b.acquire(t, lock, 0).read(t, address).write(t, address).release(t, lock, 0);
        }
        1..4 => _ = b.write(t, address),
        4 => _ = b.write(t, 0x200_0000 + 0x1_0000 * u64::from(t) + 32 * rng.below(600)),
        _ => _ = b.read(t, address),
    }
}

fn row(machine: &Machine, data: &DatasetReader, step: &steps::Step, hits_max: usize) -> Result<Row, ClusterError> {
    let question =
        Question { machine, map: None, options: Options { hits_max, phase: None }, checks: false, faults: None };
    run(&question.bind(data, Few)?, step, || Few)
}

#[test]
fn runs_of_hits_are_single_steps() {
    for (seed, shape) in [(1, (2, 1)), (2, (2, 2)), (3, (4, 1)), (4, (1, 4)), (5, (3, 2))] {
        let data = random(seed, shape.0 as u32 * u32::from(shape.1));
        for step in steps::ALL {
            let machine = machine("svm-achievable", shape);
            let fast = row(&machine, &data, step, usize::MAX).expect("runs");
            let slow = row(&machine, &data, step, 1).expect("runs");
            assert_eq!(fast, slow, "seed {seed}, {}", step.name);
            let spent =
                fast.compute + fast.local + fast.data + fast.lock + fast.barrier + fast.other + fast.interrupted;
            let all = fast.cycles * u64::from(fast.nodes) * u64::from(fast.processors);
            assert_eq!(spent + fast.idle, all, "all time is of some kind: seed {seed}, {}", step.name);
            assert_eq!(fast.other, 0, "seed {seed}, {}: locks and barriers are all that is waited for", step.name);
        }
    }
}

#[test]
fn better_communication_is_not_slower_and_one_node_needs_none() {
    // Of one program the order of locks and first touches, and with them homes, may be worse with better communication.
    let programs: Vec<DatasetReader> = (1..9).map(|seed| random(seed, 4)).collect();
    let data = &programs[6];
    for step in steps::ALL {
        let cycles = |name| -> u64 {
            let machine = machine(name, (2, 2));
            programs.iter().map(|data| row(&machine, data, step, usize::MAX).expect("runs").cycles).sum()
        };
        let [achievable, best, ideal] = ["svm-achievable", "svm-best", "svm-ideal"].map(cycles);
        assert!(ideal < best && best < achievable, "{}: {ideal} {best} {achievable}", step.name);
        let alone = row(&machine("svm-achievable", (1, 4)), data, step, usize::MAX).expect("runs");
        assert_eq!((alone.data, alone.counts.messages, alone.shared_pages, alone.interrupts.all()), (0, 0, 0, 0));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let data = random(1, 4);
    let refused = |name: &str, shape| {
        let question = Question {
            machine: &machine(name, shape),
            map: None,
            options: Options::default(),
            checks: false,
            faults: None,
        };
        question.bind(&data, Few).map(|_| ()).expect_err("refused").to_string()
    };
    assert!(refused("numa", (4, 1)).contains("no [network] section"));
}

#[test]
fn programs_without_races_read_what_was_written_last() {
    let (machine_of, mut read, mut fetched) = (|shape| machine("svm-achievable", shape), 0, 0);
    for seed in 0..12 {
        let shape = [(2, 1), (2, 2), (4, 1), (3, 2), (4, 2)][seed as usize % 5];
        let data = ordered(seed, shape.0 as u32 * u32::from(shape.1));
        for step in steps::ALL {
            let machine = machine_of(shape);
            let question =
                Question { machine: &machine, map: None, options: Options::default(), checks: true, faults: None };
            let row = run(&question.bind(&data, Few).expect("binds"), step, || Few).expect("runs");
            assert_eq!(row.stale, Some(0), "seed {seed}, {}", step.name);
            let unchecked = self::row(&machine, &data, step, usize::MAX).expect("runs");
            assert_eq!(
                Row { read: None, stale: None, ..row.clone() },
                unchecked,
                "checks take no time: seed {seed}, {}",
                step.name
            );
            read += row.read.unwrap_or(0);
            fetched += row.counts.fetches;
        }
    }
    assert!(read > 10_000 && fetched > 1000, "{read} {fetched}");
}

/// Each thread writes a page of its own and reads its neighbour's behind a barrier.
fn neighbours(threads: u32, rounds: u32) -> DatasetReader {
    let mut b = Builder::new(threads);
    let page = |t: u32| SHARED + 4096 * u64::from(t % threads);
    for _ in 0..rounds {
        (0..threads).for_each(|t| _ = b.write(t, page(t)));
        b.barrier(BARRIER, 0..threads);
        (0..threads).for_each(|t| _ = b.read(t, page(t + 1)));
        b.barrier(BARRIER, 0..threads);
    }
    b.open().expect("valid")
}

#[test]
fn more_nodes_than_a_live_cluster_has_see_what_was_written_last() {
    let (nodes, rounds) = (100, 3);
    let data = neighbours(nodes, rounds);
    let machine = machine("svm-achievable", (nodes as usize, 1));
    for step in steps::ALL {
        let question =
            Question { machine: &machine, map: None, options: Options::default(), checks: true, faults: None };
        let bound = question.bind(&data, Few).expect("binds");
        let row = run(&bound, step, || Few).expect("runs");
        assert_eq!((row.stale, row.nodes), (Some(0), nodes), "{}", step.name);
        let tree = run(&bound.with(&["tree".parse().expect("known")]), step, || Few).expect("runs");
        assert_eq!((tree.stale, tree.counts.fetches), (Some(0), row.counts.fetches), "{}", step.name);
        assert!(tree.barrier < row.barrier, "{}: {} of {}", step.name, tree.barrier, row.barrier);
        let (n, barriers) = (u64::from(nodes), 2 * u64::from(rounds));
        assert_eq!(row.counts.fetches, n * u64::from(rounds), "{}", step.name);
        // A vector with each page, to each node behind a barrier, and to the node that opens it.
        let of_barriers = row.counts.vectors - row.counts.fetches - row.counts.retries;
        assert!((barriers * (n - 1)..=barriers * n).contains(&of_barriers), "{}: {of_barriers}", step.name);
        // All learn of each page that was written; in base some are told twice.
        let told = n * (n - 1) * u64::from(rounds);
        assert!((told..=told + told / 50).contains(&row.counts.notices), "{}: {}", step.name, row.counts.notices);
        assert_eq!(row.own_bytes(), 8 * (row.counts.notices + n * row.counts.vectors));
    }
}

/// One thread writes again what the other has read, and nothing orders them.
#[test]
fn a_data_race_is_seen() {
    let mut b = Builder::new(2);
    let own = |b: &mut Builder, t: u32, lines: u64| {
        (0..lines).for_each(|n| _ = b.read(t, 0x200_0000 + 0x10_0000 * u64::from(t) + 32 * n));
    };
    b.write(0, SHARED).read(1, SHARED);
    own(&mut b, 0, 1000);
    own(&mut b, 1, 3000);
    b.write(0, SHARED);
    (0..10).for_each(|_| _ = b.read(1, SHARED));
    let machine = machine("svm-achievable", (2, 1));
    let question = Question { machine: &machine, map: None, options: Options::default(), checks: true, faults: None };
    let data = b.open().expect("valid");
    let row = run(&question.bind(&data, Few).expect("binds"), steps::ALL[0], || Few).expect("runs");
    assert_eq!((row.stale, row.read), (Some(2 * 10), Some(2 * 11)));
}
