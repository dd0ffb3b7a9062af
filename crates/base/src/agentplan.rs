//! What the preloaded agent reads: a plan as text, one item a line. The agent's reader is `crates/hooks/c/agent/parse.c`;
//! what it answers is read by [`crate::agentresult`].
//!
//! A file is [`AgentPlan`]'s `Display`. The agent takes it whole or not at all: a line that makes no sense, two lines
//! about one thread, and ranges that overlap are refused with the line's number. An allocation that comes with another size
//! than the plan's gets its ranges by their share of the size, each end rounded down to a byte.
use std::fmt;

/// How the first line of every file of this version begins.
pub const FIRST_WORDS: &str = "homenode-agent-plan 2";

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
    /// The items; line `i` of them is line `i + 2` of the file.
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
    /// Its call stack: [`crate::stackhash::stack_hash`].
    Stack(u64),
    /// Its size.
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
        /// Its home.
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
        /// Its home.
        home: Home,
    },
}

fn path_text(path: &[u32]) -> String {
    if path.is_empty() {
        return "-".to_string();
    }
    path.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
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

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Pin { path, cpu } => write!(f, "pin {} {cpu}", path_text(path)),
            Line::Stack { path, node } => write!(f, "stack {} {node}", path_text(path)),
            Line::Static { build_id, vaddr, bytes, home } => write!(f, "static {build_id} {vaddr:x} {bytes} {home}"),
            Line::Heap { build_id, by, path, ordinal, size, offset, bytes, home } => {
                let path = path_text(path);
                write!(f, "heap {build_id} {by} {path} {ordinal} {size} {offset} {bytes} {home}")
            }
        }
    }
}

impl fmt::Display for AgentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = if self.same_sizes { "same" } else { "other" };
        writeln!(f, "{FIRST_WORDS} {} {sizes}", self.program.as_deref().unwrap_or("-"))?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_every_kind() {
        let build_id = "0011aa".to_string();
        let plan = AgentPlan {
            program: Some("00ff".to_string()),
            same_sizes: true,
            lines: vec![
                Line::Pin { path: vec![], cpu: 3 },
                Line::Stack { path: vec![0, 2], node: 1 },
                Line::Static { build_id: build_id.clone(), vaddr: 0x40c0, bytes: 4096, home: Home::Node(2) },
                Line::Heap {
                    build_id,
                    by: By::Site(0x1f0),
                    path: vec![7],
                    ordinal: 1,
                    size: 9000,
                    offset: 16,
                    bytes: 8000,
                    home: Home::Interleave(vec![0, 3]),
                },
            ],
        };
        let text = "homenode-agent-plan 2 00ff same\npin - 3\nstack 0.2 1\nstatic 0011aa 40c0 4096 n2\n\
                    heap 0011aa @1f0 7 1 9000 16 8000 i0,3\nend\n";
        assert_eq!(plan.to_string(), text);
    }
}
