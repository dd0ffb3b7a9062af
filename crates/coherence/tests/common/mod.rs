//! Histories of pages for tests.
#![allow(dead_code, reason = "each test binary uses a part")]
use homenode_base::{NodeId, VirtualTime};
use homenode_coherence::history::{Clocks, Turn, key};
use homenode_coherence::protocols::Timing;
use homenode_coherence::{Choice, Effects};
use homenode_machine::{AccessClass, Coherence, models};
use homenode_placement::{Access, AccessKind, Step};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// A reference of the whole machine: page, processor, read or write, time.
pub(crate) type Reference = (u64, u16, AccessKind, u64);

/// The protocols with their defaults, and with all that they can be told, with windows short enough for short histories.
pub(crate) const PROTOCOLS: [&str; 22] = [
    "upt",
    "upt(1)",
    "inv",
    "inv(1)",
    "inv-freez",
    "inv-freez(2,5)",
    "inv-freez(0,3)",
    "inv-freez(9,1,1)",
    "upt-del",
    "upt-del(1)",
    "upt-del(3)",
    "upt-del(3,1)",
    "upt-del(0,1,1)",
    "inv-del",
    "inv-del(1)",
    "inv-del(3,1)",
    "inv-del(2,0,1)",
    "inv-del(2,1,1,1)",
    "inv-freez-del(2,2,5)",
    "inv-freez-del(1,2,5,0,0,1)",
    "inv-freez-del(3,1,4,1,1)",
    "inv-freez-del(2,3,7,0,1,1,1)",
];

pub(crate) fn choice(text: &str) -> Choice {
    Choice::parse(text).expect("a protocol")
}

/// Prices of table 1.
pub(crate) fn prices() -> Coherence {
    models::find("markatos").and_then(|m| m.sections.coherence).expect("a machine with prices")
}

pub(crate) fn step(processor: u16, kind: AccessKind, weight: u32, t: u64) -> Step {
    let class = if kind == AccessKind::Read { AccessClass::Read } else { AccessClass::Write };
    Step { slot: 0, access: Access { node: NodeId(processor), kind, class, weight, t: VirtualTime(t) } }
}

/// The history of one page.
pub(crate) fn history(refs: &[Reference], page: u64) -> Vec<Step> {
    refs.iter().filter(|r| r.0 == page).map(|(_, processor, kind, t)| step(*processor, *kind, 1, *t)).collect()
}

/// What a protocol does on all pages.
pub(crate) fn run(choice: &Choice, page_bytes: u64, refs: &[Reference]) -> Effects {
    let mut pages: Vec<u64> = refs.iter().map(|r| r.0).collect();
    pages.sort_unstable();
    pages.dedup();
    let mut effects = Effects::default();
    let mut engine = choice.engine(page_bytes);
    pages.iter().for_each(|page| engine.page(&history(refs, *page), &mut effects));
    effects
}

/// Times of accesses, all of page 0.
pub(crate) struct Times(Vec<u64>);

impl Clocks for Times {
    fn time(&self, turn: &Turn, nth: u64) -> u64 {
        self.0[turn.at as usize + nth as usize]
    }
}

/// The history of page 0 in turns that end where pages thaw (each access is as many as its weight, at one time), and where `cut` says so.
pub(crate) fn turns(steps: &[Step], timing: Timing, mut cut: impl FnMut() -> bool) -> (Vec<Turn>, Times) {
    let (mut all, mut times): (Vec<Turn>, Vec<u64>) = (Vec::new(), Vec::new());
    for access in steps.iter().flat_map(|s| std::iter::repeat_n(s.access, s.access.weight as usize)) {
        let (t, write) = (access.t.0, access.kind == AccessKind::Write);
        let stretch = match timing {
            Timing::Order => 1,
            Timing::Period(p) => t / p + 1,
        };
        let key = key(access.node.0, stretch);
        let next = Turn::begin(key, 0, times.len() as u32, write, t);
        if cut() || !all.last_mut().is_some_and(|turn| turn.takes(&next)) {
            all.push(next);
        }
        times.push(t);
    }
    (all, Times(times))
}

/// Random references: few or many pages and processors, bursts, all mixes of reads and writes, gaps in time.
pub(crate) fn references(processors: u16, pages: u64, len: usize) -> impl Strategy<Value = Vec<Reference>> {
    let writes = prop::sample::select(&[0u8, 10, 30, 60, 100][..]);
    let burst = (0..pages, 0..processors, 0..100u8, 1..8usize, 0..3u64);
    (writes, vec(burst, 1..len)).prop_map(|(writes, bursts)| {
        let (mut refs, mut t) = (Vec::new(), 0);
        for (page, processor, what, times, gap) in bursts {
            let kind = if what < writes { AccessKind::Write } else { AccessKind::Read };
            for _ in 0..times {
                t += 1 + gap;
                refs.push((page, processor, kind, t));
            }
        }
        refs
    })
}

/// Runs a test on so many cases, the same ones each time, and shows the smallest that fails.
pub(crate) fn check<S: Strategy>(cases: u32, seed: u64, cases_of: &S, test: impl Fn(S::Value)) {
    let cases = if std::env::var_os("HOMENODE_SLOW").is_some() { cases * 20 } else { cases };
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let run = TestRunner::new(config).run(cases_of, |case| {
        test(case);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}
