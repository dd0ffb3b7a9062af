//! From counts to homes: affinity per page, stacks as a whole, capacities.
use crate::chooser::HomeChooser;
use crate::error::PlannerError;
use crate::evidence::{Evidence, NOBODY};
use crate::huge::{HugeRanges, join_known};
use crate::keys::Keys;
use crate::unit::{Unit, held, join};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::ThreadMap;
use homenode_placement::assign::{Class, Item, assign, assign_mixed};
use homenode_placement::plan::{HugePages, ObjectKey};
use std::collections::{BTreeMap, HashMap};

impl HomeChooser<'_> {
    /// The homes of all pages with uses, and what became of huge pages. `evidence` was gathered with the threads in these
    /// bindings.
    pub(crate) fn decide(
        &self,
        evidence: &Evidence,
        keys: &Keys,
        map: &ThreadMap,
        huge: &HugeRanges,
    ) -> Result<(Vec<Unit>, Option<HugePages>), PlannerError> {
        let (mut units, huge) = join_known(self.units(evidence, keys, map), huge, self);
        for unit in units.iter_mut().filter(|u| u.placeable) {
            unit.home = self.rule.decide(&self.question(unit)).map(|home| self.settled(unit, home));
        }
        if let Some(capacity) = &self.capacity {
            self.fit(&mut units, capacity)?;
        }
        Ok((units, huge))
    }

    fn units(&self, evidence: &Evidence, keys: &Keys, map: &ThreadMap) -> Vec<Unit> {
        let node_of = |t: homenode_base::ThreadId| map.bindings().get(t.index()).map_or(NodeId(u16::MAX), |s| s.node);
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

    /// Keeps nodes within their capacity at the least price. What cannot be placed takes room where it is touched.
    fn fit(&self, units: &mut [Unit], capacity: &[u64]) -> Result<(), PlannerError> {
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
        let found = assign_mixed(&items, &room)?;
        movable.iter().zip(found.homes).for_each(|(i, home)| units[*i].home = Some(NodeId(home as u16)));
        Ok(())
    }

    /// Single pages, exactly.
    fn fit_pages(&self, units: &mut [Unit], movable: Vec<usize>, room: &[u64]) -> Result<(), PlannerError> {
        let mut kinds: HashMap<Vec<TotalCost>, Vec<usize>> = HashMap::new();
        for i in movable {
            kinds.entry(self.prices(&units[i])).or_default().push(i);
        }
        let mut kinds: Vec<(Vec<TotalCost>, Vec<usize>)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, members)| members[0]);
        let classes: Vec<Class> =
            kinds.iter().map(|(p, members)| Class { prices: p.clone(), pages: members.len() as u64 }).collect();
        let found = assign(&classes, room)?;
        for ((_, members), at) in kinds.iter().zip(&found.pages) {
            let homes = at.iter().enumerate().flat_map(|(k, n)| std::iter::repeat_n(NodeId(k as u16), *n as usize));
            members.iter().zip(homes).for_each(|(i, home)| units[*i].home = Some(home));
        }
        Ok(())
    }
}
