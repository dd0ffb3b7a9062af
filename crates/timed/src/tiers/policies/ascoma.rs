//! AS-COMA's back-off on tiers: DRAM is the page cache, the expander is where pages are at home (Kuo and others 1998, sections 3 and 4.1).
use super::{Given, Spec, TierPolicy};
use crate::backoff::{BackOff, BackingOff, Pool};
use crate::tiers::{Dram, Use};

pub(crate) static SPEC: Spec = Spec {
    name: "ascoma",
    summary: "DRAM while frames are free; then a counter a page, whose threshold backs off when the daemon finds no cold pages",
    params: &[],
    make: |given| Box::new(AsComa::new(given)),
};

/// The study's: 32 accesses, 8 more a step, no relocation after 16 steps; the daemon runs after 1 to 64 ticks.
const RULES: BackOff = BackOff { threshold: [32, 8], steps: 16, gaps: [1, 64], until_empty: false };
/// Percent of the frames below which the daemon runs, and up to which it frees.
const FREE_PERCENT: [u32; 2] = [5, 7];

struct AsComa {
    back_off: BackingOff,
    /// Accesses to each page since it was moved last.
    accesses: Vec<u64>,
    min: u32,
    target: u32,
    now: u64,
    daemon_at: u64,
}

impl AsComa {
    fn new(given: &Given<'_>) -> AsComa {
        let percent = |p: u32| (u64::from(given.frames) * u64::from(p) / 100).max(1) as u32;
        AsComa {
            back_off: RULES.begin(),
            accesses: vec![0; given.pages.len()],
            min: percent(FREE_PERCENT[0]),
            target: percent(FREE_PERCENT[1]),
            now: 0,
            daemon_at: 0,
        }
    }

    fn pool(&self, dram: &Dram) -> Pool {
        Pool { free: dram.free(), min: self.min }
    }

    /// One sweep for cold pages, if frames are short and it is time.
    fn daemon(&mut self, dram: &mut Dram) {
        if dram.free() >= self.min || self.now < self.daemon_at {
            return;
        }
        for _ in 0..dram.frames() {
            if dram.free() >= self.target {
                break;
            }
            if let Some(page) = dram.under_hand()
                && !dram.take_reference(page)
            {
                dram.demote(page);
                self.accesses[page as usize] = 0;
            }
        }
        self.back_off.daemon_ran(dram.free() >= self.target);
        self.daemon_at = self.now + self.back_off.gap();
    }
}

impl TierPolicy for AsComa {
    fn takes_new(&mut self, _: u32, dram: &Dram) -> bool {
        self.back_off.takes_new(self.pool(dram))
    }

    fn tick(&mut self, seen: &[Use], dram: &mut Dram) {
        self.now += 1;
        // Pages that were new in the tick asked for frames.
        self.daemon(dram);
        for u in seen.iter().filter(|u| u.accesses > 0) {
            if dram.holds(u.page) {
                continue;
            }
            let accesses = &mut self.accesses[u.page as usize];
            *accesses += u.accesses;
            if *accesses < u64::from(self.back_off.threshold()) {
                continue;
            }
            *accesses = 0;
            self.daemon(dram);
            if self.back_off.stopped() {
                continue;
            }
            if !dram.promote(u.page) {
                self.back_off.thrashes();
            }
        }
    }
}
