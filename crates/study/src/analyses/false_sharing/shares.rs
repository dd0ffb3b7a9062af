//! Bounds of blocks, divided among objects and code locations.
use super::attributed::{AttributeOptions, Attributed, ObjectShare, Separation, Share, WordUse, WorstBlock};
use super::component::Component;
use super::moves::Place;
use std::collections::{BTreeMap, BTreeSet};

/// A block that was moved.
pub(super) struct Summary {
    pub(super) place: Place,
    pub(super) moves: u64,
    pub(super) word_moves: u64,
    /// Moves if its words were apart by use.
    pub(super) moves_apart: u64,
    /// Moves by (object, site), ascending.
    pub(super) causes: Vec<((u32, u32), u64)>,
    /// (offset in words, use, object), ascending.
    pub(super) words: Vec<(u64, WordUse, u32)>,
}

/// Blocks named at most.
const BLOCKS_MAX: usize = 64;

#[derive(Default)]
struct Sum {
    moves: u64,
    lower: i128,
    upper_scaled: i128,
    saved: i128,
    words: [u64; 3],
    /// Upper bounds by what would help.
    separations: BTreeMap<u8, i128>,
}

/// Divides `whole` in proportion to `parts`, none negative and not all 0; the parts of the result add up to `whole`.
fn divide(whole: i128, parts: &[u64]) -> Vec<i128> {
    let total: i128 = parts.iter().map(|p| i128::from(*p)).sum();
    let (mut given, mut seen) = (0, 0);
    let part = |p: &u64| {
        seen += i128::from(*p);
        let until = if total == 0 { 0 } else { whole * seen / total };
        let here = until - given;
        given = until;
        here
    };
    parts.iter().map(part).collect()
}

pub(super) fn shares(options: AttributeOptions, blocks: Vec<Summary>) -> Attributed {
    let (mut objects, mut sites): (BTreeMap<u32, Sum>, BTreeMap<u32, Sum>) = Default::default();
    let (mut all, mut lower) = (component(options, 0, 0), 0);
    for b in &blocks {
        let c = component(options, b.moves, b.word_moves);
        all.block_moves += b.moves;
        all.word_moves += b.word_moves;
        lower += c.lower();
        let counts: Vec<u64> = b.causes.iter().map(|(_, n)| *n).collect();
        let (uppers, lowers) = (divide(c.upper_scaled(), &counts), divide(c.lower(), &counts));
        let saved = divide(i128::from(b.moves) - i128::from(b.moves_apart), &counts);
        for (i, ((object, site), n)) in b.causes.iter().enumerate() {
            for sum in [objects.entry(*object).or_default(), sites.entry(*site).or_default()] {
                sum.moves += n;
                sum.lower += lowers[i];
                sum.upper_scaled += uppers[i];
                sum.saved += saved[i];
            }
            let sum = objects.entry(*object).or_default();
            *sum.separations.entry(separation(b, *object) as u8).or_default() += uppers[i];
        }
        for (_, class, object) in &b.words {
            let i = match class {
                WordUse::Own(_) => 0,
                WordUse::ReadOnly => 1,
                WordUse::Shared => 2,
            };
            objects.entry(*object).or_default().words[i] += 1;
        }
    }
    let mut objects: Vec<ObjectShare> = objects.into_iter().map(|(id, sum)| object_share(id, &sum)).collect();
    objects.sort_by_key(|o| std::cmp::Reverse(o.share.upper_scaled));
    let mut sites: Vec<Share> = sites.into_iter().map(|(id, sum)| share(id, &sum)).collect();
    sites.sort_by_key(|s| std::cmp::Reverse(s.upper_scaled));
    Attributed { objects, sites, blocks: worst(options, blocks), total: Some(all), lower }
}

fn component(options: AttributeOptions, block_moves: u64, word_moves: u64) -> Component {
    Component { cost: options.cost, block_words: options.block_words, block_moves, word_moves }
}

fn share(id: u32, sum: &Sum) -> Share {
    Share { id, moves: sum.moves, lower: sum.lower, upper_scaled: sum.upper_scaled }
}

fn object_share(id: u32, sum: &Sum) -> ObjectShare {
    let dearest = sum.separations.iter().max_by_key(|(_, upper)| **upper).map_or(0, |(s, _)| *s);
    let all = [Separation::Nothing, Separation::PadParts, Separation::OwnBlocks, Separation::SplitShared];
    ObjectShare {
        share: share(id, sum),
        words: sum.words,
        separation: all[usize::from(dearest)],
        saved_moves: sum.saved as i64,
    }
}

/// What would help an object in a block.
fn separation(b: &Summary, object: u32) -> Separation {
    let classes: BTreeSet<WordUse> = b.words.iter().map(|(_, class, _)| *class).collect();
    let mine: BTreeSet<WordUse> = b.words.iter().filter(|w| w.2 == object).map(|(_, class, _)| *class).collect();
    match (classes.len() > 1, classes.contains(&WordUse::Shared), mine.len() > 1) {
        (false, ..) => Separation::Nothing,
        (true, true, true) => Separation::SplitShared,
        (true, false, true) => Separation::PadParts,
        (true, _, false) => Separation::OwnBlocks,
    }
}

fn worst(options: AttributeOptions, mut blocks: Vec<Summary>) -> Vec<WorstBlock> {
    let bound = |b: &Summary| component(options, b.moves, b.word_moves).upper_scaled();
    blocks.retain(|b| bound(b) > 0);
    blocks.sort_by_key(|b| std::cmp::Reverse(bound(b)));
    blocks.truncate(BLOCKS_MAX);
    let block_bytes = options.block_words * options.word_bytes;
    let row = |b: Summary| WorstBlock {
        space: b.place.0,
        addr: b.place.1 * block_bytes,
        component: component(options, b.moves, b.word_moves),
        words: b.words,
    };
    blocks.into_iter().map(row).collect()
}
