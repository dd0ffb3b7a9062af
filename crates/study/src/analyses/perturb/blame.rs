//! Where a change comes from: moves of blocks, object by object, in the recorded order and in disturbed ones.
//!
//! The count is of machines without references to other nodes (CC, DSM): reads copy, writes move, and nothing is left to
//! decide, so each move has one reference that causes it. Those machines change most (table 4.1 of Bolosky 1993), and their
//! cost beyond local references is moves times R. What lies where is taken from the recorded order: a disturbed one may ask
//! for memory before it is obtained.
use super::super::false_sharing::Holders;
use super::super::{AnalysisError, Input, input};
use super::{Filter, Interval, Perturber, Sync};
use hashbrown::HashMap;
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_placement::Start;
use homenode_sim::{Objects, ThreadBinding};
use homenode_trace::order::Stream;
use homenode_trace::{Event, Merged, Op};
use std::collections::BTreeMap;

/// One object's moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Blamed {
    /// Object row.
    pub object: u32,
    /// Name of the object.
    pub name: String,
    /// Moves in the recorded order.
    pub moves: u64,
    /// Moves under each seed.
    pub disturbed: Vec<u64>,
}

impl Blamed {
    /// Change of each seed.
    pub fn changes(&self) -> Vec<f64> {
        self.disturbed.iter().map(|d| *d as f64 - self.moves as f64).collect()
    }
    /// Mean change with its interval.
    pub fn interval(&self) -> Interval {
        Interval::of(&self.changes())
    }
}

/// Address space and address of a word.
type Word = (u32, u64);

/// Counts moves by the object of the reference that causes them.
struct Counter<'a> {
    bindings: &'a [ThreadBinding],
    start: Start,
    block_bytes: u64,
    word_bytes: u64,
    blocks: HashMap<(u32, u64), Holders>,
    moves: BTreeMap<u32, u64>,
    lies: Lies<'a>,
}

impl<'a> Counter<'a> {
    fn new(
        bindings: &'a [ThreadBinding],
        start: Start,
        (block_bytes, word_bytes): (u64, u64),
        lies: Lies<'a>,
    ) -> Counter<'a> {
        Counter { bindings, start, block_bytes, word_bytes, blocks: HashMap::new(), moves: BTreeMap::new(), lies }
    }
}

/// What lies where.
enum Lies<'a> {
    /// Found out, and noted by word.
    Found(&'a mut dyn Objects, HashMap<Word, u32>),
    /// As noted.
    Noted(&'a HashMap<Word, u32>),
}

impl Lies<'_> {
    fn object(&mut self, space: u32, addr: u64, word_bytes: u64) -> u32 {
        let word = (space, addr / word_bytes);
        match self {
            Lies::Found(objects, noted) => {
                let object = objects.at(space, addr).object;
                noted.insert(word, object);
                object
            }
            Lies::Noted(noted) => noted.get(&word).copied().unwrap_or(UNKNOWN_OBJECT),
        }
    }
}

impl Counter<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            input::pieces(r, self.block_bytes, |block, from, _| {
                let object = self.lies.object(binding.space, from, self.word_bytes);
                let holders = self.blocks.entry((binding.space, block)).or_default();
                if holders.touch(binding.node, r.op.writes(), self.start) {
                    *self.moves.entry(object).or_default() += 1;
                }
            });
        }
    }
    fn event(&mut self, event: &Event) {
        if let Lies::Found(objects, _) = &mut self.lies {
            objects.event(event);
        }
    }
}

/// Moves by object of blocks of `block_bytes` in the recorded order and in [`Input::repeats`] disturbed ones; those that
/// change most first.
///
/// # Errors
/// The trace cannot be read, the filter is out of range, or the block is no power of two.
pub fn blame(
    input: &mut Input<'_>,
    filter: Filter,
    sync: Sync,
    (block_bytes, word_bytes): (u64, u64),
) -> Result<Vec<Blamed>, AnalysisError> {
    filter.check()?;
    super::super::false_sharing::powers_of_two(block_bytes, word_bytes)?;
    let (bindings, start) = (input.bindings(), input.question.start);
    let sizes = (block_bytes, word_bytes);
    let mut objects = (input.objects)();
    let mut recorded = Counter::new(bindings, start, sizes, Lies::Found(&mut *objects, HashMap::new()));
    let mut stream = input.source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        recorded.refs(piece.refs);
        piece.event.iter().for_each(|(event, _)| recorded.event(event));
    }
    drop(stream);
    let (moves, Lies::Found(_, noted)) = (recorded.moves, recorded.lies) else { return Ok(Vec::new()) };
    let mut all: BTreeMap<u32, Blamed> = BTreeMap::new();
    let name = |object| match object {
        UNKNOWN_OBJECT => "unknown memory".to_owned(),
        known => objects.object(known).name,
    };
    let fresh = |object| Blamed { object, name: name(object), moves: 0, disturbed: vec![0; input.repeats as usize] };
    moves.into_iter().for_each(|(object, n)| all.entry(object).or_insert_with(|| fresh(object)).moves = n);
    for i in 0..input.repeats {
        let mut disturbed = Counter::new(bindings, start, sizes, Lies::Noted(&noted));
        let seed = input.seed.wrapping_add(i.into());
        let mut perturbed = Perturber::new(filter, sync, seed, bindings, input.source.stream(0)?)?;
        while let Some(piece) = perturbed.pull()? {
            disturbed.refs(piece.refs);
        }
        drop(perturbed);
        for (object, n) in disturbed.moves {
            all.entry(object).or_insert_with(|| fresh(object)).disturbed[i as usize] = n;
        }
    }
    let mut all: Vec<Blamed> = all.into_values().collect();
    let size = |b: &Blamed| b.interval().mean.abs();
    all.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.object.cmp(&b.object)));
    Ok(all)
}
