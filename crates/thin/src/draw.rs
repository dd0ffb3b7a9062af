//! Which references become samples.
use crate::method::{Method, Thin};
use hashbrown::HashSet;
use homenode_base::Rng;
use homenode_base::spaces::home;
use homenode_trace::record::Merged;

/// The state of one thread's counter.
#[derive(Clone, Debug)]
struct Counter {
    rng: Rng,
    /// References to pass before the next sample.
    pass: u64,
    /// Samples to take then without a gap.
    take: u64,
    /// References left in the round after them.
    rest: u64,
}

/// Draws samples, each thread from a sequence of its own, so that they do not depend on the order of threads.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    thin: Thin,
    /// Address space of each thread.
    spaces: Vec<u32>,
    counters: Vec<Option<Counter>>,
    /// Pages touched in this window.
    touched: HashSet<(u32, u64)>,
    window_left: u64,
}

impl Draw {
    pub(crate) fn new(thin: Thin, spaces: Vec<u32>) -> Draw {
        Draw { thin, spaces, counters: Vec::new(), touched: HashSet::new(), window_left: 0 }
    }

    /// The weight of a reference that the sampler can see, if it is kept.
    pub(crate) fn weight(&mut self, r: &Merged) -> Option<u32> {
        let period = match self.thin.method {
            Method::FirstTouchers { window_refs, page_bytes } => return self.first_toucher(r, window_refs, page_bytes),
            Method::Independent { period }
            | Method::Fixed { period }
            | Method::RandomPeriod { period }
            | Method::Bursts { period, .. } => period.max(1),
        };
        let thread = r.thread as usize;
        if thread >= self.counters.len() {
            self.counters.resize(thread + 1, None);
        }
        let (thin, seed) = (self.thin, self.thin.seed ^ (u64::from(r.thread) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let counter = self.counters[thread].get_or_insert_with(|| Counter::first(thin, Rng::new(seed)));
        counter.counts(thin).then_some(period)
    }

    fn first_toucher(&mut self, r: &Merged, window_refs: u64, page_bytes: u64) -> Option<u32> {
        if self.window_left == 0 {
            self.window_left = window_refs.max(1);
            self.touched.clear();
        }
        self.window_left -= 1;
        let space = self.spaces.get(r.thread as usize).copied().unwrap_or(0);
        let (space, addr) = home(space, r.addr);
        self.touched.insert((space, addr / page_bytes.max(1))).then_some(1)
    }
}

impl Counter {
    /// The state before a thread's first reference, drawn so that this one is as likely a sample as any later one.
    fn first(thin: Thin, rng: Rng) -> Counter {
        let mut c = Counter { rng, pass: 0, take: 1, rest: 0 };
        match thin.method {
            Method::Fixed { period } => c.pass = c.rng.below(u64::from(period.max(1))),
            Method::RandomPeriod { period } => c.pass = c.residual(u64::from(period.max(1))),
            _ => c.next(thin),
        }
        c
    }

    /// What is left of a random distance that a random moment falls into: a pair of a distance and a place is kept if the
    /// place lies within the distance, which weighs distances by their length.
    fn residual(&mut self, period: u64) -> u64 {
        loop {
            let (distance, place) = (self.rng.below(2 * period - 1), self.rng.below(2 * period - 1));
            if place <= distance {
                return place;
            }
        }
    }

    fn next(&mut self, thin: Thin) {
        match thin.method {
            // One in `period` each for itself: the number passed over is geometric, drawn here one by one.
            Method::Independent { period } => {
                self.pass = 0;
                while !self.rng.chance(1, u64::from(period.max(1))) {
                    self.pass += 1;
                }
                self.take = 1;
            }
            Method::Fixed { period } => (self.pass, self.take) = (u64::from(period.max(1)) - 1, 1),
            Method::RandomPeriod { period } => {
                self.pass = self.rng.below(2 * u64::from(period.max(1)) - 1);
                self.take = 1;
            }
            Method::Bursts { period, length } => {
                let (stretches, length) = (u64::from(period.max(1)), u64::from(length.max(1)));
                let chosen = self.rng.below(stretches);
                self.pass = self.rest + chosen * length;
                (self.take, self.rest) = (length, (stretches - 1 - chosen) * length);
            }
            Method::FirstTouchers { .. } => {}
        }
    }

    /// Counts one reference; whether it is a sample.
    fn counts(&mut self, thin: Thin) -> bool {
        if self.pass > 0 {
            self.pass -= 1;
            return false;
        }
        self.take -= 1;
        if self.take == 0 {
            self.next(thin);
        }
        true
    }
}
