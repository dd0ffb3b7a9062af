//! Attribution: parts add up to wholes, worth is that of the repaired program, advice fits.
use crate::common::{Arrays, bindings, cases, random_refs, word};
use homenode_base::Rng;
use homenode_placement::Start;
use homenode_study::analyses::{AttributeOptions, Attributed, MoveCost, Moves, Separation, WordUse, attribute};
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

const OPTIONS: AttributeOptions = AttributeOptions {
    block_words: 16,
    word_bytes: 4,
    cost: MoveCost { overhead: 275, per_word: 2 },
    start: Start::FreeSingle,
};

fn attributed(refs: &[Merged], threads: u32, arrays: &[(&'static str, u64, u64)]) -> Attributed {
    attribute(&mut Listed::new(refs), &bindings(threads), &mut Arrays(arrays.to_vec()), OPTIONS).unwrap()
}

fn block_moves(refs: &[Merged], threads: u32) -> (u64, u64) {
    let bindings = bindings(threads);
    let mut moves = Moves::new(&[16, 1], 4, Start::FreeSingle, &bindings).unwrap();
    moves.refs(refs);
    (moves.counts()[0].1, moves.counts()[1].1)
}

#[test]
fn parts_add_up_to_the_whole_on_random_traces() {
    for seed in 0..cases(200, 5000) {
        let mut rng = Rng::new(seed);
        let mut refs = random_refs(&mut rng, 4, 200, 400);
        refs.iter_mut().for_each(|r| r.site = rng.below(5) as u32);
        refs.iter_mut().for_each(|r| r.size = if rng.chance(1, 3) { 8 } else { 4 });
        let found = attributed(&refs, 4, &[("a", 0, 100), ("b", 100, 200), ("c", 400, 64)]);
        let whole = found.total.unwrap();
        let (block_moves, _) = block_moves(&refs, 4);
        assert_eq!(whole.block_moves, block_moves, "seed {seed}");
        let objects =
            |f: &dyn Fn(&homenode_study::analyses::ObjectShare) -> i128| found.objects.iter().map(f).sum::<i128>();
        assert_eq!(objects(&|o| o.share.upper_scaled), whole.upper_scaled());
        assert_eq!(objects(&|o| o.share.moves.into()), block_moves.into());
        assert_eq!(objects(&|o| o.share.lower), found.lower);
        assert_eq!(found.sites.iter().map(|s| s.upper_scaled).sum::<i128>(), whole.upper_scaled());
        assert_eq!(found.sites.iter().map(|s| s.lower).sum::<i128>(), found.lower);
        assert!(found.lower >= whole.lower(), "blocks apart bound better than their sum");
        assert!(found.objects.is_sorted_by(|a, b| a.share.upper_scaled >= b.share.upper_scaled));
        assert!(found.objects.iter().all(|o| o.share.lower >= 0 && o.share.upper_scaled >= 0));
        for b in &found.blocks {
            let words: Vec<u64> = b.words.iter().map(|w| w.0).collect();
            let mut expected: Vec<u64> = refs
                .iter()
                .flat_map(|r| r.addr / 4..=(r.addr + u64::from(r.size) - 1) / 4)
                .filter(|w| w / 16 == b.addr / 64)
                .map(|w| w % 16)
                .collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(words, expected, "words touched");
            for (at, class, _) in &b.words {
                let of = |r: &&Merged| (r.addr / 4..=(r.addr + u64::from(r.size) - 1) / 4).contains(&(b.addr / 4 + at));
                let users: std::collections::BTreeSet<u32> = refs.iter().filter(of).map(|r| r.thread).collect();
                let written = refs.iter().filter(of).any(|r| r.op.writes());
                let expected = match (users.len(), written) {
                    (1, _) => WordUse::Own(homenode_base::NodeId(*users.first().unwrap() as u16)),
                    (_, false) => WordUse::ReadOnly,
                    (_, true) => WordUse::Shared,
                };
                assert_eq!(*class, expected, "seed {seed}");
            }
        }
    }
}

/// Counters side by side: padding is the advice and saves what the padded program really saves.
#[test]
fn padding_counters_is_worth_what_the_padded_program_saves() {
    let counters = |stride: u64| -> Vec<Merged> {
        (0..1000)
            .flat_map(|i| {
                [word(i % 4, u64::from(i % 4) * stride, Op::Read), word(i % 4, u64::from(i % 4) * stride, Op::Write)]
            })
            .collect()
    };
    let found = attributed(&counters(4), 4, &[("counters", 0, 16)]);
    let o = &found.objects[0];
    assert_eq!((found.objects.len(), o.share.id, o.separation), (1, 0, Separation::PadParts));
    let (before, after) = (block_moves(&counters(4), 4).0, block_moves(&counters(64), 4).0);
    assert_eq!((before, after), (999, 0));
    assert_eq!(o.saved_moves, 999);
    assert_eq!(o.words, [4, 0, 0]);
    assert_eq!(o.share.lower, 999 * (275 + 32), "all of it is false sharing");
}

/// A constant beside a hot private counter: the constant is to be taken apart. A lock beside what it protects: nothing is
/// only private, and the truly shared words stay as they are.
#[test]
fn advice_fits_what_lies_together() {
    let beside: Vec<Merged> = (0..600).flat_map(|i| [word(0, 0, Op::Write), word(1 + i % 3, 32, Op::Read)]).collect();
    let found = attributed(&beside, 4, &[("counter", 0, 4), ("table", 32, 16)]);
    // Readers of the table cause the moves; the counter's writer always has a copy.
    assert_eq!((found.objects[0].share.id, found.objects[0].share.moves), (1, 600));
    assert_eq!(found.objects[0].separation, Separation::OwnBlocks, "{found:?}");
    let together: u64 = found.objects.iter().map(|o| o.share.moves).sum();
    let saved: i64 = found.objects.iter().map(|o| o.saved_moves).sum();
    let apart: Vec<Merged> = beside.iter().map(|r| Merged { addr: r.addr * 2, ..*r }).collect();
    assert_eq!(saved as u64, together - block_moves(&apart, 4).0);
    let shared: Vec<Merged> = (0..600).map(|i| word(i % 4, 4 * u64::from(i % 2), Op::Atomic)).collect();
    let pair = attributed(&shared, 4, &[("pair", 0, 8)]);
    // Words 0 and 1 have two users each.
    assert_eq!(pair.objects[0].words, [0, 0, 2]);
    assert_eq!((pair.objects[0].separation, pair.objects[0].saved_moves), (Separation::Nothing, 0));
    let mixed: Vec<Merged> = (0..600).flat_map(|i| [word(i % 4, 0, Op::Write), word(3, 8, Op::Read)]).collect();
    let found = attributed(&mixed, 4, &[("record", 0, 16)]);
    assert_eq!(found.objects[0].separation, Separation::SplitShared);
    assert!(found.objects[0].saved_moves > 100, "{found:?}");
}
