//! What several seeds say together.
use homenode_base::student::two_sided_95;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean; 0 of nothing.
    pub mean: f64,
    /// Lower and upper end; `None` from fewer than two values, which say nothing about each other.
    pub ends: Option<(f64, f64)>,
}

impl Interval {
    /// Of values that are independent draws, as orders under different seeds are.
    pub fn of(values: &[f64]) -> Interval {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n.max(1.0);
        let ends = (values.len() > 1).then(|| {
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let t = two_sided_95(values.len() - 1);
            let half = t * (variance / n).sqrt();
            (mean - half, mean + half)
        });
        Interval { mean, ends }
    }
    /// Whether it says that the mean is not zero.
    pub fn is_beyond_zero(&self) -> bool {
        self.ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_known_samples() {
        let one = Interval::of(&[3.0]);
        assert_eq!((one.mean, one.ends, one.is_beyond_zero()), (3.0, None, false));
        assert_eq!(Interval::of(&[]), Interval { mean: 0.0, ends: None });
        // Mean 2, standard deviation 1, t 4.303: half a width of 4.303 / sqrt(3).
        let three = Interval::of(&[1.0, 2.0, 3.0]);
        let (low, high) = three.ends.expect("three values");
        assert!((high - 2.0 - 2.484).abs() < 1e-3 && (2.0 - low - 2.484).abs() < 1e-3);
        assert!(!three.is_beyond_zero() && Interval::of(&[1.9, 2.0, 2.1]).is_beyond_zero());
        let same = Interval::of(&[-5.0; 40]);
        assert_eq!((same.ends, same.is_beyond_zero()), (Some((-5.0, -5.0)), true));
    }

    /// Of draws with mean zero, nineteen intervals in twenty hold zero.
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = homenode_base::Rng::new(7);
        let covers = |n: usize, rng: &mut homenode_base::Rng| {
            let draw = |rng: &mut homenode_base::Rng| (0..12).map(|_| rng.below(1 << 20) as f64).sum::<f64>();
            let centre = 6.0 * ((1 << 20) - 1) as f64;
            let values: Vec<f64> = (0..n).map(|_| draw(rng) - centre).collect();
            !Interval::of(&values).is_beyond_zero()
        };
        for n in [2, 5, 10] {
            let held = (0..4000).filter(|_| covers(n, &mut rng)).count();
            assert!((3740..=3860).contains(&held), "{held} of 4000 with {n} values");
        }
    }
}
