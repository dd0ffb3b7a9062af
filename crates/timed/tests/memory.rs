//! Architectures in virtual time: identities, the fast way against the slow one, frames as printed.
use homenode_base::Rng;
use homenode_machine::{Hybrid, Machine, models};
use homenode_synthetic::Builder;
use homenode_timed::engine::{Gaps, Options};
use homenode_timed::memory::{MemoryError, OPEN_POINTS, Question, Row, Sizes, archs, run};
use homenode_trace::{DatasetReader, EventKind, Merged, Op, TraceError};

/// The machine of the study with other nodes and numbers.
fn machine(nodes: usize, change: impl FnMut(&mut Hybrid)) -> Machine {
    let mut machine = models::find("ascoma").expect("in the registry");
    let (near, far) = (homenode_base::Cost(58), homenode_base::Cost(147));
    machine.cost =
        homenode_machine::Costs::alike(&homenode_machine::Matrix::uniform(nodes, near, far), machine.cost.copy);
    machine.shape.cores = vec![1; nodes];
    machine.sections.hybrid.iter_mut().for_each(change);
    machine.validate().expect("sound");
    machine
}

/// One that pages soon.
fn small(nodes: usize) -> Machine {
    machine(nodes, |h| {
        (h.cache_bytes, h.threshold, h.threshold_steps) = (1024, [3, 2], 4);
        (h.daemon_gap, h.fault, h.interrupt, h.relocation) = ([4000, 64_000], 100, 100, 300);
    })
}

/// Threads that go over pages, their own and others', with locks and barriers.
fn random(seed: u64, threads: u32, pages: u64, steps: u32) -> DatasetReader {
    let (mut rng, mut b) = (Rng::new(seed), Builder::new(threads));
    for p in 0..pages {
        b.write((p % u64::from(threads)) as u32, 0x10_0000 + p * 4096);
    }
    b.barrier(0x9000, 0..threads);
    for _ in 0..steps {
        let t = rng.below(threads.into()) as u32;
        let (page, from) = (rng.below(pages), rng.below(30) * 128);
        let lock = (rng.below(8) == 0).then(|| 0x8000 + rng.below(3) * 64);
        lock.iter().for_each(|l| _ = b.acquire(t, *l, 0));
        let op = if rng.below(3) == 0 { Op::Write } else { Op::Read };
        for i in 0..1 + rng.below(12) {
            let size = if rng.below(10) == 0 { 40 } else { 8 };
            b.access(t, 0x10_0000 + page * 4096 + from + i * 8 % 128, size, op, 0x1000 + i);
        }
        b.read(t, 0x7000_0000 + u64::from(t) * 0x10_000 + rng.below(900) * 8);
        lock.iter().for_each(|l| _ = b.release(t, *l, 0));
        if rng.below(90) == 0 {
            b.barrier(0x9000, 0..threads);
        }
    }
    b.open().expect("valid")
}

/// Some instructions before each reference.
#[derive(Clone, Copy)]
struct Some3;

impl Gaps for Some3 {
    fn before(&mut self, r: &Merged, index: u64) -> Result<u32, TraceError> {
        Ok(((r.addr >> 3) + index) as u32 % 3)
    }
}

fn rows(data: &DatasetReader, machine: &Machine, hits_max: usize, names: &[&str], percent: u32) -> Vec<Row> {
    let options = Options { hits_max, phase: None };
    let bound = Question { machine, map: None, options }.bind(data).expect("bound");
    let spec = |name: &&str| archs::find(name).expect("listed");
    names.iter().map(|n| run(&bound, spec(n), percent, || Some3).expect("runs")).collect()
}

/// What is left of a row when its name is taken away.
fn bare(row: &Row) -> Row {
    let ccnuma = archs::BASE.name;
    Row { architecture: ccnuma, pressure: None, state_bits: 0, ..row.clone() }
}

const HYBRIDS: [&str; 3] = ["rnuma", "vcnuma", "ascoma"];

#[test]
fn runs_of_hits_give_what_single_steps_give() {
    let names: Vec<&str> = archs::ALL.iter().map(|s| s.name).collect();
    let (mut evicted, mut relocated) = (0, 0);
    for seed in 0..12 {
        let data = random(seed, 2 + (seed % 3) as u32, 44 + seed, 900);
        let machine = small(2 + (seed % 3) as usize);
        for percent in [20, 60, 80] {
            let fast = rows(&data, &machine, usize::MAX, &names, percent);
            assert_eq!(fast, rows(&data, &machine, 0, &names, percent), "seed {seed}, {percent} %");
            assert_eq!(fast, rows(&data, &machine, 3, &names, percent), "seed {seed}, {percent} %");
            evicted += fast.iter().map(|r| r.total.evicted).sum::<u64>();
            relocated += fast.iter().map(|r| r.total.relocated).sum::<u64>();
            for r in &fast {
                let processors = machine.shape.cores.len() as u64;
                assert_eq!(r.times.cycles() + r.idle, r.cycles * processors, "all time is accounted for");
                assert_eq!(r.recorded_objects, 0);
            }
        }
    }
    assert!(evicted > 500 && relocated > 200, "{evicted} {relocated}");
}

