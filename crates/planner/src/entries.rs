//! From homes of pages to ranges of objects, and what is left over.
use crate::chooser::HomeChooser;
use crate::evidence::{Evidence, NOBODY};
use crate::keys::Keys;
use crate::unit::Unit;
use homenode_base::NodeId;
use homenode_objects::{Object, ObjectTable};
use homenode_placement::counts::PageKey;
use homenode_placement::plan::{Entry, Home, ObjectKey, Unplaceable, Why, Worth};
use std::collections::BTreeMap;

/// What ranges are made from.
pub(crate) struct RangeBuilder<'a> {
    pub(crate) chooser: &'a HomeChooser<'a>,
    pub(crate) evidence: &'a Evidence,
    pub(crate) keys: &'a Keys,
    pub(crate) table: &'a ObjectTable,
}

/// Pages of one object: number, home, and their worth where the object is the page's main owner.
type Pages = BTreeMap<u64, (NodeId, Worth)>;

impl RangeBuilder<'_> {
    /// Ranges of objects with homes, by object and offset; `guessed` are homes of pages without uses.
    pub(crate) fn entries(&self, units: &[Unit], guessed: &[(PageKey, NodeId, u32)]) -> Vec<Entry> {
        let mut objects: BTreeMap<u32, Pages> = BTreeMap::new();
        for (page, home, object) in guessed {
            objects.entry(*object).or_default().insert(page.page, (*home, Worth::default()));
        }
        for unit in units {
            let Some(home) = unit.home else { continue };
            let whole = Worth {
                now: self.chooser.now(unit),
                planned: self.chooser.planned(unit),
                moving: self.chooser.moving(unit),
            };
            for (i, page) in unit.pages.iter().enumerate() {
                let worth = if i == 0 { whole } else { Worth::default() };
                let owners = self.evidence.owners.get(page).map_or(&[][..], |o| o);
                let named = owners.iter().filter(|(o, _)| self.key(*o).is_some());
                for (n, (object, _)) in named.enumerate() {
                    let worth = if n == 0 { worth } else { Worth::default() };
                    objects.entry(*object).or_default().insert(page.page, (home, worth));
                }
            }
        }
        let mut entries: Vec<Entry> = objects.iter().flat_map(|(object, pages)| self.ranges(*object, pages)).collect();
        // Objects freed and allocated again under one key would claim the same ranges twice.
        let mut known = std::collections::BTreeSet::new();
        entries.retain(|e| known.insert((e.object.clone(), e.offset)));
        entries
    }

    fn key(&self, object: u32) -> Option<&ObjectKey> {
        self.keys.of.get(object as usize).and_then(|k| k.as_ref().ok())
    }

    fn name(&self, object: u32) -> String {
        self.table.group_of(object).name.clone()
    }

    /// Runs of pages with one home, cut to the object.
    fn ranges(&self, id: u32, pages: &Pages) -> Vec<Entry> {
        let (Some(object), Some(key)) = (self.table.objects().get(id as usize), self.key(id)) else {
            return Vec::new();
        };
        if let ObjectKey::Stack { .. } = key {
            return self.whole_stack(id, object, key, pages);
        }
        let page_bytes = self.chooser.page_bytes;
        let mut entries: Vec<Entry> = Vec::new();
        for (page, (home, worth)) in pages {
            let from = (page * page_bytes).max(object.addr) - object.addr;
            let end = page.saturating_add(1).saturating_mul(page_bytes).saturating_sub(object.addr).min(object.bytes);
            let Some(bytes) = end.checked_sub(from).filter(|n| *n > 0) else { continue };
            match entries.last_mut() {
                Some(last) if last.home == Home::Node(home.0) && last.offset + last.bytes == from => {
                    last.bytes += bytes;
                    add(&mut last.worth, worth);
                }
                _ => entries.push(Entry {
                    object: key.clone(),
                    offset: from,
                    bytes,
                    home: Home::Node(home.0),
                    name: self.name(id),
                    worth: *worth,
                }),
            }
        }
        entries
    }

    fn whole_stack(&self, id: u32, object: &Object, key: &ObjectKey, pages: &Pages) -> Vec<Entry> {
        let mut worth = Worth::default();
        pages.values().for_each(|(_, w)| add(&mut worth, w));
        let Some((home, _)) = pages.values().next() else { return Vec::new() };
        let home = Home::Node(home.0);
        vec![Entry { object: key.clone(), offset: 0, bytes: object.bytes.max(1), home, name: self.name(id), worth }]
    }

    /// Pages without a key, by reason and name, most used first.
    pub(crate) fn unplaceable(&self, units: &[Unit]) -> Vec<Unplaceable> {
        let mut rows: BTreeMap<(Why, String), Row> = BTreeMap::new();
        for unit in units.iter().filter(|u| !u.placeable) {
            for (page, (_, uses)) in unit.pages.iter().zip(&unit.touched) {
                let (why, object) = self.reason(page);
                let name = object.map_or_else(|| "unknown memory".to_owned(), |o| self.name(o));
                rows.entry((why, name)).or_default().add(object, self.table, uses);
            }
        }
        let mut list: Vec<Unplaceable> = rows.into_iter().map(|((why, name), row)| row.finish(why, name)).collect();
        list.sort_by_key(|u| std::cmp::Reverse(u.uses));
        list
    }

    /// Why a page has no key: as its main owner has none.
    fn reason(&self, page: &PageKey) -> (Why, Option<u32>) {
        let owners = self.evidence.owners.get(page).map_or(&[][..], |o| o);
        match owners.iter().find(|(o, _)| *o != NOBODY) {
            Some((object, _)) => {
                let why = self.keys.of.get(*object as usize).and_then(|k| k.as_ref().err().copied());
                (why.unwrap_or(Why::UnknownMemory), Some(*object))
            }
            None => (Why::UnknownMemory, None),
        }
    }
}

