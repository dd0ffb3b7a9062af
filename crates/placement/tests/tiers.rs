//! Frames through time against every placement there is, closed forms, and the bound beside the exact optimum.
use homenode_base::rng::Rng;
use homenode_base::{Cost, TotalCost};
use homenode_placement::tiers::{
    Frames, Gain, IllegalPlan, Moves, Pages, Savings, Stay, TierPlan, best_static, bound, saved, static_plan,
};

fn pages(ticks: u32, gains: &[&[(u32, i128)]]) -> Pages {
    let page = |p: &&[(u32, i128)]| p.iter().map(|&(tick, g)| Gain { tick, gain: TotalCost(g) }).collect();
    Pages { ticks, gains: gains.iter().map(page).collect() }
}

fn random(r: &mut Rng, pages: u64, ticks: u32) -> Pages {
    let page = |r: &mut Rng| loop {
        let accessed: Vec<u32> = (0..ticks).filter(|_| r.chance(1, 2)).collect();
        if !accessed.is_empty() {
            return accessed.iter().map(|&tick| Gain { tick, gain: TotalCost(r.below(9).into()) }).collect();
        }
    };
    Pages { ticks, gains: (0..pages).map(|_| page(r)).collect() }
}

/// The most that can be saved: every set of pages in DRAM in every tick, whatever it was in the tick before.
fn brute_force(pages: &Pages, moves: Moves, frames: u64) -> i128 {
    let sets = 1usize << pages.len();
    let exists = |page: usize, tick: u32| pages.gains[page][0].tick <= tick;
    let allowed = |set: usize, tick: u32| {
        u64::from(set.count_ones()) <= frames && (0..pages.len()).all(|p| set >> p & 1 == 0 || exists(p, tick))
    };
    let gain = |set: usize, tick: u32| -> i128 {
        let of = |p: usize| pages.gains[p].iter().filter(move |g| g.tick == tick && set >> p & 1 == 1);
        (0..pages.len()).flat_map(of).map(|g| g.gain.0).sum()
    };
    let price = |from: usize, to: usize, tick: u32| -> i128 {
        let each = |p: usize| match (from >> p & 1, to >> p & 1) {
            (0, 1) if pages.gains[p][0].tick < tick => moves.promote.0.into(),
            (1, 0) => moves.demote.0.into(),
            _ => 0,
        };
        (0..pages.len()).map(each).sum()
    };
    let mut best: Vec<Option<i128>> = (0..sets).map(|s| (s == 0).then_some(0)).collect();
    for tick in 0..pages.ticks {
        let reach = |to: usize| {
            let from = |from: usize| best[from].map(|b| b - price(from, to, tick));
            allowed(to, tick).then(|| (0..sets).filter_map(from).max().map(|b| b + gain(to, tick)))?
        };
        best = (0..sets).map(reach).collect();
    }
    best.into_iter().flatten().max().unwrap_or(0)
}

fn cases() -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some() { 40_000 } else { 400 }
}

#[test]
fn the_flow_is_the_best_of_all_placements_and_its_plan_saves_what_it_says() {
    let mut r = Rng::new(11);
    for case in 0..cases() {
        let (n, ticks) = (1 + r.below(4), 1 + r.below(5) as u32);
        let pages = random(&mut r, n, ticks);
        let moves = Moves { promote: Cost(r.below(7) as i64), demote: Cost(r.below(7) as i64) };
        let mut flow = Frames::new(&pages, moves);
        for frames in 0..=n {
            flow.raise(frames);
            let best = brute_force(&pages, moves, frames);
            assert_eq!(flow.saved().0, best, "case {case}, {frames} frames, {moves:?}: {pages:?}");
            assert_eq!(saved(&pages, moves, frames, &flow.plan()), Ok(flow.saved()), "case {case}, {frames} frames");
            let chosen = best_static(&pages, frames);
            let fixed = saved(&pages, moves, frames, &static_plan(&pages, &chosen)).expect("legal");
            assert!(fixed <= flow.saved());
            let bounded = bound(&pages, moves, frames, 40);
            assert!(bounded.saved <= flow.saved() && flow.saved() <= bounded.at_most, "case {case}: {bounded:?}");
            assert_eq!(saved(&pages, moves, frames, &bounded.plan), Ok(bounded.saved));
            assert!(fixed <= bounded.saved);
        }
    }
}

#[test]
fn no_frames_save_nothing_and_all_frames_everything() {
    let mut r = Rng::new(12);
    for _ in 0..20 {
        let pages = random(&mut r, 60, 30);
        let all: i128 = pages.gains.iter().flatten().map(|g| g.gain.0).sum();
        let moves = Moves { promote: Cost(r.below(9) as i64), demote: Cost(3) };
        let mut flow = Frames::new(&pages, moves);
        flow.raise(0);
        assert_eq!(flow.saved().0, 0);
        let mut last = (0, i128::MAX);
        for frames in 1..=60 {
            flow.raise(frames);
            let more = flow.saved().0 - last.0;
            assert!((0..=last.1).contains(&more), "a further frame never saves more than the one before");
            last = (flow.saved().0, more);
            assert_eq!(saved(&pages, moves, frames, &flow.plan()), Ok(flow.saved()));
        }
        assert_eq!(flow.saved().0, all);
        let bounded = bound(&pages, moves, 60, 5);
        assert_eq!((bounded.at_most.0, bounded.saved.0), (all, all));
    }
}

