use super::*;
use homenode_base::Rng;

fn owned(start: u64, bytes: u64, words: &[(u64, u32)]) -> Owned {
    Owned { start, bytes, words: words.to_vec() }
}

#[test]
fn arrays_of_structures_are_recognised_from_the_fields_in_use() {
    let mut rng = Rng::new(5);
    for case in 0..2_000 {
        let (fields, threads) = (1 + rng.below(10), 2 + rng.below(30));
        let element = 4 * fields;
        // The first and the last field are always in use, so only one length fits.
        let in_use: Vec<u64> = (0..fields).filter(|f| *f == 0 || *f == fields - 1 || rng.chance(1, 2)).collect();
        let words: Vec<(u64, u32)> =
            (0..threads).flat_map(|t| in_use.iter().map(move |f| (t * element + f * 4, t as u32))).collect();
        let found = infer(&[owned(64, threads * element, &words)], 4);
        assert_eq!(found, Some(Elements { arrays: vec![(64, threads)], bytes: element }), "case {case}");
    }
}

#[test]
fn whatever_is_found_separates_the_threads_and_nothing_longer_does() {
    let mut rng = Rng::new(6);
    for _ in 0..5_000 {
        let mut words: Vec<(u64, u32)> = (0..rng.below(64)).map(|w| (w * 4, rng.below(3) as u32)).collect();
        words.retain(|_| rng.chance(1, 4));
        let o = owned(0, 4096, &words);
        let Some(found) = infer(std::slice::from_ref(&o), 4) else {
            assert!(!o.is_divided());
            continue;
        };
        let apart = |bytes: u64| {
            let clash = |a: &(u64, u32)| words.iter().any(|b| a.1 != b.1 && a.0 / bytes == b.0 / bytes);
            !words.iter().any(clash)
        };
        assert!(apart(found.bytes));
        let longest = (1..=64u64).map(|n| n * 4).filter(|b| apart(*b)).max().unwrap();
        let even = |b: &u64| 4096 % b == 0;
        assert!(found.bytes == longest || (even(&found.bytes) && found.bytes * 2 >= longest));
    }
}

#[test]
fn counters_behind_a_header_begin_where_the_first_one_does() {
    let words: Vec<(u64, u32)> = (0..4).map(|t| (40 + u64::from(t) * 8, t)).collect();
    let found = infer(&[owned(1000, 72, &words)], 4);
    assert_eq!(found, Some(Elements { arrays: vec![(1040, 4)], bytes: 8 }));
}

#[test]
fn parts_of_a_long_array_are_long_elements() {
    // 1,000-byte parts: only the words beside the borders were seen.
    let words: Vec<(u64, u32)> =
        (1..8u32).flat_map(|t| [(u64::from(t) * 1000 - 4, t - 1), (u64::from(t) * 1000, t)]).collect();
    let found = infer(&[owned(0, 8000, &words)], 4).unwrap();
    assert_eq!(found, Elements { arrays: vec![(0, 8)], bytes: 1000 });
    assert_eq!(infer(&[], 4), None);
}

#[test]
fn cards_are_told_from_blocks() {
    let mut rng = Rng::new(9);
    for case in 0..500 {
        let (threads, bytes) = (2 + rng.below(7), 4 * (1 + rng.below(12)));
        let elements = threads * (4 + rng.below(40)) + rng.below(threads);
        // Some elements were not seen; some have changed hands.
        let mut words: Vec<(u64, u32)> =
            (0..elements).filter(|_| !rng.chance(1, 10)).map(|i| (i * bytes, (i % threads) as u32 + 5)).collect();
        if case % 2 == 0 && words.len() > 60 {
            let i = rng.below(words.len() as u64) as usize;
            words[i].1 = 99;
        }
        let o = [owned(320, elements * bytes, &words)];
        let found = infer(&o, 4).unwrap();
        let cards = dealt(&o, &found);
        if words.len() as u64 >= 4 * threads {
            let cards = cards.unwrap_or_else(|| panic!("case {case}: {threads} {bytes} {found:?}"));
            assert_eq!((found.bytes, cards[0].owners.len() as u64), (bytes, threads), "case {case}");
        }
        // One part for each.
        let parts: Vec<(u64, u32)> = (0..elements).map(|i| (i * bytes, (i * threads / elements) as u32)).collect();
        let o = [owned(320, elements * bytes, &parts)];
        assert_eq!(dealt(&o, &infer(&o, 4).unwrap()), None);
    }
}
