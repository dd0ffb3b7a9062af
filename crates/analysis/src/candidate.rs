//! What might be worth changing, as data for the what-if and as words for people.
use crate::rows::FindingKind;
use homenode_base::TotalCost;

/// Something that looks worth changing. Its worth is not said here: only the replay with `remedy` applied knows it.
/// Successive candidates of one kind for one object are alternatives, the smallest change to the program first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Kind.
    pub kind: FindingKind,
    /// Object row id.
    pub object: u32,
    /// Name of the object row.
    pub name: String,
    /// Where to change the program: `file:line` of the allocation, then of the initialisation.
    pub places: Vec<String>,
    /// What is wrong, one sentence.
    pub sentence: String,
    /// What to do, one sentence.
    pub advice: String,
    /// The change as a transform of the trace.
    pub remedy: Remedy,
    /// Estimate of what it saves, for the order in which candidates are tried; no limit of what the replay may find.
    pub estimate: TotalCost,
}

/// A change to the program as a transform of its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Each block is initialised by the thread that uses it. In replay order: what initialises one of these blocks is
    /// made by the thread given for the block instead, whoever made it; from then on everything stays as recorded. First
    /// touch then homes the block at its user. A reference initialises if it is made by the block's first thread before
    /// any other thread has touched the block (while no part is in use, afterwards only if it writes another's part), or
    /// if it writes words that nobody has touched.
    InitialiseInParallel {
        /// (block number, thread that uses it), ascending by block.
        blocks: Vec<(u64, u32)>,
    },
    /// Elements get a stride of `to_bytes`, the array begins at a multiple of it and of a line. Element `i` is
    /// `addr + i * element_bytes`; a byte before the first or past the last element of a range stays where it is.
    PadElements {
        /// Arrays: (address of the first element, number of elements), ascending.
        arrays: Vec<(u64, u64)>,
        /// Stride today.
        element_bytes: u64,
        /// Stride afterwards, a multiple of the line.
        to_bytes: u64,
    },
    /// Parts of memory move into new memory, where each group begins at a line and has its parts in order of address.
    /// What is in no part stays where it is.
    Regroup {
        /// Parts.
        parts: Vec<Part>,
        /// Bytes of a line.
        line_bytes: u64,
    },
    /// Arrays whose elements are dealt out in turn become one block for each owner: the elements of `owners[k]` are all `i`
    /// with `i % owners.len() = k`; a block begins at a line and has them in order.
    DealBlocks {
        /// Arrays: (address of the first element, number of elements), and the owner of each element of a round.
        arrays: Vec<((u64, u64), Vec<u32>)>,
        /// Bytes of an element.
        element_bytes: u64,
        /// Bytes of a line.
        line_bytes: u64,
    },
    /// Every processor has a copy of these ranges for itself, on lines of its own; at the end one thread reads them all.
    CopyPerProcessor {
        /// (address, bytes), ascending.
        ranges: Vec<(u64, u64)>,
    },
    /// Every node that uses these blocks has its own copy of them, made by one of its threads.
    CopyPerNode {
        /// Block numbers, ascending.
        blocks: Vec<u64>,
        /// The thread that makes the copy, one for each node that uses the blocks.
        makers: Vec<u32>,
        /// Way in which each node gets its copy.
        making: Making,
    },
    /// Each block is used by one thread throughout, instead of by others in later phases.
    KeepParts {
        /// (block number, thread that keeps it), ascending by block.
        blocks: Vec<(u64, u32)>,
    },
    /// The units (lines, where there are caches) of each thread lie in one piece, which it also initialises.
    OneBlockPerThread {
        /// (unit number, thread that uses it), those of a thread in the order in which they are to lie.
        units: Vec<(u64, u32)>,
        /// Bytes of a unit.
        unit_bytes: u64,
    },
}

/// How a node gets its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// One of its threads does what the initialiser does, at the same time.
    Build,
    /// The node's first user copies everything, when it first uses a block.
    Copy,
}

/// Memory that moves in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// What it moves with.
    pub group: u32,
}