#[test]
fn free_moves_make_it_the_best_pages_of_each_tick() {
    let mut r = Rng::new(13);
    let pages = random(&mut r, 40, 25);
    let moves = Moves { promote: Cost(0), demote: Cost(0) };
    let mut flow = Frames::new(&pages, moves);
    for frames in [1, 5, 17] {
        flow.raise(frames);
        let of_tick = |tick: u32| {
            let mut gains: Vec<i128> =
                pages.gains.iter().flatten().filter(|g| g.tick == tick).map(|g| g.gain.0).collect();
            gains.sort_unstable_by_key(|g| std::cmp::Reverse(*g));
            gains.iter().take(frames as usize).sum::<i128>()
        };
        assert_eq!(flow.saved().0, (0..25).map(of_tick).sum::<i128>());
    }
}

#[test]
fn a_change_of_phase_is_worth_what_it_gains_less_two_moves() {
    // One frame; page 0 is hot in the first half, page 1 in the second.
    let two = pages(4, &[&[(0, 100), (1, 100), (2, 1), (3, 1)], &[(0, 1), (1, 1), (2, 100), (3, 100)]]);
    for (promote, demote, best) in [(10, 20, 400 - 30), (99, 98, 400 - 197), (100, 99, 202), (150, 150, 202)] {
        let moves = Moves { promote: Cost(promote), demote: Cost(demote) };
        let mut flow = Frames::new(&two, moves);
        flow.raise(1);
        assert_eq!(flow.saved().0, best);
    }
}

#[test]
fn prices_close_most_of_the_gap() {
    let mut r = Rng::new(14);
    for _ in 0..10 {
        let pages = random(&mut r, 80, 40);
        let moves = Moves { promote: Cost(4), demote: Cost(2) };
        let mut flow = Frames::new(&pages, moves);
        flow.raise(25);
        let bounded = bound(&pages, moves, 25, 200);
        let gap = (bounded.at_most.0 - flow.saved().0) as f64 / flow.saved().0 as f64;
        let short = (flow.saved().0 - bounded.saved.0) as f64 / flow.saved().0 as f64;
        assert!(gap < 0.04 && short < 0.15, "bound {gap}, plan {short}");
    }
}

#[test]
fn plans_that_are_none_are_refused() {
    let two = pages(3, &[&[(0, 5), (2, 5)], &[(1, 5)]]);
    let moves = Moves { promote: Cost(1), demote: Cost(1) };
    let stay = |from, to, leaves| Stay { from, to, leaves };
    let of = |a: Vec<Stay>, b: Vec<Stay>, frames| saved(&two, moves, frames, &TierPlan { stays: vec![a, b] });
    assert_eq!(
        of(vec![stay(0, 1, false)], vec![stay(0, 0, true)], 1),
        Err(IllegalPlan::Full { tick: 1, used: 2, frames: 1 })
    );
    assert_eq!(of(vec![stay(0, 0, true), stay(1, 1, false)], vec![stay(0, 0, true)], 1), Ok(TotalCost(15 - 3)));
    for wrong in [
        vec![stay(0, 0, false)],
        vec![stay(1, 0, true)],
        vec![stay(0, 2, true)],
        vec![stay(0, 1, true), stay(1, 1, true)],
    ] {
        assert_eq!(of(wrong, vec![], 2), Err(IllegalPlan::Stays { page: 0 }));
    }
}

/// Savings of placements that stay, for every number of frames, against the definition; and the least frames that save so much.
#[test]
fn pages_that_stay_save_what_their_plan_does() {
    let mut r = Rng::new(17);
    for case in 0..cases() {
        let (n, ticks) = (r.below(6), 1 + r.below(5) as u32);
        let pages = random(&mut r, n, ticks);
        let moves = Moves { promote: Cost(3), demote: Cost(2) };
        let (hottest, first) = (Savings::hottest_first(&pages), Savings::first_come(&pages));
        let plan = |chosen: &[u32], frames| saved(&pages, moves, frames, &static_plan(&pages, chosen)).expect("a plan");
        for frames in 0..=n + 2 {
            let came: Vec<u32> = (0..n.min(frames) as u32).collect();
            assert_eq!(hottest.with(frames), plan(&best_static(&pages, frames), frames), "case {case}");
            assert_eq!(first.with(frames), plan(&came, frames), "case {case}");
            assert!(first.with(frames) <= hottest.with(frames), "case {case}");
        }
        for wanted in 0..=first.with(u64::MAX).0 + 1 {
            for savings in [&hottest, &first] {
                let least = (0..=n).find(|f| savings.with(*f).0 >= wanted);
                assert_eq!(savings.least(TotalCost(wanted)), least, "case {case}, {wanted}");
            }
        }
    }
}
