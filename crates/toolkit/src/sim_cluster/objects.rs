//! Objects behind pages, locks and barriers: what threads of a cluster waited for.
use homenode_base::spaces::unflatten;
use homenode_cluster::{Row, SyncWaits};
use homenode_sim::Objects;
use homenode_sim::names::NameTable;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many of each are told.
const MOST: usize = 10;
/// Name of what lies in no object that is known.
const UNKNOWN: &str = "memory that no object is known of";

/// Pages of an object, of each the one that has most of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObjectWaits {
    /// What it is.
    pub object: String,
    /// Pages of it that were waited for.
    pub pages: u64,
    /// Cycles that threads waited for them.
    pub waited: u64,
    /// Faults.
    pub faults: u64,
    /// Times that one came from its home.
    pub fetches: u64,
    /// Times that a node gave one up because another one wrote it.
    pub invalidations: u64,
}

/// A lock or a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockWaits {
    /// In which object it lies.
    pub object: String,
    /// Address.
    pub address: u64,
    /// "lock" or "barrier".
    pub kind: &'static str,
    /// Cycles that threads waited for it, and gave it up.
    pub waited: u64,
    /// Times that it was taken, or that threads came.
    pub times: u64,
}

/// Where objects lie, whenever they lived.
pub(super) struct Places<'d> {
    names: &'d NameTable<'d>,
    /// Space, first byte, bytes, row: in order; and the furthest end of those up to each, in its space.
    extents: Vec<(u32, u64, u64, u32)>,
    ends: Vec<u64>,
}

impl<'d> Places<'d> {
    pub(super) fn new(names: &'d NameTable<'d>) -> Places<'d> {
        let mut extents: Vec<(u32, u64, u64, u32)> = names.extents().collect();
        extents.sort_unstable();
        let mut ends: Vec<u64> = Vec::with_capacity(extents.len());
        for (at, (space, addr, bytes, _)) in extents.iter().enumerate() {
            let end = addr.saturating_add(*bytes);
            let before = if at > 0 && extents[at - 1].0 == *space { ends[at - 1] } else { 0 };
            ends.push(end.max(before));
        }
        Places { names, extents, ends }
    }

    /// The object that has most of the bytes from one address to another.
    pub(super) fn most(&self, space: u32, from: u64, to: u64) -> String {
        let behind = self.extents.partition_point(|e| (e.0, e.1) < (space, to));
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        for at in (0..behind).rev() {
            let (of, addr, size, row) = self.extents[at];
            if of != space || self.ends[at] <= from {
                break;
            }
            let end = addr.saturating_add(size).min(to);
            *bytes.entry(row).or_default() += end.saturating_sub(addr.max(from));
        }
        let most = bytes.into_iter().filter(|b| b.1 > 0).max_by_key(|b| (b.1, std::cmp::Reverse(b.0)));
        most.map_or_else(|| UNKNOWN.to_owned(), |(row, _)| self.names.follow().object(row).name)
    }

    /// Objects by what threads waited for their pages.
    pub(super) fn objects(&self, row: &Row, page_bytes: u64) -> Vec<ObjectWaits> {
        let mut by_name: BTreeMap<String, ObjectWaits> = BTreeMap::new();
        for p in &row.pages {
            let (space, addr) = unflatten(p.flat);
            let name = self.most(space, addr, addr.saturating_add(page_bytes));
            let o = by_name.entry(name).or_default();
            o.pages += 1;
            o.waited += p.waited;
            o.faults += p.faults;
            o.fetches += p.nodes.iter().map(|n| n.fetches).sum::<u64>();
            o.invalidations += p.nodes.iter().map(|n| n.invalidations).sum::<u64>();
        }
        let mut all: Vec<ObjectWaits> = by_name.into_iter().map(|(object, o)| ObjectWaits { object, ..o }).collect();
        all.sort_by_key(|o| std::cmp::Reverse(o.waited));
        all.truncate(MOST);
        all
    }

    /// Locks and barriers by what threads waited for them.
    pub(super) fn locks(&self, row: &Row) -> Vec<LockWaits> {
        let mut all: Vec<&SyncWaits> = row.synchronisation.iter().filter(|s| s.waited > 0).collect();
        all.sort_by_key(|s| std::cmp::Reverse(s.waited));
        let lock = |s: &&SyncWaits| {
            let (space, address) = s.object;
            let object = self.most(space, address, address.saturating_add(1));
            let kind = if s.is_barrier { "barrier" } else { "lock" };
            LockWaits { object, address, kind, waited: s.waited, times: s.times }
        };
        all.iter().take(MOST).map(lock).collect()
    }
}
