//! The result type: everything a report says is a view of this.
use crate::verified::Verified;
use homenode_analysis::evidence::Evidence;
use homenode_base::TotalCost;
use homenode_trace::DataSource;
use schemars::JsonSchema;
use serde::Serialize;

pub use homenode_analysis::rows::{
    FalseSharingRow, FalseWord, FindingKind, HeatMap, HeatRow, InTurns, Interval, LineRow, LoopRow, ObjectRow,
    PatternRow, SampleSpread, TransferBreakdown, TransferClass, TransferLine, TrueUse,
};

/// One dataset on one machine at one block size.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Evaluation {
    /// Machine name.
    pub machine: String,
    /// Machine title.
    pub machine_title: String,
    /// Sources of the machine's numbers.
    pub machine_sources: Vec<String>,
    /// Unit of every cost below ("ps" or the quantum in words).
    pub unit: String,
    /// Whether the machine has caches (then only misses, write-backs and transfers are charged).
    pub caches: bool,
    /// Placement block in bytes.
    pub block_bytes: u64,
    /// Blocks touched.
    pub blocks: u64,
    /// How threads were bound to processors.
    pub binding: BindingRow,
    /// Thread to processor binding.
    pub threads: Vec<ThreadRow>,
    /// What was replayed.
    pub totals: Totals,
    /// Policies in registry order; the first-touch row is the base of findings.
    pub policies: Vec<PolicyRow>,
    /// Bounds; ratios are against the first.
    pub optimum: Vec<OptimumRow>,
    /// Sharing patterns, all six always present.
    pub patterns: Vec<PatternRow>,
    /// How samples scatter; only in sampled recordings, in which every cost is an estimate.
    pub spread: Option<SampleSpread>,
    /// Data objects by cost under first touch, dearest first.
    pub objects: Vec<ObjectRow>,
    /// Source lines by cost under first touch, dearest first.
    pub lines: Vec<LineRow>,
    /// Loops and regions of OpenMP by cost under first touch, dearest first; only where the recording has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopRow>,
    /// Falsely shared lines by cost, dearest first.
    pub false_sharing: Vec<FalseSharingRow>,
    /// What the cache-to-cache transfers were good for: adds up to `totals.transfer_cost`.
    pub transfer_breakdown: TransferBreakdown,
    /// Address x time.
    pub heat: HeatMap,
    /// What to do, worth most first; empty if there is nothing worth doing.
    pub findings: Vec<Finding>,
    /// Changes that looked worth a replay and got none, because others looked more so.
    pub untried_candidates: u64,
    /// Predicted first-touch total of the program with all findings applied at once; null without findings.
    pub predicted_all: Option<TotalCost>,
    /// What policies ask of memories beside what these serve; only where misses have classes and the machine says what its memories
    /// serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// What was not seen, and which conclusions that takes away. Only with no gap does a report say that there is nothing to
    /// change.
    pub evidence: Evidence,
    /// Figures of the evaluation priced again; null without `--verify`.
    pub verified: Option<Verified>,
    /// Sentences for the reader: wrapped threads, unplaceable pages, order labels and the like.
    pub warnings: Vec<String>,
}

/// How threads were bound to processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BindingRow {
    /// The rule, as `--map` takes it; empty if nobody said.
    pub rule: String,
    /// Threads with references.
    pub threads: u32,
    /// Of these, so many lived at once at most.
    pub most_at_once: u32,
    /// Processors of the machine.
    pub cpus: u32,
    /// Processors that run more than one thread at the same time.
    pub shared_cpus: u32,
    /// Threads that sit where recorded affinity puts them.
    pub pinned: u32,
    /// What else is to be said of it; may be empty.
    pub note: String,
}

impl BindingRow {
    /// What a thread map says of itself.
    pub fn of(b: &homenode_machine::BindingSummary) -> BindingRow {
        let rule = b.rule.clone();
        let (threads, most_at_once) = (b.threads, b.most_at_once);
        let (pinned, note) = (b.pinned, b.note.clone());
        BindingRow { rule, threads, most_at_once, cpus: b.cpus, shared_cpus: b.shared_cpus, pinned, note }
    }

