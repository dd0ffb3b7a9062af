//! Changes to a program as transforms of its trace: what candidates propose and the what-if replays.
use homenode_machine::Location;

/// A change to the program, or to where its blocks live, as a transform of its trace. Addresses and block numbers are flat
/// (of one address space: as recorded).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// What initialises each block is done by the thread given for it: what a parallel initialisation would do. A
    /// plain write to words that nobody has touched initialises; so does what a block's first thread does with another's
    /// block before any other thread has touched that, of which only writes once parts are in use. No reference is
    /// left out.
    InitialiseInParallel {
        /// (block number, thread that uses it).
        blocks: Vec<(u64, u32)>,
    },
    /// Array elements move apart into memory of their own: element `i` of the array at `addr` lies at
    /// `fresh + i * to_bytes`. Bytes outside the elements stay where they are.
    PadElements {
        /// (address of the first element, number of elements).
        arrays: Vec<(u64, u64)>,
        /// Stride today, at least 1.
        element_bytes: u64,
        /// Stride afterwards, at least `element_bytes`.
        to_bytes: u64,
    },
    /// Parts of memory move into memory of their own, where each group begins at a line and has its parts in order of
    /// address, one after the other. Bytes outside the parts stay where they are.
    Regroup {
        /// Parts; one that overlaps an earlier one stays where it is.
        parts: Vec<Part>,
        /// Bytes of a line.
        line_bytes: u64,
    },
    /// Arrays whose elements are dealt out in turn become one block for each owner, which begins at a line and has its
    /// elements in order.
    DealBlocks {
        /// (address of the first element, number of elements), and the owner of each element of a round.
        arrays: Vec<((u64, u64), Vec<u32>)>,
        /// Bytes of an element, at least 1.
        element_bytes: u64,
        /// Bytes of a line.
        line_bytes: u64,
    },
    /// Every processor has a copy of these ranges for itself, on lines of its own. At the end the first thread reads all
    /// copies, line by line.
    CopyPerProcessor {
        /// (address, bytes).
        ranges: Vec<(u64, u64)>,
    },
    /// Blocks live at the places given for them instead of where they are first touched.
    Rehome {
        /// (block number, home).
        homes: Vec<(u64, Location)>,
    },
    /// Each node that uses these blocks has a copy of its own, the home's node the original; reads go to the reader's copy,
    /// writes after the initialisation to all. What making the copies costs is part of the replay.
    CopyPerNode {
        /// Block numbers, ascending.
        blocks: Vec<u64>,
        /// The thread that makes the copy, one for each node that gets one.
        makers: Vec<u32>,
        /// Way in which each node gets its copy.
        making: Making,
    },
    /// All references to these blocks are made by the threads given for them: parts that change hands no more.
    KeepParts {
        /// (block number, thread that keeps it).
        blocks: Vec<(u64, u32)>,
    },
    /// The units of each thread follow each other in memory of their own, which begins at a block, in the order in which the
    /// thread comes to them, and each thread initialises its own: a cure for blocks of which each node uses a part.
    /// [`Regroup`](Self::Regroup) is the one for lines of which each processor does: nobody's work changes hands, groups
    /// begin at lines.
    OneBlockPerThread {
        /// (unit number, thread that it belongs to), those of a thread in the order in which they are to lie.
        units: Vec<(u64, u32)>,
        /// Bytes of a unit, a power of two.
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
