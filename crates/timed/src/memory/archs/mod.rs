//! Architectures: where a page goes at its first access, when it is moved into the page cache, and what happens when that is full.
//!
//! The hardware is the same for all of them (`system`); an architecture decides for one node.
pub(crate) use crate::backoff::Pool;
use homenode_machine::Hybrid;

/// An architecture of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Whether it has a page cache; it cannot run without one if `needs_page_cache`.
    pub has_page_cache: bool,
    /// Whether pages of other nodes can be used through the page cache only.
    pub needs_page_cache: bool,
    /// Whether pages of other nodes begin in the page cache, while it has room.
    pub begins_cached: bool,
    /// What decides for one node.
    pub(crate) decider: fn(&Hybrid) -> Box<dyn Architecture>,
}

pub mod mixed;

homenode_base::registry!(
    /** Every architecture; what others are compared with first. */ Spec;
    ccnuma, scoma, rnuma, vcnuma, ascoma
);

/// The architecture that the others are compared with.
pub const BASE: &Spec = &ccnuma::SPEC;

/// Every architecture, and mixtures that tell apart what hybrids invent: where pages begin, and how they back off.
pub fn known() -> impl Iterator<Item = &'static Spec> {
    ALL.iter().chain(&mixed::ALL).copied()
}

/// The architecture or mixture with this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    known().find(|s| s.name == name)
}

/// What decides for one node.
pub(crate) trait Architecture {
    /// Whether a page that the node refers to first goes into the page cache; if not, it is mapped to its home.
    fn caches_at_fault(&mut self, pool: Pool) -> bool;
    /// Refetches after which a page is to be relocated; never if there is none.
    fn threshold(&self) -> Option<u32>;
    /// Whether relocation is stopped altogether for now.
    fn relocation_stopped(&self) -> bool {
        false
    }
    /// Whether a page is evicted for one that is to be relocated when no frame is free; else that is refused.
    fn evicts(&self) -> bool {
        true
    }
    /// A relocation was refused.
    fn refused(&mut self) {}
    /// A page leaves the page cache, of so many frames, in which it satisfied so many misses.
    fn replaced(&mut self, _local_refetches: u32, _frames: u32) {}
    /// The daemon has run, and reached its target or not.
    fn daemon_ran(&mut self, _reached: bool) {}
    /// Cycles between two runs of the daemon at least.
    fn daemon_gap(&self) -> u64;
}
