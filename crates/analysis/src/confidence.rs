//! How far the share of an object in all costs may lie from the truth if the references are samples.
//!
//! The share s = C_i / C is a ratio of two sums over the same samples. A sample that costs x adds z = x (1 - s) to
//! C_i - s C if it is on object i and -x s if not, and the variance of s is that of the sum of z over C², to first order
//! (Cochran 1977, "Sampling Techniques", section 6.4): the sum of z² if samples are independent. That it may not be so,
//! as with bursts, shows in the *design effect* (Kish 1965): the recording is cut into windows of equally many samples,
//! and neighbouring windows differ more than independent samples would. Only neighbours are compared and the median is
//! taken, so that phases of the program do not count as scatter. The interval is Wilson's (1927) for as many
//! independent samples as have that variance, which also holds for objects with few samples or none.
use crate::rows::{Interval, SampleSpread};
use hashbrown::HashMap;
use homenode_base::Cost;

/// Windows while the recording is read; between half of them and all are in use at the end.
const WINDOWS: u16 = 128;
/// Pairs of windows below which nothing is said about dependence.
const PAIRS_MIN: usize = 8;
/// Of the normal distribution, for 95 %.
const Z: f64 = 1.959_964;

/// Sums of costs and of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    cost: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, o: Sums) {
        self.cost += o.cost;
        self.squares += o.squares;
    }
}

#[derive(Clone, Debug, Default)]
struct ObjectSamples {
    all: Sums,
    /// Windows in which it has samples, ascending.
    windows: Vec<(u16, Sums)>,
}

/// Samples a window holds at first, as a power of two: with fewer, whether two windows differ is mere chance.
const WINDOW_SHIFT: u32 = 3;

/// The accumulator: 24 bytes for each object and window in which it has samples.
#[derive(Clone, Debug)]
pub(crate) struct Confidence {
    index: HashMap<u32, usize>,
    objects: Vec<(u32, ObjectSamples)>,
    samples: u64,
    /// Samples a window holds, as a power of two.
    window_shift: u32,
    window: u16,
    /// Samples in the running window.
    filled: u64,
}

/// Intervals of all objects.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    by_object: HashMap<u32, Interval>,
    none: Interval,
    pub(crate) spread: SampleSpread,
}

impl Intervals {
    /// The interval of an object's share; of one without samples, what no sample says.
    pub(crate) fn of(&self, object: u32) -> Interval {
        self.by_object.get(&object).copied().unwrap_or(self.none)
    }
}

impl Default for Confidence {
    fn default() -> Confidence {
        let (index, objects) = (HashMap::new(), Vec::new());
        Confidence { index, objects, samples: 0, window_shift: WINDOW_SHIFT, window: 0, filled: 0 }
    }
}

impl Confidence {
    /// Notes a sample that costs something.
    pub(crate) fn charge(&mut self, object: u32, cost: Cost) {
        if self.filled >> self.window_shift != 0 {
            self.next_window();
        }
        self.filled += 1;
        self.samples += 1;
        let next = self.objects.len();
        let at = *self.index.entry(object).or_insert(next);
        if at == next {
            self.objects.push((object, ObjectSamples::default()));
        }
        let x = cost.0 as f64;
        let sample = Sums { cost: x, squares: x * x };
        let o = &mut self.objects[at].1;
        o.all.add(sample);
        match o.windows.last_mut() {
            Some((window, sums)) if *window == self.window => sums.add(sample),
            _ => o.windows.push((self.window, sample)),
        }
    }

    #[cold]
    fn next_window(&mut self) {
        (self.window, self.filled) = (self.window + 1, 0);
        if self.window == WINDOWS {
            self.objects.iter_mut().for_each(|(_, o)| halve(&mut o.windows));
            (self.window, self.window_shift) = (WINDOWS / 2, self.window_shift + 1);
        }
    }

    pub(crate) fn finish(&self) -> Intervals {
        let mut all = Sums::default();
        self.objects.iter().for_each(|(_, o)| all.add(o.all));
        let design_effect = self.design_effect();
        let effective = if all.squares > 0.0 { all.cost * all.cost / all.squares / design_effect } else { 0.0 };
        let interval = |o: &ObjectSamples| {
            let s = o.all.cost / all.cost;
            let scatter = (1.0 - s).powi(2) * o.all.squares + s * s * (all.squares - o.all.squares);
            let variance = design_effect * scatter / (all.cost * all.cost);
            let n = if variance > 0.0 { s * (1.0 - s) / variance } else { effective };
            wilson(s, n)
        };
        let spread = SampleSpread { charged: self.samples, effective, design_effect };
        let none = wilson(0.0, effective);
        if all.cost <= 0.0 {
            return Intervals { by_object: HashMap::new(), none, spread };
        }
        let by_object = self.objects.iter().map(|(id, o)| (*id, interval(o))).collect();
        Intervals { by_object, none, spread }
    }

