//! A bound where the flow is too large: a price per frame and tick (Lagrange), against which each page decides for itself.
use super::{Moves, Pages, Stay, TierPlan, best_static, saved, static_plan};
use homenode_base::TotalCost;

/// What can be saved at most, and what a plan saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// No plan saves more.
    pub at_most: TotalCost,
    /// What `plan` saves.
    pub saved: TotalCost,
    /// A plan with that many frames.
    pub plan: TierPlan,
}

/// Bounds what so many frames can save by `rounds` steps of the subgradient method (Held, Wolfe and Crowder 1974; the step is
/// Polyak's). Any prices give a bound, so it holds after any number of rounds; more bring it closer.
pub fn bound(pages: &Pages, moves: Moves, frames: u64, rounds: u32) -> Bound {
    let plan = static_plan(pages, &best_static(pages, frames));
    let ours = worth(pages, moves, frames, &plan);
    let mut best = Bound { at_most: TotalCost(i128::MAX / 4), saved: ours, plan };
    let mut prices = vec![0i128; pages.ticks as usize];
    let mut best_prices = prices.clone();
    // Numerator of the step's factor, of 16; halved where three rounds bring nothing.
    let (mut factor, mut idle) = (16i128, 0);
    for round in 0..rounds {
        let asked = Asked::at(pages, moves, &prices);
        let frames_cost = prices.iter().sum::<i128>() * i128::from(frames);
        let value = asked.value + frames_cost;
        if value < best.at_most.0 {
            (best.at_most, idle) = (TotalCost(value), 0);
            best_prices.clone_from(&prices);
        } else {
            idle += 1;
        }
        if round % 8 == 0 || round + 1 == rounds {
            let plan = asked.fitted(pages, moves, frames);
            let ours = worth(pages, moves, frames, &plan);
            if ours > best.saved {
                (best.saved, best.plan) = (ours, plan);
            }
        }
        let over: Vec<i128> = asked.used.iter().map(|u| i128::from(*u) - i128::from(frames)).collect();
        let squares: i128 = over.iter().zip(&prices).filter(|(o, p)| **o > 0 || **p > 0).map(|(o, _)| o * o).sum();
        if squares == 0 || best.at_most <= best.saved || factor == 0 {
            break;
        }
        if idle == 3 {
            (factor, idle) = (factor / 2, 0);
        }
        let gap = value - best.saved.0;
        let step = |o: &i128| gap * factor * o / (16 * squares);
        prices.iter_mut().zip(&over).for_each(|(p, o)| *p = (*p + step(o)).max(0));
    }
    let free = vec![0i128; prices.len()];
    let mut priced = best.plan.clone();
    improve(pages, moves, frames, &best_prices, &mut priced);
    improve(pages, moves, frames, &free, &mut priced);
    improve(pages, moves, frames, &free, &mut best.plan);
    best.saved = worth(pages, moves, frames, &best.plan);
    let ours = worth(pages, moves, frames, &priced);
    if ours > best.saved {
        (best.saved, best.plan) = (ours, priced);
    }
    best
}

/// Price of a frame where none is free: no page pays it.
const WALL: i128 = 1 << 100;
/// How often every page is asked again where it would rather be.
const SWEEPS: u32 = 3;

/// Lets each page in turn choose its best stays at prices, among the frames that the others leave free.
fn improve(pages: &Pages, moves: Moves, frames: u64, prices: &[i128], plan: &mut TierPlan) {
    let ticks = pages.ticks as usize;
    let mut used = vec![0u64; ticks];
    for (gains, stays) in pages.gains.iter().zip(&plan.stays) {
        stays.iter().for_each(|s| each(&mut used, s, gains, |u| *u += 1));
    }
    let (mut before, mut came) = (vec![0i128; ticks + 1], Vec::new());
    for _ in 0..SWEEPS {
        for (gains, stays) in pages.gains.iter().zip(&mut plan.stays) {
            stays.iter().for_each(|s| each(&mut used, s, gains, |u| *u -= 1));
            for tick in gains[0].tick as usize..ticks {
                before[tick + 1] = before[tick] + if used[tick] >= frames { WALL } else { prices[tick] };
            }
            *stays = page(gains, moves, &before, &mut came).1;
            stays.iter().for_each(|s| each(&mut used, s, gains, |u| *u += 1));
        }
    }
}

/// The ticks of a stay.
fn each(used: &mut [u64], stay: &Stay, gains: &[super::Gain], change: fn(&mut u64)) {
    let ticks = span(stay, gains, used.len() as u32);
    used[ticks.start as usize..ticks.end as usize].iter_mut().for_each(change);
}

fn worth(pages: &Pages, moves: Moves, frames: u64, plan: &TierPlan) -> TotalCost {
    saved(pages, moves, frames, plan).expect("a plan that fits is legal")
}

/// What pages want at prices.
struct Asked {
    value: i128,
    stays: Vec<Vec<Stay>>,
    /// Pages that want to be in DRAM, by tick.
    used: Vec<i64>,
}

