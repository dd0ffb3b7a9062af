//! How much DRAM is enough in front of slower memory, and what a program costs with less.
use crate::units::{bytes, factor, percent};
use homenode_base::{Cost, TotalCost};
use schemars::JsonSchema;
use serde::Serialize;

/// Percent above the cost of all DRAM that are little.
const SHORT_PERCENT: u32 = 5;

/// A size of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizeDoc {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
    /// Percent of the pages that are accessed.
    pub percent: f64,
}

/// How much DRAM is enough on a machine with nodes with and without processors. Costs are those of accesses to memory, behind the machine's caches,
/// each at its latency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityDoc {
    /// What can be said, in sentences.
    pub sentence: String,
    /// Unit of every cost below.
    pub unit: String,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are accessed.
    pub pages: u64,
    /// Cost with everything in DRAM.
    pub in_dram: TotalCost,
    /// Cost with everything outside of it.
    pub in_expander: TotalCost,
    /// The least DRAM that is enough; empty where nobody can tell.
    pub enough: Vec<CapacityEnough>,
    /// How pages move in the optimum of `points`; null without them.
    pub moves: Option<CapacityMoves>,
    /// Sizes of DRAM, ascending; empty unless some were asked for or DRAM of the machine does not hold everything.
    pub points: Vec<CapacityPoint>,
    /// What the result does not rest on, in words.
    pub notes: Vec<String>,
}

/// The least DRAM with which a program costs little more than with all DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityEnough {
    /// Percent above the cost of all DRAM.
    pub within_percent: u32,
    /// The least size if the pages that gain most are there for good.
    pub hottest: SizeDoc,
    /// The least size if DRAM fills in order of first touch.
    pub first_come: SizeDoc,
}

/// When pages may move, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityMoves {
    /// Accesses to memory between two decisions.
    pub tick: u64,
    /// Price of moving a page into DRAM.
    pub promote: Cost,
    /// Price of moving a page out of DRAM.
    pub demote: Cost,
}

/// A size of DRAM and what the program costs where the rest of its pages live elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityPoint {
    /// The size.
    #[serde(flatten)]
    pub size: SizeDoc,
    /// Whether the user or the machine named this size; if not, it is one of those that every curve has.
    pub asked: bool,
    /// DRAM fills in order of first touch, and nothing moves.
    pub first_come: TotalCost,
    /// The pages that gain most are in DRAM, and nothing moves: the best of all placements in which nothing does.
    pub hottest: TotalCost,
    /// The least cost of any placement that changes between ticks; no placement costs less if this is a bound.
    pub optimum: TotalCost,
    /// `exact`, or `bound` where it is a lower bound.
    pub kind: &'static str,
    /// Cost of a plan that was found; null where the machine lies outside of the model.
    pub plan: Option<TotalCost>,
}

impl CapacityDoc {
    /// Whether the optimum of every point is exact.
    pub fn is_exact(&self) -> bool {
        self.points.iter().all(|p| p.kind == "exact")
    }

    /// What a size that was named costs which is dearer than all DRAM by more than is little, the largest such size; nothing if none is.
    pub fn short(&self) -> Option<String> {
        let little = |p: &CapacityPoint| p.first_come.0 * 100 <= self.in_dram.0 * i128::from(100 + SHORT_PERCENT);
        let short = self.points.iter().rev().find(|p| p.asked && !little(p))?;
        Some(format!(
            "With {} of DRAM, filled in order of first touch, accesses to memory cost {} times as much as with all in DRAM, of which this \
             report is but for how much DRAM is enough.",
            bytes(short.size.bytes),
            factor(short.first_come.ratio_to(self.in_dram)).replace('×', "")
        ))
    }

    /// How much of the pages this size is, in words: all of them only if it is.
    pub(crate) fn portion(&self, size: SizeDoc) -> String {
        match size.frames < self.pages && size.percent >= 99.5 {
            true => ">99 %".to_owned(),
            false => percent(size.percent / 100.0),
        }
    }

    /// Says what `enough` says; nothing if that is empty.
    pub fn least(&self) -> Option<String> {
        let [wide, narrow] = self.enough.as_slice() else { return None };
        let used = bytes(self.pages * self.page_bytes);
        let size = |s: SizeDoc| (bytes(s.bytes), self.portion(s));
        let (a, b) = (size(wide.hottest), size(narrow.hottest));
        let (c, d) = (size(wide.first_come), size(narrow.first_come));
        Some(format!(
            "Of the {used} that it uses, {} in DRAM ({}) are enough for its accesses to memory to cost at most {} % more than with all in \
             DRAM, and {} ({}) for at most {} %, if the hottest pages are there; if DRAM fills in order of first touch, it takes {} ({}) and \
             {} ({}).",
            a.0, a.1, wide.within_percent, b.0, b.1, narrow.within_percent, c.0, c.1, d.0, d.1,
        ))
    }
}
