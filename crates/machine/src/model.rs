//! The machine type.
use crate::costs::Costs;
use crate::sections::{Bandwidth, Sections};
use crate::shape::Shape;
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
    /// A load that reaches memory while others of its thread do: none waits for the one before.
    ReadOverlapped = 4,
    /// A store likewise.
    WriteOverlapped = 5,
    /// A load whose line a hardware prefetcher has on its way.
    ReadStreamed = 6,
    /// A store likewise.
    WriteStreamed = 7,
}

impl AccessClass {
    /// Every class, each where its number says.
    pub const ALL: [AccessClass; 8] = [
        AccessClass::Read,
        AccessClass::Write,
        AccessClass::WriteBack,
        AccessClass::Free,
        AccessClass::ReadOverlapped,
        AccessClass::WriteOverlapped,
        AccessClass::ReadStreamed,
        AccessClass::WriteStreamed,
    ];
    /// The class where every miss is charged a full latency.
    pub const fn at_latency(self) -> AccessClass {
        match self {
            AccessClass::ReadOverlapped | AccessClass::ReadStreamed => AccessClass::Read,
            AccessClass::WriteOverlapped | AccessClass::WriteStreamed => AccessClass::Write,
            class => class,
        }
    }
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

/// A machine: its shape, what things cost, and optional sections.
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
    /// How many nodes there are, and their sizes.
    #[serde(flatten)]
    pub shape: Shape,
    /// What references and copies cost.
    #[serde(flatten)]
    pub cost: Costs,
    /// What else is known of it.
    #[serde(flatten)]
    pub sections: Sections,
}

/// A machine with one remote cost: the setting of the exact optimum with replication (Bolosky 1993, section 4.1).
/// Costs are per class; for each class far >= global >= near must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleRemote {
    /// Number of nodes (p).
    pub nodes: usize,
    /// Reference at a node holding the block (the thesis's 1), by [`AccessClass`].
    pub near: [Cost; AccessClass::ALL.len()],
    /// Reference to another node's copy (r); [`Cost::INFINITE`] where impossible.
    pub far: [Cost; AccessClass::ALL.len()],
    /// Reference to global memory (g), if there is some.
    pub global: Option<[Cost; AccessClass::ALL.len()]>,
    /// Copy between nodes (R).
    pub copy: Cost,
    /// Copy from or to global memory (G), if there is some.
    pub copy_global: Option<Cost>,
}

impl Machine {
    /// Number of memory nodes.
    pub fn nodes(&self) -> usize {
        self.shape.cores.len()
    }
    /// Bytes of each node's memory, where the machine says so.
    pub fn capacity_bytes(&self) -> Option<&[u64]> {
        let tiers = self.sections.tiers.as_ref().map(|t| &t.capacity_bytes);
        self.sections.capacity.as_ref().map(|c| &c.0).or(tiers).map(Vec::as_slice)
    }
    /// What the memory of the nodes serves: as the machine's section says, or as it was measured.
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        let measured = || Bandwidth::measured(self.sections.measured.as_ref()?, self.nodes());
        self.sections.bandwidth.clone().or_else(measured)
    }
    /// Cost of one access of this class by a processor of `from` to a block at `home`. [`Cost::INFINITE`] where the
    /// machine cannot do it.
    #[inline]
    pub fn access(&self, class: AccessClass, from: NodeId, home: Location) -> Cost {
        let home = match home {
            _ if class == AccessClass::Free => return Cost::ZERO,
            Location::Node(n) => n,
            Location::Global => return self.cost.global.map_or(Cost::INFINITE, |g| g.access),
        };
        if from != home && !self.cost.remote_access {
            return Cost::INFINITE;
        }
        let latency = match class.at_latency() {
            AccessClass::Read => self.cost.read.at(from, home),
            AccessClass::Write => self.cost.write.at(from, home),
            _ => return self.cost.write_back.at(from, home),
        };
        match (class, &self.sections.misses) {
            (AccessClass::ReadOverlapped | AccessClass::WriteOverlapped, Some(m)) => {
                latency.min(m.overlapped.at(from, home))
            }
            (AccessClass::ReadStreamed | AccessClass::WriteStreamed, Some(m)) => latency.min(m.streamed.at(from, home)),
            _ => latency,
        }
    }
    /// Whether whoever does not look at costs must decide alike on both machines: their shapes are equal, and both or
    /// neither have caches, global memory and references to other nodes' memory.
    pub fn decides_as(&self, other: &Machine) -> bool {
        let has = |m: &Machine| (m.cost.remote_access, m.cost.global.is_some(), m.sections.caches.is_some());
        self.shape == other.shape && has(self) == has(other)
    }
    /// Whether all nodes are alike in what costs: each as near to itself and as far from each other as any.
    pub fn is_even(&self) -> bool {
        let mut misses = self.sections.misses.iter().flat_map(|m| [&m.overlapped, &m.streamed]);
        [&self.cost.read, &self.cost.write, &self.cost.write_back].iter().all(|m| m.as_uniform().is_some())
            && misses.all(|m| m.is_even(self.nodes()))
    }
    /// Cost of copying one block of `block_bytes` between these places; zero if they are the same.
    pub fn copy_cost(&self, block_bytes: u64, from: Location, to: Location) -> Cost {
        if from == to {
            return Cost::ZERO;
        }
        let c = match (from, to) {
            (Location::Node(_), Location::Node(_)) => self.cost.copy,
            _ => match self.cost.global {
                Some(g) => g.copy,
                None => return Cost::INFINITE,
            },
        };
        c.of_words(block_bytes.div_ceil(u64::from(self.shape.word_bytes)) as i64)
    }
    /// Whether any number of equal accesses in a row may be taken for one in the search for the cheapest placement: not if a
    /// detour through global memory costs less than a copy between nodes (R > 2G), nor if its absence makes copies
    /// cheaper (R < G), since both can begin and end within equal accesses (`docs/design/optimum.md`, section 8).
    pub fn folds(&self, block_bytes: u64) -> bool {
        let Some(global) = self.cost.global.filter(|_| self.nodes() > 1) else { return true };
        let words = block_bytes.div_ceil(u64::from(self.shape.word_bytes)) as i64;
        let (copy, copy_global) = (self.cost.copy.of_words(words).0, global.copy.of_words(words).0);
        copy_global <= copy && copy <= copy_global.saturating_mul(2)
    }
    /// The single-remote-cost view, if the distances allow it; `None` on matrix machines.
    pub fn single_remote(&self, block_bytes: u64) -> Option<SingleRemote> {
        let node = |i: u16| Location::Node(NodeId(i));
        let each = |home| AccessClass::ALL.map(|class| self.access(class, NodeId(0), home));
        let other = node(if self.nodes() > 1 { 1 } else { 0 });
        self.is_even().then(|| SingleRemote {
            nodes: self.nodes(),
            near: each(node(0)),
            far: if self.cost.remote_access { each(other) } else { unreachable_but_free() },
            global: self.cost.global.map(|_| each(Location::Global)),
            copy: self.copy_cost(block_bytes, node(0), node(1)),
            copy_global: self.cost.global.map(|_| self.copy_cost(block_bytes, Location::Global, node(0))),
        })
    }
}

/// Costs of what a machine cannot do, and of what costs nothing.
fn unreachable_but_free() -> [Cost; AccessClass::ALL.len()] {
    AccessClass::ALL.map(|class| if class == AccessClass::Free { Cost::ZERO } else { Cost::INFINITE })
}