    /// In words; empty if nothing is known.
    pub fn sentence(&self) -> String {
        if self.rule.is_empty() || self.threads == 0 {
            return String::new();
        }
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let lives = match self.most_at_once < self.threads {
            true => format!(", at most {} at once", self.most_at_once),
            false => String::new(),
        };
        let many = match self.most_at_once > self.cpus {
            true => format!("; more than the {} processors", self.cpus),
            false => String::new(),
        };
        let by = match self.rule.as_str() {
            "recorded" if self.pinned < self.threads => {
                format!("{} bound by the affinity calls recorded, the others by --map sockets", self.pinned)
            }
            "recorded" => "bound by the affinity calls recorded".to_owned(),
            rule => format!("bound by --map {rule}"),
        };
        let note = if self.note.is_empty() { String::new() } else { format!("; {}", self.note) };
        format!("{threads} with references{lives}{many}; {by}{note}")
    }
}

/// Binding of one thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadRow {
    /// Dataset thread.
    pub thread: u32,
    /// Processor.
    pub cpu: u16,
    /// Node of that processor.
    pub node: u16,
    /// References replayed, spins included.
    pub refs: u64,
    /// Cost of what it referenced, under first touch: its misses and transfers, and lines that went back to memory to make room
    /// for them. Of all threads together the first-touch total.
    pub cost: TotalCost,
    /// Cost of its hits in the last level, in no total; only where hits have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_cost: Option<TotalCost>,
}

/// What was replayed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Totals {
    /// References, spins included.
    pub refs: u64,
    /// Busy-wait references (not charged unless asked).
    pub spins: u64,
    /// Reads, without spins.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Read-modify-writes.
    pub atomics: u64,
    /// Bytes referenced, without spins.
    pub bytes: u64,
    /// Memory accesses that reach the placement (weighted; on machines with caches: misses and write-backs).
    pub memory_accesses: u64,
    /// Cache-to-cache transfers.
    pub transfers: u64,
    /// Cost of these transfers, a placement-independent constant contained in every total below.
    pub transfer_cost: TotalCost,
    /// Cost of the spins under first touch, if they were charged; reported beside the total.
    pub spin_cost: TotalCost,
    /// Samples, in a sampled recording: the counts above are then estimates, sums of weights.
    pub sampled: Option<SampledTotals>,
    /// Misses by class; null where each costs its latency.
    pub misses: Option<MissTotals>,
    /// Hits in last levels; only where misses have classes and the machine says what hits cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<HitTotals>,
}

impl Totals {
    /// Adds what a replay of blocks of other colours found, of which somebody else has counted the references.
    pub(crate) fn absorb(&mut self, other: &Totals) {
        self.memory_accesses += other.memory_accesses;
        self.transfers += other.transfers;
        self.transfer_cost += other.transfer_cost;
        self.spin_cost += other.spin_cost;
    }
}

/// Hits in last levels by what processors wait for. They cost the same wherever blocks live, and are in no total of policies and
/// bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HitTotals {
    /// Waited for.
    pub waited: u64,
    /// Charged as if they were, since nobody knows.
    pub unknown: u64,
    /// Beside others of their thread.
    pub overlapped: u64,
    /// On their way by a hardware prefetcher.
    pub streamed: u64,
    /// Cost of all these.
    pub cost: TotalCost,
}

/// Misses by what processors wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissTotals {
    /// Waited for: they depend on each other, are alone in their reorder window, or are read-modify-writes.
    pub waited: u64,
    /// Charged as if they were waited for, since nobody knows whether they depend on each other.
    pub unknown: u64,
    /// Beside others of their thread.
    pub overlapped: u64,
    /// On their way by a hardware prefetcher.
    pub streamed: u64,
}

/// Samples replayed, spins left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SampledTotals {
    /// Samples.
    pub samples: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// By data source, in code order, those that occurred.
    pub sources: Vec<SourceRow>,
}

/// Samples of one data source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceRow {
    /// Where the data came from.
    pub source: DataSource,
    /// Samples.
    pub samples: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Whether they were charged: no placement changes what a cache hit or a line from another cache costs.
    pub charged: bool,
}

