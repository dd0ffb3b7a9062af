//! Sums over transfers: by class, object and site, exact.
use crate::names::{Names, site_name};
use crate::rows::{TransferBreakdown, TransferClass, TransferLine, TrueUse};
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Source lines named for a class.
const LINES: usize = 8;

/// What a transfer was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Nothing.
    False,
    /// What another wrote, or room for a write to what another used.
    True,
    /// To a lock word.
    Lock,
    /// Not known.
    Unwatched,
}

/// The reference that made a line come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cause {
    pub(crate) object: u32,
    pub(crate) site: u32,
}

/// Count and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sum {
    pub(crate) cost: TotalCost,
    pub(crate) transfers: u64,
}

/// The sums. Memory: 72 bytes for each class, object and site that occurs.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    sums: HashMap<(Class, Cause), Sum>,
    /// Whether not all lines were watched.
    pub(crate) pruned: bool,
}

impl Transfers {
    pub(crate) fn add(&mut self, class: Class, cause: Cause, transfers: u64, cost: Cost) {
        let sum = self.sums.entry((class, cause)).or_default();
        sum.transfers += transfers;
        sum.cost += cost;
    }
    /// Adds the sums of others.
    pub(crate) fn absorb(&mut self, other: &Transfers) {
        for ((class, cause), more) in &other.sums {
            let sum = self.sums.entry((*class, *cause)).or_default();
            sum.transfers += more.transfers;
            sum.cost += more.cost;
        }
        self.pruned |= other.pruned;
    }
    /// Bytes of memory held, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.sums.capacity() * 72
    }
    /// The rows; `name` says what an object is called.
    pub(crate) fn breakdown(&self, names: &dyn Names, name: &dyn Fn(u32) -> String) -> TransferBreakdown {
        let class = |class| self.class(class, names, name);
        TransferBreakdown {
            falsely_shared: class(Class::False),
            truly_shared: class(Class::True),
            locks: class(Class::Lock),
            unwatched: class(Class::Unwatched),
            in_turns: None,
            true_use: TrueUse::Unclear,
        }
    }
    fn class(&self, class: Class, names: &dyn Names, name: &dyn Fn(u32) -> String) -> TransferClass {
        let sums = self.sums.iter().filter(|((c, _), _)| *c == class).map(|((_, cause), sum)| (cause, sum));
        let (mut all, mut objects) = (Sum::default(), BTreeMap::<u32, TotalCost>::new());
        for (cause, sum) in sums.clone() {
            all.transfers += sum.transfers;
            all.cost += sum.cost;
            *objects.entry(cause.object).or_default() += sum.cost;
        }
        let dearest = objects.into_iter().max_by_key(|&(object, cost)| (cost, Reverse(object)));
        let mut lines: BTreeMap<(String, String), Sum> = BTreeMap::new();
        for (cause, sum) in sums.filter(|(cause, _)| Some(cause.object) == dearest.map(|d| d.0)) {
            let site = site_name(names, cause.site);
            let line = lines.entry((site.place, site.function)).or_default();
            line.transfers += sum.transfers;
            line.cost += sum.cost;
        }
        let mut lines: Vec<TransferLine> = lines
            .into_iter()
            .map(|((place, function), Sum { cost, transfers })| TransferLine { place, function, transfers, cost })
            .collect();
        lines.sort_by_key(|l| Reverse(l.cost));
        lines.truncate(LINES);
        TransferClass {
            transfers: all.transfers,
            cost: all.cost,
            object: dearest.map(|d| name(d.0)),
            object_cost: dearest.map_or(TotalCost::ZERO, |d| d.1),
            lines,
        }
    }
}
