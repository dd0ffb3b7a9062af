//! What a home is worth: the machine's distances, the rule, and how far the evidence can be believed.
use crate::unit::Unit;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::affinity::{Distances, Question, Rule, Terms};

/// What decides.
pub(crate) struct HomeChooser<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) distances: Distances,
    pub(crate) rule: &'a Rule,
    pub(crate) page_bytes: u64,
    /// Pages that each node can hold; `None`: as many as there are.
    pub(crate) capacity: Option<Vec<u64>>,
    /// A page stays with its first toucher unless the cost there is so many percent above the least: samples of references
    /// cannot tell hits from misses, so small differences mean nothing behind caches.
    pub(crate) margin_percent: i128,
    /// What a sample weighs that counts as one; costs of moving are multiplied by it.
    pub(crate) sample_weight: u32,
}

impl HomeChooser<'_> {
    /// The home the rule wants, or the first toucher's node if that is nearly as good.
    pub(crate) fn settled(&self, unit: &Unit, wanted: NodeId) -> NodeId {
        let Some(now) = self.question(unit).home.filter(|_| self.margin_percent > 0) else { return wanted };
        let (there, here) = (self.distances.cost(&unit.uses, wanted), self.distances.cost(&unit.uses, now));
        let limit = there.0.saturating_mul(100 + self.margin_percent);
        if here.0.saturating_mul(100) <= limit { now } else { wanted }
    }

    /// Copying a page, in the scale of the uses.
    pub(crate) fn copy_cost(&self, from: Location, to: Location) -> Cost {
        Cost(self.machine.copy_cost(self.page_bytes, from, to).0.saturating_mul(i64::from(self.sample_weight)))
    }

    /// What the rule is asked about a unit.
    pub(crate) fn question<'q>(&'q self, unit: &'q Unit) -> Question<'q> {
        let node = |n: u16| Location::Node(NodeId(n));
        let move_cost = self.copy_cost(node(0), node(1.min(self.machine.nodes() as u16 - 1)));
        let home = unit.touched.first().map(|(n, _)| *n).filter(|n| n.index() < self.machine.nodes());
        Question { distances: &self.distances, uses: &unit.uses, home, terms: Terms { move_cost, scale: 1 } }
    }

    /// Prices for assignment: the rule's, except that what it would leave alone prefers to stay.
    pub(crate) fn prices(&self, unit: &Unit) -> Vec<TotalCost> {
        let question = self.question(unit);
        let mut prices = self.rule.price(&question);
        if let (None, Some(home)) = (unit.home, question.home) {
            let here = prices[home.index()];
            prices.iter_mut().for_each(|p| *p = TotalCost((p.0 - here.0).max(1)));
            prices[home.index()] = TotalCost::ZERO;
        }
        prices
    }

    /// What a unit costs where it is touched first.
    pub(crate) fn now(&self, unit: &Unit) -> TotalCost {
        unit.touched.iter().map(|(node, uses)| self.distances.cost(uses, *node)).sum()
    }
    /// What it costs as planned.
    pub(crate) fn planned(&self, unit: &Unit) -> TotalCost {
        unit.home.map_or_else(|| self.now(unit), |home| self.distances.cost(&unit.uses, home))
    }
    /// What its pages cost at their best homes.
    pub(crate) fn best(&self, unit: &Unit) -> TotalCost {
        unit.touched.iter().map(|(_, uses)| self.distances.costs(uses).into_iter().min().unwrap_or_default()).sum()
    }
    /// What moving its pages costs once they were touched.
    pub(crate) fn moving(&self, unit: &Unit) -> TotalCost {
        let Some(home) = unit.home else { return TotalCost::ZERO };
        let cost = |from: NodeId| self.machine.copy_cost(self.page_bytes, Location::Node(from), Location::Node(home));
        unit.touched.iter().map(|(from, _)| cost(*from)).sum()
    }
}
