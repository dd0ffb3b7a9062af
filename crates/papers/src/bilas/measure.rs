//! What claims are about, measured of one recording of every program.
use super::CLAIMS;
use super::printed::{Printed, TABLE_1_2, TABLE_1_3, TABLE_1_4, TABLE_1_9};
use super::program::Listed;
use super::runs::{Outcome, Runs};
use super::settings::{CLUSTERS, SWEEPS, Setting, Sweep};
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;

/// Programs of a study in the order of [`LIST`](super::program::LIST).
pub(super) struct Study<'r>(pub(super) &'r [Runs]);

/// A row of a printed table that a program stands for.
pub(super) type RowOf = fn(&Listed) -> Option<&'static str>;

pub(super) const SIMULATED: RowOf = |l| l.simulated;
pub(super) const MEASURED: RowOf = |l| l.measured;
pub(super) const EMULATED: RowOf = |l| l.emulated;

/// A program that gains or loses so many percent is named for it: ours.
const CLEAR: f64 = 10.0;
/// A step that gains so many percent helps: ours.
const HELPS: f64 = 2.0;
/// Below it a slowdown over the whole range is small, as the study has it; above the other it is large.
const SMALL: f64 = 10.0;
const LARGE: f64 = 35.0;

pub(super) fn mean(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 }
}
fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::max)
}
fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::min)
}
/// By how many percent one is above another.
pub(super) fn above(one: f64, other: f64) -> f64 {
    100.0 * (one / other - 1.0)
}

/// Spearman's rank correlation of pairs; not a number with fewer than three.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let known: Vec<(f64, f64)> = pairs.iter().copied().filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
    if known.len() < 3 {
        return f64::NAN;
    }
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let rank = |x: f64| {
            let below = known.iter().filter(|p| of(p) < x).count() as f64;
            below + (known.iter().filter(|p| of(p) == x).count() as f64 - 1.0) / 2.0
        };
        known.iter().map(|p| rank(of(p))).collect()
    };
    let (a, b) = (ranks(|p| p.0), ranks(|p| p.1));
    let middle = (known.len() as f64 - 1.0) / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| (p - middle) * (q - middle)).sum::<f64>();
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

/// What one step of the protocol gains over another on the cluster that was measured, in percent.
fn gain(r: &Runs, from: &'static str, to: &'static str) -> f64 {
    let cycles = |step| r.cycles(&Setting::measured(step));
    above(cycles(from), cycles(to))
}

/// Judged by the rules beside the claim; values are what the rules ask for, and shown.
fn ruled(id: &'static str, why: &str, values: &[(&'static str, f64)]) -> Judged {
    let shown: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
    let known = values.iter().filter(|(_, v)| v.is_finite());
    let measures = known.fold(Measures::default(), |m, (name, value)| m.value(name, *value));
    CLAIMS.ruled(id, shown.join("; "), &measures, why)
}
fn named(id: &'static str, why: &str, what: &'static str, found: Vec<&'static str>) -> Judged {
    let ours = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    CLAIMS.ruled(id, ours, &Measures::default().names(what, found), why)
}

