//! From counts to homes: affinity per page, stacks as a whole, capacities.
use super::evidence::{Evidence, NOBODY};
use super::huge::{Known, join_known};
use super::keys::Keys;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_command::Failure;
use homenode_machine::{Location, Machine, ThreadMap};
use homenode_placement::affinity::{Distances, Question, Rule, Terms};
use homenode_placement::assign::{AssignError, Class, Item, assign, assign_mixed};
use homenode_placement::counts::{ClassCounts, PageKey};
use homenode_placement::plan::{HugePages, ObjectKey};
use std::collections::{BTreeMap, HashMap};

/// Pages that go to one node together: one page, the parts of a huge page, or all pages of a stack.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) pages: Vec<PageKey>,
    /// Uses by node.
    pub(super) uses: Vec<ClassCounts>,
    /// Node of the first toucher of each page, with the uses of that page.
    pub(super) touched: Vec<(NodeId, Vec<ClassCounts>)>,
    /// Whether an object with a key lies there.
    pub(super) placeable: bool,
    /// Where it is to live; `None`: wherever it is touched first.
    pub(super) home: Option<NodeId>,
}

/// What decides.
pub(super) struct Judge<'a> {
    pub(super) machine: &'a Machine,
    pub(super) distances: Distances,
    pub(super) rule: &'a Rule,
    pub(super) page_bytes: u64,
    /// Pages that each node can hold; `None`: as many as there are.
    pub(super) capacity: Option<Vec<u64>>,
    /// A page stays with its first toucher unless the cost there is so many percent above the least: samples of references
    /// cannot tell hits from misses, so small differences mean nothing behind caches.
    pub(super) margin_percent: i128,
    /// What a sample weighs that counts as one; costs of moving are multiplied by it.
    pub(super) sample_weight: u32,
}

