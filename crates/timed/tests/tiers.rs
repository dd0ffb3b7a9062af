//! Tiers of memory: programs of which the answer is known, every policy against the optimum, hostile machines.
use homenode_base::TotalCost;
use homenode_base::rng::Rng;
use homenode_machine::{Machine, models};
use homenode_placement::tiers::Savings;
use homenode_synthetic::Builder;
use homenode_timed::tiers::{Limits, Point, Recorded, TierError, TierMachine, curve, policies, policies::Choice, run};
use homenode_trace::{Op, Sample, Sampling};

/// 100 in DRAM, 250 in the expander, 1000 a move, no caches.
fn machine(tick: u64) -> Machine {
    let text = format!(
        "name = \"flat\"\nunit = \"ps\"\nword_bytes = 8\npage_bytes = 4096\ncores = [4, 0]\n\
         [read]\nnear = 100\nfar = 250\n[copy]\nfixed = 1000\nper_word = 0\n\
         [tiers]\ncapacity_bytes = [1048576, 1048576]\ntick = {tick}\n\
         promote = {{ fixed = 1000, per_word = 0 }}\ndemote = {{ fixed = 1000, per_word = 0 }}\n"
    );
    Machine::from_toml(&text).expect("a machine")
}

fn recorded(program: &Builder, tick: u64) -> (Recorded, TierMachine) {
    let machine = machine(tick);
    let tiers = TierMachine::of(&machine, 4096, None).expect("tiers");
    let data = program.open().expect("valid");
    (Recorded::of(&data, &machine, &tiers, None, &mut |_| ()).expect("memory is accessed"), tiers)
}

/// One thread that reads these pages in turn.
fn reads(pages: impl IntoIterator<Item = u64>) -> Builder {
    let mut b = Builder::new(1);
    pages.into_iter().for_each(|p| _ = b.read(0, 0x10_0000 + p * 4096));
    b
}

fn all() -> Vec<Choice> {
    policies::ALL.iter().map(|s| s.choose()).collect()
}

fn points(recorded: &Recorded, tiers: &TierMachine, frames: &[u64], choices: &[Choice]) -> Vec<Point> {
    curve(recorded, tiers, frames, choices, Limits::default(), &mut |_| ()).expect("two nodes")
}

#[test]
fn a_hot_array_that_fits_belongs_into_dram() {
    // A hundred cold pages once, then ten hot ones fifty times: ticks of a hundred.
    let program = reads((0..100).chain((0..500).map(|i| 100 + i % 10)));
    let (recorded, tiers) = recorded(&program, 100);
    assert_eq!((recorded.accesses, recorded.pages.len(), recorded.ticks.len()), (600, 110, 6));
    assert_eq!((recorded.in_dram, recorded.in_expander), (TotalCost(60_000), TotalCost(150_000)));
    let choices: Vec<Choice> = ["none", "best-static", "recency", "hotness(10)", "hotness(11)"]
        .iter()
        .map(|n| Choice::parse(n).expect("a policy"))
        .collect();
    let found = points(&recorded, &tiers, &[0, 10, 110], &choices);
    let costs = |i: usize| found[i].policies.iter().map(|p| p.cost.0).collect::<Vec<_>>();
    let cold_in_dram = 10 * 100 + 90 * 250;
    let promoted_after_a_tick = cold_in_dram + 100 * 250 + 400 * 100 + 20 * 1000;
    let best = 100 * 250 + 500 * 100;
    assert_eq!(costs(0), [150_000; 5]);
    // Recency also moves the ten cold pages that came last, in vain.
    let expected = [
        cold_in_dram + 500 * 250,
        best,
        promoted_after_a_tick + 20 * 1000,
        promoted_after_a_tick,
        cold_in_dram + 500 * 250,
    ];
    assert_eq!(costs(1), expected);
    assert_eq!((found[1].optimum.at_least.0, found[1].optimum.is_exact), (best, true));
    assert_eq!((costs(2), found[2].optimum.at_least), (vec![60_000; 5], recorded.in_dram));
    let moved = found[1].policies[3];
    assert_eq!((moved.promoted, moved.demoted, moved.moves.0, moved.dram_accesses), (10, 10, 20_000, 410));
}

