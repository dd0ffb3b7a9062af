//! What each claim is about, measured. Percentages are differences of execution time in units of CC-NUMA's time, as the study's are.
use super::CLAIMS;
use super::program::{LIST, Listed};
use super::runs::Runs;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use std::collections::BTreeSet;

/// Programs of which the study says that they have little locality or large sets.
const LARGE: [&str; 3] = ["barnes", "em3d", "radix"];
const GAINING: [&str; 4] = ["lu", "radix", "barnes", "em3d"];
const OTHERS: [&str; 2] = ["rnuma", "vcnuma"];
/// Percent of relocations on top of those where every page fits that are thrashing: ours.
const AGAIN: f64 = 25.0;
/// Claims about the part of the misses that other nodes satisfy, and the pressure at which we look.
const REMOTE: [&str; 2] = ["ocean-remote", "lu-remote"];
const REMOTE_AT: u32 = 90;
const HYBRIDS: [&str; 3] = ["rnuma", "vcnuma", "ascoma"];

/// One recording of every program, with a switch.
pub(super) struct Study<'r> {
    /// In the order of the page.
    pub(super) all: Vec<&'r Runs>,
    /// Number of the switch.
    pub(super) switch: usize,
}

/// Programs that a claim is about: the one in its name, else those that the study names, else all.
fn needed(id: &str) -> impl Iterator<Item = &'static str> {
    let of = match id {
        "gain-20-35" => &GAINING[..],
        "large-20-90" => &LARGE,
        "vcnuma-87" => &["barnes"],
        _ => &[],
    };
    let named = id.split('-').next().filter(|name| LIST.iter().any(|l| l.name == *name)).map(str::to_owned);
    LIST.iter().map(|l| l.name).filter(move |name| match &named {
        Some(one) => one == name,
        None => of.is_empty() || of.contains(name),
    })
}

/// Pressures of a program that a claim is about: the one in its name, if that is all it speaks of, else all.
fn pressures_of(id: &str, listed: &Listed) -> Vec<u32> {
    if REMOTE.contains(&id) {
        return vec![REMOTE_AT];
    }
    let named = id.split('-').filter_map(|part| part.parse().ok()).find(|p| listed.pressures.contains(p));
    named.filter(|_| id.starts_with(listed.name)).map_or_else(|| listed.pressures.to_vec(), |p| vec![p])
}

/// At which pressures claims that are about this program alone are decided.
pub(super) fn deciding(listed: &Listed, ids: &[&str]) -> Vec<u32> {
    let alone = |id: &&&str| needed(id).eq([listed.name]);
    let pressures: BTreeSet<u32> = ids.iter().filter(alone).flat_map(|id| pressures_of(id, listed)).collect();
    pressures.into_iter().collect()
}

fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::max)
}
fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::min)
}

/// Judged by the rules beside the claim; `values` are what the rules ask for, and shown.
fn ruled(id: &'static str, why: &str, values: &[(&'static str, f64)]) -> Judged {
    let shown: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value:.1}")).collect();
    let measures = values.iter().fold(Measures::default(), |m, (name, value)| m.value(name, *value));
    CLAIMS.ruled(id, shown.join("; "), &measures, why)
}

