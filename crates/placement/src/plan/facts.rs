//! What a plan says about itself: where it comes from, what it is worth, what it leaves out.
use homenode_base::TotalCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a plan rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The dataset as it was named.
    pub dataset: String,
    /// Capture backend.
    pub backend: String,
    /// Whether it saw samples only.
    pub sampled: bool,
    /// What was counted, in words (`memory accesses behind the caches`, `windows`).
    pub counts: String,
    /// How many of them.
    pub counted: u64,
    /// Affinity rule.
    pub rule: String,
    /// What the reader should know, in sentences.
    pub notes: Vec<String>,
    /// Command line recorded; empty in plans of an older version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Of `counted`, how many are on pages that the plan places; absent in plans of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub covered: Option<u64>,
    /// Why the plan may not be worth much (thin evidence, or less than half of the uses covered), in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Costs of the whole program, in the unit of the plan. For sampled evidence they count samples: only their ratios mean
/// something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Under first touch, transfers between caches included.
    pub now: TotalCost,
    /// Placed as planned from the start, what is unplaceable under first touch.
    pub planned: TotalCost,
    /// With every page at its best home for ever, capacity aside.
    pub best_static: TotalCost,
    /// Once, if pages are moved after they were touched instead of placed before.
    pub moving: TotalCost,
}

/// Costs of one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    /// Under first touch.
    pub now: TotalCost,
    /// As planned.
    pub planned: TotalCost,
    /// Once, if its pages are moved after they were touched.
    pub moving: TotalCost,
}

/// An executable or library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModuleBuild {
    /// Build id, hexadecimal.
    #[schemars(regex(pattern = "^[0-9a-fA-F]+$"))]
    pub build_id: String,
    /// Path when it was recorded.
    pub path: String,
}

/// What is asked of the memory of nodes whose bandwidths are known, and what was moved for its sake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// Where the bandwidths come from, in words.
    pub source: String,
    /// What the demand rests on, in words.
    pub basis: String,
    /// Nodes whose bandwidth is known, ascending.
    pub nodes: Vec<NodeDemand>,
    /// Pages that were given another home because the best one would be asked for more than it serves.
    pub pages: u64,
    /// What their accesses cost more there, in the unit of the plan.
    pub cost: TotalCost,
    /// MB/s asked above what nodes serve that no other node could take.
    pub excess_mbs: u64,
}

/// Demand on one node, in MB/s (10^6 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeDemand {
    /// Node.
    pub node: u16,
    /// What its memory serves, for the recorded mixture of reads and writes.
    pub serves_mbs: u64,
    /// What it would be asked for with every page at its best home.
    pub asked_mbs: u64,
    /// What it is asked for as planned.
    pub planned_mbs: u64,
}

/// Pages that the kernel made larger than those that the plan was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HugePages {
    /// Size of a huge page in bytes.
    pub page_bytes: u64,
    /// How many of them hold data that the plan places.
    pub pages: u64,
    /// Of these, placed as a whole: their parts want the same home, or splitting them does not pay.
    pub whole: u64,
    /// Of these, split: their parts live on several nodes, and that pays after copying.
    pub split: u64,
    /// What splitting saves, copying deducted, in the unit of the plan.
    pub gain: TotalCost,
}

/// Why data cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Objects smaller than a page share pages.
    SmallObjects,
    /// The object's module has no build id, or its call stack leads to none.
    NoBuildId,
    /// The object belongs to another process than the first.
    OtherProcess,
    /// No object is known there.
    UnknownMemory,
}

/// Data that the plan leaves where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unplaceable {
    /// What people call it.
    pub name: String,
    /// Reason why the data cannot be placed.
    pub why: Why,
    /// Number of objects.
    pub objects: u64,
    /// Pages with nothing but such data.
    pub pages: u64,
    /// Bytes of the objects.
    pub bytes: u64,
    /// Uses counted on those pages.
    pub uses: u64,
    /// Node whose threads use them most.
    pub node: u16,
    /// What to do.
    pub advice: String,
}

impl Why {
    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Why::SmallObjects => "objects smaller than a page share pages",
            Why::NoBuildId => "no build id to find it by",
            Why::OtherProcess => "memory of another process",
            Why::UnknownMemory => "no object is known there",
        }
    }
}
