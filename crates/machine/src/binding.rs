//! Which processor, and so which node, each recorded thread runs on: `--map`.
//!
//! | written | thread in place i of T |
//! |---|---|
//! | `sockets` (default) | node floor(i x nodes / T), the processors of a node in turn |
//! | `compact` | processor i: the first node is filled first |
//! | `spread` | node i modulo nodes, the processors of a node in turn |
//! | `0,1,8,9` | the i-th processor listed |
//! | `0=cpu3,1=node1` | as written for the threads named, by default for the others |
//! | `recorded` | where the recorded affinity calls put it ([`crate::affinity`]); the default where there are any |
//!
//! Memory-only nodes take no threads. Only threads that made references have a place: a thread that made none has nothing
//! to be near to. Places are those of threads that lived at the same time ([`ThreadTable`]): a thread takes the first one that no living
//! thread has, and T counts the places of those that live beside it at any time of its life. So a program that makes
//! new threads for every phase is bound like one that keeps a pool. A first thread that only initialises and then waits
//! has a place, and disturbs nothing: with W workers behind it floor(i x nodes / (W + 1)) puts workers 1 to W into the
//! same equal groups as floor((i - 1) x nodes / W) wherever the number of nodes divides W.
//!
//! Where threads that live at the same time outnumber the processors of their node they share them, and a warning says so.
use crate::affinity::{Orders, Verdict};
use crate::model::Machine;
use crate::thread_table::{Member, ThreadTable};
use homenode_base::{CpuId, NodeId, ThreadId};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Where a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuBinding {
    /// Processor.
    pub cpu: CpuId,
    /// Node of the processor.
    pub node: NodeId,
}

/// A rule that binds threads: what `--map` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MapRule {
    /// Equal groups of consecutive threads, one a node.
    #[default]
    Sockets,
    /// Fill the first node, then the second.
    Compact,
    /// Round robin over nodes.
    Spread,
    /// Processors, in order of threads; begun anew when used up.
    List(Vec<CpuId>),
    /// Targets of some threads, the others as [`MapRule::Sockets`] has them.
    Pairs(BTreeMap<ThreadId, Target>),
    /// Where the recorded affinity calls put them, the others as [`MapRule::Sockets`] has them.
    Recorded,
}

/// What a thread can be pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A processor.
    Cpu(CpuId),
    /// The processors of a node in turn.
    Node(NodeId),
}

/// Why threads cannot be bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Not of a known form.
    #[error(
        "cannot read '{part}' in the thread map '{map}': write sockets, compact, spread, recorded, 0,1,8,9 or 0=cpu3,1=node1"
    )]
    Syntax {
        /// All that was written.
        map: String,
        /// The part that has no meaning.
        part: String,
    },
    /// Nothing to follow.
    #[error(
        "no affinity call was recorded that says where threads run: write sockets, compact, spread, 0,1,8,9 or 0=cpu3,1=node1"
    )]
    NothingRecorded,
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
            "recorded" => return Ok(MapRule::Recorded),
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
            MapRule::Recorded => return f.write_str("recorded"),
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
        self.shape.cores.iter().map(|n| usize::from(*n)).sum()
    }
    /// The node of a processor; they are numbered node by node.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        let mut left = cpu.index();
        for (node, cores) in self.shape.cores.iter().enumerate() {
            match left.checked_sub(usize::from(*cores)) {
                None => return Some(NodeId(node as u16)),
                Some(rest) => left = rest,
            }
        }
        None
    }
    /// The first processor of a node.
    fn first_cpu(&self, node: NodeId) -> usize {
        self.shape.cores[..node.index()].iter().map(|n| usize::from(*n)).sum()
    }
}

/// Every thread's binding on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMap {
    bindings: Vec<CpuBinding>,
    summary: BindingSummary,
}

