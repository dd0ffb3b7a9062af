//! VC-NUMA: as R-NUMA, with a threshold that rises while replaced pages had not paid for their relocation (Kuo and others 1998,
//! sections 2.4, 4.1, 5.2; the rule is sketched there, and this reading of it is ours).
use super::{Architecture, Pool, Spec};
use homenode_machine::Reading;

pub(crate) static SPEC: Spec = Spec {
    name: "vcnuma",
    summary: "as rnuma; the threshold rises while pages leave the page cache before they paid for their relocation",
    has_page_cache: true,
    needs_page_cache: false,
    begins_cached: false,
    decider: |h| {
        Box::new(VcNuma {
            start: h.threshold[0],
            step: h.threshold[1],
            threshold: h.threshold[0],
            break_even: h.break_even,
            evaluation: h.evaluation,
            gap: h.daemon_gap[0],
            replaced: 0,
            losers: 0,
            refetches: 0,
            by_mean: h.reads(Reading::MeanRefetches),
        })
    },
};

struct VcNuma {
    start: u32,
    step: u32,
    threshold: u32,
    break_even: u32,
    evaluation: u32,
    gap: u64,
    /// Pages replaced since the last evaluation.
    replaced: u32,
    /// Of these, those that satisfied fewer misses than break even.
    losers: u32,
    /// Misses that all of them satisfied.
    refetches: u64,
    /// Whether their mean decides, not how many of them lost.
    by_mean: bool,
}

impl Architecture for VcNuma {
    fn caches_at_fault(&mut self, _: Pool) -> bool {
        false
    }
    fn threshold(&self) -> Option<u32> {
        Some(self.threshold)
    }
    fn replaced(&mut self, local_refetches: u32, frames: u32) {
        self.replaced += 1;
        self.losers += u32::from(local_refetches < self.break_even);
        self.refetches += u64::from(local_refetches);
        if self.replaced < frames.saturating_mul(self.evaluation) {
            return;
        }
        let lost = match self.by_mean {
            true => self.refetches < u64::from(self.break_even) * u64::from(self.replaced),
            false => self.losers > self.replaced / 2,
        };
        self.threshold = match lost {
            true => self.threshold.saturating_add(self.step),
            false => self.threshold.saturating_sub(self.step).max(self.start),
        };
        (self.replaced, self.losers, self.refetches) = (0, 0, 0);
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
    fn pages_that_did_not_pay_raise_the_threshold_and_such_that_did_lower_it() {
        let hybrid = models::find("ascoma").and_then(|m| m.sections.hybrid).expect("a section");
        let mut node = (SPEC.decider)(&hybrid);
        (0..7).for_each(|_| node.replaced(15, 4));
        assert_eq!(node.threshold(), Some(32), "two replacements per frame make a period");
        node.replaced(16, 4);
        assert_eq!(node.threshold(), Some(40));
        (0..8).for_each(|_| node.replaced(16, 4));
        (0..8).for_each(|_| node.replaced(16, 4));
        assert_eq!(node.threshold(), Some(32), "never below the start");
    }
}