    /// How much more neighbouring windows differ than independent samples would make them, at least 1.
    fn design_effect(&self) -> f64 {
        let full = usize::from(self.window) + usize::from(self.filled >> self.window_shift != 0);
        let mut pairs: Vec<Vec<(Sums, Sums)>> = vec![Vec::new(); full / 2];
        for (_, o) in &self.objects {
            let mut last = None;
            for (window, sums) in &o.windows {
                let pair = usize::from(window / 2);
                let Some(these) = pairs.get_mut(pair) else { continue };
                if last != Some(pair) {
                    these.push(Default::default());
                    last = Some(pair);
                }
                let Some(here) = these.last_mut() else { continue };
                if window % 2 == 0 { here.0 = *sums } else { here.1 = *sums }
            }
        }
        let mut ratios: Vec<f64> = pairs.iter().filter_map(|p| ratio(p)).collect();
        if ratios.len() < PAIRS_MIN {
            return 1.0;
        }
        ratios.sort_by(f64::total_cmp);
        let middle = ratios.len() / 2;
        let median = if ratios.len() % 2 == 1 { ratios[middle] } else { (ratios[middle - 1] + ratios[middle]) / 2.0 };
        median.max(1.0)
    }
}

/// Joins windows in pairs.
fn halve(windows: &mut Vec<(u16, Sums)>) {
    let mut kept: Vec<(u16, Sums)> = Vec::with_capacity(windows.len());
    for (window, sums) in windows.iter() {
        match kept.last_mut() {
            Some((w, s)) if *w == window / 2 => s.add(*sums),
            _ => kept.push((window / 2, *sums)),
        }
    }
    *windows = kept;
}

/// The squared difference of two windows over what independent samples would make of it on average, scaled so that the
/// median over many such pairs is 1 if they are independent. `None` if one object has all the cost.
fn ratio(objects: &[(Sums, Sums)]) -> Option<f64> {
    let (mut first, mut second) = (Sums::default(), Sums::default());
    objects.iter().for_each(|(a, b)| {
        first.add(*a);
        second.add(*b);
    });
    let (cost, squares) = (first.cost + second.cost, first.squares + second.squares);
    let (mut got, mut expected, mut powers) = (0.0, 0.0, [0.0; 2]);
    for (a, b) in objects {
        let p = (a.cost + b.cost) / cost;
        got += ((a.cost - p * first.cost) - (b.cost - p * second.cost)).powi(2);
        expected += (1.0 - 2.0 * p) * (a.squares + b.squares) + p * p * squares;
        powers[0] += p * p;
        powers[1] += p * p * p;
    }
    // The sum of squared differences is nearly a multiple of a chi-squared variable of as many degrees of freedom as
    // match its variance (Satterthwaite 1946), for the covariance of a multinomial distribution; its median follows by
    // Wilson and Hilferty (1931).
    let trace = 1.0 - powers[0];
    let freedom = trace * trace / (powers[0] - 2.0 * powers[1] + powers[0] * powers[0]);
    let median = (1.0 - 2.0 / (9.0 * freedom)).powi(3);
    let scaled = got / expected / median;
    (expected > 0.0 && trace > 1e-9 && scaled.is_finite()).then_some(scaled)
}

impl Interval {
    /// The interval of a share of all costs that so many independent samples tell ([`SampleSpread::effective`]).
    pub fn of_share(share: f64, effective: f64) -> Interval {
        wilson(share, effective)
    }
}

/// The interval of Wilson 1927 for a share `s` of `n` independent samples.
fn wilson(s: f64, n: f64) -> Interval {
    if n <= 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let z2 = Z * Z / n;
    let middle = (s + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (s * (1.0 - s) / n + z2 / (4.0 * n)).sqrt();
    Interval { low: (middle - half).clamp(0.0, s), high: (middle + half).clamp(s, 1.0) }
}

#[cfg(test)]
#[path = "confidence_tests.rs"]
mod tests;
