//! R-NUMA: CC-NUMA first, relocation after a fixed number of refetches, no back-off (Kuo and others 1998, sections 2.3 and 4.1).
use super::{Architecture, Pool, Spec};

pub(crate) static SPEC: Spec = Spec {
    name: "rnuma",
    summary: "home first; into the page cache after a fixed number of refetches",
    has_page_cache: true,
    needs_page_cache: false,
    begins_cached: false,
    decider: |h| Box::new(RNuma { threshold: h.threshold[0], gap: h.daemon_gap[0] }),
};

struct RNuma {
    threshold: u32,
    gap: u64,
}

impl Architecture for RNuma {
    fn caches_at_fault(&mut self, _: Pool) -> bool {
        false
    }
    fn threshold(&self) -> Option<u32> {
        Some(self.threshold)
    }
    fn daemon_gap(&self) -> u64 {
        self.gap
    }
}