#[test]
fn a_change_of_phase_pays_for_moving_once() {
    // Page 0 is hot for five ticks, then page 1; each tick has one access to the other.
    let tick = |hot: u64| (0..100).map(move |i| if i == 99 { 1 - hot } else { hot });
    let (recorded, tiers) = recorded(&reads((0..5).flat_map(|_| tick(0)).chain((0..5).flat_map(|_| tick(1)))), 100);
    let found = &points(&recorded, &tiers, &[1], &all())[0];
    let of = |name: &str| found.policies[policies::ALL.iter().position(|s| s.name == name).expect("known")].cost.0;
    let saved = |accesses: i128, moves: i128| 250_000 - 150 * accesses + 1000 * moves;
    assert_eq!((of("none"), of("best-static")), (saved(500, 0), saved(500, 0)));
    assert_eq!(found.optimum.at_least.0, saved(990, 2), "495 accesses more, for two moves");
    // Whoever counts sees it a tick late.
    assert_eq!(of("hotness"), saved(495 + 1 + 396, 2));
}

#[test]
fn nothing_helps_where_all_pages_are_equal_by_chance() {
    let mut r = Rng::new(5);
    let (recorded, tiers) = recorded(&reads((0..64).chain((0..64_000).map(|_| r.below(64)))), 1000);
    let half = &points(&recorded, &tiers, &[32], &all())[0];
    let (none, static_) = (half.policies[0].cost.0 as f64, half.policies[1].cost.0 as f64);
    assert!((none / half.optimum.at_least.0 as f64) < 1.05 && none / static_ < 1.03, "{half:?}");
}

#[test]
fn every_policy_keeps_to_its_frames_and_none_costs_less_than_the_optimum() {
    let mut r = Rng::new(7);
    for case in 0..30 {
        let (pages, tick) = (1 + r.below(40), 1 + r.below(60));
        let mut now = 0;
        let program = reads((0..600).map(|_| {
            if r.chance(1, 20) {
                now = r.below(pages);
            }
            if r.chance(1, 3) { r.below(pages) } else { (now + r.below(4)) % pages }
        }));
        let (recorded, tiers) = recorded(&program, tick);
        let n = recorded.pages.len() as u64;
        let sizes: Vec<u64> = (0..=n).collect();
        let exact = points(&recorded, &tiers, &sizes, &all());
        let limits = Limits { exact: 0, rounds: 60, ..Limits::default() };
        let bounds = curve(&recorded, &tiers, &sizes, &all(), limits, &mut |_| ()).expect("two nodes");
        for (point, bounded) in exact.iter().zip(&bounds) {
            assert!(bounded.optimum.at_least <= point.optimum.at_least, "case {case}");
            assert!(point.optimum.at_least <= bounded.optimum.plan.expect("one was found"), "case {case}");
            for (spec, outcome) in policies::ALL.iter().zip(&point.policies) {
                assert!(outcome.cost >= point.optimum.at_least, "{}", spec.name);
                // Pages come by promotion or with their first access.
                assert!(outcome.promoted <= outcome.demoted + point.frames, "{}", spec.name);
                assert!(outcome.demoted <= outcome.promoted + n, "{}", spec.name);
                assert!(outcome.dram_accesses <= recorded.accesses);
                assert_eq!(outcome, &run(&recorded, tiers.moves, point.frames, &spec.choose()), "the same every time");
            }
        }
        for (savings, name) in
            [(Savings::first_come(&recorded.pages), "none"), (Savings::hottest_first(&recorded.pages), "best-static")]
        {
            let policy = policies::ALL.iter().position(|s| s.name == name).expect("in the registry");
            for point in &exact {
                let cost = recorded.in_expander - savings.with(point.frames);
                assert_eq!(cost, point.policies[policy].cost, "case {case}, {name}, {} frames", point.frames);
            }
        }
        let last = exact.last().expect("a size");
        assert_eq!((exact[0].optimum.at_least, last.optimum.at_least), (recorded.in_expander, recorded.in_dram));
        // Where everything fits, only the back-off's reserve costs something.
        for (spec, outcome) in policies::ALL.iter().zip(&last.policies).filter(|(s, _)| s.name != "ascoma") {
            assert_eq!(outcome.cost, recorded.in_dram, "{}", spec.name);
        }
    }
}

#[test]
fn the_back_off_stops_moving_pages_where_all_are_hot() {
    // 40 pages in turn, ten accesses each, through ten frames: whoever promotes on access moves for ever.
    let (recorded, tiers) = recorded(&reads((0..40_000).map(|i| i / 10 % 40)), 400);
    let found = &points(&recorded, &tiers, &[10], &all())[0];
    let of = |name: &str| found.policies[policies::ALL.iter().position(|s| s.name == name).expect("known")];
    let (ascoma, recency) = (of("ascoma"), of("recency"));
    assert!(recency.promoted > 900 && ascoma.promoted < 60, "{ascoma:?} {recency:?}");
    assert!(ascoma.cost < recency.cost);
}