/// One policy's cost. `local + remote + global + movement + transfer = total`, exactly.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PolicyRow {
    /// Registry name with parameters, e.g. `ace(4)`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Sum; `infinite` if a part of it is not possible on the machine.
    #[serde(serialize_with = "TotalCost::serialize_in_words")]
    #[schemars(schema_with = "TotalCost::schema_in_words")]
    pub total: TotalCost,
    /// Accesses served by the accessing node.
    pub local: TotalCost,
    /// Accesses served by another node.
    pub remote: TotalCost,
    /// Accesses served by global memory.
    pub global: TotalCost,
    /// Moves and copies.
    pub movement: TotalCost,
    /// Cache-to-cache transfers.
    pub transfer: TotalCost,
    /// Blocks migrated (times).
    pub moves: u64,
    /// Copies added.
    pub copies: u64,
    /// total / reference optimum (the first of the bounds); null if that is 0 and the total is not.
    #[schemars(with = "Option<f64>")]
    pub ratio: f64,
    /// Lowest and highest total over seeded merges, where the order was varied; null in model order.
    pub spread: Option<(TotalCost, TotalCost)>,
}

/// One bound.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct OptimumRow {
    /// `best static`, `optimum without replication`, `optimum with replication`, `lower bound with replication`.
    pub name: String,
    /// Whether it is exact; else it is a bound that no placement need reach.
    pub exact: bool,
    /// What it means, one line.
    pub summary: String,
    /// Sum, transfers included; `infinite` if a part of it is not possible on the machine.
    #[serde(serialize_with = "TotalCost::serialize_in_words")]
    #[schemars(schema_with = "TotalCost::schema_in_words")]
    pub total: TotalCost,
    /// Moves and copies part.
    pub movement: TotalCost,
    /// Blocks migrated.
    pub moves: u64,
    /// Copies added.
    pub copies: u64,
    /// Lowest and highest total over seeded merges, where the order was varied; null in model order.
    pub spread: Option<(TotalCost, TotalCost)>,
}

/// Bytes that memories are asked for in windows of virtual time, beside what they serve. What it takes longer is in no total above.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Traffic {
    /// How many windows there are.
    pub windows: u64,
    /// References of a window.
    pub window_refs: u64,
    /// Picoseconds that a reference takes on the mean besides what its accesses cost, of the time that the program took without hooks; null if
    /// nobody measured that, and windows may then take longer, and demand be lower.
    pub reference_ps: Option<u64>,
    /// What each memory serves, where it is known.
    pub serves: Vec<Serves>,
    /// Policies as above; not those with homes by phase, and `best-static` only if another is longer.
    pub policies: Vec<TrafficRow>,
}

/// What the memory of a node serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Serves {
    /// Node.
    pub node: u16,
    /// MB/s (10^6 bytes) of reads alone.
    pub read_mbs: u64,
    /// MB/s of lines written back alone.
    pub write_mbs: u64,
}

/// What one policy asks of memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrafficRow {
    /// Policy, as above.
    pub name: String,
    /// Picoseconds of all windows one after the other, each as long as the node that waits longest in it; nobody waits for write-backs.
    pub time: TotalCost,
    /// By how much they are longer where memories need longer.
    pub longer: TotalCost,
    /// How long they would be with the lines of each window spread over all memories, on each as many as it serves.
    pub evenly: TotalCost,
    /// Windows that are longer.
    pub windows_longer: u64,
    /// What makes them so most; null if none is.
    pub most: Option<Bottleneck>,
}

/// A memory, or the way from a node to it, that is asked for more than it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bottleneck {
    /// Node whose processors ask; null for all of them.
    pub from: Option<u16>,
    /// Node of the memory.
    pub home: u16,
    /// MB/s asked for in the windows that wait for it, if they did not.
    pub asked_mbs: u64,
    /// MB/s that it serves of such reads and writes.
    pub serves_mbs: u64,
    /// By how much those windows are longer, in picoseconds.
    pub longer: TotalCost,
}

/// What is wrong, what to do and what it is worth. The worth is always that of the same what-if machinery.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// Kind.
    pub kind: FindingKind,
    /// Object row name.
    pub object: String,
    /// Where to change the program: `file:line` of the allocation, and of the initialisation.
    pub places: Vec<String>,
    /// One sentence: what is wrong.
    pub sentence: String,
    /// One sentence: what to do.
    pub advice: String,
    /// Predicted total of the program after the change.
    pub predicted_total: TotalCost,
    /// Saved: first-touch total minus predicted total.
    pub saving: TotalCost,
    /// saving / first-touch total.
    #[schemars(with = "Option<f64>")]
    pub saving_share: f64,
    /// In sampled recordings: 95 % confidence interval of `saving_share`, as wide in proportion as that of the object's
    /// share of cost, which it is a part of.
    pub saving_interval: Option<Interval>,
}