#[test]
fn rnuma_that_never_relocates_is_ccnuma() {
    let data = random(5, 4, 40, 1500);
    let never = machine(4, |h| h.threshold = [u32::MAX, 0]);
    let rows = rows(&data, &never, usize::MAX, &["ccnuma", "rnuma", "vcnuma"], 50);
    assert!(rows[0].total.refetch > 50);
    assert_eq!(bare(&rows[1]), rows[0]);
    assert_eq!(bare(&rows[2]), rows[0]);
}

#[test]
fn ascoma_is_scoma_while_everything_fits() {
    let data = random(6, 4, 160, 3000);
    let machine = small(4);
    let bound = Question { machine: &machine, map: None, options: Options::default() }.bind(&data).expect("bound");
    let fits = (0.95 * bound.layout().ideal_pressure()) as u32;
    assert!(fits > 15, "{fits}");
    let low = rows(&data, &machine, usize::MAX, &["scoma", "ascoma", "rnuma"], fits);
    assert_eq!(bare(&low[1]), bare(&low[0]));
    assert_eq!((low[0].overhead.kernel, low[0].total.cold_induced, low[0].total.refetch), (0, 0, 0));
    assert!(low[2].total.relocated > 0, "hybrids that map home first do relocate");
    let high = rows(&data, &machine, usize::MAX, &["scoma", "ascoma"], 90);
    assert_ne!(bare(&high[1]), bare(&high[0]));
}

#[test]
fn without_a_page_cache_hybrids_are_ccnuma_and_scoma_cannot_run() {
    let data = random(7, 4, 40, 1500);
    let machine = small(4);
    let base = rows(&data, &machine, usize::MAX, &["ccnuma"], 100).remove(0);
    for row in rows(&data, &machine, usize::MAX, &HYBRIDS, 100) {
        assert_eq!(bare(&row), base, "{}", row.architecture);
    }
    let bound = Question { machine: &machine, map: None, options: Options::default() }.bind(&data).expect("bound");
    let scoma = run(&bound, archs::find("scoma").expect("listed"), 100, || Some3);
    assert!(matches!(scoma, Err(MemoryError::NoPageCache { name: "scoma", percent: 100 })));
}

/// A working set that does not fit makes AS-COMA back off; once pages have gone cold, others are relocated again.
#[test]
fn a_change_of_phase_lowers_the_threshold_and_resumes_allocation() {
    let mut b = Builder::new(2);
    (0..60u64).for_each(|p| _ = b.write((p % 2) as u32, 0x10_0000 + p * 4096));
    b.barrier(0x9000, 0..2);
    (0..60u64).for_each(|p| _ = b.read(0, 0x10_0000 + p * 4096).read(1, 0x10_0000 + p * 4096));
    // All of twenty pages again and again: nothing is ever cold. Then three of them; then ten others.
    for (name, first, pages, rounds) in [("thrash", 1, 20, 45u64), ("shift", 1, 3, 1000), ("others", 41, 10, 60)] {
        b.event(0, EventKind::PhaseBegin { name: name.to_owned() });
        for (round, page) in (0..rounds).flat_map(|r| (0..pages).map(move |p| (r, first + 2 * p))) {
            (0..4).for_each(|i| _ = b.read(0, 0x10_0000 + page * 4096 + (round % 7 * 4 + i) * 128));
        }
        b.event(0, EventKind::PhaseEnd { name: name.to_owned() });
    }
    let data = b.open().expect("valid");
    let machine = machine(2, |h| {
        (h.cache_bytes, h.threshold, h.threshold_steps, h.daemon_gap) = (512, [2, 1], 2, [20_000, 40_000]);
    });
    let of = |phase: &str| {
        let options = Options { phase: Some(phase.to_owned()), ..Options::default() };
        let bound = Question { machine: &machine, map: None, options }.bind(&data).expect("bound");
        run(&bound, archs::find("ascoma").expect("listed"), 75, || Some3).expect("runs").total
    };
    let (thrash, others) = (of("thrash"), of("others"));
    assert!(thrash.daemon_failures > 2 && thrash.refused > 0 && thrash.refetch > 100, "{thrash:?}");
    assert!(others.daemon_runs > others.daemon_failures && others.relocated > 0, "{others:?}");
}

