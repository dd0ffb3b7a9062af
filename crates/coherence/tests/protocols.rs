//! The protocols against the table of states: every short history, random long ones; and what must always hold.
mod common;

use common::{PROTOCOLS, Reference, check, choice, history, references, run, turns};
use homenode_base::NodeId;
use homenode_coherence::history::Clocks;
use homenode_coherence::oracle::{Mapping, Table};
use homenode_coherence::protocols::{ALL, Timing};
use homenode_coherence::{Choice, Effect, Effects, ProtocolError};
use homenode_placement::{AccessKind, Step};
use proptest::prelude::*;

const KINDS: [AccessKind; 2] = [AccessKind::Read, AccessKind::Write];

fn same_as_the_table(choice: &Choice, page_bytes: u64, processors: u16, refs: &[Reference]) {
    let mut table = Table::new(choice, page_bytes, processors);
    let mut expected = Effects::default();
    for (page, processor, kind, t) in refs {
        expected.merge(&table.reference(*page, *processor, *kind, *t));
    }
    let got = run(choice, page_bytes, refs);
    assert_eq!(got, expected, "{choice}: {refs:?}");
    assert_eq!(got.references(), refs.len() as u64, "{choice}: {refs:?}");
    let mut engine = choice.engine(page_bytes);
    for page in 0..3 {
        engine.page(&history(refs, page), &mut Effects::default());
        for p in 0..processors {
            let holds = engine.holders(0).contains(NodeId(p));
            assert_eq!(holds, table.mapping(page, p) == Mapping::Local, "{choice}: page {page}, {p}: {refs:?}");
        }
    }
}

/// Every history of so many references by so many processors to so many pages.
fn every_history(processors: u16, pages: u64, len: u32, mut each: impl FnMut(&[Reference])) {
    let ways = u64::from(processors) * pages * 2;
    for number in 0..ways.pow(len) {
        let mut rest = number;
        let mut refs = Vec::new();
        for t in 1..=u64::from(len) {
            let way = rest % ways;
            rest /= ways;
            refs.push((way / 2 % pages, (way / 2 / pages) as u16, KINDS[(way % 2) as usize], t));
        }
        each(&refs);
    }
}

#[test]
fn every_short_history_is_as_the_table_says() {
    for text in PROTOCOLS {
        let choice = choice(text);
        every_history(3, 2, 4, |refs| same_as_the_table(&choice, 64, 3, refs));
        every_history(2, 1, 6, |refs| same_as_the_table(&choice, 64, 2, refs));
    }
}

#[test]
fn long_histories_are_as_the_table_says() {
    let cases = (0..PROTOCOLS.len(), prop::sample::select(&[4u64, 64, 256, 4096][..]), references(70, 3, 120));
    check(600, 1, &cases, |(at, page_bytes, refs)| same_as_the_table(&choice(PROTOCOLS[at]), page_bytes, 70, &refs));
}

/// In turns, however they are cut, everything is as one by one.
fn same_in_turns(choice: &Choice, page_bytes: u64, steps: &[Step]) {
    let mut engine = choice.engine(page_bytes);
    let mut one_by_one = Effects::default();
    engine.page(steps, &mut one_by_one);
    let holders = engine.holders(0).clone();
    for every in [usize::MAX, 1, 3] {
        let (mut seen, mut in_turns) = (0, Effects::default());
        let (turns, times) = turns(steps, choice.timing(), || {
            seen += 1;
            seen % every == 0
        });
        engine.reset(&[0]);
        engine.turns(&turns, &times, &mut in_turns);
        assert_eq!((in_turns, engine.holders(0)), (one_by_one, &holders), "{choice}, {every}: {steps:?}");
    }
}

#[test]
fn long_histories_are_the_same_in_turns() {
    check(600, 2, &(0..PROTOCOLS.len(), references(4, 1, 80)), |(at, refs)| {
        same_in_turns(&choice(PROTOCOLS[at]), 256, &history(&refs, 0));
    });
    // Turns long enough for counters to run out in the midst of them, while invalidations cease to be recent.
    check(600, 7, &(1..9u32, 0..30u32, 1..60u32, 0..16u32, references(3, 1, 60)), |(c, recent, defrost, how, refs)| {
        let bit = |n: u32| how >> n & 1;
        let text = format!("inv-freez-del({c},{recent},{defrost},{},{},{},{})", bit(0), bit(1), bit(2), bit(3));
        for text in [text, format!("inv-freez({recent},{defrost},{})", bit(0))] {
            same_in_turns(&choice(&text), 256, &history(&refs, 0));
        }
    });
}

