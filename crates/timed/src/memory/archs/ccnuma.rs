//! CC-NUMA: pages stay at home, remote data is cached by line (Kuo and others 1998, section 2.1).
use super::{Architecture, Pool, Spec};

pub(crate) static SPEC: Spec = Spec {
    name: "ccnuma",
    summary: "pages stay at home; remote data in the processor's cache and the remote access cache",
    has_page_cache: false,
    needs_page_cache: false,
    begins_cached: false,
    decider: |_| Box::new(CcNuma),
};

struct CcNuma;

impl Architecture for CcNuma {
    fn caches_at_fault(&mut self, _: Pool) -> bool {
        false
    }
    fn threshold(&self) -> Option<u32> {
        None
    }
    fn daemon_gap(&self) -> u64 {
        0
    }
}
