//! What might be worth changing, as data for the what-if and as words for people.
use crate::rows::FindingKind;
use crate::transform::Transform;
use homenode_base::TotalCost;

/// Something that looks worth changing. Its worth is not said here: only the replay with `remedy` applied knows it.
/// Successive candidates of one kind for one object are alternatives, the smallest change to the program first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Kind.
    pub kind: FindingKind,
    /// Object row id.
    pub object: u32,
    /// Name of the object row.
    pub name: String,
    /// Where to change the program: `file:line` of the allocation, then of the initialisation.
    pub places: Vec<String>,
    /// What is wrong, one sentence.
    pub sentence: String,
    /// What to do, one sentence.
    pub advice: String,
    /// The change as a transform of the trace.
    pub remedy: Transform,
    /// Estimate of what it saves, for the order in which candidates are tried; no limit of what the replay may find.
    pub estimate: TotalCost,
}
