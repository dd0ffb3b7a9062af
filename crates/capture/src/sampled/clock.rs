//! Two clocks side by side: nanoseconds of CLOCK_MONOTONIC, which samples carry, and ticks of the time-stamp counter, which
//! rings and frames carry.
use homenode_host::clock::Clock;
use std::collections::VecDeque;
use std::sync::Arc;

/// Readings of both clocks; between two of them both run evenly.
#[derive(Debug)]
pub(super) struct Clocks {
    clock: Arc<dyn Clock>,
    anchors: VecDeque<Anchor>,
    /// Largest uncertainty seen, in nanoseconds.
    error_ns: u64,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    ns: u64,
    ticks: u64,
}

/// Tries of one reading; the quickest counts, because nothing interrupted it.
const TRIES: u32 = 5;
/// Readings kept: at twenty a second more than any sample waits.
const KEPT: usize = 256;

impl Clocks {
    /// Reads both clocks once.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Clocks {
        let mut clocks = Clocks { clock, anchors: VecDeque::new(), error_ns: 0 };
        clocks.read();
        clocks
    }
    /// Reads both clocks; returns (nanoseconds, ticks).
    pub(super) fn read(&mut self) -> (u64, u64) {
        let now_ns = || u64::try_from(self.clock.now().as_nanos()).unwrap_or(u64::MAX);
        let one = |_| {
            let (before, ticks, after) = (now_ns(), self.clock.ticks(), now_ns());
            (after.saturating_sub(before), Anchor { ns: before + after.saturating_sub(before) / 2, ticks })
        };
        let best = (0..TRIES).map(one).min_by_key(|r| r.0).expect("there are several tries");
        self.add(best.1, best.0.div_ceil(2))
    }
    fn add(&mut self, mut now: Anchor, uncertain_ns: u64) -> (u64, u64) {
        if let Some(&last) = self.anchors.back() {
            // Neither clock runs backwards; two readings at one moment would divide by zero.
            now = Anchor { ns: now.ns.max(last.ns + 1), ticks: now.ticks.max(last.ticks) };
            if self.anchors.len() > 1 {
                let drift = self.ns_between(self.ticks_at(now.ns), now.ticks);
                self.error_ns = self.error_ns.max(drift);
            }
        }
        self.error_ns = self.error_ns.max(uncertain_ns);
        self.anchors.push_back(now);
        if self.anchors.len() > KEPT {
            self.anchors.pop_front();
        }
        (now.ns, now.ticks)
    }
    /// Ticks at this time; between readings by proportion, outside them by the proportion of the nearest two.
    pub(super) fn ticks_at(&self, ns: u64) -> u64 {
        let after = self.anchors.partition_point(|a| a.ns <= ns).clamp(1, self.anchors.len().max(2) - 1);
        let (Some(&a), Some(&b)) = (self.anchors.get(after - 1), self.anchors.get(after)) else {
            return self.anchors.front().map_or(0, |a| a.ticks);
        };
        // Within a second of a reading, which is the rule, 64 bits do, and a division of 128 is several times as slow.
        let short = ns.checked_sub(a.ns).and_then(|ahead| ahead.checked_mul(b.ticks - a.ticks));
        if let Some(product) = short {
            return a.ticks.saturating_add(product / (b.ns - a.ns).max(1));
        }
        let ahead = i128::from(ns) - i128::from(a.ns);
        let ticks = i128::from(a.ticks) + ahead * i128::from(b.ticks - a.ticks) / i128::from((b.ns - a.ns).max(1));
        u64::try_from(ticks).unwrap_or(0)
    }
    fn ns_between(&self, a: u64, b: u64) -> u64 {
        let (Some(first), Some(last)) = (self.anchors.front(), self.anchors.back()) else { return 0 };
        let ns = u128::from(a.abs_diff(b)) * u128::from(last.ns - first.ns);
        u64::try_from(ns / u128::from((last.ticks - first.ticks).max(1))).unwrap_or(u64::MAX)
    }
    /// By how much samples and events may be out of order: half the longest reading, or by how much a reading differed from
    /// what those before it predicted, whichever is more; in nanoseconds.
    pub(super) fn error_ns(&self) -> u64 {
        self.error_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_host::clock::{Real, Simulated};

    #[test]
    fn conversion_is_exact_at_readings_and_proportional_between_and_beyond() {
        let mut c = Clocks { clock: Simulated::new(), anchors: VecDeque::new(), error_ns: 0 };
        for (ns, ticks) in [(1_000, 30_000), (2_000, 33_000), (4_000, 39_000)] {
            c.add(Anchor { ns, ticks }, 10);
        }
        for (ns, ticks) in [(1_000, 30_000), (1_500, 31_500), (2_000, 33_000), (3_000, 36_000), (4_000, 39_000)] {
            assert_eq!(c.ticks_at(ns), ticks, "{ns}");
        }
        assert_eq!((c.ticks_at(5_000), c.ticks_at(0)), (42_000, 27_000));
        assert_eq!(c.error_ns(), 10);
        // The counter jumps by 300 ticks, which are 100 ns.
        c.add(Anchor { ns: 5_000, ticks: 42_300 }, 10);
        assert_eq!(c.error_ns(), 100);
        assert!(c.ticks_at(4_500) > 39_000 && c.ticks_at(4_500) < 42_300);
    }

    #[test]
    fn the_real_clocks_agree_with_themselves() {
        let mut c = Clocks::new(Real::shared());
        let alone = c.ticks_at(u64::try_from(Real.now().as_nanos()).unwrap());
        for _ in 0..300 {
            c.read();
        }
        let (ns, ticks) = c.read();
        assert_eq!(c.ticks_at(ns), ticks);
        assert!(alone <= ticks && c.anchors.len() == KEPT);
    }
}