#[test]
fn weights_of_samples_count_and_caches_keep_hits_away() {
    let mut sampled = Builder::new(1);
    for i in 0..4u64 {
        let sample = Sample { weight: 10, ..Sample::default() };
        sampled.sample(0, 0x10_0000 + i % 2 * 4096, 8, Op::Read, 0x400, sample);
    }
    sampled.sampled(Sampling::default());
    let (found, _) = recorded(&sampled, 20);
    assert_eq!((found.accesses, found.samples, found.ticks.len()), (40, Some(4), 2));
    assert_eq!(found.in_expander, TotalCost(40 * 250));
    let program = reads((0..1000).map(|i| i % 4));
    let machine = models::find("dram-cxl").expect("in the registry");
    let tiers = TierMachine::of(&machine, 4096, None).expect("tiers");
    let found = Recorded::of(&program.open().expect("valid"), &machine, &tiers, None, &mut |_| ()).expect("misses");
    assert_eq!((found.accesses, found.pages.len(), found.samples), (4, 4, None));
    assert_eq!(found.in_dram, TotalCost(4 * 81_100));
    let huge = TierMachine::of(&machine, 2 << 20, Some(7)).expect("tiers");
    assert_eq!((huge.moves.promote.0, huge.tick), (1_200_000 + 800 * (2 << 20) / 8, 7));
}

#[test]
fn more_nodes_give_bounds_and_other_machines_a_reason() {
    let text = machine(10).to_toml();
    let cores =
        text.replace("cores = [4, 0]", "cores = [4, 4, 0]").replace("[1048576, 1048576]", "[8192, 8192, 1048576]");
    // The file writes matrices near and far, whatever the number of nodes.
    let three = Machine::from_toml(&cores).expect("three nodes");
    let tiers = TierMachine::of(&three, 4096, None).expect("tiers");
    assert!(!tiers.is_exact && tiers.capacity == Some([4, 256]));
    let data = reads((0..50).map(|i| i % 5)).open().expect("valid");
    let recorded = Recorded::of(&data, &three, &tiers, None, &mut |_| ()).expect("memory is accessed");
    let found = &points(&recorded, &tiers, &[2], &all())[0];
    assert!(found.policies.is_empty() && !found.optimum.is_exact && found.optimum.plan.is_none());
    assert_eq!(found.optimum.at_least.0, 50 * 250 - 20 * 150, "two pages of five");

    let cut = text.find("[tiers]").expect("the file has it");
    let bare = text[..cut].replace("cores = ", "capacity = [16384, 1048576]\ncores = ");
    let bare = Machine::from_toml(&bare).expect("a machine");
    assert_eq!(Machine::from_toml(&bare.to_toml()).as_ref(), Ok(&bare));
    let tiers = TierMachine::of(&bare, 4096, None).expect("tiers");
    assert_eq!((tiers.capacity, tiers.declared), (Some([4, 256]), false));

    let of = |machine: &Machine, page| TierMachine::of(machine, page, None).expect_err("refused").to_string();
    let numa = models::find("numa").expect("in the registry");
    assert!(of(&numa, 4096).contains("'numa' has no tiers") && of(&numa, 4096).contains("dram-cxl"));
    let flat = machine(10);
    for (page, word) in [(0, "power of two"), (4095, "power of two"), (2 << 20, "fewer frames than one")] {
        assert!(of(&flat, page).contains(word), "{}", of(&flat, page));
    }
    let apart = Machine::from_toml(&text.replace("remote_access = true", "remote_access = false")).expect("a machine");
    assert!(of(&apart, 4096).contains("remote_access"));
    let nothing = Builder::new(1).open().expect("valid");
    let tiers = TierMachine::of(&flat, 4096, None).expect("tiers");
    assert!(matches!(Recorded::of(&nothing, &flat, &tiers, None, &mut |_| ()), Err(TierError::Nothing)));
    for (given, word) in [
        ("lru", "known are none"),
        ("none(3)", "takes no parameter"),
        ("hotness(0)", "allowed is 1 to"),
        ("hotness(x", "whole numbers"),
        ("hotness()", "whole numbers"),
    ] {
        let error = Choice::parse(given).err().expect(given).to_string();
        assert!(error.contains(word), "{error}");
    }
    for spec in policies::ALL {
        assert_eq!(Choice::parse(&spec.choose().to_string()).expect("its own name").values, spec.choose().values);
    }
}
