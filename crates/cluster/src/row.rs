//! What came of a run.
use crate::faults::Injected;
use homenode_hlrc::host::{Count, Interrupt};
use homenode_timed::engine::Waits;
use schemars::JsonSchema;
use serde::Serialize;

/// What the protocol did, on all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Pages that came from their homes.
    pub fetches: u64,
    /// Fetches made again, as the home's copy was too old.
    pub retries: u64,
    /// Twins.
    pub twins: u64,
    /// Diffs.
    pub diffs: u64,
    /// Runs of changed words in them.
    pub runs: u64,
    /// Pages given up because another node wrote them.
    pub invalidations: u64,
    /// Notices in messages.
    pub notices: u64,
    /// Vectors in messages: 8 bytes a node each.
    pub vectors: u64,
    /// Locks that came from another node.
    pub locks_remote: u64,
    /// Locks that were there.
    pub locks_local: u64,
    /// Calls that changed what the program may do to pages.
    pub protections: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes in them, without headers.
    pub bytes: u64,
    /// Times that a host found the queue of its network interface full and waited.
    pub stalls: u64,
    /// Most bytes that the interface of a node had sent, or was to send, and that had not come.
    pub queued: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, what: Count, times: u64) {
        let counted = match what {
            Count::Fetch => &mut self.fetches,
            Count::FetchRetry => &mut self.retries,
            Count::Twin => &mut self.twins,
            Count::Diff => &mut self.diffs,
            Count::DiffRun => &mut self.runs,
            Count::Invalidation => &mut self.invalidations,
            Count::Notice => &mut self.notices,
            Count::Vector => &mut self.vectors,
            Count::LockRemote => &mut self.locks_remote,
            Count::LockLocal => &mut self.locks_local,
            _ => return,
        };
        *counted += times;
    }
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }
    pub(crate) fn join(&mut self, o: &Counts) {
        let pairs = [
            (&mut self.fetches, o.fetches),
            (&mut self.retries, o.retries),
            (&mut self.twins, o.twins),
            (&mut self.diffs, o.diffs),
            (&mut self.runs, o.runs),
            (&mut self.invalidations, o.invalidations),
            (&mut self.notices, o.notices),
            (&mut self.vectors, o.vectors),
            (&mut self.locks_remote, o.locks_remote),
            (&mut self.locks_local, o.locks_local),
            (&mut self.protections, o.protections),
            (&mut self.messages, o.messages),
            (&mut self.bytes, o.bytes),
            (&mut self.stalls, o.stalls),
        ];
        pairs.into_iter().for_each(|(to, more)| *to += more);
        self.queued = self.queued.max(o.queued);
    }
}

/// Interrupts, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interrupts {
    /// Pages.
    pub pages: u64,
    /// Diffs.
    pub diffs: u64,
    /// Locks.
    pub locks: u64,
    /// Logs of notices that were full.
    pub notices: u64,
}

impl Interrupts {
    pub(crate) fn add(&mut self, why: Interrupt) {
        *match why {
            Interrupt::Page => &mut self.pages,
            Interrupt::Diff => &mut self.diffs,
            Interrupt::Lock => &mut self.locks,
            Interrupt::Notices => &mut self.notices,
        } += 1;
    }
    /// All.
    pub fn all(&self) -> u64 {
        self.pages + self.diffs + self.locks + self.notices
    }
    pub(crate) fn join(&mut self, o: &Interrupts) {
        self.pages += o.pages;
        self.diffs += o.diffs;
        self.locks += o.locks;
        self.notices += o.notices;
    }
}

/// Cycles that processors computed for the protocol, by what for; they lie within other times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Work {
    /// What the program may do to pages was changed.
    pub protection: u64,
    /// Twins were made.
    pub twins: u64,
    /// Diffs were made and applied.
    pub diffs: u64,
    /// Notices were packed and applied.
    pub notices: u64,
    /// Requests were served.
    pub requests: u64,
    /// Interrupts were delivered and handled, all of the above included.
    pub handlers: u64,
}

impl Work {
    pub(crate) fn join(&mut self, o: &Work) {
        self.protection += o.protection;
        self.twins += o.twins;
        self.diffs += o.diffs;
        self.notices += o.notices;
        self.requests += o.requests;
        self.handlers += o.handlers;
    }
}

/// Servers of one kind, all nodes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Server {
    /// What they are.
    pub name: &'static str,
    /// How they were used.
    #[serde(flatten)]
    pub waits: Waits,
    /// Cycles of service of the one that was used most.
    pub busiest: u64,
}

/// What happened to a page at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtNode {
    /// Times that it came from its home.
    pub fetches: u64,
    /// Of these, right after the page before it, to the same thread, which did not synchronise in between.
    pub in_order: u64,
    /// Times that the node gave it up because another one wrote it.
    pub invalidations: u64,
    /// Intervals in which the node wrote it.
    pub writes: u64,
    /// Runs of changed words in its diffs.
    pub runs: u64,
}

impl AtNode {
    pub(crate) fn add(&mut self, what: Count, times: u64) {
        *match what {
            Count::Fetch => &mut self.fetches,
            Count::Invalidation => &mut self.invalidations,
            Count::Diff | Count::HomeWrite => &mut self.writes,
            Count::DiffRun => &mut self.runs,
            _ => return,
        } += times;
    }
}