impl Judge<'_> {
    /// The homes of all pages with uses, and what became of huge pages. `evidence` was gathered with the threads in these
    /// seats.
    pub(super) fn decide(
        &self,
        evidence: &Evidence,
        keys: &Keys,
        map: &ThreadMap,
        huge: &Known,
    ) -> Result<(Vec<Unit>, Option<HugePages>), Failure> {
        let (mut units, huge) = join_known(self.units(evidence, keys, map), huge, self);
        for unit in units.iter_mut().filter(|u| u.placeable) {
            unit.home = self.rule.decide(&self.question(unit)).map(|home| self.settled(unit, home));
        }
        if let Some(capacity) = &self.capacity {
            self.fit(&mut units, capacity)?;
        }
        Ok((units, huge))
    }

    /// The home the rule wants, or the first toucher's node if that is nearly as good.
    fn settled(&self, unit: &Unit, wanted: NodeId) -> NodeId {
        let Some(now) = self.question(unit).home.filter(|_| self.margin_percent > 0) else { return wanted };
        let (there, here) = (self.distances.cost(&unit.uses, wanted), self.distances.cost(&unit.uses, now));
        let limit = there.0.saturating_mul(100 + self.margin_percent);
        if here.0.saturating_mul(100) <= limit { now } else { wanted }
    }

    fn units(&self, evidence: &Evidence, keys: &Keys, map: &ThreadMap) -> Vec<Unit> {
        let node_of = |t: homenode_base::ThreadId| map.seats().get(t.index()).map_or(NodeId(u16::MAX), |s| s.node);
        let nodes = self.machine.nodes();
        let (mut units, mut stacks): (Vec<Unit>, BTreeMap<u32, usize>) = (Vec::new(), BTreeMap::new());
        // Pages that were touched once and not seen in use are silent: nothing speaks for any home.
        for (page, uses) in evidence.profile.counts.sorted().into_iter().filter(|(_, uses)| uses.total() > 0) {
            let owners = evidence.owners.get(&page).map_or(&[][..], |o| o);
            let key = |o: u32| keys.of.get(o as usize).and_then(|k| k.as_ref().ok());
            let stack = owners.iter().find(|(o, _)| matches!(key(*o), Some(ObjectKey::Stack { .. })));
            let by_node = uses.by_node(nodes, node_of);
            let touched = (node_of(uses.first), by_node.clone());
            let fresh = Unit {
                pages: vec![page],
                uses: by_node,
                touched: vec![touched],
                placeable: owners.iter().any(|(o, _)| *o != NOBODY && key(*o).is_some()),
                home: None,
            };
            match stack.and_then(|(o, _)| stacks.get(o).copied()) {
                Some(i) => join(&mut units[i], fresh),
                None => {
                    if let Some((object, _)) = stack {
                        stacks.insert(*object, units.len());
                    }
                    units.push(fresh);
                }
            }
        }
        units
    }

    /// Copying a page, in the scale of the uses.
    pub(super) fn copy_cost(&self, from: Location, to: Location) -> Cost {
        Cost(self.machine.copy_cost(self.page_bytes, from, to).0.saturating_mul(i64::from(self.sample_weight)))
    }

    fn question<'q>(&'q self, unit: &'q Unit) -> Question<'q> {
        let node = |n: u16| Location::Node(NodeId(n));
        let move_cost = self.copy_cost(node(0), node(1.min(self.machine.nodes() as u16 - 1)));
        let home = unit.touched.first().map(|(n, _)| *n).filter(|n| n.index() < self.machine.nodes());
        Question { distances: &self.distances, uses: &unit.uses, home, terms: Terms { move_cost, scale: 1 } }
    }

    /// Prices for assignment: the rule's, except that what it would leave alone prefers to stay.
    fn prices(&self, unit: &Unit) -> Vec<TotalCost> {
        let question = self.question(unit);
        let mut prices = self.rule.price(&question);
        if let (None, Some(home)) = (unit.home, question.home) {
            let here = prices[home.index()];
            prices.iter_mut().for_each(|p| *p = TotalCost((p.0 - here.0).max(1)));
            prices[home.index()] = TotalCost::ZERO;
        }
        prices
    }

    /// Keeps nodes within their capacity at the least price. What cannot be placed takes room where it is touched.
    fn fit(&self, units: &mut [Unit], capacity: &[u64]) -> Result<(), Failure> {
        let mut room = capacity.to_vec();
        for (node, pages) in units.iter().filter(|u| !u.placeable).flat_map(held) {
            if let Some(free) = room.get_mut(node.index()) {
                *free = free.saturating_sub(pages);
            }
        }
        let movable: Vec<usize> = (0..units.len()).filter(|i| units[*i].placeable).collect();
        let wanted = movable.iter().filter(|i| units[**i].home.is_some()).flat_map(|i| held(&units[*i]));
        let wanted = wanted.fold(vec![0u64; room.len()], |mut sum, (node, pages)| {
            sum[node.index()] += pages;
            sum
        });
        if wanted.iter().zip(&room).all(|(w, r)| w <= r) {
            return Ok(());
        }
        if movable.iter().all(|i| units[*i].pages.len() == 1) {
            return self.fit_pages(units, movable, &room);
        }
        let item = |i: &usize| Item { prices: self.prices(&units[*i]), pages: units[*i].pages.len() as u64 };
        let items: Vec<Item> = movable.iter().map(item).collect();
        let found = assign_mixed(&items, &room).map_err(full)?;
        movable.iter().zip(found.homes).for_each(|(i, home)| units[*i].home = Some(NodeId(home as u16)));
        Ok(())
    }

    /// Single pages, exactly.
    fn fit_pages(&self, units: &mut [Unit], movable: Vec<usize>, room: &[u64]) -> Result<(), Failure> {
        let mut kinds: HashMap<Vec<TotalCost>, Vec<usize>> = HashMap::new();
        for i in movable {
            kinds.entry(self.prices(&units[i])).or_default().push(i);
        }
        let mut kinds: Vec<(Vec<TotalCost>, Vec<usize>)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, members)| members[0]);
        let classes: Vec<Class> =
            kinds.iter().map(|(p, members)| Class { prices: p.clone(), pages: members.len() as u64 }).collect();
        let found = assign(&classes, room).map_err(full)?;
        for ((_, members), at) in kinds.iter().zip(&found.pages) {
            let homes = at.iter().enumerate().flat_map(|(k, n)| std::iter::repeat_n(NodeId(k as u16), *n as usize));
            members.iter().zip(homes).for_each(|(i, home)| units[*i].home = Some(home));
        }
        Ok(())
    }

    /// What a unit costs where it is touched first.
    pub(super) fn now(&self, unit: &Unit) -> TotalCost {
        unit.touched.iter().map(|(node, uses)| self.distances.cost(uses, *node)).sum()
    }
    /// What it costs as planned.
    pub(super) fn planned(&self, unit: &Unit) -> TotalCost {
        unit.home.map_or_else(|| self.now(unit), |home| self.distances.cost(&unit.uses, home))
    }
    /// What its pages cost at their best homes.
    pub(super) fn best(&self, unit: &Unit) -> TotalCost {
        unit.touched.iter().map(|(_, uses)| self.distances.costs(uses).into_iter().min().unwrap_or_default()).sum()
    }
    /// What moving its pages costs once they were touched.
    pub(super) fn moving(&self, unit: &Unit) -> TotalCost {
        let Some(home) = unit.home else { return TotalCost::ZERO };
        let cost = |from: NodeId| self.machine.copy_cost(self.page_bytes, Location::Node(from), Location::Node(home));
        unit.touched.iter().map(|(from, _)| cost(*from)).sum()
    }
}

fn full(e: AssignError) -> Failure {
    Failure::usage(format!("--capacity: {e}"))
}

/// Pages of a unit by the node that holds them.
pub(super) fn held(unit: &Unit) -> Vec<(NodeId, u64)> {
    match unit.home {
        Some(home) => vec![(home, unit.pages.len() as u64)],
        None => unit.touched.iter().map(|(node, _)| (*node, 1)).collect(),
    }
}

/// Makes one unit of two; both stay where they are touched.
pub(super) fn join(unit: &mut Unit, other: Unit) {
    for (sum, more) in unit.uses.iter_mut().zip(&other.uses) {
        sum.iter_mut().zip(more).for_each(|(s, m)| *s = s.saturating_add(*m));
    }
    unit.pages.extend(other.pages);
    unit.touched.extend(other.touched);
}
