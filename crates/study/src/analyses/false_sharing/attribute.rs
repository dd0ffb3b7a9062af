//! Which objects, code locations and words false sharing is on, what to do about it, and what that is worth.
//!
//! Bounds are of blocks. A block's bounds are divided among objects, and among code locations, in proportion to the moves
//! that their references cause, to the last unit. What separating is worth is not a bound: the trace is replayed with the
//! words of each block in blocks of their own by who uses them, and the moves that are then saved are counted.
use super::super::{AnalysisError, input};
use super::attributed::{AttributeOptions, Attributed, WordUse};
use super::moves::{Holders, Place, powers_of_two};
use hashbrown::HashMap;
use homenode_base::NodeId;
use homenode_sim::{Objects, ThreadBinding};
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged, Op};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Word {
    holders: Holders,
    user: NodeId,
    several: bool,
    written: bool,
    object: u32,
}

impl Word {
    fn class(&self) -> WordUse {
        match (self.several, self.written) {
            (false, _) => WordUse::Own(self.user),
            (true, false) => WordUse::ReadOnly,
            (true, true) => WordUse::Shared,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Block {
    holders: Holders,
    moves: u64,
    word_moves: u64,
    /// Moves by (object, site) of the reference that caused them.
    causes: BTreeMap<(u32, u32), u64>,
    words: BTreeMap<u64, Word>,
}

struct First<'a> {
    options: AttributeOptions,
    bindings: &'a [ThreadBinding],
    objects: &'a mut dyn Objects,
    blocks: HashMap<Place, Block>,
}

impl First<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        let AttributeOptions { block_words, word_bytes, start, .. } = self.options;
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            let (node, writes, objects) = (binding.node, r.op.writes(), &mut *self.objects);
            input::pieces(r, block_words * word_bytes, |number, from, last| {
                let object = objects.at(binding.space, from).object;
                let block = self.blocks.entry((binding.space, number)).or_default();
                if block.holders.touch(node, writes, start) {
                    block.moves += 1;
                    *block.causes.entry((object, r.site)).or_default() += 1;
                }
                for word in from / word_bytes..=last / word_bytes {
                    let fresh =
                        Word { holders: Holders::default(), user: node, several: false, written: false, object };
                    let w = block.words.entry(word % block_words).or_insert(fresh);
                    block.word_moves += u64::from(w.holders.touch(node, writes, start));
                    w.several |= w.user != node;
                    w.written |= writes;
                }
            });
        }
    }
    fn event(&mut self, event: &Event) {
        self.objects.event(event);
    }
}

/// The trace with the words of each block apart by use.
struct Apart<'a> {
    options: AttributeOptions,
    bindings: &'a [ThreadBinding],
    classes: HashMap<Place, BTreeMap<u64, WordUse>>,
    holders: HashMap<(Place, WordUse), Holders>,
    moves: HashMap<Place, u64>,
}

impl Apart<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        let AttributeOptions { block_words, word_bytes, start, .. } = self.options;
        let mut groups = Vec::new();
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            input::pieces(r, block_words * word_bytes, |number, from, last| {
                let place = (binding.space, number);
                let Some(classes) = self.classes.get(&place) else { return };
                groups.clear();
                let words = from / word_bytes % block_words..=last / word_bytes % block_words;
                groups.extend(classes.range(words).map(|(_, class)| *class));
                groups.sort_unstable();
                groups.dedup();
                for group in &groups {
                    let holders = self.holders.entry((place, *group)).or_default();
                    let moved = holders.touch(binding.node, r.op.writes(), start);
                    *self.moves.entry(place).or_default() += u64::from(moved);
                }
            });
        }
    }
}

/// Attributes false sharing; reads the trace twice.
///
/// # Errors
/// The trace cannot be read, or block or word is no power of two.
pub fn attribute(
    source: &mut dyn Source,
    bindings: &[ThreadBinding],
    objects: &mut dyn Objects,
    options: AttributeOptions,
) -> Result<Attributed, AnalysisError> {
    powers_of_two(options.block_words, options.word_bytes)?;
    let mut first = First { options, bindings, objects, blocks: HashMap::new() };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        first.refs(piece.refs);
        piece.event.iter().for_each(|(event, _)| first.event(event));
    }
    drop(stream);
    let mut blocks = first.blocks;
    blocks.retain(|_, b| b.moves > 0);
    let classes = |b: &Block| b.words.iter().map(|(at, w)| (*at, w.class())).collect::<BTreeMap<_, _>>();
    let mut apart = Apart {
        options,
        bindings,
        classes: blocks.iter().map(|(place, b)| (*place, classes(b))).collect(),
        holders: HashMap::new(),
        moves: HashMap::new(),
    };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        apart.refs(piece.refs);
    }
    let after = |place: &Place| apart.moves.get(place).copied().unwrap_or(0);
    let sorted: BTreeMap<Place, (Block, u64)> = blocks.into_iter().map(|(p, b)| (p, (b, after(&p)))).collect();
    Ok(super::shares::shares(options, sorted.into_iter().map(|(p, (b, after))| b.summary(p, after)).collect()))
}

impl Block {
    fn summary(self, place: Place, moves_apart: u64) -> super::shares::Summary {
        let words = self.words.iter().map(|(at, w)| (*at, w.class(), w.object)).collect();
        let causes = self.causes.into_iter().collect();
        super::shares::Summary { place, moves: self.moves, word_moves: self.word_moves, moves_apart, causes, words }
    }
}