/// How threads were bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingSummary {
    /// The rule, as `--map` takes it.
    pub rule: String,
    /// Threads with references.
    pub threads: u32,
    /// Of these, so many lived at once at most.
    pub most_at_once: u32,
    /// Name of the machine.
    pub machine: String,
    /// Processors of the machine.
    pub cpus: u32,
    /// Processors that run more than one thread at the same time.
    pub shared_cpus: u32,
    /// Threads that sit where recorded affinity puts them.
    pub pinned: u32,
    /// What else is to be said of it; may be empty.
    pub note: String,
}

impl ThreadMap {
    /// Binds the threads of a recording by `rule`; `None` is the default: recorded affinity where it says something, else [`MapRule::Sockets`]. Threads without references sit where the first thread sits. The machine must be valid
    /// ([`Machine::validate`]).
    pub fn new(machine: &Machine, rule: Option<&MapRule>, thread_table: &ThreadTable) -> Result<ThreadMap, MapError> {
        let mut hall = Hall::new(machine);
        let mut bindings: Vec<Option<CpuBinding>> = vec![None; thread_table.len()];
        if let Some(MapRule::Pairs(pairs)) = rule {
            let last = thread_table.len().saturating_sub(1) as u32;
            if let Some(thread) = pairs.keys().copied().find(|t| t.index() >= thread_table.len()) {
                return Err(MapError::NoThread { thread, last });
            }
            for (thread, target) in pairs {
                let slot = thread_table.members[thread.index()].as_ref().map(|m| m.slot);
                bindings[thread.index()] = Some(hall.pin(*target, slot)?);
            }
        }
        let (rule, orders, note) = decide(machine, rule, thread_table)?;
        let mut pinned = 0;
        for (thread, cpu) in orders {
            bindings[thread] = Some(hall.pin(Target::Cpu(cpu), None)?);
            pinned += 1;
        }
        for &thread in &thread_table.order {
            let Some(member) = &thread_table.members[thread] else { continue };
            if bindings[thread].is_none() {
                bindings[thread] = Some(hall.binding(rule, member)?);
            }
        }
        let first =
            bindings.iter().flatten().next().copied().unwrap_or(CpuBinding { cpu: CpuId(0), node: hall.nodes[0] });
        let summary = BindingSummary {
            rule: rule.to_string(),
            threads: thread_table.active() as u32,
            most_at_once: thread_table.most_at_once(),
            machine: machine.name.clone(),
            cpus: machine.cpus() as u32,
            shared_cpus: shared_cpus(machine.cpus(), thread_table, &bindings),
            pinned,
            note,
        };
        Ok(ThreadMap { bindings: bindings.into_iter().map(|s| s.unwrap_or(first)).collect(), summary })
    }

    /// CPU binding of a thread; panics if the recording has no such thread, as slices do.
    pub fn binding(&self, thread: ThreadId) -> CpuBinding {
        self.bindings[thread.index()]
    }
    /// All bindings, by thread.
    pub fn bindings(&self) -> &[CpuBinding] {
        &self.bindings
    }
    /// How they came about.
    pub fn summary(&self) -> &BindingSummary {
        &self.summary
    }
    /// Sentences for the reader: processors that threads share.
    pub fn warnings(&self) -> Vec<String> {
        let b = &self.summary;
        if b.shared_cpus == 0 {
            return Vec::new();
        }
        let threads = match b.most_at_once < b.threads {
            true => format!("{} threads, at most {} at once,", b.threads, b.most_at_once),
            false => format!("{} threads", b.threads),
        };
        let (name, cpus, shared) = (&b.machine, b.cpus, b.shared_cpus);
        vec![format!("{threads} on the {cpus} processors of {name}: {shared} of them run more than one thread at once")]
    }
}

/// A rule, the processors of the threads that it does not decide about, and what is said of it.
type Bound<'r> = (&'r MapRule, Vec<(usize, CpuId)>, String);

