//! What a program could do without on a cluster, by what `homenode svm report` goes by.
use super::objects::Places;
use homenode_base::spaces::unflatten;
use homenode_cluster::{AtNode, PageWaits, Row, SyncWaits};
use homenode_hlrc::steps::{self, Pages as How};
use homenode_svmrun::doc::{LockGroupDoc, ObjectDoc};
use homenode_svmrun::{Advice, Evidence, Mean, Page, Pages, advice};
use std::collections::BTreeMap;

/// Objects with what happened to their pages, which are there in the order of addresses.
struct Objects<'p> {
    places: &'p Places<'p>,
    nodes: usize,
    all: Vec<ObjectDoc>,
    numbers: BTreeMap<String, u32>,
}

impl Objects<'_> {
    /// Number of the object that has most of this memory.
    fn number(&mut self, space: u32, from: u64, to: u64) -> u32 {
        let name = self.places.most(space, from, to);
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.all.push(Pages::piece(self.nodes, (from, 0), name.clone()));
            self.all.len() as u32 - 1
        })
    }

    fn add_pages(&mut self, pages: &[PageWaits], page_bytes: u64) {
        let mut added = Pages::new(self.nodes);
        for p in pages {
            let (space, address) = unflatten(p.flat);
            let object = self.number(space, address, address.saturating_add(page_bytes));
            let by_node = |of: fn(&AtNode) -> u64| p.nodes.iter().map(of).collect::<Vec<u64>>();
            self.all[object as usize].bytes += page_bytes;
            let page = Page {
                home: p.home,
                object: Some(object),
                fetches: by_node(|n| n.fetches),
                writes: by_node(|n| n.writes),
                in_order: by_node(|n| n.in_order),
                runs: by_node(|n| n.runs).iter().sum(),
                invalidations: by_node(|n| n.invalidations).iter().sum(),
            };
            added.add(&page, &mut self.all);
        }
        added.end(&mut self.all);
    }

    /// Locks by object, and seconds that threads which had one waited for pages.
    fn locks(&mut self, all: &[SyncWaits], seconds: impl Fn(u64) -> f64) -> (Vec<LockGroupDoc>, Vec<f64>) {
        let mut groups: BTreeMap<u32, (LockGroupDoc, f64)> = BTreeMap::new();
        for lock in all.iter().filter(|s| !s.is_barrier && s.times > 0) {
            let (space, address) = lock.object;
            let object = self.number(space, address, address.saturating_add(1));
            let (group, faulted) = groups.entry(object).or_default();
            group.object = Some(object);
            group.locks += 1;
            group.taken += lock.times;
            group.remote += lock.remote;
            group.seconds += seconds(lock.waited);
            *faulted += seconds(lock.faulted);
        }
        groups.into_values().unzip()
    }
}

/// Advice on the program of a row, the greatest saving first, and a sentence if there is none.
pub(super) fn of(row: &Row, places: &Places<'_>, (mhz, page_bytes): (u64, u64)) -> (Vec<Advice>, Option<String>) {
    let seconds = |cycles: u64| cycles as f64 / (1e6 * mhz.max(1) as f64);
    let threads = row.nodes as usize * row.processors as usize;
    let mean = |cycles: u64| seconds(cycles) / threads.max(1) as f64;
    let all = Mean {
        seconds: seconds(row.cycles),
        compute: mean(row.compute + row.local),
        data: mean(row.data),
        lock: mean(row.lock),
        barrier: mean(row.barrier),
        serving: mean(row.interrupted),
        other: mean(row.other + row.idle),
        protect: mean(row.work.protection),
        diff: mean(row.work.diffs),
    };
    let of_node = |data: &u64| Mean { data: seconds(*data) / f64::from(row.processors), ..all };
    let mut objects = Objects { places, nodes: row.nodes as usize, all: Vec::new(), numbers: BTreeMap::new() };
    objects.add_pages(&row.pages, page_bytes);
    let (lock_groups, faulted) = objects.locks(&row.synchronisation, seconds);
    let barriers: u64 = row.synchronisation.iter().filter(|s| s.is_barrier).map(|s| s.times).sum();
    advice(&Evidence {
        mean: all,
        nodes: row.node_data.iter().map(of_node).collect(),
        threads,
        busiest: Some((row.most_work_at, seconds(row.most_work))),
        least_seconds: 0.0,
        clock: "in virtual time",
        objects: &objects.all,
        lock_groups: &lock_groups,
        faulted,
        barriers: barriers / threads.max(1) as u64,
        is_fetched: steps::find(row.protocol).is_some_and(|step| step.pages == How::Fetched),
        moved: 0,
        came_ahead: 0,
    })
}
