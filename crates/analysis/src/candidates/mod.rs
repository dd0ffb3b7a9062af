//! What might be worth changing. Each kind of finding has a file; an object gets one candidate at most.
use crate::candidate::Candidate;
use crate::names::Names;
use crate::tables::{Object, Parts};
use homenode_base::TotalCost;

/// All candidates, most promising first.
pub(crate) fn find(_: &Parts<'_>, _: &[Object], _: &dyn Names, _: TotalCost) -> Vec<Candidate> {
    Vec::new()
}