/// The rule to go by, where recorded affinity puts which threads, and what is to be said of it.
fn decide<'r>(machine: &Machine, rule: Option<&'r MapRule>, thread_table: &ThreadTable) -> Result<Bound<'r>, MapError> {
    match rule {
        Some(MapRule::Recorded) => match Orders::of(thread_table) {
            Some(orders) => {
                let (bindings, note) = orders.bindings(machine, thread_table);
                Ok((&MapRule::Recorded, bindings, note))
            }
            None => Err(MapError::NothingRecorded),
        },
        Some(rule) => Ok((rule, Vec::new(), String::new())),
        None => match Orders::of(thread_table).map(|orders| (orders.verdict(machine, thread_table), orders)) {
            None => Ok((&MapRule::Sockets, Vec::new(), String::new())),
            Some((Verdict::Leave(note), _)) => Ok((&MapRule::Sockets, Vec::new(), note)),
            Some((Verdict::Follow, orders)) => {
                let (bindings, note) = orders.bindings(machine, thread_table);
                Ok((&MapRule::Recorded, bindings, note))
            }
        },
    }
}

/// Processors with threads that live at the same time.
fn shared_cpus(cpus: usize, thread_table: &ThreadTable, bindings: &[Option<CpuBinding>]) -> u32 {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); cpus];
    for &thread in &thread_table.order {
        if let Some(binding) = bindings[thread] {
            users[binding.cpu.index()].push(thread);
        }
    }
    let shared =
        |on: &Vec<usize>| on.iter().enumerate().any(|(i, &a)| on[..i].iter().any(|&b| thread_table.overlap(a, b)));
    users.iter().filter(|on| shared(on)).count() as u32
}

/// Processors while threads are being bound.
struct Hall<'m> {
    machine: &'m Machine,
    /// Nodes with processors.
    nodes: Vec<NodeId>,
    /// Places bound so far, by node: the next takes the next processor.
    taken: Vec<usize>,
    /// Processors of places, by node: threads in one place never meet.
    given: BTreeMap<(NodeId, u32), CpuBinding>,
}

impl<'m> Hall<'m> {
    fn new(machine: &'m Machine) -> Hall<'m> {
        let nodes = (0..machine.nodes() as u16).map(NodeId).filter(|n| machine.shape.cores[n.index()] > 0).collect();
        Hall { machine, nodes, taken: vec![0; machine.nodes()], given: BTreeMap::new() }
    }

    /// CPU binding of a thread by the rule.
    fn binding(&mut self, rule: &MapRule, member: &Member) -> Result<CpuBinding, MapError> {
        let (i, of, slot) = (member.slot as usize, member.of as usize, Some(member.slot));
        match rule {
            MapRule::Sockets | MapRule::Pairs(_) | MapRule::Recorded => {
                Ok(self.next(self.nodes[i * self.nodes.len() / of], slot))
            }
            MapRule::Spread => Ok(self.next(self.nodes[i % self.nodes.len()], slot)),
            MapRule::Compact => self.pin(Target::Cpu(CpuId((i % self.machine.cpus()) as u16)), slot),
            MapRule::List(cpus) => self.pin(Target::Cpu(cpus[i % cpus.len()]), slot),
        }
    }

    fn next(&mut self, node: NodeId, slot: Option<u32>) -> CpuBinding {
        if let Some(binding) = slot.and_then(|s| self.given.get(&(node, s))) {
            return *binding;
        }
        let turn = self.taken[node.index()] % usize::from(self.machine.shape.cores[node.index()]);
        self.taken[node.index()] += 1;
        let binding = CpuBinding { cpu: CpuId((self.machine.first_cpu(node) + turn) as u16), node };
        slot.map(|s| self.given.insert((node, s), binding));
        binding
    }

    fn pin(&mut self, target: Target, slot: Option<u32>) -> Result<CpuBinding, MapError> {
        let machine = || self.machine.name.clone();
        match target {
            Target::Cpu(cpu) => match self.machine.node_of(cpu) {
                Some(node) => Ok(CpuBinding { cpu, node }),
                None => Err(MapError::NoCpu { cpu, machine: machine(), last: self.machine.cpus() - 1 }),
            },
            Target::Node(node) if self.nodes.contains(&node) => Ok(self.next(node, slot)),
            Target::Node(node) => {
                let allowed = self.nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ");
                Err(MapError::NoNode { node, machine: machine(), allowed })
            }
        }
    }
}
