//! Promotion by counter: pages above a threshold change places with the coldest.
use super::{Spec, TierPolicy};
use crate::tiers::{Dram, Use};
use homenode_base::named::Param;
use std::cmp::Reverse;

pub(crate) static SPEC: Spec = Spec {
    name: "hotness",
    summary: "pages with so many accesses in a tick move into DRAM, for the coldest there if those are colder",
    params: &[Param {
        name: "accesses",
        summary: "accesses in a tick from which on a page is hot",
        default: 32,
        min: 1,
        max: u32::MAX,
        variant: false,
    }],
    make: |given| Box::new(Hotness { threshold: given.values[0].into(), accesses: vec![0; given.pages.len()] }),
};

struct Hotness {
    threshold: u64,
    /// Accesses in the tick, by page.
    accesses: Vec<u64>,
}

impl TierPolicy for Hotness {
    fn tick(&mut self, seen: &[Use], dram: &mut Dram) {
        let hot = seen.iter().filter(|u| u.accesses >= self.threshold && !dram.holds(u.page));
        let mut hot: Vec<(Reverse<u64>, u32)> = hot.map(|u| (Reverse(u.accesses), u.page)).collect();
        if hot.is_empty() {
            return;
        }
        hot.sort_unstable();
        seen.iter().for_each(|u| self.accesses[u.page as usize] = u.accesses);
        let mut cold: Vec<(u64, u32)> = Vec::new();
        if hot.len() > dram.free() as usize {
            cold.extend(dram.pages().map(|p| (self.accesses[p as usize], p)));
            cold.sort_unstable();
        }
        let mut cold = cold.into_iter();
        for (Reverse(accesses), page) in hot {
            if dram.free() == 0 {
                match cold.next() {
                    Some((least, victim)) if least < accesses => dram.demote(victim),
                    _ => break,
                }
            }
            dram.promote(page);
        }
        seen.iter().for_each(|u| self.accesses[u.page as usize] = 0);
    }
}
