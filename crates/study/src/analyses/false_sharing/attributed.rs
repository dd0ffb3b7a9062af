//! What false sharing is attributed to.
use super::component::{Component, MoveCost};
use homenode_base::NodeId;
use homenode_placement::Start;

/// Who uses a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordUse {
    /// One node.
    Own(NodeId),
    /// Several, and nobody writes it.
    ReadOnly,
    /// Several, and somebody writes it.
    Shared,
}

/// What to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// No word is used by one node beside words of others: nothing can be separated.
    Nothing,
    /// The object's parts of different nodes lie in one block: align and pad each part to a block.
    PadParts,
    /// The object lies in one block with other objects that other nodes use: give it blocks of its own.
    OwnBlocks,
    /// Words that are only read, or used by one node, lie beside words that are really shared: take them apart.
    SplitShared,
}

impl Separation {
    /// What to do, one sentence.
    pub const fn advice(self) -> &'static str {
        match self {
            Separation::Nothing => "Words are really shared; a smaller block would not help.",
            Separation::PadParts => "Align each processor's part to a block and pad it to whole blocks.",
            Separation::OwnBlocks => "Give the object blocks of its own, apart from the objects beside it.",
            Separation::SplitShared => "Keep what is shared apart from what is only read or used by one processor.",
        }
    }
}

/// False sharing of one object, or at one code location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Object row or site.
    pub id: u32,
    /// Moves its references cause.
    pub moves: u64,
    /// Lower bound of false sharing.
    pub lower: i128,
    /// Upper bound times the words of a block.
    pub upper_scaled: i128,
}

/// An object's remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectShare {
    /// Bounds of the object's false sharing.
    pub share: Share,
    /// Words used by one node, only read by several, shared; in blocks with moves.
    pub words: [u64; 3],
    /// What to change.
    pub separation: Separation,
    /// Moves that separating the words of its blocks by use saves; shared among objects as the bounds are. May be
    /// negative: what is used together is then no longer moved together.
    pub saved_moves: i64,
}

/// Everything, for one block size.
#[derive(Clone, Debug, Default)]
pub struct Attributed {
    /// Objects, largest upper bound first.
    pub objects: Vec<ObjectShare>,
    /// Code locations, largest upper bound first.
    pub sites: Vec<Share>,
    /// Blocks by upper bound, largest first, at most 64: address space, address, moves, word moves.
    pub blocks: Vec<WorstBlock>,
    /// Sums over all blocks.
    pub total: Option<Component>,
    /// Sum of the lower bounds of blocks: at least the lower bound of the sums.
    pub lower: i128,
}

/// One block with false sharing.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstBlock {
    /// Address space.
    pub space: u32,
    /// First byte.
    pub addr: u64,
    /// Bounds of the block's false sharing.
    pub component: Component,
    /// Words of the block in ascending order: (offset in words, who uses it, object).
    pub words: Vec<(u64, WordUse, u32)>,
}

/// What is attributed.
#[derive(Clone, Copy, Debug)]
pub struct AttributeOptions {
    /// Words of a block, a power of two.
    pub block_words: u64,
    /// Bytes of a word.
    pub word_bytes: u64,
    /// What moves cost.
    pub cost: MoveCost,
    /// First placement.
    pub start: Start,
}