/// What threads waited for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageWaits {
    /// Flat address of its first byte.
    pub flat: u64,
    /// Home; none if no node touched it.
    pub home: Option<u16>,
    /// What happened to it, by node.
    pub nodes: Vec<AtNode>,
    /// Cycles that threads waited.
    pub waited: u64,
    /// Faults.
    pub faults: u64,
}

/// What threads waited at a lock or barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncWaits {
    /// Address space and address.
    pub object: (u32, u64),
    /// Whether it is a barrier.
    pub is_barrier: bool,
    /// Cycles that threads waited, and gave it up.
    pub waited: u64,
    /// Times that it was taken, or that threads came.
    pub times: u64,
    /// Of these, times that a lock came from another node.
    pub remote: u64,
    /// Cycles that threads waited for pages while they had the lock.
    pub faulted: u64,
}

/// What threads did while a phase of the program was the innermost one that they were in. The classes are those of a row, in cycles of all
/// threads; idle processors are in none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InPhase {
    /// Name; empty for what is outside of all phases.
    pub name: String,
    /// Instructions and hits in first caches.
    pub compute: u64,
    /// Misses inside the node.
    pub local: u64,
    /// Waiting for pages.
    pub data: u64,
    /// Locks: waiting for them and giving them up.
    pub lock: u64,
    /// Barriers.
    pub barrier: u64,
    /// Waiting for what the recording says.
    pub other: u64,
    /// Standing still for interrupts.
    pub interrupted: u64,
}

impl InPhase {
    /// All of them.
    pub fn cycles(&self) -> u64 {
        self.classes().iter().sum()
    }
    /// The classes, in the order of a row's.
    pub fn classes(&self) -> [u64; 7] {
        [self.compute, self.local, self.data, self.lock, self.barrier, self.other, self.interrupted]
    }
}

/// What came of a recording on a cluster. Times are cycles, those of threads of all of them together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Step of the protocol.
    pub protocol: &'static str,
    /// Nodes.
    pub nodes: u32,
    /// Processors of each.
    pub processors: u32,
    /// Cycles from the first that counts to the last.
    pub cycles: u64,
    /// Cycles of the same references on one processor.
    pub sequential: u64,
    /// Instructions and hits in first caches.
    pub compute: u64,
    /// Misses inside the node.
    pub local: u64,
    /// Both of these, of the processor that has most of them.
    pub most_work: u64,
    /// Number of that processor.
    pub most_work_at: u32,
    /// Waiting for pages.
    pub data: u64,
    /// Locks: waiting for them and giving them up.
    pub lock: u64,
    /// Barriers.
    pub barrier: u64,
    /// Waiting for what the recording says, such as another thread's end.
    pub other: u64,
    /// Standing still for interrupts.
    pub interrupted: u64,
    /// Processors that have nothing to do, before, behind or beside their threads.
    pub idle: u64,
    /// By phase of the program, in the order in which they first began; the first is what is outside of all, if threads spent time there.
    pub phases: Vec<InPhase>,
    /// Work of the protocol.
    pub work: Work,
    /// What the protocol did.
    pub counts: Counts,
    /// Interrupts.
    pub interrupts: Interrupts,
    /// Buses, interfaces and links.
    pub servers: Vec<Server>,
    /// Pages that threads waited for.
    #[serde(skip)]
    pub pages: Vec<PageWaits>,
    /// Locks and barriers.
    #[serde(skip)]
    pub synchronisation: Vec<SyncWaits>,
    /// Waiting for pages, by node.
    #[serde(skip)]
    pub node_data: Vec<u64>,
    /// Accesses that trapped.
    pub faults: u64,
    /// Pages that nodes share.
    pub shared_pages: u64,
    /// Pages that one node has alone.
    pub private_pages: u64,
    /// Words of 4 bytes of shared pages that were read, if that was checked.
    pub read: Option<u64>,
    /// Words among them that were not what was written last: data races, or a protocol that is wrong.
    pub stale: Option<u64>,
    /// What went wrong by faults; absent: none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected: Option<Injected>,
    /// References.
    pub refs: u64,
    /// Busy-wait references left out.
    pub spins: u64,
    /// Objects granted in their recorded order, by which nodes learn nothing of each other here.
    pub recorded_objects: u64,
}

impl Row {
    /// The speedup if nothing but computing and misses inside nodes took time, evenly shared out.
    pub fn ideal(&self) -> f64 {
        let processors = f64::from(self.nodes) * f64::from(self.processors);
        self.sequential as f64 * processors / (self.compute + self.local).max(1) as f64
    }
    /// Bytes in messages that tell nodes what to give up and what to wait for: notices, a word each, and vectors, a word a node.
    pub fn own_bytes(&self) -> u64 {
        8 * (self.counts.notices + self.counts.vectors * u64::from(self.nodes))
    }
    /// Times that one processor takes over what the cluster takes.
    pub fn speedup(&self) -> f64 {
        self.sequential as f64 / self.cycles.max(1) as f64
    }
    /// The kind of server of which one is at work longest, and percent of the run that it is; none if nothing went over any.
    pub fn busiest(&self) -> Option<(&Server, f64)> {
        let most = self.servers.iter().max_by_key(|s| s.busiest).filter(|s| s.busiest > 0)?;
        Some((most, 100.0 * most.busiest as f64 / self.cycles.max(1) as f64))
    }
}
