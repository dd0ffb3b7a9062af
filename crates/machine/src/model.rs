//! The machine type.
use homenode_base::{Cost, NodeId};
use serde::{Deserialize, Serialize};

/// Where a copy of a block can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// Memory of a node.
    Node(NodeId),
    /// Memory equally far from all nodes (ACE).
    Global,
}

/// What kind of memory access is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum AccessClass {
    /// A load that reaches memory.
    #[default]
    Read = 0,
    /// A store that reaches memory.
    Write = 1,
    /// A dirty line leaving a cache.
    WriteBack = 2,
    /// Costs nothing but may change a page's state: first read hit, store hit, silent E to M upgrade.
    Free = 3,
}

/// A dense square matrix over nodes, row = from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    n: usize,
    cells: Vec<Cost>,
}

impl Matrix {
    /// The matrix with these rows; `None` unless it is square and not empty.
    pub fn from_rows(rows: &[Vec<Cost>]) -> Option<Matrix> {
        let n = rows.len();
        (n > 0 && rows.iter().all(|r| r.len() == n)).then(|| Matrix { n, cells: rows.concat() })
    }
    /// `near` on the diagonal, `far` elsewhere.
    pub fn uniform(n: usize, near: Cost, far: Cost) -> Matrix {
        let cells = (0..n * n).map(|i| if i / n == i % n { near } else { far }).collect();
        Matrix { n, cells }
    }
    /// Number of rows.
    pub fn nodes(&self) -> usize {
        self.n
    }
    /// The cell; panics if a node does not exist.
    #[inline]
    pub fn at(&self, from: NodeId, to: NodeId) -> Cost {
        self.cells[from.index() * self.n + to.index()]
    }
    /// The rows.
    pub fn rows(&self) -> Vec<Vec<Cost>> {
        self.cells.chunks(self.n).map(<[Cost]>::to_vec).collect()
    }
    /// `Some((near, far))` if all diagonal cells and all others are equal.
    pub fn as_uniform(&self) -> Option<(Cost, Cost)> {
        let near = self.cells[0];
        let far = if self.n > 1 { self.cells[1] } else { near };
        (*self == Matrix::uniform(self.n, near, far)).then_some((near, far))
    }
}

/// A cost that grows with the size of a block: `fixed + per_word * words`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearCost {
    /// Fault, mapping and bookkeeping, per block.
    pub fixed: Cost,
    /// Per machine word ([`Machine::word_bytes`]).
    pub per_word: Cost,
}

/// Cost of copying a block: `fixed + per_word * words`, or `at_most` if that is less (a machine with two ways of
/// copying, such as word by word and through global memory).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyCost {
    /// Fault, mapping and bookkeeping, per block.
    pub fixed: Cost,
    /// Per machine word ([`Machine::word_bytes`]).
    pub per_word: Cost,
    /// The other way of copying, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<LinearCost>,
}

impl LinearCost {
    /// Cost of a block of this many words.
    pub fn of_words(self, words: i64) -> Cost {
        self.fixed + self.per_word * words
    }
}

impl CopyCost {
    /// `fixed + per_word * words` and nothing else.
    pub const fn linear(fixed: Cost, per_word: Cost) -> CopyCost {
        CopyCost { fixed, per_word, at_most: None }
    }
    /// Cost of a block of this many words.
    pub fn of_words(self, words: i64) -> Cost {
        let cost = LinearCost { fixed: self.fixed, per_word: self.per_word }.of_words(words);
        self.at_most.map_or(cost, |other| cost.min(other.of_words(words)))
    }
}

/// Memory equally far from all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalMemory {
    /// One reference (g).
    pub access: Cost,
    /// Copying between global and any node (G).
    pub copy: CopyCost,
}

/// Per-core private cache and shared last level per node; MESI at line size, set-associative, LRU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// Line size, a power of two.
    pub line_bytes: u32,
    /// Private cache of each core.
    pub private: CacheGeometry,
    /// Last level of each node.
    pub shared: CacheGeometry,
    /// Cache-to-cache transfer between cores of one node: a constant of its block, whatever the placement.
    pub transfer_near: Cost,
    /// Cache-to-cache transfer between nodes.
    pub transfer_far: Cost,
}

/// Size and associativity of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheGeometry {
    /// Capacity in bytes; a multiple of ways times line.
    pub bytes: u64,
    /// Lines per set.
    pub ways: u32,
}

/// Unit of all costs of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Picoseconds.
    Picoseconds,
    /// A historical quantum, in words ("local reference of the ACE").
    Quantum(String),
}