/// Turns of more accesses than are known one by one: reads, writes and both, at any place.
#[test]
fn long_turns_say_what_is_in_them() {
    let runs = proptest::collection::vec((any::<bool>(), prop_oneof![3 => 1..6u64, 1 => 50..150u64]), 1..40);
    check(400, 8, &runs, |runs| {
        let kinds =
            runs.iter().flat_map(|(write, times)| std::iter::repeat_n(KINDS[usize::from(*write)], *times as usize));
        let refs: Vec<Reference> = (1..).zip(kinds).map(|(t, kind)| (0, 1, kind, t * 3)).collect();
        let (all, times) = turns(&history(&refs, 0), Timing::Order, || false);
        let mut rest = &refs[..];
        for turn in &all {
            let (these, after) = rest.split_at(turn.accesses() as usize);
            rest = after;
            let of = |kind| these.iter().enumerate().filter(move |(_, r)| r.2 == kind);
            let (reads, writes) = (of(KINDS[0]), of(KINDS[1]));
            let lead = these.iter().take_while(|r| r.2 == AccessKind::Write).count() as u64;
            assert_eq!(
                (turn.reads(), turn.writes(), turn.lead()),
                (reads.clone().count() as u64, writes.clone().count() as u64, lead)
            );
            assert_eq!((turn.first, turn.last), (these[0].3, these[these.len() - 1].3));
            assert!(writes.clone().next().is_none_or(|(_, r)| r.3 == turn.wrote()));
            assert!(reads.clone().next().is_none_or(|(_, r)| r.3 == turn.read()));
            for (nth, (at, _)) in (1..).zip(reads) {
                assert_eq!(turn.writes_before(nth), at as u64 - (nth - 1), "{turn:?}, read {nth}");
            }
            let mut listed = Vec::new();
            turn.runs(|kind, at, times| {
                assert_eq!(at, listed.len() as u64);
                listed.extend(std::iter::repeat_n(kind, times as usize));
            });
            assert!(listed.iter().eq(these.iter().map(|r| &r.2)), "{turn:?}");
            assert_eq!(times.time(turn, 0), turn.first);
        }
        assert!(rest.is_empty());
        for text in PROTOCOLS.into_iter().chain([
            "upt-del(40)",
            "inv-del(70)",
            "inv-freez-del(90,200,1000)",
            "inv-freez(30,400)",
        ]) {
            same_in_turns(&choice(text), 256, &history(&refs, 0));
        }
    });
}

#[test]
fn every_short_history_is_the_same_in_turns() {
    for text in PROTOCOLS {
        let choice = choice(text);
        every_history(2, 1, 7, |refs| same_in_turns(&choice, 64, &history(refs, 0)));
        every_history(3, 1, 5, |refs| same_in_turns(&choice, 64, &history(refs, 0)));
    }
}

/// What a protocol has done after each reference to a page, and whether each processor has a copy.
fn stages(choice: &Choice, page_bytes: u64, refs: &[Reference]) -> Vec<(Effects, Vec<NodeId>)> {
    let mut engine = choice.engine(page_bytes);
    let steps = history(refs, 0);
    let mut stage = |n: usize| {
        let mut effects = Effects::default();
        engine.page(&steps[..n], &mut effects);
        (effects, engine.holders(0).iter().collect())
    };
    (0..=steps.len()).map(&mut stage).collect()
}

#[test]
fn after_a_write_no_one_but_the_writer_has_a_copy_under_invalidation() {
    for text in PROTOCOLS.into_iter().filter(|p| p.starts_with("inv")) {
        check(40, 3, &references(5, 1, 25), |refs| {
            for ((_, holders), (_, writer, kind, _)) in stages(&choice(text), 64, &refs).into_iter().skip(1).zip(&refs)
            {
                if *kind == AccessKind::Write {
                    assert!(holders.len() <= 1 && holders.iter().all(|h| h.0 == *writer), "{text}: {holders:?}");
                }
            }
        });
    }
}

