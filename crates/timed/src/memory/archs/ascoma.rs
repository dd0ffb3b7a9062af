//! AS-COMA: the page cache first while frames are free, then home first, with a back-off driven by the page-out daemon (Kuo and others
//! 1998, sections 3 and 4.1).
use super::{Architecture, Pool, Spec};
use crate::backoff::{BackOff, BackingOff};
use homenode_machine::Reading;

pub(crate) static SPEC: Spec = Spec {
    name: "ascoma",
    summary: "the page cache while frames are free, then home first; backs off when the daemon finds no cold pages",
    has_page_cache: true,
    needs_page_cache: false,
    begins_cached: true,
    decider: |h| {
        let rules = BackOff {
            threshold: h.threshold,
            steps: h.threshold_steps,
            gaps: h.daemon_gap,
            until_empty: h.reads(Reading::DrainedWhenEmpty),
        };
        Box::new(AsComa { back_off: rules.begin(), evicts: h.reads(Reading::AscomaEvicts) })
    },
};

struct AsComa {
    back_off: BackingOff,
    /// Whether a page is evicted for one that is to be relocated.
    evicts: bool,
}

impl Architecture for AsComa {
    fn caches_at_fault(&mut self, pool: Pool) -> bool {
        self.back_off.takes_new(pool)
    }
    fn threshold(&self) -> Option<u32> {
        Some(self.back_off.threshold())
    }
    fn relocation_stopped(&self) -> bool {
        self.back_off.stopped()
    }
    fn evicts(&self) -> bool {
        self.evicts
    }
    fn refused(&mut self) {
        self.back_off.thrashes();
    }
    fn daemon_ran(&mut self, reached: bool) {
        self.back_off.daemon_ran(reached);
    }
    fn daemon_gap(&self) -> u64 {
        self.back_off.gap()
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
