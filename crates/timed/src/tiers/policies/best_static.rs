//! The best placement that never moves a page, chosen in hindsight.
use super::{Spec, TierPolicy};
use crate::tiers::Dram;
use homenode_placement::tiers::best_static;

pub(crate) static SPEC: Spec = Spec {
    name: "best-static",
    summary: "in hindsight the pages that gain most, in DRAM for good: exact",
    params: &[],
    make: |given| {
        let mut chosen = vec![false; given.pages.len()];
        best_static(given.pages, given.frames.into()).iter().for_each(|p| chosen[*p as usize] = true);
        Box::new(BestStatic { chosen })
    },
};

struct BestStatic {
    chosen: Vec<bool>,
}

impl TierPolicy for BestStatic {
    fn takes_new(&mut self, page: u32, _: &Dram) -> bool {
        self.chosen[page as usize]
    }
}
