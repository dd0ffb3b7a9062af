//! Mixtures of hybrids: where a page goes at its first access from one of them, the back-off from another one.
//!
//! Home first without a back-off is R-NUMA, with VC-NUMA's it is VC-NUMA; the page cache first with AS-COMA's is AS-COMA. The
//! others of the six are here.
use super::{Architecture, Pool, Spec, ascoma, rnuma, vcnuma};

/// Mixtures that are no architecture of the study.
pub static ALL: [&Spec; 3] = [&CACHE_FIRST, &CACHE_FIRST_VCNUMA, &HOME_FIRST_ASCOMA];

static CACHE_FIRST: Spec = Spec {
    name: "scoma-first",
    summary: "the page cache while frames are free, then home first as rnuma; no back-off",
    begins_cached: true,
    decider: |h| Box::new(First { cached: true, then: (rnuma::SPEC.decider)(h) }),
    ..rnuma::SPEC
};

static CACHE_FIRST_VCNUMA: Spec = Spec {
    name: "scoma-first-vcnuma",
    summary: "the page cache while frames are free, then home first; backs off as vcnuma",
    begins_cached: true,
    decider: |h| Box::new(First { cached: true, then: (vcnuma::SPEC.decider)(h) }),
    ..vcnuma::SPEC
};

static HOME_FIRST_ASCOMA: Spec = Spec {
    name: "home-first-ascoma",
    summary: "home first; backs off as ascoma",
    begins_cached: false,
    decider: |h| Box::new(First { cached: false, then: (ascoma::SPEC.decider)(h) }),
    ..ascoma::SPEC
};

/// Decides where pages begin, and leaves the rest to another one.
struct First {
    cached: bool,
    then: Box<dyn Architecture>,
}

impl Architecture for First {
    fn caches_at_fault(&mut self, pool: Pool) -> bool {
        self.cached && pool.free > 0
    }
    fn threshold(&self) -> Option<u32> {
        self.then.threshold()
    }
    fn relocation_stopped(&self) -> bool {
        self.then.relocation_stopped()
    }
    fn evicts(&self) -> bool {
        self.then.evicts()
    }
    fn refused(&mut self) {
        self.then.refused();
    }
    fn replaced(&mut self, local_refetches: u32, frames: u32) {
        self.then.replaced(local_refetches, frames);
    }
    fn daemon_ran(&mut self, reached: bool) {
        self.then.daemon_ran(reached);
    }
    fn daemon_gap(&self) -> u64 {
        self.then.daemon_gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::models;

    #[test]
    fn where_pages_begin_and_how_they_back_off_are_told_apart() {
        let hybrid = models::find("ascoma").and_then(|m| m.sections.hybrid).expect("a section");
        let made = |spec: &Spec| (spec.decider)(&hybrid);
        let [mut none, mut losers, mut home] = ALL.map(made);
        let pool = |free| Pool { free, min: 5 };
        for (one, cached) in [(&mut none, true), (&mut losers, true), (&mut home, false)] {
            assert_eq!((one.caches_at_fault(pool(1)), one.caches_at_fault(pool(0))), (cached, false));
            one.daemon_ran(false);
            (0..8).for_each(|_| one.replaced(0, 4));
        }
        assert_eq!([&none, &losers, &home].map(|a| a.threshold()), [Some(32), Some(40), Some(40)]);
        assert_eq!([&none, &losers, &home].map(|a| a.evicts()), [true, true, false]);
        assert_eq!((losers.daemon_gap(), home.daemon_gap()), (1_000_000, 2_000_000));
    }
}