impl Study<'_> {
    fn program(&self, name: &str) -> Option<&Runs> {
        self.all.iter().copied().find(|r| r.listed.name == name)
    }
    fn time(&self, program: &str, architecture: &str, pressure: u32) -> f64 {
        self.program(program).map_or(f64::NAN, |r| r.time(self.switch, architecture, pressure))
    }
    /// By how many percent of CC-NUMA's time one is better than another.
    fn gain(&self, program: &str, better: &str, worse: &str, pressure: u32) -> f64 {
        100.0 * (self.time(program, worse, pressure) - self.time(program, better, pressure))
    }
    fn pressures(&self, program: &str) -> &'static [u32] {
        self.program(program).map_or(&[], |r| r.listed.pressures)
    }
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|r| r.listed.name)
    }
    /// Of every program and pressure.
    fn each<'a>(&'a self, of: impl Fn(&'static str, u32) -> f64 + 'a) -> impl Iterator<Item = f64> + 'a {
        self.names().flat_map(move |n| self.pressures(n).iter().map(move |p| (n, *p))).map(move |(n, p)| of(n, p))
    }

    /// A verdict on every claim.
    pub(super) fn judged(&self) -> Vec<Judged> {
        let parts = [self.whole(), self.allocation(), self.em3d(), self.barnes(), self.radix(), self.second_group()];
        let ran = |id: &str, name| self.program(name).is_some_and(|r| r.has(self.switch, &pressures_of(id, r.listed)));
        let known = |j: Judged| match needed(j.id).find(|name| !ran(j.id, name)) {
            Some(_) => Judged::not_run(j.id),
            None => j,
        };
        parts.into_iter().flatten().map(known).collect()
    }

    fn whole(&self) -> Vec<Judged> {
        let over_others = |n, p| greatest(OTHERS.map(|o| self.gain(n, "ascoma", o, p)));
        let low = greatest(self.names().map(|n| over_others(n, 10)));
        let high = greatest(self.each(over_others));
        let loss = greatest(self.each(|n, p| self.gain(n, "ccnuma", "ascoma", p)));
        let beats = |n: &&str| self.pressures(n).iter().all(|p| self.time(n, "ascoma", *p) <= 1.0);
        let last = |n: &str| self.pressures(n).last().copied().unwrap_or(0);
        let large = LARGE.map(|n| over_others(n, last(n)));
        let mild = |n: &str| {
            greatest(self.pressures(n).iter().filter(|p| **p <= 70).map(|p| self.gain(n, "vcnuma", "rnuma", *p)))
        };
        let best = |n: &str, p| self.time(n, "ccnuma", p).min(self.time(n, "scoma", p));
        let published = |n, p| 100.0 * (best(n, p) / self.time(n, "rnuma", p) - 1.0);
        let [most, fewest] = [greatest(self.each(published)), least(self.each(published))];
        let mut on = vec![("greatest gain over R-NUMA, points", mild("barnes"))];
        on.extend(self.program("radix").map(|_| ("on radix", mild("radix"))));
        vec![
            ruled("low-17", "greatest of all programs at 10 %", &[("points", low)]),
            ruled("high-90", "greatest of all programs and pressures", &[("points", high)]),
            ruled("worst-5", "all programs and pressures", &[("worst, points", loss)]),
            ruled(
                "beats-5-of-6",
                "never slower at any pressure",
                &[("programs", self.names().filter(beats).count() as f64)],
            ),
            ruled(
                "large-20-90",
                "barnes at 70 %, em3d and radix at 90 %, over the worse of R-NUMA and VC-NUMA",
                &[("least, points", least(large)), ("most, points", greatest(large))],
            ),
            ruled(
                "vcnuma-87",
                "on barnes, of which the sentence speaks, to 70 %: radix contradicts it in the study's own numbers, 75 and about 40",
                &on,
            ),
            Judged::unknown(
                "rnuma-published",
                format!("best {most:.0}, worst {fewest:.0} percent"),
                "of another study with other programs and another machine; ours beside it",
            ),
        ]
    }

    fn allocation(&self) -> Vec<Judged> {
        let gains = || ["ascoma", "scoma"].into_iter().flat_map(|a| GAINING.map(|n| self.gain(n, a, "ccnuma", 10)));
        let over = |n| least(OTHERS.map(|o| self.gain(n, "ascoma", o, 10)));
        vec![
            ruled(
                "gain-20-35",
                "AS-COMA and S-COMA on lu, radix, barnes, em3d",
                &[("least, points", least(gains())), ("most, points", greatest(gains()))],
            ),
            ruled("radix-10", "the nearer of R-NUMA and VC-NUMA", &[("points", over("radix"))]),
            ruled("lu-10", "the nearer of R-NUMA and VC-NUMA", &[("points", over("lu"))]),
        ]
    }

    fn em3d(&self) -> Vec<Judged> {
        let gain = |better, worse, p| [("points", self.gain("em3d", better, worse, p))];
        let runs = self.program("em3d");
        let eligible = runs
            .map_or(f64::NAN, |r| 100.0 * r.relocated as f64 / r.layout.remote_pages.iter().sum::<u64>().max(1) as f64);
        let free = runs.and_then(|r| r.row(0, "rnuma", 70)).map(|r| r.sizes);
        let share = free.map_or(f64::NAN, |s| 100.0 * f64::from(s.page_cache) / f64::from(s.home));
        vec![
            ruled("em3d-70-rnuma", "", &gain("ccnuma", "rnuma", 70)),
            ruled("em3d-90-rnuma", "", &gain("ccnuma", "rnuma", 90)),
            ruled("em3d-90-vcnuma-rnuma", "", &gain("vcnuma", "rnuma", 90)),
            ruled("em3d-90-vcnuma", "", &gain("ccnuma", "vcnuma", 90)),
            ruled("em3d-90-ascoma-vcnuma", "", &gain("ascoma", "vcnuma", 90)),
            ruled("em3d-90-ascoma-rnuma", "", &gain("ascoma", "rnuma", 90)),
            ruled("em3d-eligible", "relocated by R-NUMA at 10 %, of remote pages", &[("percent", eligible)]),
            ruled("em3d-free", "page cache in percent of home pages: 210 of 491 are 42.8", &[("share", share)]),
        ]
    }

    fn barnes(&self) -> Vec<Judged> {
        // Thrashing: hot pages throw each other out, and come back. Cold ones that leave do not.
        let relocated = |p: u32| {
            let row = self.program("barnes").and_then(|r| r.row(self.switch, "rnuma", p));
            row.map_or(f64::NAN, |r| r.total.relocated as f64)
        };
        let again = |p: u32| 100.0 * (relocated(p) / relocated(10) - 1.0);
        let thrashes = |p: &&u32| again(**p) > AGAIN;
        let pressures = self.pressures("barnes");
        let from = pressures.iter().find(thrashes).map_or(100.0, |p| f64::from(*p));
        let gains = || pressures.iter().map(|p| self.gain("barnes", "ascoma", "ccnuma", *p));
        vec![
            ruled(
                "barnes-thrashes",
                "R-NUMA relocates a quarter more often than where every page fits",
                &[
                    ("from, percent", from),
                    ("more at 30 %, percent", again(30)),
                    ("at 50 %", again(50)),
                    ("at 70 %", again(70)),
                ],
            ),
            ruled("barnes-20", "10 to 70 %", &[("least, points", least(gains())), ("most, points", greatest(gains()))]),
        ]
    }

    fn radix(&self) -> Vec<Judged> {
        let gain = |better, worse, p| [("points", self.gain("radix", better, worse, p))];
        let times = |a, p| [("times", self.time("radix", a, p))];
        vec![
            ruled("radix-30-scoma", "", &times("scoma", 30)),
            ruled("radix-70-rnuma", "", &gain("ccnuma", "rnuma", 70)),
            ruled("radix-90-rnuma", "", &times("rnuma", 90)),
            ruled("radix-90-vcnuma", "at 90 %", &gain("ccnuma", "vcnuma", 90)),
            ruled("radix-90-ascoma-vcnuma", "", &gain("ascoma", "vcnuma", 90)),
            ruled("radix-90-ascoma-rnuma", "", &gain("ascoma", "rnuma", 90)),
            ruled("radix-90-ascoma", "", &gain("ccnuma", "ascoma", 90)),
        ]
    }

    /// Part of the misses of a program that other nodes satisfy, in percent.
    fn remote(&self, program: &str, architecture: &str, pressure: u32) -> f64 {
        let row = self.program(program).and_then(|r| r.row(self.switch, architecture, pressure));
        row.map_or(f64::NAN, |r| 100.0 * r.total.remote() as f64 / r.total.misses().max(1) as f64)
    }

    fn second_group(&self) -> Vec<Judged> {
        let apart = |p: &u32| {
            let times = || ["ccnuma", "rnuma", "vcnuma", "ascoma"].map(|a| self.time("ocean", a, *p));
            100.0 * (greatest(times()) - least(times()))
        };
        let lu = || self.pressures("lu").iter().flat_map(|p| HYBRIDS.map(|a| self.gain("lu", a, "ccnuma", *p)));
        vec![
            ruled("ocean-remote", "AS-COMA at 90 %", &[("percent", self.remote("ocean", "ascoma", REMOTE_AT))]),
            ruled("ocean-within-3", "", &[("apart, points", greatest(self.pressures("ocean").iter().map(apart)))]),
            ruled("lu-remote", "", &[("percent", self.remote("lu", "ccnuma", REMOTE_AT))]),
            ruled("lu-33", "", &[("least, points", least(lu())), ("most, points", greatest(lu()))]),
            ruled("lu-90-scoma", "behind AS-COMA", &[("points", self.gain("lu", "ascoma", "scoma", 90))]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_about_one_program_is_decided_on_it_at_its_pressure() {
        let radix = LIST.iter().find(|l| l.name == "radix").expect("listed");
        let barnes = LIST.iter().find(|l| l.name == "barnes").expect("listed");
        let ids = ["radix-90-vcnuma", "radix-30-scoma", "barnes-20", "high-90", "large-20-90", "gain-20-35"];
        assert_eq!(deciding(radix, &ids), [30, 90]);
        assert_eq!(deciding(barnes, &ids), barnes.pressures, "20 is no pressure of it, but points of time");
        assert_eq!(deciding(radix, &ids[2..]), [0; 0], "of others, or of several");
        let lu = LIST.iter().find(|l| l.name == "lu").expect("listed");
        assert_eq!(deciding(lu, &["lu-remote", "ocean-remote"]), [90]);
        assert_eq!(pressures_of("high-90", radix), radix.pressures, "a claim about all looks everywhere");
    }
}
