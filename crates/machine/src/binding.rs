//! Which processor, and so which node, each recorded thread runs on: `--map`.
//!
//! | written | thread i of T |
//! |---|---|
//! | `sockets` (default) | node floor(i x nodes / T), the processors of a node in turn |
//! | `compact` | processor i: the first node is filled first |
//! | `spread` | node i modulo nodes, the processors of a node in turn |
//! | `0,1,8,9` | the i-th processor listed |
//! | `0=cpu3,1=node1` | as written for the threads named, by default for the others |
//!
//! Memory-only nodes take no threads. *Thread i of T* counts only threads that made references, in order of their
//! dataset ids: a thread that made none has no place to be near to. A first thread that only initialises and then waits
//! does count, and disturbs nothing: with W workers behind it floor(i x nodes / (W + 1)) puts workers 1 to W into the
//! same equal groups as floor((i - 1) x nodes / W) wherever the number of nodes divides W. Threads that never ran at
//! the same time count as well. Where threads outnumber the processors of their node they share them in turn, and a
//! warning says so.
use crate::model::Machine;
use homenode_base::{CpuId, NodeId, ThreadId};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Where a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Processor.
    pub cpu: CpuId,
    /// Its node.
    pub node: NodeId,
}

/// A rule that seats threads: what `--map` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MapRule {
    /// Equal groups of consecutive threads, one a node.
    #[default]
    Sockets,
    /// Fill the first node, then the second.
    Compact,
    /// Round robin over nodes.
    Spread,
    /// These processors, in order of threads; begun anew when used up.
    List(Vec<CpuId>),
    /// These threads here, the others as [`MapRule::Sockets`] has them.
    Pairs(BTreeMap<ThreadId, Target>),
}

/// What a thread can be pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A processor.
    Cpu(CpuId),
    /// The processors of a node in turn.
    Node(NodeId),
}

/// Why threads cannot be seated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Not of a known form.
    #[error(
        "cannot read '{part}' in the thread map '{map}': write sockets, compact, spread, 0,1,8,9 or 0=cpu3,1=node1"
    )]
    Syntax {
        /// All that was written.
        map: String,
        /// The part that has no meaning.
        part: String,
    },
    /// A thread named twice.
    #[error("the thread map names thread {0} twice")]
    Twice(ThreadId),
    /// A thread that the recording does not have.
    #[error("the thread map names thread {thread}, but the recording has threads 0 to {last}")]
    NoThread {
        /// Thread.
        thread: ThreadId,
        /// Highest thread id.
        last: u32,
    },
    /// A processor that the machine does not have.
    #[error("machine {machine} has no processor {cpu}: they are 0 to {last}")]
    NoCpu {
        /// Processor.
        cpu: CpuId,
        /// Machine.
        machine: String,
        /// Highest processor.
        last: usize,
    },
    /// A node that the machine does not have, or that has no processors.
    #[error("machine {machine} has no node {node} with processors: such nodes are {allowed}")]
    NoNode {
        /// Node.
        node: NodeId,
        /// Machine.
        machine: String,
        /// Nodes with processors.
        allowed: String,
    },
}

impl FromStr for MapRule {
    type Err = MapError;
    fn from_str(map: &str) -> Result<MapRule, MapError> {
        let syntax = |part: &str| MapError::Syntax { map: map.into(), part: part.into() };
        match map.trim() {
            "sockets" => return Ok(MapRule::Sockets),
            "compact" => return Ok(MapRule::Compact),
            "spread" => return Ok(MapRule::Spread),
            _ => {}
        }
        let parts: Vec<&str> = map.split(',').map(str::trim).collect();
        if !map.contains('=') {
            let cpu = |part: &&str| part.parse().map(CpuId).map_err(|_| syntax(part));
            return Ok(MapRule::List(parts.iter().map(cpu).collect::<Result<_, _>>()?));
        }
        let mut pairs = BTreeMap::new();
        for part in parts {
            let (thread, target) = pair(part).ok_or_else(|| syntax(part))?;
            if pairs.insert(thread, target).is_some() {
                return Err(MapError::Twice(thread));
            }
        }
        Ok(MapRule::Pairs(pairs))
    }
}

/// Reads `1=node1` or `0=cpu3`.
fn pair(part: &str) -> Option<(ThreadId, Target)> {
    let (thread, target) = part.split_once('=')?;
    let target = target.trim();
    let target = match target.strip_prefix("cpu") {
        Some(cpu) => Target::Cpu(CpuId(cpu.parse().ok()?)),
        None => Target::Node(NodeId(target.strip_prefix("node")?.parse().ok()?)),
    };
    Some((ThreadId(thread.trim().parse().ok()?), target))
}

impl fmt::Display for MapRule {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            MapRule::Sockets => return f.write_str("sockets"),
            MapRule::Compact => return f.write_str("compact"),
            MapRule::Spread => return f.write_str("spread"),
            MapRule::List(cpus) => cpus.iter().map(CpuId::to_string).collect::<Vec<_>>(),
            MapRule::Pairs(pairs) => pairs
                .iter()
                .map(|(thread, target)| match target {
                    Target::Cpu(cpu) => format!("{thread}=cpu{cpu}"),
                    Target::Node(node) => format!("{thread}=node{node}"),
                })
                .collect(),
        };
        f.write_str(&list.join(","))
    }
}

