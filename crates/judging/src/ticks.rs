//! Axes with at least three numbers on each, whatever the range.
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// Numbers on an axis, at most.
const MOST: f64 = 5.0;
/// Powers on a logarithmic axis, at most.
const POWERS_MOST: usize = 12;

/// What an axis is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// As it is.
    Linear,
    /// Logarithmic.
    Log,
    /// Logarithmic, over powers of two.
    Doubling,
}

/// An axis of a picture.
pub(super) struct Axis {
    range: Range<f64>,
    scale: Scale,
}

impl Axis {
    /// From the least to the greatest.
    pub(super) fn new(range: Range<f64>, scale: Scale) -> Axis {
        Axis { range, scale }
    }
    fn place(&self, value: f64) -> f64 {
        if self.scale == Scale::Linear { value } else { value.ln() }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;
    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let [low, high, at] = [self.range.start, self.range.end, *value].map(|v| self.place(v));
        first + (f64::from(last - first) * (at - low) / (high - low)).round() as i32
    }
    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            ticks(self.range.start, self.range.end, self.scale)
        }
    }
    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Where the numbers of an axis from `low` to `high` stand; three at least where it has a length.
fn ticks(low: f64, high: f64, scale: Scale) -> Vec<f64> {
    let inside = |v: &f64| (low..=high).contains(v);
    let powers = |base: f64, of: &[f64]| -> Vec<f64> {
        let (first, last) = (low.log(base).floor() as i32, high.log(base).ceil() as i32);
        let all = (first..=last).flat_map(|p| of.iter().map(move |f| rounded(base.powi(p) * f)));
        let all: Vec<f64> = all.filter(inside).collect();
        let step = all.len().div_ceil(POWERS_MOST).max(1);
        all.into_iter().step_by(step).collect()
    };
    let found = match scale {
        Scale::Linear => Vec::new(),
        Scale::Log => {
            let tens = powers(10.0, &[1.0]);
            if tens.len() < 3 { powers(10.0, &[1.0, 2.0, 5.0]) } else { tens }
        }
        Scale::Doubling => powers(2.0, &[1.0]),
    };
    if found.len() < 3 { even(low, high) } else { found }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn even(low: f64, high: f64) -> Vec<f64> {
    let power = 10f64.powf(((high - low) / MOST).log10().floor());
    let of = |step: f64| -> Vec<f64> {
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|i| rounded(i as f64 * step)).collect()
    };
    let steps = [10.0, 5.0, 2.0, 1.0, 0.5];
    let all = steps.iter().map(|s| of(s * power)).collect::<Vec<_>>();
    let enough = all.iter().find(|t| t.len() > 3).or(all.last());
    enough.cloned().unwrap_or_default()
}

/// Without what computing left in the last digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// A number on an axis.
pub(super) fn label(value: &f64) -> String {
    let value = rounded(*value);
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) { format!("{value:e}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_axis_has_at_least_three_numbers_that_can_be_told_apart() {
        let widths = [1e-6, 1e-3, 0.02, 0.1, 0.3, 0.9, 1.0, 7.0, 99.0, 1e6];
        for low in [1e-6, 0.8, 1.0, 3.0, 97.0, 1000.3, 123_456.0] {
            for wide in widths {
                for scale in [Scale::Linear, Scale::Log, Scale::Doubling] {
                    let high = low * (1.0 + wide);
                    let found = ticks(low, high, scale);
                    let labels: BTreeSet<String> = found.iter().map(label).collect();
                    assert!((3..=18).contains(&labels.len()), "{low} to {high}: {labels:?}");
                    assert_eq!(labels.len(), found.len(), "{low} to {high}: {labels:?}");
                    assert!(found.iter().all(|t| *t >= low * (1.0 - 1e-9) && *t <= high * (1.0 + 1e-9)), "{found:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_round() {
        assert_eq!(ticks(0.0, 1.05, Scale::Linear), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.9, 1100.0, Scale::Log), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(1.8, 40.0, Scale::Log), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(ticks(30.0, 600.0, Scale::Doubling), [32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!([0.0, 1e-5, 0.25, 1e8].map(|v| label(&v)), ["0", "1e-5", "0.25", "1e8"]);
    }
}
