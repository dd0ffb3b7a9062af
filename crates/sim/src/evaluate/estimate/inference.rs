//! What some colours say of all: estimates of totals and ratios with their intervals, for a simple random sample without replacement
//! from a finite population (W. G. Cochran, Sampling Techniques, 3rd edition: sections 2.5 to 2.8 for totals, 6.3 and 6.4 for ratios).
//!
//! Few colours say nothing of one block that costs as much as thousands. So what is known of all colours without a replay is
//! estimated, too, and an interval reaches as far as the worst of these estimates is wrong.
use homenode_analysis::rows::Interval;
use homenode_base::student::two_sided_95;

/// A sample of the colours.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Colours that there are.
    colours: f64,
    /// Largest factor, at least 1, by which what is known is more than its estimate; and the smallest, at most 1.
    under: f64,
    over: f64,
}

impl Sample {
    /// Of what is known, `known` has the sum over all colours and the values of those in the sample.
    pub(super) fn new(colours: usize, known: &[(f64, Vec<f64>)]) -> Sample {
        let mut sample = Sample { colours: colours as f64, under: 1.0, over: 1.0 };
        for (all, values) in known {
            let estimate = sample.colours * mean(values);
            let factor = if *all == estimate { 1.0 } else { all / estimate };
            sample.under = sample.under.max(factor);
            sample.over = sample.over.min(factor);
        }
        sample
    }

    /// Whether the sample is all there is.
    fn is_whole(&self, values: &[f64]) -> bool {
        values.len() as f64 >= self.colours
    }

    /// Half of the interval of a mean of these values.
    fn half(&self, values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let mean = mean(values);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let spread = (variance / n * (1.0 - n / self.colours)).sqrt();
        // Values that agree say nothing without a second one; without it the factor is infinite, and their product no number.
        two_sided_95(values.len().saturating_sub(1)) * spread.max(f64::MIN_POSITIVE)
    }

    /// The sum over all colours of what is `values` in those of the sample; none of it is below 0.
    pub(super) fn total(&self, values: &[f64]) -> Interval {
        let seen: f64 = values.iter().sum();
        if self.is_whole(values) {
            return Interval { low: seen, high: seen };
        }
        let (estimate, half) = (self.colours * mean(values), self.colours * self.half(values));
        let high = (estimate * self.under).max(estimate + half);
        Interval { low: (estimate * self.over).min(estimate - half).max(seen), high }
    }

    /// The share of one sum over all colours in another that is no less in any; what the sample does not show may have any share. 0 to
    /// infinity if the sample shows nothing.
    pub(super) fn share(&self, part: &[f64], whole: &[f64]) -> Interval {
        let Interval { low, high } = self.blend(part, whole, |_| 1.0);
        Interval { low, high: if high.is_finite() { high.min(1.0) } else { high } }
    }

    /// The ratio of two sums over all colours, of which one may be many times the other where the sample does not show it. 0 to infinity
    /// if the sample shows nothing.
    pub(super) fn ratio(&self, part: &[f64], whole: &[f64]) -> Interval {
        self.blend(part, whole, |high| high.max(1.0) * self.under)
    }

