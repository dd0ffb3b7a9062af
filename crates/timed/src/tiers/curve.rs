//! Cost over the size of DRAM.
use super::policies::Choice;
use super::{Outcome, Recorded, TierError, TierMachine, run};
use homenode_base::TotalCost;
use homenode_placement::tiers::{Frames, bound};

/// How much work the optimum may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries (ticks in which a page is accessed) times frames for which the exact optimum is sought.
    pub exact: u64,
    /// Most entries for which it is sought, however few frames there are: each takes some 500 bytes.
    pub entries: u64,
    /// Rounds of the bound where it is not.
    pub rounds: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { exact: 100_000_000, entries: 2_000_000, rounds: 200 }
    }
}

/// The optimum with so many frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// No placement costs less; what the best one costs if `is_exact`.
    pub at_least: TotalCost,
    /// Whether it is the optimum itself.
    pub is_exact: bool,
    /// What a plan that was found costs; none where the machine lies outside of what is modelled.
    pub plan: Option<TotalCost>,
}

/// A size of DRAM and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Frames of DRAM.
    pub frames: u64,
    /// The optimum.
    pub optimum: Optimum,
    /// The policies, in the order asked.
    pub policies: Vec<Outcome>,
}

/// Runs policies with each number of frames, ascending; `progress` is told how many numbers are done.
///
/// # Errors
/// Policies on a machine on which only bounds can be given.
pub fn curve(
    recorded: &Recorded,
    tiers: &TierMachine,
    frames: &[u64],
    choices: &[Choice],
    limits: Limits,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Point>, TierError> {
    debug_assert!(frames.is_sorted());
    // With frames for all pages nothing is to be sought.
    let holds_all = |frames: u64| frames >= recorded.pages.len() as u64;
    let most = frames.iter().copied().filter(|f| !holds_all(*f)).max().unwrap_or(0);
    let entries = recorded.pages.entries() as u64;
    let is_small = entries <= limits.entries && entries.saturating_mul(most) <= limits.exact;
    let choices = if tiers.is_exact { choices } else { &[] };
    let mut flow = is_small.then(|| Frames::new(&recorded.pages, tiers.moves));
    let mut points = Vec::new();
    for (&frames, done) in frames.iter().zip(0..) {
        progress(done);
        let cost = |saved: TotalCost| recorded.in_expander - saved;
        let (at_least, plan, is_optimum) = match &mut flow {
            _ if holds_all(frames) => (recorded.in_dram, recorded.in_dram, true),
            Some(flow) => {
                flow.raise(frames);
                (cost(flow.saved()), cost(flow.saved()), true)
            }
            None => {
                let found = bound(&recorded.pages, tiers.moves, frames, limits.rounds);
                (cost(found.at_most), cost(found.saved), found.at_most == found.saved)
            }
        };
        let is_exact = is_optimum && tiers.is_exact;
        let optimum = Optimum { at_least, is_exact, plan: tiers.is_exact.then_some(plan) };
        let policies: Vec<Outcome> = choices.iter().map(|c| run(recorded, tiers.moves, frames, c)).collect();
        assert!(policies.iter().all(|p| p.cost >= at_least), "a policy costs less than the optimum: an error here");
        points.push(Point { frames, optimum, policies });
    }
    Ok(points)
}
