//! The result type: everything a report says is a view of this.
use homenode_base::TotalCost;
use serde::Serialize;

/// One dataset on one machine at one block size.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// Thread to processor binding.
    pub threads: Vec<ThreadRow>,
    /// What was replayed.
    pub totals: Totals,
    /// Policies in registry order; the first-touch row is the base of findings.
    pub policies: Vec<PolicyRow>,
    /// Bounds.
    pub optimum: Vec<OptimumRow>,
    /// Sharing patterns, all six always present.
    pub patterns: Vec<PatternRow>,
    /// Data objects by cost under first touch, dearest first.
    pub objects: Vec<ObjectRow>,
    /// Source lines by cost under first touch, dearest first.
    pub lines: Vec<LineRow>,
    /// Falsely shared lines by cost, dearest first.
    pub false_sharing: Vec<FalseSharingRow>,
    /// Address x time.
    pub heat: HeatMap,
    /// What to do, worth most first; empty if there is nothing worth doing.
    pub findings: Vec<Finding>,
    /// Sentences for the reader: wrapped threads, unplaceable pages, order labels and the like.
    pub warnings: Vec<String>,
}

/// Binding of one thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadRow {
    /// Dataset thread.
    pub thread: u32,
    /// Processor.
    pub cpu: u16,
    /// Node of that processor.
    pub node: u16,
    /// References replayed, spins included.
    pub refs: u64,
}

/// What was replayed.
#[derive(Clone, Debug, Default, Serialize)]
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
}

/// One policy's cost. `local + remote + global + movement + transfer = total`, exactly.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PolicyRow {
    /// Registry name with parameters, e.g. `ace(4)`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Sum.
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
    /// total / reference optimum (the first [`OptimumRow`]).
    pub ratio: f64,
    /// Lowest and highest total over seeded merges, where the order was varied.
    pub spread: Option<(TotalCost, TotalCost)>,
}

/// One bound.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OptimumRow {
    /// `best static`, `optimum without replication`, `optimum with replication`, `lower bound with replication`.
    pub name: String,
    /// Whether it is exact or a bound.
    pub exact: bool,
    /// What it means, one line.
    pub summary: String,
    /// Sum, transfers included.
    pub total: TotalCost,
    /// Moves and copies part.
    pub movement: TotalCost,
    /// Blocks migrated.
    pub moves: u64,
    /// Copies added.
    pub copies: u64,
}

/// One sharing pattern.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PatternRow {
    /// `private`, `read-shared`, `producer-consumer`, `migratory`, `falsely shared`, `write-shared`.
    pub pattern: String,
    /// Bytes touched in units (lines) of this pattern.
    pub bytes: u64,
    /// Units of this pattern.
    pub units: u64,
    /// Cost under first touch.
    pub cost: TotalCost,
}

/// One data object (a global, all allocations of one call stack, a stack, or unknown memory).
#[derive(Clone, Debug, Default, Serialize)]
pub struct ObjectRow {
    /// What people call it: symbol, or `heap allocated at file:line in function`.
    pub name: String,
    /// `global`, `heap`, `stack`, `map`, `shared`, `unknown`.
    pub kind: String,
    /// `file:line` of the allocation, if known.
    pub place: Option<String>,
    /// Function of the allocation, if known.
    pub function: Option<String>,
    /// Number of allocations folded into this row.
    pub instances: u64,
    /// Bytes of the object(s).
    pub bytes: u64,
    /// References.
    pub refs: u64,
    /// Threads that used it, ascending.
    pub users: Vec<u32>,
    /// Threads that touched blocks of it first with the number of blocks, most first.
    pub first_touch: Vec<(u32, u64)>,
    /// Cost under first touch.
    pub cost: TotalCost,
    /// Of this, remote.
    pub remote_cost: TotalCost,
    /// Cost if each block lived at its best static home.
    pub best_static: TotalCost,
    /// Cost of its cache-to-cache transfers.
    pub transfer_cost: TotalCost,
    /// Pattern with the most bytes.
    pub pattern: String,
}

/// One source line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LineRow {
    /// `file:line`, or `module+offset`.
    pub place: String,
    /// Function.
    pub function: String,
    /// References.
    pub refs: u64,
    /// Cost under first touch.
    pub cost: TotalCost,
    /// Of this, remote.
    pub remote_cost: TotalCost,
    /// Object it costs most on.
    pub object: String,
}

/// One falsely shared line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FalseSharingRow {
    /// Address of the line.
    pub addr: u64,
    /// Object and byte offset of the line in it (may be negative: the line begins before the object).
    pub object: String,
    /// Byte offset.
    pub offset: i64,
    /// Words: byte offset in the line, bytes, threads, writes, sites.
    pub words: Vec<FalseWord>,
    /// Cache-to-cache transfers of this line.
    pub transfers: u64,
    /// Their cost.
    pub cost: TotalCost,
}

/// One word of a falsely shared line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FalseWord {
    /// Byte offset in the line.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Threads that touch it.
    pub threads: Vec<u32>,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Where, dearest first.
    pub sites: Vec<String>,
}

/// Address x time, for the picture. `rows * columns` cells.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeatMap {
    /// Time bins.
    pub columns: u32,
    /// Virtual time of a bin.
    pub bin_refs: u64,
    /// Address bands.
    pub rows: Vec<HeatRow>,
}

/// One band of addresses.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeatRow {
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Object that fills most of it.
    pub object: String,
    /// Home node under first touch of most of its blocks.
    pub home: u16,
    /// Per time bin: references by each node, `cells[bin][node]`.
    pub cells: Vec<Vec<u64>>,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Touched first by a thread that is not its user.
    FirstTouch,
    /// Words of different threads in one line.
    FalseSharing,
    /// Read by all, home at one: replicate.
    ReadShared,
}

/// What is wrong, what to do and what it is worth. The worth is always that of the same what-if machinery.
#[derive(Clone, Debug, Serialize)]
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
    pub saving_share: f64,
}
