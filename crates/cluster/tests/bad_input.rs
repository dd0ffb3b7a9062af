//! Recordings and machines that fit badly: an error that says what is wrong, or a result, and never a panic.
mod support;
use homenode_cluster::{ClusterError, PARAMETERS, Question, Row, Unit, WhatIf, run};
use homenode_hlrc::steps;
use homenode_machine::Machine;
use homenode_synthetic::Builder;
use homenode_trace::event::SyncKind;
use homenode_trace::{DatasetReader, Op};
use support::{BARRIER, Few, SHARED, machine, ordered};

fn row(machine: &Machine, data: &DatasetReader, what_ifs: &[WhatIf], step: usize) -> Result<Row, ClusterError> {
    let faults =
        Some("3,loss=0.5,delay=100000000,pause=100000000,every=1,slow=100x,timeout=100000000".parse().expect("known"));
    let question = Question { machine, map: None, options: Default::default(), checks: true, faults };
    run(&question.bind(data, Few)?.with(what_ifs), steps::ALL[step], || Few)
}

#[test]
fn times_and_rates_at_their_limits_are_no_overflow() {
    for page in [64, 4096, 1 << 20] {
        let mut machine = machine("svm-achievable", (2, 2));
        machine.shape.page_bytes = page;
        let data = ordered(1, 4);
        for (rate, time) in [("1", "1048576"), ("0", "1048576"), ("1073741824", "0"), ("0", "0")] {
            let change = |p: &homenode_cluster::Parameter| {
                let value = match p.unit {
                    Unit::Cycles => time.to_owned(),
                    Unit::Rate => rate.to_owned(),
                    // Sizes of caches at their upper limit are a matter of this machine's memory.
                    Unit::Bytes(least, most) => (if rate == "0" { least } else { most }).to_string(),
                    Unit::Cache(least, _) => least.to_string(),
                };
                format!("{}={value}", p.name).parse::<WhatIf>().expect("allowed")
            };
            let all: Vec<WhatIf> = PARAMETERS.iter().map(change).collect();
            for step in [0, 4] {
                let row = row(&machine, &data, &all, step).expect("runs");
                assert_eq!(row.stale, Some(0), "{page} {rate} {time}");
            }
        }
    }
}

#[test]
fn addresses_at_the_end_of_memory_are_no_overflow() {
    let mut b = Builder::new(2);
    for address in [0, 8, u64::MAX - 7, u64::MAX - 4096] {
        (0..2).for_each(|t| _ = b.access(t, address, 64, Op::Write, 0));
        b.barrier(BARRIER, 0..2);
    }
    let data = b.open().expect("valid");
    (0..2).for_each(|step| _ = row(&machine("svm-achievable", (2, 1)), &data, &[], 4 * step).expect("runs"));
}

#[test]
fn a_barrier_that_a_thread_does_not_come_to_is_named_with_it() {
    let mut b = Builder::new(3);
    (0..3).for_each(|t| _ = b.write(t, SHARED));
    b.barrier(BARRIER, 0..3);
    let sync = SyncKind::Barrier { parties: 3 };
    (0..2).for_each(|t| _ = b.release_of(t, (BARRIER + 64, 0), sync));
    (0..2).for_each(|t| _ = b.acquire_of(t, (BARRIER + 64, 0), sync));
    let data = b.open().expect("valid");
    let machine = machine("svm-achievable", (3, 1));
    for step in 0..steps::ALL.len() {
        let question =
            Question { machine: &machine, map: None, options: Default::default(), checks: false, faults: None };
        let bound = question.bind(&data, Few).map_err(|e| e.to_string());
        let error =
            bound.and_then(|b| run(&b, steps::ALL[step], || Few).map_err(|e| e.to_string())).expect_err("a deadlock");
        assert!(error.contains("barrier 0x9040") && error.contains("thread 2 did not come"), "{error}");
    }
}

#[test]
fn more_threads_than_processors_and_no_synchronisation() {
    let mut b = Builder::new(4);
    (0..40).for_each(|n| _ = b.write(n % 4, SHARED + 8 * u64::from(n)));
    let data = b.open().expect("valid");
    let error = row(&machine("svm-achievable", (3, 1)), &data, &[], 0).expect_err("too many").to_string();
    assert!(error.contains("thread"), "{error}");
    for step in 0..steps::ALL.len() {
        let row = row(&machine("svm-achievable", (4, 1)), &data, &[], step).expect("runs");
        assert_eq!((row.lock, row.barrier, row.counts.invalidations), (0, 0, 0), "nothing to learn by");
    }
}

/// As `homenode svm run` records them: the first barrier is the beginning of the heap, which the ends of threads are named by, too.
#[test]
fn ends_of_threads_may_have_the_name_of_a_barrier() {
    let mut b = Builder::new(3);
    for round in 0..4 {
        (0..3).for_each(|t| _ = b.write(t, SHARED + 8 * u64::from(t + round)));
        b.barrier(BARRIER, 0..3);
    }
    (1..3u32).for_each(|t| _ = b.release_of(t, (BARRIER, t.into()), SyncKind::Join));
    (1..3u32).for_each(|t| _ = b.acquire_of(0, (BARRIER, u64::from(t)), SyncKind::Join));
    b.read(0, SHARED);
    let data = b.open().expect("valid");
    for step in 0..steps::ALL.len() {
        let row = row(&machine("svm-achievable", (3, 1)), &data, &[], step).expect("runs");
        assert_eq!((row.stale, row.recorded_objects), (Some(0), 0), "step {step}");
    }
}
