//! Promotion on access: DRAM as a cache with second chance (Corbató's clock, an approximation of LRU).
use super::{Spec, TierPolicy};
use crate::tiers::{Dram, Use};

pub(crate) static SPEC: Spec = Spec {
    name: "recency",
    summary: "whatever was accessed moves into DRAM; the clock's hand (second chance) finds what leaves",
    params: &[],
    make: |given| Box::new(Recency { came: vec![0; given.pages.len()], now: 0 }),
};

struct Recency {
    /// Tick in which each page was promoted last, from 1.
    came: Vec<u32>,
    now: u32,
}

impl Recency {
    /// The page that leaves: the first without its bit, second time round any but those that have just come.
    fn victim(&self, dram: &mut Dram) -> Option<u32> {
        for _ in 0..2 * u64::from(dram.frames()) {
            if let Some(page) = dram.under_hand()
                && self.came[page as usize] != self.now
                && !dram.take_reference(page)
            {
                return Some(page);
            }
        }
        None
    }
}

impl TierPolicy for Recency {
    fn tick(&mut self, seen: &[Use], dram: &mut Dram) {
        self.now += 1;
        for u in seen.iter().filter(|u| u.accesses > 0) {
            if dram.holds(u.page) {
                continue;
            }
            if dram.free() == 0 {
                let Some(page) = self.victim(dram) else { return };
                dram.demote(page);
            }
            dram.promote(u.page);
            self.came[u.page as usize] = self.now;
        }
    }
}
