//! The rows of a report that this crate fills.
use crate::patterns::Pattern;
use homenode_base::TotalCost;
use schemars::JsonSchema;
use serde::Serialize;

/// One sharing pattern.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PatternRow {
    /// `private`, `read-shared`, `producer-consumer`, `migratory`, `falsely shared`, `write-shared`.
    #[schemars(extend("enum" = Pattern::ALL.map(Pattern::name)))]
    pub pattern: String,
    /// Bytes touched in units (lines) of this pattern.
    pub bytes: u64,
    /// Units (lines) of this pattern.
    pub units: u64,
    /// Cost under first touch.
    pub cost: TotalCost,
}

/// One data object (a global, all allocations of one call stack, a stack, or unknown memory).
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ObjectRow {
    /// What people call it: symbol, or `heap allocated at file:line in function`.
    pub name: String,
    /// `global`, `heap`, `stack`, `map`, `shared`, `unknown`.
    #[schemars(extend("enum" = ["global", "heap", "stack", "map", "shared", "unknown"]))]
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
    /// Threads that touched blocks of it first: pairs of thread and number of blocks, most first.
    pub first_touch: Vec<(u32, u64)>,
    /// Cost under first touch.
    pub cost: TotalCost,
    /// Of this, remote.
    pub remote_cost: TotalCost,
    /// Cost if each block lived at its best static home.
    pub best_static: TotalCost,
    /// Cost of its cache-to-cache transfers.
    pub transfer_cost: TotalCost,
    /// Cost of its hits in the last level, in no other cost; only where hits have prices and there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_cost: Option<TotalCost>,
    /// Pattern with the most bytes.
    pub pattern: String,
    /// 95 % confidence interval of `cost` as a share of all costs; only in sampled recordings.
    pub share_interval: Option<Interval>,
}

/// A 95 % confidence interval: where the value would be found if every reference had been recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// Upper end.
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

/// How the samples of a recording scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SampleSpread {
    /// Samples that cost something.
    pub charged: u64,
    /// Independent samples of equal weight that would say as much about shares of cost.
    #[schemars(with = "Option<f64>")]
    pub effective: f64,
    /// How much more samples scatter than independent ones would, as a factor of the variance, at least 1: above it where
    /// they come in bursts.
    #[schemars(with = "Option<f64>")]
    pub design_effect: f64,
}

/// One source line.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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
    /// Cost of its hits in the last level, in no other cost; only where hits have prices and there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_cost: Option<TotalCost>,
    /// Object it costs most on.
    pub object: String,
}

/// One loop or region of OpenMP, without what loops inside it have.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LoopRow {
    /// `omp for schedule(static)`, `omp parallel` and so on.
    pub construct: String,
    /// `file:line`.
    pub place: String,
    /// Function.
    pub function: String,
    /// Times it was entered, all threads.
    pub entered: u64,
    /// References.
    pub refs: u64,
    /// Cost under first touch.
    pub cost: TotalCost,
    /// Of this, remote.
    pub remote_cost: TotalCost,
    /// Cost of its hits in the last level, in no other cost; only where hits have prices and there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_cost: Option<TotalCost>,
    /// Whether its iterations go to whoever comes next, so that another run deals them otherwise.
    pub dealt_anew: bool,
}

/// One falsely shared line.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct FalseSharingRow {
    /// Address of the line.
    pub addr: u64,
    /// Object that the line holds.
    pub object: String,
    /// Byte offset of the line in the object; negative if the line begins before it.
    pub offset: i64,
    /// Words that threads touch.
    pub words: Vec<FalseWord>,
    /// Cache-to-cache transfers of this line.
    pub transfers: u64,
    /// Cost of the line's transfers.
    pub cost: TotalCost,
}

/// One word of a falsely shared line.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct FalseWord {
    /// Byte offset in the line.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Threads that touch it, ascending.
    pub threads: Vec<u32>,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Where, dearest first.
    pub sites: Vec<String>,
}

/// Address x time, for the picture. `rows * columns` cells.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HeatMap {
    /// Time bins.
    pub columns: u32,
    /// Virtual time of a bin.
    pub bin_refs: u64,
    /// Address bands.
    pub rows: Vec<HeatRow>,
}

/// One band of addresses.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HeatRow {
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Object that fills most of the band.
    pub object: String,
    /// Home node under first touch of most of its blocks.
    pub home: u16,
    /// Per time bin: references by each node, `cells[bin][node]`.
    pub cells: Vec<Vec<u64>>,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Touched first by a thread that is not its user.
    FirstTouch,
    /// Words of different threads in one line.
    FalseSharing,
    /// Read by all, home at one: replicate.
    ReadShared,
    /// Many threads add to the same words: a copy for each.
    SharedUpdates,
    /// The partition of the work runs across the layout: blocks with lines of several nodes' threads.
    Layout,
    /// Used by one node for long, then by another.
    OwnersChange,
}

impl FindingKind {
    /// Whether its remedy changes where memory lives; the others change which lines hold what. An object may have a finding
    /// of each sort.
    pub fn is_placement(self) -> bool {
        match self {
            FindingKind::FirstTouch | FindingKind::ReadShared | FindingKind::Layout | FindingKind::OwnersChange => true,
            FindingKind::FalseSharing | FindingKind::SharedUpdates => false,
        }
    }
}

/// Where the cost of cache-to-cache transfers comes from. The four classes add up to it exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransferBreakdown {
    /// The line came, and until it went nothing was touched in it that another processor had changed.
    pub falsely_shared: TransferClass,
    /// The line brought what another processor had written, or was taken to write what another had touched.
    pub truly_shared: TransferClass,
    /// The reference that made it come was to a lock word (mutex, barrier, semaphore, ...).
    pub locks: TransferClass,
    /// Not told apart: more lines travelled than were watched.
    pub unwatched: TransferClass,
    /// Of the truly shared lines and the locks, those that threads use in turns; null if there are none. Who gets them when
    /// is decided by the machine, not by the program.
    pub in_turns: Option<InTurns>,
    /// What threads do to the truly shared lines of the object named there.
    pub true_use: TrueUse,
}

/// What threads do to lines that they truly share: it decides what may be advised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrueUse {
    /// Many add to the same words, by atomics or under locks: each can have its own, to be added up.
    Added,
    /// One writes what another reads.
    HandedOver,
    /// Neither, or both.
    #[default]
    Unclear,
}

/// Lines that threads use in turns: under locks, or by atomic operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InTurns {
    /// The object that costs most if turns alternate.
    pub object: String,
    /// Source lines that take turns at it, most first, at most 3.
    pub places: Vec<String>,
    /// Turns, of all lines together.
    pub turns: u64,
    /// What their useful transfers cost as replayed.
    pub cost: TotalCost,
    /// What they would cost if each processor made all of its turns in one run.
    pub in_one_run: TotalCost,
    /// What they would cost if turns alternated as much as they can.
    pub alternating: TotalCost,
}

/// Transfers of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransferClass {
    /// Number of transfers.
    pub transfers: u64,
    /// Cost of the transfers.
    pub cost: TotalCost,
    /// Object that the dearest of them belong to; null if there are none.
    pub object: Option<String>,
    /// Cost of the transfers of that object.
    pub object_cost: TotalCost,
    /// Source lines that caused the transfers of that object, dearest first, at most 8.
    pub lines: Vec<TransferLine>,
}

/// What one source line caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransferLine {
    /// `file:line`, or `module+offset`.
    pub place: String,
    /// Function.
    pub function: String,
    /// Transfers.
    pub transfers: u64,
    /// Cost of the transfers.
    pub cost: TotalCost,
}
