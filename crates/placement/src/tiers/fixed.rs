//! What pages save that stay where they are put, for every number of frames.
use super::{Pages, best_static};
use homenode_base::TotalCost;

/// Savings with 0, 1, 2 and more frames, up to where a further one saves nothing or there are no more pages. They never fall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Savings(Vec<TotalCost>);

impl Savings {
    /// The pages that gain most are in DRAM: the best placement that never moves a page.
    pub fn hottest_first(pages: &Pages) -> Savings {
        let totals: Vec<TotalCost> = pages.totals().collect();
        Savings::adding(best_static(pages, u64::MAX).into_iter().map(|page| totals[page as usize]))
    }
    /// Pages are in DRAM in order of first access, while there are frames.
    pub fn first_come(pages: &Pages) -> Savings {
        Savings::adding(pages.totals())
    }

    fn adding(gains: impl Iterator<Item = TotalCost>) -> Savings {
        let none = [TotalCost::ZERO];
        let mut all = TotalCost::ZERO;
        let further = gains.map(|gain| {
            all += gain;
            all
        });
        Savings(none.into_iter().chain(further).collect())
    }

    /// What is saved with so many frames.
    pub fn with(&self, frames: u64) -> TotalCost {
        let last = self.0.len() - 1;
        self.0[usize::try_from(frames).map_or(last, |f| f.min(last))]
    }
    /// The least number of frames that saves so much; none if all of them do not.
    pub fn least(&self, saved: TotalCost) -> Option<u64> {
        let frames = self.0.partition_point(|s| *s < saved);
        (frames < self.0.len()).then_some(frames as u64)
    }
}
