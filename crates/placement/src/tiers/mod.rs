//! Which pages belong into DRAM when, where the rest of memory is slower: equal pages, fixed prices of a move, decisions at ticks.
//!
//! Everything counts what is *saved* against all pages being in the expander for good: gains of accesses less prices of moves. A page
//! exists from the tick of its first access on, and where it begins costs nothing. [`Frames`] is the exact optimum, a flow of frames
//! through time; [`bound`] is for what is too large for it; [`best_static`] never moves anything, and [`Savings`] says what that and first
//! come, first served come to for every number of frames. `docs/design/tiers.md` has the proofs.
mod bound;
mod fixed;
mod flow;

pub use bound::{Bound, bound};
pub use fixed::Savings;
pub use flow::Frames;

use homenode_base::{Cost, TotalCost};

/// What a page would gain in a tick in which it is accessed, if it were in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The tick, from 0.
    pub tick: u32,
    /// Cost of its accesses in the expander less their cost in DRAM; not negative.
    pub gain: TotalCost,
}

/// Pages and what they gain. Every page has at least one entry, that of its first access, and they ascend strictly by tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Number of ticks.
    pub ticks: u32,
    /// Gains by page.
    pub gains: Vec<Vec<Gain>>,
}

impl Pages {
    /// Number of pages.
    pub fn len(&self) -> usize {
        self.gains.len()
    }
    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.gains.is_empty()
    }
    /// Number of ticks in which pages are accessed, over all pages.
    pub fn entries(&self) -> usize {
        self.gains.iter().map(Vec::len).sum()
    }
    /// What each page gains in all.
    fn totals(&self) -> impl Iterator<Item = TotalCost> {
        self.gains.iter().map(|page| page.iter().map(|g| g.gain).sum())
    }
}

/// Prices of moving a page; not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Into DRAM.
    pub promote: Cost,
    /// Out of it.
    pub demote: Cost,
}

/// A stay of a page in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Entry before whose tick it comes; it begins there if that is the first.
    pub from: u32,
    /// Last entry that it is there for.
    pub to: u32,
    /// Whether it leaves after that entry's tick. If not, that was the last entry and it stays to the end.
    pub leaves: bool,
}

/// The stays of each page, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierPlan {
    /// By page.
    pub stays: Vec<Vec<Stay>>,
}

/// A plan that is none: an error of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalPlan {
    /// Stays that overlap or do not exist.
    #[error("page {page}: its stays are not in order")]
    Stays {
        /// Page.
        page: usize,
    },
    /// More pages than frames.
    #[error("tick {tick}: {used} pages in {frames} frames")]
    Full {
        /// Tick.
        tick: usize,
        /// Pages in DRAM.
        used: i64,
        /// Frames.
        frames: u64,
    },
}

/// What a plan saves with so many frames, from the definition alone.
///
/// # Errors
/// It is no plan, or takes more frames.
pub fn saved(pages: &Pages, moves: Moves, frames: u64, plan: &TierPlan) -> Result<TotalCost, IllegalPlan> {
    let mut total = TotalCost::ZERO;
    let mut change = vec![0i64; pages.ticks as usize + 1];
    for (page, (gains, stays)) in pages.gains.iter().zip(&plan.stays).enumerate() {
        let mut next = 0;
        for stay in stays {
            let (from, to) = (stay.from as usize, stay.to as usize);
            if from < next || to < from || to >= gains.len() || (!stay.leaves && to + 1 < gains.len()) {
                return Err(IllegalPlan::Stays { page });
            }
            next = to + 1;
            total += gains[from..=to].iter().map(|g| g.gain).sum::<TotalCost>();
            total = total - if from > 0 { moves.promote.into() } else { TotalCost::ZERO };
            total = total - if stay.leaves { moves.demote.into() } else { TotalCost::ZERO };
            change[gains[from].tick as usize] += 1;
            let end = if stay.leaves { gains[to].tick + 1 } else { pages.ticks };
            change[end as usize] -= 1;
        }
    }
    let mut used = 0;
    for (tick, change) in change.iter().enumerate() {
        used += change;
        if used > 0 && used as u64 > frames {
            return Err(IllegalPlan::Full { tick, used, frames });
        }
    }
    Ok(total)
}

/// The pages that gain most in all, as many as there are frames: the best placement that never moves a page. Of pages that gain the same, those
/// touched first; pages that gain nothing are not among them.
pub fn best_static(pages: &Pages, frames: u64) -> Vec<u32> {
    let mut order: Vec<(TotalCost, u32)> = pages.totals().zip(0..).filter(|(gain, _)| gain.0 > 0).collect();
    order.sort_by_key(|(gain, page)| (std::cmp::Reverse(*gain), *page));
    order.truncate(usize::try_from(frames).unwrap_or(usize::MAX));
    order.into_iter().map(|(_, page)| page).collect()
}

/// The plan of pages that are in DRAM for good.
pub fn static_plan(pages: &Pages, chosen: &[u32]) -> TierPlan {
    let mut stays = vec![Vec::new(); pages.len()];
    for &page in chosen {
        let last = pages.gains[page as usize].len() as u32 - 1;
        stays[page as usize] = vec![Stay { from: 0, to: last, leaves: false }];
    }
    TierPlan { stays }
}
