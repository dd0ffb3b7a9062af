//! Pages that go where their neighbours go, and what a move costs.
use super::super::budget::Budget;
use super::super::event::{MigrationCandidate, PageId};
use super::super::pages::{Seen, cost};
use super::{Governor, PAGE_BYTES};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Location, Machine, Unit};
use std::collections::BTreeMap;

impl Governor<'_> {
    /// Takes out the pages of which only their neighbours say something, unless more is known of them: they go where their
    /// neighbours go, and nothing is remembered of them.
    pub(super) fn followers(
        &mut self,
        seen: &mut BTreeMap<PageId, Seen>,
        homes: &BTreeMap<PageId, NodeId>,
    ) -> Vec<(PageId, Seen)> {
        let (mut all, mut away) = (0, Vec::new());
        seen.retain(|id, s| {
            let follows = s.follows && !self.pages.known.contains_key(id);
            if follows {
                all += 1;
                if s.by.iter().any(|share| share.node != homes[id]) {
                    away.push((*id, std::mem::take(s)));
                }
            }
            !follows
        });
        self.following = (all, away.len() as u64);
        away
    }

    /// Where a page goes with its neighbours, if nothing speaks against it.
    pub(super) fn follow(&mut self, id: PageId, seen: &Seen, from: NodeId) -> Option<MigrationCandidate> {
        let to = seen.by.first()?.node;
        let held = &mut self.stats.held;
        if self.barred.contains(&(id.space, None)) || self.barred.contains(&(id.space, Some(to))) {
            held.barred += 1;
            return None;
        }
        let unit = self.config.accesses_per_unit;
        let gain = cost(self.machine, &seen.by, from, unit) - cost(self.machine, &seen.by, to, unit);
        let price = price(self.machine, &self.budget, 1, from, to);
        let worth = gain.0.saturating_mul(i128::from(self.config.horizon_windows));
        if self.backoff.factor(to).is_none_or(|f| worth <= price.0.saturating_mul(i128::from(f))) {
            held.gain += 1;
            // Nothing is remembered of it: it is told again when samples say so again, and pays when there are more of them.
            self.spread.again(id);
            return None;
        }
        Some(MigrationCandidate { page: id, pages: 1, from, to, gain: i64::try_from(gain.0).unwrap_or(i64::MAX) })
    }
}

/// What moving costs: as the machine says, or as measured if that is more and the machine is given in time.
pub(super) fn price(machine: &Machine, budget: &Budget, pages: u32, from: NodeId, to: NodeId) -> TotalCost {
    let bytes = PAGE_BYTES * u64::from(pages);
    let model = machine.copy_cost(bytes, Location::Node(from), Location::Node(to)).times(1);
    match machine.unit {
        Unit::Picoseconds => model.max(TotalCost(i128::from(budget.price_ns(pages)) * 1000)),
        Unit::Quantum(_) => model,
    }
}
