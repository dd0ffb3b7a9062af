//! Programs on a node that is slow.
use crate::faults::Faults;
use homenode_timed::engine::Gaps;
use homenode_trace::{Merged, TraceError};

/// Instructions between references, of which threads of a slow node take more, as they do for the references.
pub(crate) struct Slowed<G> {
    gaps: G,
    faults: Faults,
    is_slow: Vec<bool>,
}

impl<G: Gaps> Slowed<G> {
    /// `nodes`: of each thread its node.
    pub(crate) fn new(gaps: G, faults: Faults, nodes: impl Iterator<Item = u16>, count: usize) -> Slowed<G> {
        let slow = faults.slow_node(count);
        Slowed { gaps, faults, is_slow: nodes.map(|node| slow == Some(node)).collect() }
    }
}

impl<G: Gaps> Gaps for Slowed<G> {
    fn before(&mut self, reference: &Merged, index: u64) -> Result<u32, TraceError> {
        let gap = self.gaps.before(reference, index)?;
        if !self.is_slow.get(reference.thread as usize).is_some_and(|slow| *slow) {
            return Ok(gap);
        }
        let cycles = self.faults.slowed(u64::from(gap) + 1) - 1;
        Ok(cycles.try_into().unwrap_or(u32::MAX))
    }
}
