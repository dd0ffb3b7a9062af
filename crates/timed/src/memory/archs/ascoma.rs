//! AS-COMA: the page cache first while frames are free, then home first, with a back-off driven by the page-out daemon (Kuo and others
//! 1998, sections 3 and 4.1).
use super::{Architecture, Pool, Spec};
use homenode_machine::Reading;

pub(crate) static SPEC: Spec = Spec {
    name: "ascoma",
    summary: "the page cache while frames are free, then home first; backs off when the daemon finds no cold pages",
    has_page_cache: true,
    needs_page_cache: false,
    decider: |h| {
        Box::new(AsComa {
            start: h.threshold[0],
            step: h.threshold[1],
            steps: h.threshold_steps,
            raised: 0,
            gaps: h.daemon_gap,
            gap: h.daemon_gap[0],
            failed: false,
            until_empty: h.reads(Reading::DrainedWhenEmpty),
            evicts: h.reads(Reading::AscomaEvicts),
        })
    },
};

struct AsComa {
    start: u32,
    step: u32,
    /// Steps after which relocation stops.
    steps: u32,
    /// Steps that the threshold is raised.
    raised: u32,
    gaps: [u64; 2],
    gap: u64,
    /// Whether the daemon's last run failed.
    failed: bool,
    /// Whether new pages are cached as long as a frame is free.
    until_empty: bool,
    /// Whether a page is evicted for one that is to be relocated.
    evicts: bool,
}

impl AsComa {
    fn thrashes(&mut self) {
        self.raised = (self.raised + 1).min(self.steps + 1);
    }
}

impl Architecture for AsComa {
    fn caches_at_fault(&mut self, pool: Pool) -> bool {
        pool.free > 0 && (self.until_empty || !(self.failed && pool.free <= pool.min))
    }
    fn threshold(&self) -> Option<u32> {
        Some(self.start.saturating_add(self.step.saturating_mul(self.raised)))
    }
    fn relocation_stopped(&self) -> bool {
        self.raised > self.steps
    }
    fn evicts(&self) -> bool {
        self.evicts
    }
    fn refused(&mut self) {
        self.thrashes();
    }
    fn daemon_ran(&mut self, reached: bool) {
        self.failed = !reached;
        if reached {
            // Relocation that had stopped goes on at once.
            self.raised = self.raised.min(self.steps + 1).saturating_sub(1);
            self.gap = (self.gap / 2).max(self.gaps[0]);
        } else {
            self.thrashes();
            self.gap = self.gap.saturating_mul(2).clamp(self.gaps[0], self.gaps[1]);
        }
    }
    fn daemon_gap(&self) -> u64 {
        self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::models;

    #[test]
    fn failures_back_off_and_a_success_resumes() {
        let hybrid = models::find("ascoma").and_then(|m| m.sections.hybrid).expect("a section");
        let mut node = (SPEC.decider)(&hybrid);
        let pool = |free| Pool { free, min: 5 };
        assert!(node.caches_at_fault(pool(1)) && !node.caches_at_fault(pool(0)));
        (0..3).for_each(|_| node.daemon_ran(false));
        assert_eq!((node.threshold(), node.daemon_gap()), (Some(56), 8_000_000));
        assert!(!node.caches_at_fault(pool(5)) && node.caches_at_fault(pool(6)));
        (0..20).for_each(|_| node.refused());
        assert!(node.relocation_stopped() && node.threshold() == Some(168));
        node.daemon_ran(true);
        assert!(!node.relocation_stopped() && node.threshold() == Some(160) && node.daemon_gap() == 4_000_000);
        assert!(node.caches_at_fault(pool(5)), "new pages go into the page cache again");
        (0..40).for_each(|_| node.daemon_ran(true));
        assert_eq!((node.threshold(), node.daemon_gap()), (Some(32), 1_000_000));
    }
}