#[derive(Default)]
struct Row {
    group: Option<(u64, u64)>,
    pages: u64,
    by_node: Vec<u64>,
}

impl Row {
    fn add(&mut self, object: Option<u32>, table: &ObjectTable, uses: &[homenode_placement::counts::ClassCounts]) {
        self.group = self.group.or(object.map(|o| (table.group_of(o).objects, table.group_of(o).bytes)));
        self.pages += 1;
        self.by_node.resize(self.by_node.len().max(uses.len()), 0);
        for (sum, counts) in self.by_node.iter_mut().zip(uses) {
            *sum = counts.iter().fold(*sum, |a, b| a.saturating_add(*b));
        }
    }

    fn finish(self, why: Why, name: String) -> Unplaceable {
        let uses = self.by_node.iter().fold(0u64, |a, b| a.saturating_add(*b));
        let node =
            (0..self.by_node.len()).max_by_key(|k| (self.by_node[*k], std::cmp::Reverse(*k))).unwrap_or(0) as u16;
        let (objects, bytes) = self.group.unwrap_or_default();
        let share = self.by_node.get(usize::from(node)).copied().unwrap_or(0).saturating_mul(100) / uses.max(1);
        let advice = match why {
            Why::SmallObjects if share >= 90 => format!(
                "allocate them together, from an arena of whole pages; {share} % of their uses come from node {node}"
            ),
            Why::SmallObjects => format!(
                "give each thread an arena of whole pages for its own; today node {node} makes {share} % of the uses"
            ),
            Why::NoBuildId => "link with -Wl,--build-id and record again".to_owned(),
            Why::OtherProcess => "record that process by itself".to_owned(),
            Why::UnknownMemory => "nothing: stacks of the kernel's making, loader data and the like".to_owned(),
        };
        Unplaceable { name, why, objects, pages: self.pages, bytes, uses, node, advice }
    }
}

fn add(sum: &mut Worth, more: &Worth) {
    sum.now += more.now;
    sum.planned += more.planned;
    sum.moving += more.moving;
}
