use super::*;
use homenode_base::Rng;

fn used(page: u64, node: u16) -> Use {
    Use { page: PageId { space: 1, page }, pages: 1, node: NodeId(node), reads: 512, writes: 0 }
}

/// A window of samples; who the pages that were added belong to.
fn window(spread: &mut Spread, at: u64, samples: &[(u64, u16)]) -> BTreeMap<u64, u16> {
    samples.iter().for_each(|(page, node)| _ = spread.add(&used(*page, *node), at));
    let mut seen = BTreeMap::new();
    spread.close(&mut seen, at, Now { ns: at * 10, stay_ns: 10 });
    seen.iter().map(|(id, s)| (id.page, s.by[0].node.0)).collect()
}

#[test]
fn eight_agreeing_samples_speak_for_what_is_between_them_and_are_told_once() {
    let mut spread = Spread::default();
    let samples: Vec<(u64, u16)> = (0..8).map(|i| (544 + i * 64, 1)).collect();
    assert!(window(&mut spread, 0, &samples[..7]).is_empty(), "seven are not enough");
    let told = window(&mut spread, 1, &samples);
    assert!(told.len() == 512 && told.iter().all(|(p, n)| (512..1024).contains(p) && *n == 1), "{told:?}");
    assert!(window(&mut spread, 4, &samples).is_empty());
    spread.stray(PageId { space: 1, page: 600 }, NodeId(1));
    assert_eq!(window(&mut spread, 5, &samples).into_keys().collect::<Vec<_>>(), (600..608).collect::<Vec<_>>());
    // Another owner is told at once, whatever was sampled before.
    let other: Vec<(u64, u16)> = samples.iter().map(|(p, _)| (*p + 3, 3)).collect();
    assert_eq!(spread.add(&used(700, 3), 6), Some(true));
    let told = window(&mut spread, 6, &other);
    assert!(told.len() > 480 && told.values().all(|n| *n == 3), "{told:?}");
}

#[test]
fn nothing_is_concluded_across_wide_gaps_at_borders_and_of_what_is_shared() {
    let mut spread = Spread::default();
    // Two clusters far apart: a part of its own may lie between them.
    let clusters: Vec<(u64, u16)> = (0..8).map(|i| (if i < 4 { i * 8 } else { 400 + i * 8 }, 1)).collect();
    assert!(window(&mut spread, 0, &clusters).keys().all(|p| !(64..400).contains(p)));
    let halves: Vec<(u64, u16)> = (0..32).map(|i| (i * 16 + 5, u16::from(i >= 16))).collect();
    let told = window(&mut Spread::default(), 0, &halves);
    assert!(told.len() >= 480 && told.iter().all(|(p, n)| *n == u16::from(*p >= 256)), "{told:?}");
    // Of pages that two nodes use alike hardly an area looks owned, of which half would be told.
    let (mut rng, mut wrong) = (Rng::new(3), 0);
    for _ in 0..200 {
        let samples: Vec<(u64, u16)> = (0..8 + rng.below(200)).map(|_| (rng.below(512), rng.below(2) as u16)).collect();
        wrong += u64::from(!window(&mut Spread::default(), 0, &samples).is_empty());
    }
    assert!(wrong <= 6, "{wrong}");
}

#[test]
fn rare_samples_wait_for_company_but_not_for_ever() {
    let mut spread = Spread::default();
    let mut told = Vec::new();
    (0..8).for_each(|at| told.push(window(&mut spread, at, &[(at * 64 + 32, 2)]).len()));
    assert!(told[..7].iter().all(|t| *t == 0) && told[7] == 512, "{told:?}");
    let mut old = Spread::default();
    (0..12).for_each(|at| assert!(window(&mut old, at * 4, &[(at * 40, 2)]).is_empty(), "{at}"));
    spread.forget_space(1);
    assert!(spread.told.is_empty() && spread.fresh.is_empty() && spread.last.is_empty());
}

/// Parts of 512 and of 128 pages in turn, sampled at random: how many windows of 100 samples until nearly all is told right, and what
/// was told wrong. (Pieces in which a border runs are never told.)
fn learned(part: usize, seed: u64, shift: u64, spread: &mut Spread, from: u64) -> (u64, usize) {
    let mut rng = Rng::new(seed);
    let user = |page: u64| ((page / part as u64 + shift) % 2) as u16;
    let (mut known, mut wrong) = (BTreeMap::new(), 0);
    for at in from..from + 200 {
        let samples: Vec<(u64, u16)> = (0..100).map(|_| 77 + rng.below(6144)).map(|p| (p, user(p))).collect();
        let told = window(spread, at, &samples);
        wrong += told.iter().filter(|(p, n)| (77..77 + 6144).contains(*p) && **n != user(**p)).count();
        known.extend(told);
        if (77..77 + 6144).filter(|p| known.get(p) == Some(&user(*p))).count() > 6144 - 6144 / part * 24 {
            return (at - from, wrong);
        }
    }
    (200, wrong)
}

#[test]
fn parts_are_found_from_few_samples_hardly_a_page_is_told_wrong_and_a_change_is_followed() {
    for seed in 0..10 {
        let mut spread = Spread::default();
        let (windows, wrong) = learned(512, seed, 0, &mut spread, 0);
        assert!(windows <= 14 && wrong <= 16, "seed {seed}: {windows} windows, {wrong} pages wrong");
        let (windows, wrong) = learned(512, seed + 50, 1, &mut spread, 300);
        assert!(windows <= 14 && wrong <= 40, "seed {seed}, changed: {windows} windows, {wrong} pages wrong");
        let (windows, wrong) = learned(128, seed, 0, &mut Spread::default(), 0);
        assert!(windows <= 40 && wrong <= 40, "seed {seed}, small parts: {windows} windows, {wrong} pages wrong");
    }
}