impl Study<'_> {
    /// Programs that stand for a row of a table, by the row's name.
    pub(super) fn rows(&self, of: RowOf) -> impl Iterator<Item = (&'static str, &Runs)> {
        self.0.iter().filter_map(move |r| Some((of(r.listed)?, r)))
    }
    fn row(&self, of: RowOf, name: &str) -> Option<&Runs> {
        self.rows(of).find(|(row, _)| *row == name).map(|(_, r)| r)
    }
    fn speedup(&self, name: &str, setting: &Setting) -> f64 {
        self.row(SIMULATED, name).map_or(f64::NAN, |r| r.speedup(setting))
    }
    /// Rows of table 1.2 of which something holds.
    fn those(&self, holds: impl Fn(&Runs) -> bool) -> Vec<&'static str> {
        self.rows(SIMULATED).filter(|(_, r)| holds(r)).map(|(name, _)| name).collect()
    }

    /// A verdict on every claim.
    pub(super) fn judged(&self) -> Vec<Judged> {
        let parts = [
            self.simulated(),
            self.figures(),
            self.causes(),
            self.clusters(),
            self.measured(),
            self.emulated(),
            super::machines::machines(),
            self.identities(),
        ];
        parts.into_iter().flatten().collect()
    }

    fn simulated(&self) -> Vec<Judged> {
        let (achievable, best) = (Setting::achievable(), Setting::best());
        let printed = |column: &'static str, setting: &Setting| -> f64 {
            let pair = |(name, r): (&'static str, &Runs)| {
                (TABLE_1_2.number(&[("application", name)], column), r.speedup(setting))
            };
            rank_correlation(&self.rows(SIMULATED).map(pair).collect::<Vec<_>>())
        };
        let ideal = || self.rows(SIMULATED).filter_map(|(_, r)| r.get(&achievable).map(Outcome::ideal));
        let gap = |r: &Runs| above(r.speedup(&best), r.speedup(&achievable)) >= 15.0;
        let efficiency = |name| {
            let ideal = self.row(SIMULATED, name).and_then(|r| r.get(&best)).map_or(f64::NAN, Outcome::ideal);
            100.0 * self.speedup(name, &best) / ideal
        };
        vec![
            ruled("t12-achievable", "", &[("rank correlation", printed("achievable_speedup_16p", &achievable))]),
            ruled("t12-best", "", &[("rank correlation", printed("best_speedup_16p", &best))]),
            ruled("t12-ideal", "", &[("least", least(ideal())), ("most", most(ideal()))]),
            named("t12-gap", "best is 15 % above achievable or more", "with a gap", self.those(gap)),
            ruled(
                "efficiency-simulated",
                "best over ideal speedup",
                &[("FFT, percent", efficiency("FFT")), ("Volrend, percent", efficiency("Volrend"))],
            ),
        ]
    }

    /// Slowdown in percent of a program over the whole range of a parameter.
    pub(super) fn slowdown(runs: &Runs, sweep: &Sweep) -> f64 {
        let ends = [sweep.points[0], sweep.points[sweep.points.len() - 1]];
        let [best, worst] = ends.map(|value| runs.cycles(&Setting::point(sweep, value)));
        above(worst, best)
    }
    /// Percent of the time at the achievable values that a program regains when one parameter is at its best.
    pub(super) fn regained(runs: &Runs, sweep: &Sweep) -> f64 {
        let [now, then] = [sweep.achievable, sweep.best].map(|value| runs.cycles(&Setting::point(sweep, value)));
        100.0 * (1.0 - then / now)
    }
    /// How many percent longer a program takes by each percent that a parameter is worse, around the achievable value.
    pub(super) fn elasticity(runs: &Runs, sweep: &Sweep) -> f64 {
        let at = sweep.points.iter().position(|p| *p == sweep.achievable).unwrap_or(0);
        let Some(next) = sweep.points.get(at + 1) else { return f64::NAN };
        let [now, then] = [sweep.achievable, *next].map(|value| runs.cycles(&Setting::point(sweep, value)));
        (then / now).ln() / (*next as f64 / sweep.achievable as f64).ln().abs()
    }
    fn mean_of(&self, of: impl Fn(&Runs) -> f64) -> f64 {
        mean(&self.rows(SIMULATED).map(|(_, r)| of(r)).collect::<Vec<_>>())
    }

    fn figures(&self) -> Vec<Judged> {
        let [interrupts, io, overhead, occupancy] = &SWEEPS;
        let slow = |sweep: &'static Sweep| move |r: &Runs| Study::slowdown(r, sweep);
        let each = |sweep| self.rows(SIMULATED).map(move |(_, r)| slow(sweep)(r));
        let over = |points: f64| each(io).filter(|s| *s > points).count() as f64;
        let gains = |r: &Runs| Study::regained(r, io) >= CLEAR;
        let others = self.rows(SIMULATED).filter(|(name, _)| *name != "Ocean").map(|(_, r)| slow(interrupts)(r));
        let at = |value: u64| {
            let one = |r: &Runs| {
                let [free, then] = [0, value].map(|v| r.cycles(&Setting::point(interrupts, v)));
                above(then, free)
            };
            self.mean_of(one)
        };
        let regained = |sweep| self.mean_of(|r| Study::regained(r, sweep));
        vec![
            named("f13-low", "", "below 10 percent", self.those(|r| slow(overhead)(r) < SMALL)),
            named("f13-high", "", "above 35 percent", self.those(|r| slow(overhead)(r) > LARGE)),
            ruled("f14-most", "from 50 to 10000 cycles", &[("most, percent", most(each(occupancy)))]),
            ruled(
                "f14-less",
                "means over the whole ranges",
                &[
                    ("occupancy, percent", mean(&each(occupancy).collect::<Vec<_>>())),
                    ("overhead, percent", mean(&each(overhead).collect::<Vec<_>>())),
                ],
            ),
            ruled("f15-most", "from 2 to 0.25 bytes a cycle", &[("most, percent", most(each(io)))]),
            ruled("f15-many", "", &[("programs above 40 percent", over(40.0))]),
            named("f15-gain", "10 % of the time or more", "gain", self.those(gains)),
            ruled("f16-all", "all but Ocean, from 0 to 50000 cycles", &[("least, percent", least(others))]),
            ruled(
                "f16-knee",
                "means of all programs, over free interrupts",
                &[
                    ("at 1000 cycles, percent", at(1000)),
                    ("at 2500, percent", at(2500)),
                    ("at 10000, percent", at(10_000)),
                ],
            ),
            ruled(
                "importance",
                "mean share of the time at the achievable values that is regained when one of them is at its best",
                &[
                    ("occupancy", regained(occupancy)),
                    ("overhead", regained(overhead)),
                    ("I/O bandwidth", regained(io)),
                    ("interrupts", regained(interrupts)),
                ],
            ),
        ]
    }

    fn causes(&self) -> Vec<Judged> {
        let (achievable, best) = (Setting::achievable(), Setting::best());
        let local = |base: &Setting| base.clone().with("local-faults");
        let times = |name, base: &Setting| self.speedup(name, &local(base)) / self.speedup(name, base);
        let wide = Setting::point(&SWEEPS[1], 2000);
        vec![
            ruled(
                "faults-barnes",
                "times as fast with faults that are local",
                &[("best", times("Barnes(rebuild)", &best)), ("achievable", times("Barnes(rebuild)", &achievable))],
            ),
            ruled(
                "faults-water",
                "times as fast with faults that are local",
                &[("best", times("Water(nsquared)", &best))],
            ),
            ruled("faults-volrend", "times as fast with faults that are local", &[("best", times("Volrend", &best))]),
            ruled(
                "radix-io",
                "speedup with four times the bandwidth over that at the achievable values, and at the best",
                &[
                    ("times achievable", self.speedup("Radix", &wide) / self.speedup("Radix", &achievable)),
                    ("times best", self.speedup("Radix", &wide) / self.speedup("Radix", &best)),
                ],
            ),
        ]
    }

    fn clusters(&self) -> Vec<Judged> {
        let speedup = |r: &Runs, width| r.speedup(&Setting::clustered(width));
        let best = |r: &Runs| {
            let by = |a: &&u16, b: &&u16| speedup(r, **a).total_cmp(&speedup(r, **b));
            CLUSTERS.iter().max_by(by).map_or(f64::NAN, |w| f64::from(*w))
        };
        let helps = |r: &Runs| speedup(r, 16) > speedup(r, 4) && speedup(r, 4) > speedup(r, 1);
        let all = self.rows(SIMULATED).count().max(1);
        let worst = self
            .rows(SIMULATED)
            .min_by(|a, b| speedup(a.1, 4).total_cmp(&speedup(b.1, 4)))
            .map_or(f64::NAN, |(_, r)| speedup(r, 16) / speedup(r, 4));
        vec![
            ruled("f17-ocean", "", &[("processors a node", self.row(SIMULATED, "Ocean").map_or(f64::NAN, best))]),
            ruled(
                "f17-most",
                "faster with 4 than with 1, and with 16 than with 4",
                &[("percent of the programs", 100.0 * self.those(helps).len() as f64 / all as f64)],
            ),
            ruled("f17-poor", "the slowest with 4: speedup with 16 over that with 4", &[("times", worst)]),
        ]
    }

    fn measured(&self) -> Vec<Judged> {
        let mut all = self.gains();
        all.extend(self.steps());
        all.extend(self.remains());
        all
    }
    fn each_measured(&self, value: impl Fn(&Runs) -> f64) -> Vec<f64> {
        self.rows(MEASURED).map(|(_, r)| value(r)).collect()
    }
    /// Rank correlation of a printed column with ours.
    fn by_rank(&self, table: Printed, column: &str, ours: impl Fn(&Runs) -> f64) -> f64 {
        let pair = |(name, r): (&'static str, &Runs)| (table.number(&[("application", name)], column), ours(r));
        rank_correlation(&self.rows(MEASURED).map(pair).collect::<Vec<_>>())
    }

    fn gains(&self) -> Vec<Judged> {
        let all = |r: &Runs| gain(r, "base", "nil");
        let overall = self.each_measured(all);
        let spatial = self.row(MEASURED, "Barnes-spatial").map_or(f64::NAN, all);
        let order = self.by_rank(TABLE_1_3, "overall_improvement_base_to_genima_percent", all);
        vec![
            ruled("genima-mean", "", &[("percent", mean(&overall))]),
            ruled("genima-most", "", &[("percent", most(overall.iter().copied()))]),
            ruled("genima-spatial", "", &[("percent", spatial)]),
            ruled("t13-order", "", &[("rank correlation", order)]),
        ]
    }

    /// Steps of the ladder one by one.
    fn steps(&self) -> Vec<Judged> {
        // Where there is next to none of it, how much less it became says nothing.
        let reduced = |r: &Runs, from, to, part: fn(&Outcome) -> u64| {
            let of = |step| r.get(&Setting::measured(step));
            let (Some(before), Some(after)) = (of(from), of(to)) else { return f64::NAN };
            let is_little = before.share(part(before)) < 1.0;
            if is_little { f64::NAN } else { 100.0 * (1.0 - part(after) as f64 / part(before) as f64) }
        };
        let others = self.rows(MEASURED).filter(|(name, _)| *name != "Water-nsquared");
        let worst = least(others.map(|(_, r)| gain(r, "base", "dw")));
        let helped = self.rows(MEASURED).filter(|(_, r)| gain(r, "rf", "dd") >= HELPS).map(|(name, _)| name);
        vec![
            ruled("dw", "all but Water-nsquared", &[("worst, percent", worst)]),
            ruled(
                "rf",
                "over direct writes",
                &[("least, percent", least(self.each_measured(|r| gain(r, "dw", "rf"))))],
            ),
            ruled(
                "rf-data",
                "where a hundredth of the time is waiting for pages, or more",
                &[("most, percent", most(self.each_measured(|r| reduced(r, "dw", "rf", |o| o.data))))],
            ),
            named("dd", "2 % or more over remote fetches", "gain", helped.collect()),
            ruled(
                "nil-lock",
                "over direct diffs, where a hundredth of the time is waiting for locks, or more",
                &[("most, percent", most(self.each_measured(|r| reduced(r, "dd", "nil", |o| o.lock))))],
            ),
        ]
    }

    /// What remains under GeNIMA.
    fn remains(&self) -> Vec<Judged> {
        let share = |r: &Runs, part: fn(&Outcome) -> u64| {
            r.get(&Setting::measured("nil")).map_or(f64::NAN, |o| o.share(part(o)))
        };
        let overheads = |part: fn(&Outcome) -> u64| mean(&self.each_measured(|r| share(r, part)));
        let is_behind = |r: &Runs| r.hardware > r.speedup(&Setting::measured("nil"));
        let known: Vec<bool> =
            self.rows(MEASURED).filter(|(_, r)| r.hardware.is_finite()).map(|(_, r)| is_behind(r)).collect();
        let behind = if known.is_empty() { f64::NAN } else { known.iter().filter(|b| **b).count() as f64 };
        let order = self.by_rank(TABLE_1_4, "barrier_time_percent_of_execution", |r| share(r, |o| o.barrier));
        vec![
            ruled(
                "genima-rest",
                "mean shares of the time under GeNIMA",
                &[
                    ("synchronisation, percent", overheads(|o| o.lock + o.barrier)),
                    ("pages, percent", overheads(|o| o.data)),
                ],
            ),
            ruled("hardware", "CC-NUMA against GeNIMA on the cluster", &[("programs that are faster there", behind)]),
            ruled("t14-order", "", &[("rank correlation", order)]),
        ]
    }

    fn emulated(&self) -> Vec<Judged> {
        let at = |r: &Runs, shape| r.get(&Setting::emulated(shape)).cloned();
        let of = |name, shape, part: fn(&Outcome) -> f64| {
            self.row(EMULATED, name).and_then(|r| at(r, shape)).map_or(f64::NAN, |o| part(&o))
        };
        let pair = |(name, r): (&'static str, &Runs)| {
            let row = [("application", name), ("processors", "32"), ("processors_per_node", "4")];
            (TABLE_1_9.number(&row, "speedup"), r.speedup(&Setting::emulated((8, 4))))
        };
        let order = rank_correlation(&self.rows(EMULATED).map(pair).collect::<Vec<_>>());
        let narrower = |part: fn(&Outcome) -> f64| -> Vec<f64> {
            let one = |(_, r): (&'static str, &Runs)| {
                let (wide, narrow) = (at(r, (4, 16))?, at(r, (16, 4))?);
                Some(100.0 * (1.0 - part(&wide) / part(&narrow)))
            };
            self.rows(EMULATED).filter_map(one).collect()
        };
        let fetched = |option: &str, part: fn(&Outcome) -> f64| -> Vec<f64> {
            let one = |(_, r): (&'static str, &Runs)| {
                let plain = Setting::emulated((8, 4));
                let with = r.get(&plain.clone().with(option))?;
                Some(100.0 * (1.0 - part(with) / part(r.get(&plain)?)))
            };
            self.rows(EMULATED).filter_map(one).collect()
        };
        let protect = |(_, r): (&'static str, &Runs)| {
            at(r, (16, 4)).map(|o| o.protection as f64 / o.protections.max(1) as f64 / ORIGIN_MHZ)
        };
        let efficiency = |name| 100.0 * of(name, (8, 4), Outcome::speedup) / 32.0;
        vec![
            ruled("fftst", "", &[("speedup", of("FFTst", (8, 4), Outcome::speedup))]),
            ruled("t16-order", "on 8 nodes of 4", &[("rank correlation", order)]),
            ruled(
                "prefetch-faults",
                "on 8 nodes of 4",
                &[("most, percent", most(fetched("prefetch", |o| o.faults as f64)))],
            ),
            ruled("prefetch-time", "", &[("most, percent", most(fetched("prefetch", |o| o.cycles as f64)))]),
            ruled(
                "wide-data",
                "share of the time on 4 nodes of 16 against 16 of 4",
                &[("most, percent", most(narrower(|o| o.share(o.data))))],
            ),
            ruled("wide-fetches", "", &[("mean, percent", mean(&narrower(|o| o.fetches as f64)))]),
            ruled("wide-fetch-time", "", &[("mean, percent", mean(&narrower(|o| o.data as f64)))]),
            ruled(
                "origin-mprotect",
                "16 nodes of 4; table 1.10 has 55 to 404 there",
                &[("mean of the programs, us", mean(&self.rows(EMULATED).filter_map(protect).collect::<Vec<_>>()))],
            ),
            ruled(
                "efficiency-emulated",
                "speedup over 32",
                &[("FFT, percent", efficiency("FFTst")), ("Volrend, percent", efficiency("volrend"))],
            ),
            Judged::unknown(
                "prefetch-depth",
                "four, too",
                "found by trying on the machine that is gone; what other depths do is seen by `--what-if prefetch` alone",
            ),
            Judged::unknown("downgrade", "", "the model has one price for every change of protection"),
            Judged::unknown(
                "fftst-balance",
                "",
                "whose cache has a page that was fetched is not modelled: fetches go to memory",
            ),
        ]
    }
}

