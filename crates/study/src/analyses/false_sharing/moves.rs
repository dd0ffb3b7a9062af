//! Moves of blocks of many sizes in one pass, where every reference must be local: reads copy, writes move and drop the
//! other copies, and nothing is left to decide (Bolosky 1993, section 6.1.1).
use super::super::{AnalysisError, input};
use hashbrown::HashMap;
use homenode_base::{NodeId, NodeSet};
use homenode_placement::Start;
use homenode_sim::ThreadBinding;
use homenode_trace::{Merged, Op};

/// Who holds a block.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    nodes: NodeSet,
    written: bool,
}

impl Holders {
    /// A reference by `node`; returns whether the block, or a copy of it, had to be brought. The first placement is free:
    /// of one copy, or under [`Start::FreeSet`] of as many as are used up to and with the first write.
    pub fn touch(&mut self, node: NodeId, writes: bool, start: Start) -> bool {
        let held = self.nodes.contains(node);
        let free = self.nodes.is_empty() || (start == Start::FreeSet && !self.written);
        if writes {
            self.written = true;
            self.nodes.clear();
        }
        self.nodes.insert(node);
        !held && !free
    }
    /// The nodes that hold it.
    pub fn nodes(&self) -> &NodeSet {
        &self.nodes
    }
    /// Forgets everybody but `node`.
    pub(super) fn only(&mut self, node: NodeId) {
        self.nodes = NodeSet::single(node);
        self.written = true;
    }
}

/// Address space and number of a block.
pub(super) type Place = (u32, u64);

/// Refuses sizes that addresses cannot be shifted by.
pub(crate) fn powers_of_two(block_words: u64, word_bytes: u64) -> Result<(), AnalysisError> {
    let possible = |n: u64| n.is_power_of_two() && n <= 1 << 30;
    if possible(block_words) && possible(word_bytes) {
        return Ok(());
    }
    let value = format!("{block_words} words of {word_bytes} bytes");
    Err(AnalysisError::Value { what: "a block", value, allowed: "both are powers of two, at most 2^30" })
}

/// Moves of one block size.
#[derive(Clone, Debug)]
struct Size {
    words: u64,
    moves: u64,
    blocks: HashMap<Place, Holders>,
}

/// The accumulator. Memory: some 60 bytes a block, of each size, that the trace touches.
#[derive(Clone, Debug)]
pub struct Moves<'a> {
    bindings: &'a [ThreadBinding],
    start: Start,
    word_bytes: u64,
    words: u64,
    sizes: Vec<Size>,
}

impl<'a> Moves<'a> {
    /// Nothing seen.
    ///
    /// # Errors
    /// Block or word is no power of two.
    pub fn new(
        block_words: &[u64],
        word_bytes: u64,
        start: Start,
        bindings: &'a [ThreadBinding],
    ) -> Result<Moves<'a>, AnalysisError> {
        block_words.iter().try_for_each(|words| powers_of_two(*words, word_bytes))?;
        let size = |words: &u64| Size { words: *words, moves: 0, blocks: HashMap::new() };
        Ok(Moves { bindings, start, word_bytes, words: 0, sizes: block_words.iter().map(size).collect() })
    }
    /// Words referenced, spins excepted (#T).
    pub fn words(&self) -> u64 {
        self.words
    }
    /// (words of a block, moves), in the order given.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.sizes.iter().map(|s| (s.words, s.moves)).collect()
    }
}

impl Moves<'_> {
    /// The next references of the merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            let (start, writes) = (self.start, r.op.writes());
            self.words += input::words(r, self.word_bytes);
            for size in &mut self.sizes {
                input::pieces(r, size.words * self.word_bytes, |block, _, _| {
                    let holders = size.blocks.entry((binding.space, block)).or_default();
                    size.moves += u64::from(holders.touch(binding.node, writes, start));
                });
            }
        }
    }
}
