//! Consecutive equal accesses to a block become one with a weight.
//!
//! Blocks are independent, so only the order within a block matters, and an access of weight w is by definition the same
//! as w equal ones in a row; the test `folding_changes_nothing` holds every policy and the optimum to that. A policy may
//! change its mind about equal accesses at multiples of a period of time: nothing is folded across those.
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::AccessClass;
use homenode_placement::{Access, AccessKind, Step};

/// The last access of each block, not handed on yet.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pending: Vec<Access>,
    periods: Vec<u64>,
    /// The last multiple of a period that time has reached, and the next one.
    since: u64,
    until: u64,
}

/// The access before the first one: folds with nothing.
const NONE: Access =
    Access { node: NodeId(u16::MAX), kind: AccessKind::Read, class: AccessClass::Free, weight: 0, t: VirtualTime(0) };

impl Fold {
    /// Across multiples of these periods (at least 1 each) nothing is folded.
    pub(crate) fn new(periods: Vec<u64>) -> Fold {
        let until = periods.iter().copied().min().unwrap_or(u64::MAX);
        Fold { pending: Vec::new(), periods, since: 0, until }
    }
    /// Time has reached `until`.
    #[cold]
    fn advance(&mut self, t: u64) {
        self.since = self.periods.iter().map(|p| t / p * p).max().unwrap_or(0);
        self.until = self.periods.iter().map(|p| (t / p * p).saturating_add(*p)).min().unwrap_or(u64::MAX);
    }
    /// Takes the next access of a block; returns the one before it if they differ.
    #[inline]
    pub(crate) fn push(&mut self, slot: u32, access: Access) -> Option<Step> {
        if access.t.0 >= self.until {
            self.advance(access.t.0);
        }
        let i = slot as usize;
        if i >= self.pending.len() {
            self.pending.resize(i + 1, NONE);
        }
        let last = &mut self.pending[i];
        let same = (last.node, last.kind, last.class) == (access.node, access.kind, access.class);
        if same
            && last.t.0 >= self.since
            && let Some(weight) = last.weight.checked_add(access.weight)
        {
            last.weight = weight;
            return None;
        }
        let before = std::mem::replace(last, access);
        (before.weight > 0).then_some(Step { slot, access: before })
    }
    /// The last access of every block, in order of blocks; nothing is pending afterwards.
    pub(crate) fn finish(&mut self) -> impl Iterator<Item = Step> + use<> {
        let pending = std::mem::take(&mut self.pending);
        let steps = pending.into_iter().enumerate().map(|(i, access)| Step { slot: i as u32, access });
        steps.filter(|s| s.access.weight > 0)
    }
}