/// Of every open point there is a recording on which the other reading changes something, and single steps give the same then.
#[test]
fn every_open_point_matters_to_somebody() {
    let names: Vec<&str> = archs::ALL.iter().map(|s| s.name).collect();
    let programs: Vec<DatasetReader> =
        (0..7).map(|seed| random(40 + seed, 3, [30, 150, 12][seed as usize % 3], 4000)).collect();
    let of = |machine: &Machine| -> Vec<Vec<Row>> {
        let percents = [40, 60, 75];
        programs
            .iter()
            .zip(percents.iter().cycle())
            .map(|(p, percent)| rows(p, machine, usize::MAX, &names, *percent))
            .collect()
    };
    let saturates = |h: &mut Hybrid| h.threshold = [70, 2];
    for point in &OPEN_POINTS {
        let mut base = small(3);
        if point.name == "o4" {
            base.sections.hybrid.iter_mut().for_each(saturates);
        }
        let mut other = base.clone();
        other.sections.hybrid.iter_mut().for_each(|h| point.apply(h));
        other.validate().expect("sound");
        let changed = of(&other);
        assert_ne!(changed, of(&base), "{}: {}", point.name, point.summary);
        assert_eq!(changed[2], rows(&programs[2], &other, 0, &names, 75), "{}", point.name);
    }
}

#[test]
fn frames_are_those_derived_from_the_paper() {
    let hybrid = models::find("ascoma").and_then(|m| m.sections.hybrid).expect("a section");
    let text = include_str!("../testdata/ascoma_frames.csv");
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        let percent = number(1) as u32;
        // Printed to one decimal; home pages follow from the difference.
        let home = (number(2) - number(3)).round() as u64;
        let sizes = Sizes::at(&hybrid, 4096, home, percent).expect("possible");
        // Whole frames: what is printed, less what is no whole one. 36 % of a frame may become one by rounding of print.
        let whole =
            |i: usize, ours: u32| (number(i) + 0.06).floor() >= f64::from(ours) && number(i) - f64::from(ours) < 1.06;
        assert!(whole(2, sizes.frames) && whole(3, sizes.page_cache), "{line}: {sizes:?}");
        assert!(whole(4, sizes.free_min) && whole(5, sizes.free_target), "{line}: {sizes:?}");
        let fits = f64::from(sizes.page_cache) >= number(6);
        assert_eq!(fits, cells[7] == "yes", "{line}");
        rows += 1;
    }
    assert_eq!(rows, 30);
}

#[test]
fn what_cannot_be_is_refused() {
    let data = random(1, 4, 40, 50);
    let bind =
        |machine: &Machine, data| Question { machine, map: None, options: Options::default() }.bind(data).map(|_| ());
    let plain = models::find("numa").expect("in the registry");
    assert!(matches!(bind(&plain, &data), Err(MemoryError::NoSection(_))));
    let few = random(1, 4, 3, 50);
    assert!(matches!(bind(&small(4), &few), Err(MemoryError::FewPages { pages: 3, nodes: 4 })));
    let three = small(3);
    let bound =
        Question { machine: &three, map: None, options: Options::default() }.bind(&data).expect("pages there are");
    let error = run(&bound, archs::BASE, 50, || Some3).expect_err("four threads on three processors");
    assert!(error.to_string().contains("more threads than processors"), "{error}");
    let bound = Question { machine: &small(4), map: None, options: Options::default() }
        .bind(&data)
        .map(|b| [0, 101].map(|p| matches!(run(&b, archs::BASE, p, || Some3), Err(MemoryError::Pressure(_)))));
    assert_eq!(bound.expect("bound"), [true, true]);
}

#[test]
fn open_points_change_nothing_but_the_architectures_that_they_name() {
    let names: Vec<&str> = archs::ALL.iter().map(|s| s.name).collect();
    for seed in 0..4 {
        let data = random(seed, 3, 46, 900);
        for point in &OPEN_POINTS {
            let other = machine(3, |h| {
                *h = small(3).sections.hybrid.expect("a section");
                point.apply(h);
            });
            let (before, after) =
                (rows(&data, &small(3), usize::MAX, &names, 70), rows(&data, &other, usize::MAX, &names, 70));
            for (a, b) in before.iter().zip(&after).filter(|(a, _)| !point.changes(a.architecture)) {
                assert_eq!(a, b, "{} {}", point.name, a.architecture);
            }
        }
    }
}
