//! A plan for the preloaded agent, line by line. [`crate::agenttable`] makes of it the file that the agent takes; what the
//! agent answers is read by [`crate::agentresult`].
//!
//! The agent takes a plan whole or not at all: two lines about one thread, and ranges that overlap, are refused. An
//! allocation that comes with another size than the plan's gets its ranges by their share of the size, each end rounded
//! down to a byte.
use std::fmt;

/// Smallest allocation, in bytes, that [`Line::Heap`] can name.
pub const HEAP_BYTES_MIN: u64 = 4096;

/// Where a thread comes from: of the initial thread the a-th thread created, of that one the b-th, and so on, all
/// counted from 0; empty for the initial thread itself.
pub type ThreadPath = Vec<u32>;

/// A plan for the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentPlan {
    /// Build id of the executable that the plan is for, lower-case hexadecimal: other processes that see the plan leave it
    /// alone, and of several at once only the first is placed. `None`: every process.
    pub program: Option<String>,
    /// Whether the program is started as it was for the recording. Then an object whose number came with another size is
    /// first looked for among its neighbours.
    pub same_sizes: bool,
    /// The lines, in any order; results name them by their place here, from 0.
    pub lines: Vec<Line>,
}

/// Where pages are to be: numbers of nodes as the operating system counts them, below 1024.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// On one node.
    Node(u32),
    /// Page by page over these nodes in turn; at least one, none twice.
    Interleave(Vec<u32>),
}

/// What finds an allocation again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Call stack of the allocation: [`crate::stackhash::stack_hash`].
    Stack(u64),
    /// Size of the allocation.
    Size,
    /// Where the call that asks for it returns to, as linked.
    Site(u64),
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A thread runs on one processor.
    Pin {
        /// The thread.
        path: ThreadPath,
        /// Processor of the operating system, below 8192.
        cpu: u32,
    },
    /// A thread's stack lives on a node.
    Stack {
        /// The thread.
        path: ThreadPath,
        /// The node.
        node: u32,
    },
    /// A part of a module's static data.
    Static {
        /// GNU build id, lower-case hexadecimal.
        build_id: String,
        /// First byte's address as linked.
        vaddr: u64,
        /// Bytes, at least 1.
        bytes: u64,
        /// Home of the part.
        home: Home,
    },
    /// A part of an allocation of at least [`HEAP_BYTES_MIN`] bytes.
    Heap {
        /// Build id of the module that allocates; with any stack, of one that is loaded.
        build_id: String,
        /// What finds it.
        by: By,
        /// The allocating thread.
        path: ThreadPath,
        /// Earlier allocations by that thread with that stack, of that size, or from that site.
        ordinal: u64,
        /// Bytes asked for.
        size: u64,
        /// First byte, from the object's begin.
        offset: u64,
        /// Bytes, at least 1, within the object.
        bytes: u64,
        /// Home of the part.
        home: Home,
    },
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Home::Node(node) => write!(f, "n{node}"),
            Home::Interleave(nodes) => {
                write!(f, "i{}", nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Stack(hash) => write!(f, "{hash:016x}"),
            By::Size => f.write_str("*"),
            By::Site(address) => write!(f, "@{address:x}"),
        }
    }
}
