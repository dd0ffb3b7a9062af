//! S-COMA: remote pages are used through the page cache only (Kuo and others 1998, section 2.2).
use super::{Architecture, Pool, Spec};

pub(crate) static SPEC: Spec = Spec {
    name: "scoma",
    summary: "every remote page in the page cache, whatever has to leave it",
    has_page_cache: true,
    needs_page_cache: true,
    begins_cached: true,
    decider: |h| Box::new(SComa { gap: h.daemon_gap[0] }),
};

struct SComa {
    gap: u64,
}

impl Architecture for SComa {
    fn caches_at_fault(&mut self, _: Pool) -> bool {
        true
    }
    fn threshold(&self) -> Option<u32> {
        None
    }
    fn daemon_gap(&self) -> u64 {
        self.gap
    }
}
