//! What another layout of data would be worth to protocols of page coherence.
use homenode_base::TotalCost;
use schemars::JsonSchema;
use serde::Serialize;

/// Fields, elements and objects to separate, pad or put together, on a machine with prices for protocols of page coherence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutDoc {
    /// What can be said.
    pub verdict: LayoutVerdict,
    /// Verdict in a sentence, with costs.
    pub sentence: String,
    /// Unit of every cost below.
    pub unit: String,
    /// Bytes of the pages that the changes are for.
    pub page_bytes: u64,
    /// What to change, what is worth most first; empty without advice.
    pub changes: Vec<LayoutChange>,
    /// The cheapest protocol before and after these changes, by page size; each size has parts, fields and elements apart by
    /// its own pages. Without advice, what all that was tried would come to.
    pub sizes: Vec<LayoutSize>,
    /// Costs before and after by page size and protocol.
    pub rows: Vec<LayoutRow>,
}

/// What can be said of other layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutVerdict {
    /// There are changes that are worth it.
    Advice,
    /// Nothing that was tried is.
    NoGain,
    /// The recording does not say enough.
    CannotTell,
}

/// What is done to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutKind {
    /// The part of each processor begins at a page.
    Pad,
    /// What each processor uses alone goes to pages of its own.
    Separate,
    /// What several read goes to pages that are seldom written.
    Group,
}

/// A change of layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutChange {
    /// Kind.
    pub kind: LayoutKind,
    /// Object row name.
    pub object: String,
    /// `file:line` of the object, if known.
    pub place: Option<String>,
    /// Fields of it that are meant, as they are written after the name, or offsets where no type is known; empty if all of it is.
    pub fields: Vec<String>,
    /// One sentence: what to do.
    pub advice: String,
    /// How much dearer the cheapest protocol is without this change, the others made.
    pub worth: TotalCost,
}

/// A protocol and what it costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProtocolCost {
    /// Protocol with parameters, as `homenode list protocols` has it.
    pub protocol: String,
    /// References to shared memory, copies, updates and faults.
    pub cost: TotalCost,
}

/// The cheapest protocol with pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutSize {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// As recorded.
    pub before: ProtocolCost,
    /// After the changes.
    pub after: ProtocolCost,
}

/// One protocol with pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayoutRow {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Protocol with parameters.
    pub protocol: String,
    /// As recorded.
    pub before: TotalCost,
    /// After the changes.
    pub after: TotalCost,
}

impl LayoutKind {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            LayoutKind::Pad => "pad",
            LayoutKind::Separate => "separate",
            LayoutKind::Group => "group",
        }
    }
}

/// What is said of placement, with a word on layouts where these are worth changing: one has nothing to do with the other.
pub(crate) fn beside(verdict: &str, layout: Option<&LayoutDoc>) -> String {
    match layout.filter(|l| l.verdict == LayoutVerdict::Advice) {
        Some(_) => format!(
            "{verdict} With protocols of page coherence another layout of data would save something: see below."
        ),
        None => verdict.to_owned(),
    }
}
