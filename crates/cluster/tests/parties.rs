//! Barriers to which not all processors come: fewer threads than processors, and barriers of some threads.
mod support;
use homenode_base::Rng;
use homenode_cluster::{Question, Row, run_noted};
use homenode_hlrc::journal::replay;
use homenode_hlrc::steps::{self, Step};
use homenode_synthetic::Builder;
use homenode_trace::DatasetReader;
use support::{BARRIER, Few, PAGES, SHARED, machine, ordered};

/// A run without stale reads, whose journals replay.
fn row(data: &DatasetReader, shape: (usize, u16), step: &Step) -> Row {
    let machine = machine("svm-achievable", shape);
    let question = Question { machine: &machine, map: None, options: Default::default(), checks: true, faults: None };
    let bound = question.bind(data, Few).expect("binds");
    let (row, journals) = run_noted(&bound, step, || Few).expect("runs");
    assert_eq!(row.stale, Some(0), "{} on {shape:?}", step.name);
    for (cluster, tape) in journals.iter().flat_map(|j| j.tapes.iter().map(|tape| (&j.cluster, tape))) {
        replay(cluster, &tape.records).unwrap_or_else(|e| panic!("{} on {shape:?}: {e}", step.name));
    }
    row
}

#[test]
fn fewer_threads_than_processors_meet() {
    for (seed, (threads, shape)) in (0..).zip([(14, (4, 4)), (3, (2, 2)), (2, (4, 1)), (5, (3, 4)), (1, (2, 1))]) {
        let data = ordered(seed, threads);
        for step in steps::ALL {
            let row = row(&data, shape, step);
            assert!(row.cycles > 0 && row.other == 0, "{threads} threads, {}", step.name);
            // Neighbours beside each other: as many nodes have threads as must.
            let nodes = threads.div_ceil(shape.1.into()) as usize;
            assert!(row.pages.iter().all(|p| p.nodes[nodes..].iter().all(|n| n.fetches == 0)));
        }
    }
}

#[test]
fn processors_without_threads_change_nothing_that_is_read() {
    let data = ordered(3, 4);
    for step in steps::ALL {
        let (full, wide) = (row(&data, (2, 2), step), row(&data, (3, 2), step));
        // Pages' directories, locks and barriers are looked after by other nodes, which takes other times; what is read is the same.
        assert_eq!((full.read, full.shared_pages), (wide.read, wide.shared_pages));
    }
}

/// Groups meet and read what their members wrote while the others take locks; now and then all meet.
fn grouped(seed: u64, threads: u32) -> DatasetReader {
    let (mut rng, mut b) = (Rng::new(seed), Builder::new(threads));
    let groups: Vec<Vec<u32>> = (0..2u32)
        .map(|group| (0..threads).filter(|t| *t == group || *t == group + 1 || rng.chance(1, 3)).collect())
        .collect();
    for round in 0..12u64 {
        let group = rng.below(2);
        let members = &groups[group as usize];
        let byte = |t: u32| SHARED + 4096 * ((u64::from(t) + round) % PAGES) + 512 * group + 8 * u64::from(t);
        let meets = BARRIER + 64 * (1 + group);
        members.iter().for_each(|t| _ = b.write(*t, byte(*t)));
        b.barrier(meets, members.iter().copied());
        for t in 0..threads {
            let (lock, word) = (0x8000 + 64 * rng.below(2), SHARED + 4096 * rng.below(PAGES));
            let word = word + 3200 + (lock - 0x8000);
            b.acquire(t, lock, 0).read(t, word).write(t, word).release(t, lock, 0);
        }
        members.iter().for_each(|t| members.iter().for_each(|other| _ = b.read(*t, byte(*other))));
        b.barrier(meets, members.iter().copied());
        if rng.chance(1, 4) {
            b.barrier(BARRIER, 0..threads);
        }
    }
    b.open().expect("valid")
}

#[test]
fn groups_of_threads_meet_while_others_run() {
    let mut fetched = 0;
    for (seed, shape) in (0..24).zip([(4, 1), (2, 2), (3, 2), (4, 2)].into_iter().cycle()) {
        let data = grouped(seed, shape.0 as u32 * u32::from(shape.1));
        fetched += steps::ALL.iter().map(|step| row(&data, shape, step).counts.fetches).sum::<u64>();
    }
    assert!(fetched > 1000, "{fetched}");
}

#[test]
fn nodes_of_which_no_thread_comes_are_told_nothing() {
    let mut b = Builder::new(4);
    for round in 0..8u64 {
        (0..2u32).for_each(|t| _ = b.write(t, SHARED + 8 * u64::from(t) + 16 * round));
        b.barrier(BARRIER, 0..2);
    }
    (2..4).for_each(|t| (0..100).for_each(|n| _ = b.write(t, 0x200_0000 + 0x1_0000 * u64::from(t) + 8 * n)));
    let data = b.open().expect("valid");
    let mut two = Builder::new(2);
    for round in 0..8u64 {
        (0..2u32).for_each(|t| _ = two.write(t, SHARED + 8 * u64::from(t) + 16 * round));
        two.barrier(BARRIER, 0..2);
    }
    let two = two.open().expect("valid");
    for name in ["base", "nil"] {
        let step = steps::find(name).expect("a step");
        let (alone, beside) = (row(&two, (2, 1), step), row(&data, (4, 1), step));
        assert_eq!((alone.counts.fetches, alone.counts.diffs), (beside.counts.fetches, beside.counts.diffs), "{name}");
        if name == "base" {
            assert_eq!(beside.counts.notices, alone.counts.notices, "notices go to those who come");
        }
    }
}

#[test]
fn barriers_of_changing_threads_are_refused_by_name() {
    let refused = |b: &mut Builder| {
        let (data, machine) = (b.open().expect("valid"), machine("svm-achievable", (4, 1)));
        let question =
            Question { machine: &machine, map: None, options: Default::default(), checks: false, faults: None };
        question.bind(&data, Few).map(|_| ()).expect_err("refused").to_string()
    };
    let threads = |b: &mut Builder| (0..4).for_each(|t| _ = b.write(t, SHARED));
    let mut b = Builder::new(4);
    threads(&mut b);
    let said = refused(b.barrier(BARRIER, 0..2).barrier(BARRIER, 1..3));
    assert!(
        said.contains("0x9000 takes 2 threads, one a processor, and the cluster has 4 processors; there come threads 0, 1, 2, and not thread 3"),
        "{said}"
    );
    let mut b = Builder::new(4);
    threads(&mut b);
    let said = refused(b.barrier(BARRIER, 0..2).barrier(BARRIER, 0..3));
    assert!(said.contains("barrier 0x9000 takes 2 threads, and later 3"), "{said}");
}
