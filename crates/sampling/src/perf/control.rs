//! How often to sample: pure arithmetic from what the last interval showed to the period of the next.
//!
//! A sample costs the program an interrupt and this recorder some decoding; both together must stay within a share of the
//! program's processor time. Slowing down is immediate and unbounded (a storm must end within one interval), speeding up is
//! at most twofold per interval.
use homenode_base::Rng;

/// Nanoseconds that the kernel spends on one sample of the hardware: interrupt, record, return. An assumption on the high
/// side (measured figures on x86 range from 0.3 us buffered to 2 us with an interrupt each).
pub const KERNEL_NS_PER_SAMPLE: f64 = 2_000.0;

/// What an interval showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Length of the interval.
    pub elapsed_ns: u64,
    /// Processor time that the sampled program used in it, all threads together.
    pub program_ns: u64,
    /// Samples that the kernel took, delivered or dropped or lost.
    pub taken: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Records of a throttled event.
    pub throttled: u64,
    /// Processor time that decoding took here.
    pub decoding_ns: u64,
}

/// Chooses the period.
#[derive(Clone, Debug)]
pub struct RateController {
    period: u64,
    smallest: u64,
    largest: u64,
    overhead: f64,
    wanted: Option<u64>,
    cost_ns: f64,
}

impl RateController {
    /// Starts with `period` events, never below `smallest`; samples may cost `permille` thousandths of the program's time.
    pub fn new(period: u64, smallest: u64, permille: u32) -> RateController {
        let smallest = smallest.max(1);
        RateController {
            period: period.max(smallest),
            smallest,
            largest: 1 << 40,
            overhead: f64::from(permille.clamp(1, 1000)) / 1000.0,
            wanted: None,
            cost_ns: KERNEL_NS_PER_SAMPLE,
        }
    }
    /// Mean events between samples.
    pub fn period(&self) -> u64 {
        self.period
    }
    /// What a sample is thought to cost, in nanoseconds.
    pub fn cost_ns(&self) -> f64 {
        self.cost_ns
    }
    /// Samples per second wanted of all processors together; the overhead bound still holds. `None` = as many as it allows.
    pub fn want(&mut self, per_second: Option<u64>) {
        self.wanted = per_second;
    }

    /// Takes note of an interval; returns the period for the next one, which is the old one unless it is off by a fifth.
    pub fn observe(&mut self, i: &Interval) -> u64 {
        if i.elapsed_ns == 0 {
            return self.period;
        }
        self.learn_cost(i);
        let seconds = i.elapsed_ns as f64 * 1e-9;
        let rate = i.taken as f64 / seconds;
        // A program that slept has no time to share out; it also makes no events.
        let affordable = i.program_ns as f64 * self.overhead / self.cost_ns / seconds;
        let mut target = self.wanted.map_or(affordable, |w| affordable.min(w as f64));
        if i.lost > 0 || i.throttled > 0 {
            target = target.min(rate / 2.0);
        }
        let change = if i.taken == 0 && i.throttled == 0 { 0.5 } else { (rate / target.max(1.0)).max(0.5) };
        if i.program_ns > 0 && !(0.8..=1.2).contains(&change) {
            let next = self.period as f64 * change;
            // Casts saturate.
            self.period = (next as u64).clamp(self.smallest, self.largest);
        }
        self.period
    }

    /// The cost of a sample, smoothed over about four intervals.
    fn learn_cost(&mut self, i: &Interval) {
        let delivered = i.taken.saturating_sub(i.lost);
        if delivered >= 100 {
            let now = KERNEL_NS_PER_SAMPLE + i.decoding_ns as f64 / delivered as f64;
            self.cost_ns += (now - self.cost_ns) / 4.0;
        }
    }
}