    /// The ratio of what the sample shows and, from 0 to `most` of the highest of that, of what it does not.
    fn blend(&self, part: &[f64], whole: &[f64], most: impl Fn(f64) -> f64) -> Interval {
        let (of, average) = (whole.iter().sum::<f64>(), mean(whole));
        if of <= 0.0 || !of.is_finite() {
            return Interval { low: 0.0, high: f64::INFINITY };
        }
        let ratio = part.iter().sum::<f64>() / of;
        if self.is_whole(whole) {
            return Interval { low: ratio, high: ratio };
        }
        let residuals: Vec<f64> = part.iter().zip(whole).map(|(p, w)| p - ratio * w).collect();
        let half = self.half(&residuals) / average;
        let (low, high) = ((ratio - half).max(0.0), ratio + half);
        let hidden = if self.under > 1.0 { (1.0 - 1.0 / self.under) * most(high) } else { 0.0 };
        // Of what is shown too often, as much as is too much may have had one ratio or the other.
        let too_low = (low - (1.0 - self.over) * high.max(1.0)) / self.over;
        Interval {
            low: (low / self.under).min(too_low).max(0.0),
            high: (high / self.under + hidden).max(high / self.over),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn all_colours_say_it_exactly() {
        let whole = Sample::new(3, &[(60.0, vec![10.0, 20.0, 30.0])]);
        assert_eq!(whole.total(&[1.0, 2.0, 6.0]), Interval { low: 9.0, high: 9.0 });
        assert_eq!(whole.ratio(&[1.0, 2.0, 6.0], &[6.0, 6.0, 6.0]), Interval { low: 0.5, high: 0.5 });
    }

    #[test]
    fn one_colour_and_no_cost_say_nothing() {
        let one = Sample::new(16, &[]);
        assert_eq!(one.total(&[5.0]), Interval { low: 5.0, high: f64::INFINITY });
        assert_eq!(one.ratio(&[0.0, 0.0], &[0.0, 0.0]), Interval { low: 0.0, high: f64::INFINITY });
    }

    /// Mean 2, standard deviation 1, t 4.303, half of the colours: a total of 12 give or take 6 * 4.303 * sqrt(1 / 3 * 1 / 2).
    #[test]
    fn a_total_by_hand() {
        let found = Sample::new(6, &[]).total(&[1.0, 2.0, 3.0]);
        assert!((found.high - 12.0 - 10.540).abs() < 1e-3, "{found:?}");
        assert!((found.low - 6.0).abs() < 1e-9, "what was seen is certain: {found:?}");
    }

    #[test]
    fn what_the_sample_does_not_show_widens_everything() {
        // Known: 1000 of something, of which three quarters of the colours show a hundredth.
        let sample = Sample::new(4, &[(1000.0, vec![3.0, 3.0, 4.0])]);
        let total = sample.total(&[1.0, 1.0, 1.0]);
        assert!(total.high >= 4.0 * 75.0, "{total:?}");
        let ratio = sample.ratio(&[0.5, 0.5, 0.5], &[1.0, 1.0, 1.0]);
        assert!(ratio.low < 0.02 && ratio.high >= 70.0, "{ratio:?}");
        let share = sample.share(&[0.5, 0.5, 0.5], &[1.0, 1.0, 1.0]);
        assert!(share.low < 0.02 && share.high > 0.98, "{share:?}");
        let nothing_known = Sample::new(4, &[(7.0, vec![0.0, 0.0, 0.0])]).share(&[0.5; 3], &[1.0; 3]);
        assert!(nothing_known.low == 0.0 && nothing_known.high >= 1.0, "{nothing_known:?}");
    }

    #[test]
    fn what_it_shows_too_often_widens_everything() {
        let sample = Sample::new(4, &[(10.0, vec![4.0, 3.0])]);
        let total = sample.total(&[1.0, 1.0]);
        assert!(total.low <= 4.0 * 10.0 / 14.0 && total.high >= 4.0, "{total:?}");
        let ratio = sample.ratio(&[0.5, 0.5], &[1.0, 1.0]);
        assert!(ratio.low <= 0.3 && ratio.high >= 0.7, "{ratio:?}");
    }

    /// Nineteen intervals in twenty hold the truth.
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = Rng::new(3);
        let (mut totals, mut ratios, rounds) = (0, 0, 2_000);
        for _ in 0..rounds {
            let whole: Vec<f64> = (0..16).map(|_| 100.0 + rng.below(50) as f64 + rng.below(50) as f64).collect();
            let part: Vec<f64> = whole.iter().map(|w| w * (0.4 + rng.below(100) as f64 / 1000.0)).collect();
            // The values are drawn independently, so the first four are as good as any.
            let (sample, truth) = (Sample::new(16, &[]), part.iter().sum::<f64>());
            let (total, ratio) = (sample.total(&part[..4]), sample.ratio(&part[..4], &whole[..4]));
            totals += i32::from(total.low <= truth && truth <= total.high);
            let truth = truth / whole.iter().sum::<f64>();
            ratios += i32::from(ratio.low <= truth && truth <= ratio.high);
        }
        assert!(totals >= rounds * 93 / 100 && totals < rounds * 98 / 100, "{totals} of {rounds}");
        assert!(ratios >= rounds * 92 / 100 && ratios < rounds * 98 / 100, "{ratios} of {rounds}");
    }
}
