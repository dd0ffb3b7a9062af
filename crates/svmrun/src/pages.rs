//! What happened to pages, added up by object.
use crate::doc::{ObjectDoc, PageRunDoc, TrafficDoc};
use crate::order::InOrder;

/// Runs of pages in a document.
const RUNS_MOST: usize = 1 << 18;

/// A page: its home, the object that it is of, and what happened to it, by node.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Home; none if no node touched it.
    pub home: Option<u16>,
    /// Index of the object.
    pub object: Option<u32>,
    /// Times that it was fetched.
    pub fetches: Vec<u64>,
    /// Intervals in which it was written.
    pub writes: Vec<u64>,
    /// Fetches right after the page before it, by the same thread, which did not synchronise in between.
    pub in_order: Vec<u64>,
    /// Runs of changed words in diffs.
    pub runs: u64,
    /// Invalidations.
    pub invalidations: u64,
}

impl Page {
    /// What happened to it; nothing if nothing did.
    pub(crate) fn traffic(&self) -> Option<TrafficDoc> {
        let (fetched, written) = (sum(&self.fetches), sum(&self.writes));
        if fetched + written + self.invalidations == 0 {
            return None;
        }
        let by = main_writer(&self.writes);
        let remote = matches!(by, Writer::One(writer) if Some(writer) != self.home);
        Some(TrafficDoc {
            fetches: self.fetches.clone(),
            writes: self.writes.clone(),
            runs: self.runs,
            invalidations: self.invalidations,
            fetches_of_shared_writes: if matches!(by, Writer::Several) { fetched } else { 0 },
            fetches_of_remote_writes: if remote { fetched } else { 0 },
            fetches_in_order: sum(&self.in_order),
        })
    }
}

/// Who writes a page.
enum Writer {
    None,
    /// Nine of ten times this node.
    One(u16),
    Several,
}

fn main_writer(writes: &[u64]) -> Writer {
    let most = (0..).zip(writes).max_by_key(|(_, n)| **n);
    match most {
        None | Some((_, 0)) => Writer::None,
        Some((node, n)) if n.saturating_mul(10) >= sum(writes).saturating_mul(9) => Writer::One(node),
        Some(_) => Writer::Several,
    }
}

/// Pages, which come in the order of addresses.
pub struct Pages {
    runs: usize,
    in_order: Vec<InOrder>,
}

impl Pages {
    /// None yet, of so many nodes.
    pub fn new(nodes: usize) -> Pages {
        Pages { runs: 0, in_order: vec![InOrder::new(); nodes] }
    }
    /// A piece of memory to whose pages nothing has happened yet.
    pub fn piece(nodes: usize, (address, bytes): (u64, u64), site: String) -> ObjectDoc {
        let traffic = TrafficDoc { fetches: vec![0; nodes], writes: vec![0; nodes], ..TrafficDoc::default() };
        ObjectDoc {
            site,
            source: None,
            thread: 0,
            asked_bytes: bytes,
            address,
            bytes,
            traffic,
            pages: Vec::new(),
            ahead: InOrder::none(),
        }
    }

    /// Adds the next page to its object; what happened to it.
    pub fn add(&mut self, page: &Page, objects: &mut [ObjectDoc]) -> Option<TrafficDoc> {
        let traffic = page.traffic();
        if let Some(object) = page.object.and_then(|o| objects.get_mut(o as usize)) {
            self.note_page(page, object);
            traffic.iter().for_each(|t| add(&mut object.traffic, t));
        }
        self.note_order(Some(page).filter(|_| traffic.is_some()), page.home, objects);
        traffic
    }
    /// There are no more.
    pub fn end(mut self, objects: &mut [ObjectDoc]) {
        self.note_order(None, None, objects);
        if self.runs > RUNS_MOST {
            objects.iter_mut().for_each(|o| o.pages.clear());
        }
    }

    /// Adds a page to the runs of its object, and to how many there are.
    fn note_page(&mut self, page: &Page, object: &mut ObjectDoc) {
        if self.runs > RUNS_MOST {
            return;
        }
        let writer = if let Writer::One(node) = main_writer(&page.writes) { Some(node) } else { None };
        let by = |node: Option<u16>| node.and_then(|n| page.writes.get(usize::from(n))).copied().unwrap_or(0);
        let all = &mut object.pages;
        if all.last().is_none_or(|run| (run.home, run.writer) != (page.home, writer)) {
            self.runs += 1;
            all.push(PageRunDoc { pages: 0, home: page.home, writer, writes: 0, of_home: 0, of_writer: 0 });
        }
        let Some(run) = all.last_mut() else { return };
        run.pages += 1;
        run.writes += sum(&page.writes);
        run.of_home += by(page.home);
        run.of_writer += by(writer);
    }

    /// Adds what pages ahead would have saved, of runs of fetches that end before this page, or with the memory, to the objects of those.
    fn note_order(&mut self, page: Option<&Page>, home: Option<u16>, objects: &mut [ObjectDoc]) {
        if page.is_none() && !self.in_order.iter().any(InOrder::is_open) {
            return;
        }
        let object = page.and_then(|p| p.object);
        for (at, order) in self.in_order.iter_mut().enumerate() {
            let of = |by_node: &[u64]| by_node.get(at).copied().unwrap_or(0);
            let [fetches, in_order] = page.map_or([0; 2], |p| [of(&p.fetches), of(&p.in_order)]);
            let Some((of, saved)) = order.next((home, object), fetches, in_order) else { continue };
            let ahead = objects.get_mut(of as usize).map_or(&mut [][..], |o| &mut o.ahead);
            ahead.iter_mut().zip(saved).for_each(|(doc, saved)| doc.saved_fetches += saved);
        }
    }
}

fn add(to: &mut TrafficDoc, from: &TrafficDoc) {
    to.fetches.iter_mut().zip(&from.fetches).for_each(|(to, from)| *to += from);
    to.writes.iter_mut().zip(&from.writes).for_each(|(to, from)| *to += from);
    to.runs += from.runs;
    to.invalidations += from.invalidations;
    to.fetches_of_shared_writes += from.fetches_of_shared_writes;
    to.fetches_of_remote_writes += from.fetches_of_remote_writes;
    to.fetches_in_order += from.fetches_in_order;
}

pub(crate) fn sum(by_node: &[u64]) -> u64 {
    by_node.iter().fold(0, |sum, n| sum.saturating_add(*n))
}