impl std::fmt::Display for Unit {
    /// `ps`, or the quantum in words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unit::Picoseconds => f.write_str("ps"),
            Unit::Quantum(words) => f.write_str(words),
        }
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Short name, as on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where each number comes from.
    pub sources: Vec<String>,
    /// Unit of every cost.
    pub unit: Unit,
    /// Processors of each node; length = number of nodes. A node may have none (memory only).
    pub cores: Vec<u16>,
    /// Bytes of a machine word: a longer reference counts as one reference per word it touches (machines without
    /// caches; with caches, per line).
    pub word_bytes: u32,
    /// Size of a placement block when the user names none.
    pub page_bytes: u64,
    /// Load: row = node of the processor, column = home.
    pub read: Matrix,
    /// Store.
    pub write: Matrix,
    /// Write-back, row = evicting node.
    pub write_back: Matrix,
    /// Whether a processor can reference memory of another node at all (false: r is infinite, CC and DSM).
    pub remote_access: bool,
    /// Copying a block between two nodes (R), multiplied by nothing: one cost for all pairs.
    pub copy: CopyCost,
    /// Global memory if there is some.
    pub global: Option<GlobalMemory>,
    /// Caches if there are some; without, every reference is charged.
    pub caches: Option<Caches>,
}

/// A machine with one remote cost: the setting of the exact optimum with replication (Bolosky 1993, section 4.1).
/// Costs are per class; for each class far >= global >= near must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleRemote {
    /// Number of nodes (p).
    pub nodes: usize,
    /// Reference at a node holding the block (the thesis's 1), by [`AccessClass`].
    pub near: [Cost; 4],
    /// Reference to another node's copy (r); [`Cost::INFINITE`] where impossible.
    pub far: [Cost; 4],
    /// Reference to global memory (g), if there is some.
    pub global: Option<[Cost; 4]>,
    /// Copy between nodes (R).
    pub copy: Cost,
    /// Copy from or to global memory (G), if there is some.
    pub copy_global: Option<Cost>,
}

impl Machine {
    /// Number of memory nodes.
    pub fn nodes(&self) -> usize {
        self.cores.len()
    }
    /// Cost of one access of this class by a processor of `from` to a block at `home`. [`Cost::INFINITE`] where the
    /// machine cannot do it.
    #[inline]
    pub fn access(&self, class: AccessClass, from: NodeId, home: Location) -> Cost {
        let home = match home {
            _ if class == AccessClass::Free => return Cost::ZERO,
            Location::Node(n) => n,
            Location::Global => return self.global.map_or(Cost::INFINITE, |g| g.access),
        };
        if from != home && !self.remote_access {
            return Cost::INFINITE;
        }
        match class {
            AccessClass::Read => self.read.at(from, home),
            AccessClass::Write => self.write.at(from, home),
            _ => self.write_back.at(from, home),
        }
    }
    /// Whether all nodes are alike in what costs: each as near to itself and as far from each other as any.
    pub fn is_even(&self) -> bool {
        [&self.read, &self.write, &self.write_back].iter().all(|m| m.as_uniform().is_some())
    }
    /// Cost of copying one block of `block_bytes` between these places; zero if they are the same.
    pub fn copy_cost(&self, block_bytes: u64, from: Location, to: Location) -> Cost {
        if from == to {
            return Cost::ZERO;
        }
        let c = match (from, to) {
            (Location::Node(_), Location::Node(_)) => self.copy,
            _ => match self.global {
                Some(g) => g.copy,
                None => return Cost::INFINITE,
            },
        };
        c.of_words(block_bytes.div_ceil(u64::from(self.word_bytes)) as i64)
    }
    /// Whether any number of equal accesses in a row may be taken for one in the search for the cheapest placement: not if a
    /// detour through global memory costs less than a copy between nodes (R > 2G), nor if its absence makes copies
    /// cheaper (R < G), since both can begin and end within equal accesses (`docs/design/optimum.md`, section 8).
    pub fn folds(&self, block_bytes: u64) -> bool {
        let Some(global) = self.global.filter(|_| self.nodes() > 1) else { return true };
        let words = block_bytes.div_ceil(u64::from(self.word_bytes)) as i64;
        let (copy, copy_global) = (self.copy.of_words(words).0, global.copy.of_words(words).0);
        copy_global <= copy && copy <= copy_global.saturating_mul(2)
    }
    /// The single-remote-cost view, if the distances allow it; `None` on matrix machines.
    pub fn single_remote(&self, block_bytes: u64) -> Option<SingleRemote> {
        let pairs = [self.read.as_uniform()?, self.write.as_uniform()?, self.write_back.as_uniform()?];
        let far = |i: usize| if self.remote_access { pairs[i].1 } else { Cost::INFINITE };
        let node = |i: u16| Location::Node(NodeId(i));
        Some(SingleRemote {
            nodes: self.nodes(),
            near: [pairs[0].0, pairs[1].0, pairs[2].0, Cost::ZERO],
            far: [far(0), far(1), far(2), Cost::ZERO],
            global: self.global.map(|g| [g.access, g.access, g.access, Cost::ZERO]),
            copy: self.copy_cost(block_bytes, node(0), node(1)),
            copy_global: self.global.map(|_| self.copy_cost(block_bytes, Location::Global, node(0))),
        })
    }
}