/// A period near `mean`, within a quarter to either side and a multiple of `granule`: fixed periods fall into step with
/// loops and then see the same references for ever.
pub fn jittered(mean: u64, granule: u64, rng: &mut Rng) -> u64 {
    let granule = granule.max(1);
    let spread = mean / 2;
    let drawn = mean.saturating_sub(spread / 2).saturating_add(rng.below(spread.saturating_add(1)));
    (drawn / granule).max(1).saturating_mul(granule)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that makes `events` a second, uses `cpus` processors, sampled for a second with the period asked for.
    fn second(c: &RateController, events: u64, cpus: u64) -> Interval {
        let taken = events / c.period();
        Interval {
            elapsed_ns: 1_000_000_000,
            program_ns: cpus * 1_000_000_000,
            taken,
            decoding_ns: taken * 200,
            ..Interval::default()
        }
    }

    fn overhead(c: &RateController, i: &Interval) -> f64 {
        i.taken as f64 * c.cost_ns() / i.program_ns as f64
    }

    #[test]
    fn a_storm_is_over_after_one_interval_and_the_bound_holds_from_then_on() {
        for cpus in [1, 2, 64] {
            let mut c = RateController::new(1000, 100, 20);
            for _ in 0..10 {
                let quiet = second(&c, 1_000_000, cpus);
                c.observe(&quiet);
            }
            let storm = 5_000_000_000 * cpus;
            assert!(overhead(&c, &second(&c, storm, cpus)) > 0.5, "the storm is one");
            c.observe(&second(&c, storm, cpus));
            for _ in 0..20 {
                let i = second(&c, storm, cpus);
                assert!(overhead(&c, &i) <= 0.02 * 1.25, "{cpus} cpus: {}", overhead(&c, &i));
                c.observe(&i);
            }
            let i = second(&c, storm, cpus);
            assert!(overhead(&c, &i) >= 0.01, "and it is not given up: {}", overhead(&c, &i));
        }
    }

    #[test]
    fn the_wanted_rate_is_reached_when_it_is_cheap_and_not_exceeded_when_it_is_not() {
        let mut c = RateController::new(1 << 30, 100, 20);
        c.want(Some(1000));
        for _ in 0..40 {
            let i = second(&c, 1_000_000_000, 2);
            c.observe(&i);
        }
        let taken = second(&c, 1_000_000_000, 2).taken;
        assert!((750..=1300).contains(&taken), "{taken}");
        c.want(Some(u64::MAX));
        for _ in 0..40 {
            let i = second(&c, 1_000_000_000, 2);
            c.observe(&i);
        }
        let i = second(&c, 1_000_000_000, 2);
        assert!(overhead(&c, &i) <= 0.025 && i.taken > 1300, "{} {}", overhead(&c, &i), i.taken);
    }

    #[test]
    fn losses_and_throttling_halve_the_rate() {
        for (lost, throttled) in [(1, 0), (0, 1), (500, 3)] {
            let mut c = RateController::new(10_000, 100, 20);
            c.want(Some(1000));
            let i = Interval { lost, throttled, ..second(&c, 10_000_000, 1) };
            assert!(c.observe(&i) >= 20_000, "{lost} {throttled}: {}", c.period());
        }
    }

    #[test]
    fn periods_keep_their_bounds_whatever_is_said() {
        let mut rng = Rng::new(7);
        let mut c = RateController::new(0, 0, 0);
        for _ in 0..10_000 {
            let mut any = || rng.next_u64() >> rng.below(64);
            let i = Interval {
                elapsed_ns: any(),
                program_ns: any(),
                taken: any(),
                lost: any(),
                throttled: any() & 1,
                decoding_ns: any(),
            };
            let period = c.observe(&i);
            assert!((1..=1 << 40).contains(&period) && c.cost_ns() >= KERNEL_NS_PER_SAMPLE);
            for granule in [0, 1, 16] {
                let drawn = jittered(period, granule, &mut rng);
                assert!(drawn > 0 && drawn.is_multiple_of(granule.max(1)));
                assert!(drawn <= (period + period / 4 + 1).max(16));
            }
        }
        assert!(jittered(u64::MAX, 16, &mut rng) > 0);
    }

    #[test]
    fn a_sleeping_program_changes_nothing() {
        let mut c = RateController::new(5000, 100, 20);
        let asleep = Interval { elapsed_ns: 1_000_000_000, ..Interval::default() };
        assert_eq!(c.observe(&asleep), 5000);
        assert_eq!(c.observe(&Interval::default()), 5000);
    }
}