#[test]
fn copies_only_come_under_update() {
    for text in PROTOCOLS.into_iter().filter(|p| p.starts_with("upt")) {
        check(40, 4, &references(8, 1, 25), |refs| {
            let stages = stages(&choice(text), 64, &refs);
            for (before, after) in stages.iter().zip(&stages[1..]) {
                assert!(before.1.iter().all(|h| after.1.contains(h)), "{text}: a copy went");
                assert!(
                    after.0.of(Effect::Update) - before.0.of(Effect::Update) <= 8,
                    "{text}: packets beyond holders"
                );
            }
            let end = stages.last().expect("one at least").0;
            assert!(end.fetches() <= 8, "{text}: one copy a processor");
            assert_eq!(end.of(Effect::Invalidation), 0);
        });
    }
}

#[test]
fn every_copy_behind_a_counter_took_the_reads_before_it() {
    check(300, 5, &(1..9u32, references(4, 2, 200)), |(c, refs)| {
        for name in ["upt-del", "inv-del"] {
            let got = run(&choice(&format!("{name}({c})")), 64, &refs);
            assert!(got.of(Effect::RemoteRead) >= u64::from(c - 1) * got.fetches(), "{name}({c}): {got:?}");
        }
    });
}

/// The effects with copies of mapped pages as plain ones.
fn plain(effects: Effects) -> Effects {
    let mut plain = effects;
    plain.0[Effect::Fetch as usize] = effects.fetches();
    plain.0[Effect::FetchMapped as usize] = 0;
    plain
}

#[test]
fn a_counter_of_one_is_none_and_without_writes_all_are_alike() {
    check(300, 6, &references(6, 3, 100), |refs| {
        for (counted, other) in
            [("upt-del(1)", "upt"), ("inv-del(1)", "inv"), ("inv-freez-del(1,2,5)", "inv-freez(2,5)")]
        {
            let got = run(&choice(counted), 64, &refs);
            assert_eq!(plain(got), run(&choice(other), 64, &refs), "{counted}");
            assert_eq!(got.of(Effect::Fetch), 0, "{counted} pays two faults a copy");
        }
        let reads: Vec<Reference> = refs.iter().map(|r| (r.0, r.1, AccessKind::Read, r.3)).collect();
        let upt = run(&choice("upt"), 64, &reads);
        assert_eq!((upt, upt), (run(&choice("inv"), 64, &reads), run(&choice("inv-freez"), 64, &reads)));
    });
}

#[test]
fn counters_are_an_eighth_of_the_words_and_of_the_bytes_where_the_text_is_followed() {
    let reads = |n: u64| (1..=n).map(|t| (0, 0, AccessKind::Read, t)).collect::<Vec<_>>();
    for (bytes, words, text) in [(64, 2, 8), (4096, 128, 512), (65_536, 2048, 8192), (4, 1, 1)] {
        for (name, c) in [("upt-del", words), ("inv-del(0,1)", text)] {
            let fetches = |n: u64| run(&choice(name), bytes, &reads(n)).fetches();
            assert_eq!((fetches(c - 1), fetches(c)), (0, 1), "{name}, {bytes} bytes");
        }
    }
}

#[test]
fn names_and_parameters_are_read_and_wrong_ones_refused() {
    for spec in ALL {
        let defaults = spec.choose(&[]).expect("defaults are in range");
        assert_eq!((defaults.to_string(), defaults.values.len()), (spec.name.to_owned(), spec.params.len()));
        assert!(!spec.summary.is_empty() && !spec.printed.is_empty());
    }
    for text in PROTOCOLS {
        assert_eq!(choice(text).to_string(), text);
    }
    let wrong = |text: &str| Choice::parse(text).err().expect(text);
    assert!(matches!(wrong("udp"), ProtocolError::Unknown { .. }));
    assert!(wrong("udp").to_string().contains("upt, inv, inv-freez, upt-del, inv-del, inv-freez-del"));
    for text in ["upt-del(", "upt-del(x)", "upt-del()", "upt-del(-1)", "inv-del(1,)", "inv(+1)"] {
        assert!(matches!(wrong(text), ProtocolError::Syntax { .. }), "{text}");
    }
    assert!(matches!(wrong("upt(0,0)"), ProtocolError::TooMany { takes: 1, given: 2, .. }));
    for text in ["inv(2)", "inv-freez(1,0)", "upt-del(99999999999)"] {
        assert!(matches!(wrong(text), ProtocolError::Range { .. }), "{text}");
    }
}
