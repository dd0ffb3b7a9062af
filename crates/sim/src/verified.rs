//! An evaluation whose figures were priced again, in its document.
use homenode_base::TotalCost;
use schemars::JsonSchema;
use serde::Serialize;

/// One figure of an evaluation, and what its placement costs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerifiedRow {
    /// Name of the policy or bound.
    pub name: String,
    /// What the evaluation says, without cache-to-cache transfers: those are the same for all.
    #[serde(serialize_with = "TotalCost::serialize_in_words")]
    #[schemars(schema_with = "TotalCost::schema_in_words")]
    pub said: TotalCost,
    /// What the checker says; null if there is no placement to price, for which `note` has the reason.
    pub checked: Option<TotalCost>,
    /// Why it was not checked; else empty.
    pub note: String,
}

/// An evaluation priced again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verified {
    /// Policies, then bounds, in the order of the evaluation.
    pub rows: Vec<VerifiedRow>,
    /// Accesses that passed the caches: words, where a reference is charged by the word.
    pub accesses: u64,
    /// Blocks accessed.
    pub blocks: u64,
    /// How often the trace was read.
    pub passes: u64,
}

impl Verified {
    /// Rows whose placement costs something else than was said.
    pub fn wrong(&self) -> impl Iterator<Item = &VerifiedRow> {
        self.rows.iter().filter(|r| r.checked.is_some_and(|checked| checked != r.said))
    }
}

impl Verified {
    /// What came of it, in a sentence.
    pub fn sentence(&self) -> String {
        let checked = self.rows.iter().filter(|r| r.checked.is_some()).count();
        let wrong: Vec<&str> = self.wrong().map(|r| r.name.as_str()).collect();
        let result = match wrong.as_slice() {
            [] => "each costs what is said here".to_owned(),
            names => format!("NOT so: {}", names.join(", ")),
        };
        let left_out = self.rows.iter().filter(|r| r.checked.is_none());
        let left_out: String = left_out.map(|r| format!("; not {}: {}", r.name, r.note)).collect();
        format!(
            "Priced again by the checker of placements, block by block ({} accesses to {} blocks): {checked} of {} figures, \
             {result}{left_out}.",
            self.accesses,
            self.blocks,
            self.rows.len()
        )
    }
}