impl Asked {
    /// Every page's best stays: a program with two states an entry.
    fn at(pages: &Pages, moves: Moves, prices: &[i128]) -> Asked {
        let mut before = vec![0i128];
        prices.iter().for_each(|p| before.push(before[before.len() - 1] + p));
        let mut change = vec![0i64; prices.len() + 1];
        let (mut value, mut stays) = (0, Vec::with_capacity(pages.len()));
        let mut came = Vec::new();
        for gains in &pages.gains {
            let (best, own) = page(gains, moves, &before, &mut came);
            value += best;
            for stay in &own {
                change[gains[stay.from as usize].tick as usize] += 1;
                let end = if stay.leaves { gains[stay.to as usize].tick as usize + 1 } else { prices.len() };
                change[end] -= 1;
            }
            stays.push(own);
        }
        let mut now = 0;
        let sum = |c: &i64| {
            now += c;
            now
        };
        let used = change[..prices.len()].iter().map(sum).collect();
        Asked { value, stays, used }
    }

    /// The stays that fit, those first that save most a frame and tick.
    fn fitted(&self, pages: &Pages, moves: Moves, frames: u64) -> TierPlan {
        let mut order: Vec<(i128, usize, Stay)> = Vec::new();
        for (page, (stays, gains)) in self.stays.iter().zip(&pages.gains).enumerate() {
            for stay in stays {
                let (from, to) = (stay.from as usize, stay.to as usize);
                let gain: TotalCost = gains[from..=to].iter().map(|g| g.gain).sum();
                let promote = if from > 0 { moves.promote.0 } else { 0 };
                let net = gain.0 - i128::from(promote) - i128::from(if stay.leaves { moves.demote.0 } else { 0 });
                let ticks = span(stay, gains, pages.ticks);
                if net > 0 {
                    order.push((net / i128::from(ticks.end - ticks.start), page, *stay));
                }
            }
        }
        order.sort_by_key(|(worth, page, stay)| (std::cmp::Reverse(*worth), *page, stay.from));
        let mut free = vec![frames; pages.ticks as usize];
        let mut plan = TierPlan { stays: vec![Vec::new(); pages.len()] };
        for (_, page, stay) in order {
            let ticks = span(&stay, &pages.gains[page], pages.ticks);
            let there = &mut free[ticks.start as usize..ticks.end as usize];
            if there.iter().all(|f| *f > 0) {
                there.iter_mut().for_each(|f| *f -= 1);
                plan.stays[page].push(stay);
            }
        }
        plan.stays.iter_mut().for_each(|stays| stays.sort_by_key(|s| s.from));
        plan
    }
}

fn span(stay: &Stay, gains: &[super::Gain], ticks: u32) -> std::ops::Range<u32> {
    gains[stay.from as usize].tick..if stay.leaves { gains[stay.to as usize].tick + 1 } else { ticks }
}

/// Best value of a page at prices, of which `before` has the sums up to each tick, and the stays that reach it. `came` is
/// scratch: how in and out of DRAM were best reached at each entry.
fn page(gains: &[super::Gain], moves: Moves, before: &[i128], came: &mut Vec<[bool; 2]>) -> (i128, Vec<Stay>) {
    let (promote, demote) = (i128::from(moves.promote.0), i128::from(moves.demote.0));
    let rent = |from: u32, to: u32| before[to as usize] - before[from as usize];
    came.clear();
    // Value of having been in DRAM in the last entry's tick, and of not; that tick.
    let (mut inside, mut outside, mut last) = (0, 0, 0);
    for (i, g) in gains.iter().enumerate() {
        let own = g.gain.0 - rent(g.tick, g.tick + 1);
        if i == 0 {
            (inside, outside) = (own, 0);
            came.push([false, false]);
        } else {
            let (stays, enters) = (inside - rent(last + 1, g.tick), outside - promote);
            let left = inside - demote;
            // Leaving and coming back in between pays both prices and the rent of neither.
            let again = left - promote;
            let enters = enters.max(again);
            came.push([stays >= enters, left > outside]);
            (inside, outside) = (stays.max(enters) + own, outside.max(left));
        }
        last = g.tick;
    }
    let (keeps, leaves) = (inside - rent(last + 1, before.len() as u32 - 1), inside - demote);
    let best = keeps.max(leaves).max(outside);
    let mut stays: Vec<Stay> = Vec::new();
    let mut i = gains.len() - 1;
    let mut open = (best > outside).then_some(Stay { from: 0, to: i as u32, leaves: leaves > keeps });
    loop {
        match open {
            Some(stay) if i == 0 || !came[i][0] => {
                stays.push(Stay { from: i as u32, ..stay });
                open = None;
                // Entered from outside, or by coming straight back.
                if i > 0 && came[i][1] {
                    open = Some(Stay { from: 0, to: i as u32 - 1, leaves: true });
                }
            }
            None if i > 0 && came[i][1] => open = Some(Stay { from: 0, to: i as u32 - 1, leaves: true }),
            _ => {}
        }
        if i == 0 {
            break;
        }
        i -= 1;
    }
    stays.reverse();
    (best, stays)
}