impl Study<'_> {
    /// What holds for any programs.
    fn identities(&self) -> Vec<Judged> {
        let counted = |of: RowOf, setting: &Setting, part: fn(&Outcome) -> u64| -> (usize, u64) {
            let all: Vec<u64> = self.rows(of).filter_map(|(_, r)| r.get(setting).map(part)).collect();
            (all.len(), all.iter().sum())
        };
        let holds = |id, (programs, count): (usize, u64), what: &str| match programs {
            0 => Judged::not_run(id),
            _ => Judged::by(id, format!("{count} of {programs} programs"), count == 0, what),
        };
        vec![
            holds("no-interrupts", counted(MEASURED, &Setting::measured("nil"), |o| o.interrupts), "interrupts"),
            holds(
                "one-node",
                counted(SIMULATED, &Setting::clustered(16), |o| o.messages + o.data),
                "messages, and cycles of waiting for pages",
            ),
        ]
    }
}

/// Cycles a microsecond of the emulated cluster.
pub(super) const ORIGIN_MHZ: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::rank_correlation;

    #[test]
    fn ranks_alike_against_each_other_and_tied() {
        let with = |b: [f64; 4]| rank_correlation(&[1.0, 2.0, 3.0, 9.0].into_iter().zip(b).collect::<Vec<_>>());
        assert_eq!(with([10.0, 11.0, 12.0, 13.0]), 1.0);
        assert_eq!(with([4.0, 3.0, 2.0, 1.0]), -1.0);
        assert!((with([1.0, 1.0, 2.0, 3.0]) - 0.948_683).abs() < 1e-5);
        assert!(with([1.0, f64::NAN, f64::NAN, 2.0]).is_nan());
    }
}
