//! Who uses a page, from who came first in windows. Derived in `docs/design/faults.md`.
//!
//! In a window that opens at a random moment, the first toucher is the thread of the next access. For Poisson accesses that
//! is thread i with probability rate_i / total; for any stationary sequence it is the share of *time* during which the next
//! access is i's: a burst counts once, with the gap before it.

/// Share of one thread, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Windows in which it came first.
    pub windows: u64,
    /// Estimated share, 0 to 1.
    pub share: f64,
    /// Standard error of the share if windows are independent.
    pub error: f64,
}

/// Shares of all threads of a page, in the order given; empty windows give shares of 0.
pub fn shares(windows: &[u64]) -> Vec<Share> {
    let total: u64 = windows.iter().sum();
    let n = total.max(1) as f64;
    let one = |&w: &u64| {
        let share = w as f64 / n;
        // Agresti and Coull 1998: two successes and two failures added, so that few windows do not look certain.
        let adjusted = (w as f64 + 2.0) / (total as f64 + 4.0);
        let error = (adjusted * (1.0 - adjusted) / (total as f64 + 4.0)).sqrt();
        Share { windows: w, share, error }
    };
    windows.iter().map(one).collect()
}

/// A bound from above on the probability that the thread with most windows is not the one with the largest true share of
/// first touches, when the two leaders' true shares differ by `gap` (Hoeffding 1963, theorem 2, for differences in
/// {-1, 0, 1}, times the number of rivals).
pub fn wrong_owner_at_most(windows: u64, gap: f64, rivals: u64) -> f64 {
    (rivals as f64 * (-(windows as f64) * gap * gap / 2.0).exp()).min(1.0)
}

/// Windows after which the owner is wrong with at most this probability.
pub fn windows_for(probability: f64, gap: f64, rivals: u64) -> u64 {
    let wanted = 2.0 * (rivals.max(1) as f64 / probability.max(f64::MIN_POSITIVE)).ln() / (gap * gap);
    // Casts saturate.
    wanted.max(1.0).ceil() as u64
}

/// What windows that open at uniformly random moments tend to: for each of `threads`, the share of the time from the
/// first to the last access during which the next access is its own. `accesses` are (time, thread), ascending in time.
pub fn limit_shares(accesses: &[(f64, usize)], threads: usize) -> Vec<f64> {
    let mut time = vec![0.0; threads];
    for pair in accesses.windows(2) {
        if let Some(t) = time.get_mut(pair[1].1) {
            *t += pair[1].0 - pair[0].0;
        }
    }
    let total: f64 = time.iter().sum();
    time.iter().map(|t| if total > 0.0 { t / total } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    fn uniform(rng: &mut Rng) -> f64 {
        (rng.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64
    }
    fn exponential(rng: &mut Rng, rate: f64) -> f64 {
        -uniform(rng).ln() / rate
    }
    /// First touchers of windows that open at random moments.
    fn windows(accesses: &[(f64, usize)], threads: usize, n: u64, rng: &mut Rng) -> Vec<u64> {
        let (from, to) = (accesses[0].0, accesses[accesses.len() - 1].0);
        let mut first = vec![0; threads];
        for _ in 0..n {
            let opens = from + uniform(rng) * (to - from);
            let next = accesses.partition_point(|a| a.0 < opens);
            first[accesses[next].1] += 1;
        }
        first
    }
    fn poisson(rates: &[f64], end: f64, rng: &mut Rng) -> Vec<(f64, usize)> {
        let mut all = Vec::new();
        for (thread, &rate) in rates.iter().enumerate() {
            let mut t = 0.0;
            while t < end {
                t += exponential(rng, rate);
                all.push((t, thread));
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    #[test]
    fn poisson_threads_come_first_in_proportion_to_their_rates() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let rates: Vec<f64> = (0..2 + rng.below(6)).map(|_| 0.5 + 20.0 * uniform(&mut rng)).collect();
            let total: f64 = rates.iter().sum();
            let accesses = poisson(&rates, 3_000.0, &mut rng);
            let found = shares(&windows(&accesses, rates.len(), 4_000, &mut rng));
            for (s, rate) in found.iter().zip(&rates) {
                // Five standard errors: one false alarm in a million shares.
                assert!((s.share - rate / total).abs() < 5.0 * s.error, "seed {seed}: {s:?}, {}", rate / total);
            }
        }
    }

    #[test]
    fn bursts_count_by_the_time_before_them_and_not_by_their_length() {
        let mut rng = Rng::new(7);
        // Phases of one second between barriers: thread 0 makes 1000 accesses in its phase, thread 1 makes 10 in its own.
        let mut accesses = Vec::new();
        for phase in 0..2_000 {
            let thread = phase % 2;
            let n = if thread == 0 { 1000 } else { 10 };
            accesses.extend((0..n).map(|i| (f64::from(phase as u32) + f64::from(i) / f64::from(n), thread)));
        }
        let limit = limit_shares(&accesses, 2);
        assert!(
            (limit[0] - 0.549).abs() < 0.01,
            "{limit:?}: half the time, and the gap at the end of the other's phase"
        );
        let found = shares(&windows(&accesses, 2, 20_000, &mut rng));
        assert!((found[0].share - limit[0]).abs() < 5.0 * found[0].error);
        let by_references: f64 = 1000.0 / 1010.0;
        assert!(by_references - found[0].share > 0.4, "the bias is there: {} against {by_references}", found[0].share);
    }

    #[test]
    fn the_limit_is_what_windows_tend_to_for_any_sequence() {
        for seed in 0..30 {
            let mut rng = Rng::new(seed);
            let (mut t, mut accesses) = (0.0, Vec::new());
            for _ in 0..400 {
                // A burst of one thread: short gaps within, a long one before.
                t += exponential(&mut rng, 0.1);
                let thread = rng.below(4) as usize;
                for _ in 0..=rng.below(40) {
                    t += exponential(&mut rng, 50.0);
                    accesses.push((t, thread));
                }
            }
            let found = shares(&windows(&accesses, 4, 5_000, &mut rng));
            for (s, limit) in found.iter().zip(limit_shares(&accesses, 4)) {
                assert!((s.share - limit).abs() < 5.0 * s.error, "seed {seed}: {s:?} {limit}");
            }
        }
    }

    #[test]
    fn the_owner_is_wrong_no_more_often_than_the_bound_says() {
        let mut rng = Rng::new(3);
        for (truth, n) in [([0.6, 0.4], 25), ([0.75, 0.25], 9), ([0.9, 0.1], 5)] {
            let gap = truth[0] - truth[1];
            let wrong = (0..20_000)
                .filter(|_| {
                    let first = (0..n).filter(|_| uniform(&mut rng) < truth[0]).count();
                    2 * first <= n
                })
                .count();
            let bound = wrong_owner_at_most(n as u64, gap, 1);
            assert!(wrong as f64 / 20_000.0 <= bound, "{truth:?}: {wrong} of 20000, bound {bound}");
            assert!(wrong_owner_at_most(windows_for(0.05, gap, 1), gap, 1) <= 0.05);
        }
        assert_eq!((wrong_owner_at_most(0, 0.5, 9), windows_for(2.0, 1.0, 1)), (1.0, 1));
        assert!(shares(&[]).is_empty() && shares(&[0, 0])[1].share == 0.0 && limit_shares(&[], 1) == [0.0]);
    }
}