impl Machine {
    /// Number of processors.
    pub fn cpus(&self) -> usize {
        self.cores.iter().map(|n| usize::from(*n)).sum()
    }
    /// The node of a processor; they are numbered node by node.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        let mut left = cpu.index();
        for (node, cores) in self.cores.iter().enumerate() {
            match left.checked_sub(usize::from(*cores)) {
                None => return Some(NodeId(node as u16)),
                Some(rest) => left = rest,
            }
        }
        None
    }
    /// The first processor of a node.
    fn first_cpu(&self, node: NodeId) -> usize {
        self.cores[..node.index()].iter().map(|n| usize::from(*n)).sum()
    }
}

/// Every thread's seat on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMap {
    seats: Vec<Seat>,
    warnings: Vec<String>,
}

impl ThreadMap {
    /// Seats the threads of a recording. `refs[i]` is the number of references of thread i; threads without any sit
    /// where the first thread sits. The machine must be valid ([`Machine::validate`]).
    pub fn new(machine: &Machine, rule: &MapRule, refs: &[u64]) -> Result<ThreadMap, MapError> {
        let active: Vec<usize> = (0..refs.len()).filter(|t| refs[*t] > 0).collect();
        let mut hall = Hall::new(machine);
        let mut seats: Vec<Option<Seat>> = vec![None; refs.len()];
        if let MapRule::Pairs(pairs) = rule {
            let last = refs.len().saturating_sub(1) as u32;
            if let Some(thread) = pairs.keys().copied().find(|t| t.index() >= refs.len()) {
                return Err(MapError::NoThread { thread, last });
            }
            for (thread, target) in pairs {
                seats[thread.index()] = Some(hall.pin(*target)?);
            }
        }
        for (i, &thread) in active.iter().enumerate() {
            if seats[thread].is_none() {
                seats[thread] = Some(hall.seat(rule, i, active.len())?);
            }
        }
        let first = seats.iter().flatten().next().copied().unwrap_or(Seat { cpu: CpuId(0), node: hall.nodes[0] });
        let shared = active.iter().filter_map(|t| seats[*t]);
        let warnings = hall.warnings(shared, active.len());
        Ok(ThreadMap { seats: seats.into_iter().map(|s| s.unwrap_or(first)).collect(), warnings })
    }

    /// Seat of a thread; panics if the recording has no such thread, as slices do.
    pub fn seat(&self, thread: ThreadId) -> Seat {
        self.seats[thread.index()]
    }
    /// All seats, by thread.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }
    /// Sentences for the reader: processors that threads share.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Processors while threads are being seated.
struct Hall<'m> {
    machine: &'m Machine,
    /// Nodes with processors.
    nodes: Vec<NodeId>,
    /// Threads seated so far, by node: the next takes the next processor.
    taken: Vec<usize>,
}

impl<'m> Hall<'m> {
    fn new(machine: &'m Machine) -> Hall<'m> {
        let nodes = (0..machine.nodes() as u16).map(NodeId).filter(|n| machine.cores[n.index()] > 0).collect();
        Hall { machine, nodes, taken: vec![0; machine.nodes()] }
    }

    /// Seat of the i-th of `threads` active threads by the rule.
    fn seat(&mut self, rule: &MapRule, i: usize, threads: usize) -> Result<Seat, MapError> {
        match rule {
            MapRule::Sockets | MapRule::Pairs(_) => Ok(self.next(self.nodes[i * self.nodes.len() / threads])),
            MapRule::Spread => Ok(self.next(self.nodes[i % self.nodes.len()])),
            MapRule::Compact => self.pin(Target::Cpu(CpuId((i % self.machine.cpus()) as u16))),
            MapRule::List(cpus) => self.pin(Target::Cpu(cpus[i % cpus.len()])),
        }
    }

    fn next(&mut self, node: NodeId) -> Seat {
        let turn = self.taken[node.index()] % usize::from(self.machine.cores[node.index()]);
        self.taken[node.index()] += 1;
        Seat { cpu: CpuId((self.machine.first_cpu(node) + turn) as u16), node }
    }

    fn pin(&mut self, target: Target) -> Result<Seat, MapError> {
        let machine = || self.machine.name.clone();
        match target {
            Target::Cpu(cpu) => match self.machine.node_of(cpu) {
                Some(node) => Ok(Seat { cpu, node }),
                None => Err(MapError::NoCpu { cpu, machine: machine(), last: self.machine.cpus() - 1 }),
            },
            Target::Node(node) if self.nodes.contains(&node) => Ok(self.next(node)),
            Target::Node(node) => {
                let allowed = self.nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ");
                Err(MapError::NoNode { node, machine: machine(), allowed })
            }
        }
    }

    fn warnings(&self, seats: impl Iterator<Item = Seat>, threads: usize) -> Vec<String> {
        let mut users = vec![0u32; self.machine.cpus()];
        seats.for_each(|s| users[s.cpu.index()] += 1);
        let shared = users.iter().filter(|n| **n > 1).count();
        if shared == 0 {
            return Vec::new();
        }
        let (name, cpus) = (&self.machine.name, self.machine.cpus());
        vec![format!("{threads} threads on the {cpus} processors of {name}: {shared} of them run more than one thread")]
    }
}
