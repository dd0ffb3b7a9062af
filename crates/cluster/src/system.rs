//! The cluster as the engine's memory system.
use crate::caches::{Brought, Caches, Found, NONE_PAGE, WriteBuffer};
use crate::fabric::Fabric;
use crate::host;
use crate::pages::Pages;
use crate::row::{PageWaits, SyncWaits};
use crate::slots::Slots;
use crate::world::{Modelled, Node, World};
use hashbrown::HashMap;
use homenode_hlrc::cluster::{Cluster, PageId};
use homenode_hlrc::host::Access as May;
use homenode_hlrc::operation::Operation;
use homenode_timed::engine::{Access, Deed, Effects, Memory, Object, Path};
use std::rc::Rc;
use std::sync::Arc;

/// What a processor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// A page.
    Data(u32),
    /// A lock, by its slot; whether it is taken, and not given up.
    Lock(u32, bool),
    /// A barrier, by its slot.
    Barrier(u32),
}

/// What is kept of a processor.
struct Processor {
    /// Page that it missed in last, and its number.
    page: (u64, u32),
    writes: WriteBuffer,
    /// What it waits for, and since when.
    waiting: (Waiting, u64),
    counts: bool,
    /// The phase of the program that it is in.
    phase: u32,
    /// Locks that it has, and how many times.
    held: HashMap<u32, u32>,
}

/// The cluster.
pub(crate) struct System {
    pub(crate) world: Rc<World>,
    pages: Arc<Pages>,
    slots: Arc<Slots>,
    caches: Caches,
    processors: Vec<Processor>,
    /// Arrivals of each node at each barrier: the last one of a turn is the leader.
    gathered: HashMap<(u16, u32), u32>,
    brought: Brought,
    line_shift: u32,
    /// Cycles waited for each page, and faults.
    page_waits: Vec<[u64; 2]>,
    /// Of each slot: whether it is a barrier, cycles waited, times.
    slot_waits: Vec<(bool, u64, u64)>,
    /// Of locks: cycles that threads which had them waited for pages.
    held_faults: HashMap<u32, u64>,
    /// Of each phase of the program: cycles spent on locks, and on barriers.
    phase_waits: Vec<[u64; 2]>,
}

impl System {
    /// Processors that have done nothing, with empty caches.
    pub(crate) fn new(modelled: Modelled, like: Cluster, pages: Arc<Pages>, slots: Arc<Slots>) -> System {
        let count = like.all_threads() as usize;
        let as_task = if modelled.notes { host::noted_task } else { host::task };
        let processor = || Processor {
            page: (u64::MAX, NONE_PAGE),
            writes: WriteBuffer::default(),
            waiting: (Waiting::Data(NONE_PAGE), 0),
            counts: true,
            phase: 0,
            held: HashMap::new(),
        };
        System {
            page_waits: vec![[0; 2]; like.pages as usize],
            slot_waits: vec![(false, 0, 0); like.slots as usize],
            held_faults: HashMap::new(),
            phase_waits: vec![[0; 2]],
            caches: Caches::new(&modelled.net, count, like.threads.into()),
            line_shift: modelled.net.line_bytes.trailing_zeros(),
            world: World::new(modelled, (like, slots.clone()), as_task),
            pages,
            slots,
            processors: (0..count).map(|_| processor()).collect(),
            gathered: HashMap::new(),
            brought: Brought::default(),
        }
    }

    /// Cycles that processors spent on locks, and on barriers.
    pub(crate) fn synchronised(&self) -> [u64; 2] {
        let of = |barriers: bool| self.slot_waits.iter().filter(|s| s.0 == barriers).map(|s| s.1).sum();
        [of(false), of(true)]
    }
    /// Cycles spent on locks, and on barriers, in a phase of the program.
    pub(crate) fn synchronised_in(&self, phase: usize) -> [u64; 2] {
        self.phase_waits.get(phase).copied().unwrap_or_default()
    }
    /// Accesses that trapped.
    pub(crate) fn faults(&self) -> u64 {
        self.page_waits.iter().map(|p| p[1]).sum()
    }
    /// Pages that were waited for.
    pub(crate) fn pages_waited_for(&self) -> Vec<PageWaits> {
        let nodes = &self.world.nodes;
        let page = |(page, [waited, faults]): (usize, &[u64; 2])| {
            let number = PageId(page as u32);
            let flat = self.pages.flats.get(page)? << self.pages.shift;
            let directory = &nodes[nodes[0].cluster.directory(number).index()];
            let home = directory.region.load(self.world.layout.home(number));
            let at = |n: &Node| n.of_pages.borrow().get(&number.0).copied().unwrap_or_default();
            (*faults > 0).then(|| PageWaits {
                flat,
                home: home.checked_sub(1).map(|node| node as u16),
                nodes: nodes.iter().map(at).collect(),
                waited: *waited,
                faults: *faults,
            })
        };
        self.page_waits.iter().enumerate().filter_map(page).collect()
    }
    /// Locks and barriers, in the order of their slots.
    pub(crate) fn synchronisation(&self) -> Vec<SyncWaits> {
        let mut all = vec![SyncWaits::default(); self.slots.len()];
        let remote = self.world.remote.borrow();
        for (object, slot) in self.slots.iter() {
            let at = slot as usize;
            let (is_barrier, waited, times) = self.slot_waits[at];
            let faulted = self.held_faults.get(&slot).copied().unwrap_or(0);
            all[at] = SyncWaits { object, is_barrier, waited, times, remote: remote[at], faulted };
        }
        all
    }

    /// A processor has waited.
    fn waited(&mut self, processor: u32, until: u64) {
        let p = &self.processors[processor as usize];
        if !p.counts {
            return;
        }
        let (took, phase) = (until - p.waiting.1, p.phase as usize);
        let (slot, is_barrier, is_one) = match p.waiting.0 {
            Waiting::Data(page) => {
                let [waited, faults] = &mut self.page_waits[page as usize];
                (*waited, *faults) = (*waited + took, *faults + 1);
                for (slot, _) in p.held.iter().filter(|(_, times)| **times > 0) {
                    *self.held_faults.entry(*slot).or_default() += took;
                }
                return;
            }
            Waiting::Lock(slot, takes) => (slot, false, takes),
            Waiting::Barrier(slot) => (slot, true, true),
        };
        let (barrier, waited, times) = &mut self.slot_waits[slot as usize];
        *barrier = is_barrier;
        self.phase_waits[phase][usize::from(is_barrier)] += took;
        (*waited, *times) = (*waited + took, *times + u64::from(is_one));
    }

    /// Number of the page of a line.
    fn page(&mut self, processor: u32, line: u64) -> u32 {
        let flat = line >> (self.pages.shift - self.line_shift);
        let last = &mut self.processors[processor as usize].page;
        if last.0 != flat {
            *last = (flat, self.pages.number(flat).unwrap_or(NONE_PAGE));
        }
        last.1
    }
    /// The program refers to words of a line, which it may.
    fn refers(&self, a: Access, page: u32) {
        if page == NONE_PAGE {
            return;
        }
        let lines = 1usize << (self.pages.shift - self.line_shift);
        let (node, line) = (self.world.node_of(a.processor).index(), a.line as usize & (lines - 1));
        if a.writes {
            self.world.nodes[node].wrote(page, line, lines, a.words);
        }
        if let Some(contents) = &self.world.contents {
            contents.refer(node, page, line, a.words, a.writes);
        }
    }

    fn begin(&mut self, processor: u32, waiting: Waiting, operation: Operation, owed: u64) {
        self.processors[processor as usize].waiting = (waiting, self.world.now.get());
        if !matches!(waiting, Waiting::Data(_)) {
            self.world.fetched[processor as usize].set(None);
        }
        self.world.begin(processor, operation, owed);
    }

    /// Hands what the world wants of the engine on, and takes lines from caches.
    fn tell(&mut self, fx: &mut Effects) {
        self.world.poll_ready();
        let mut out = self.world.out.borrow_mut();
        fx.calls.append(&mut out.calls);
        fx.stolen.append(&mut out.stolen);
        let resumed = std::mem::take(&mut out.resumed);
        drop(out);
        for &(processor, time) in &resumed {
            self.waited(processor, time);
        }
        fx.resumed.extend(resumed);
        let mut out = self.world.out.borrow_mut();
        for lost in out.lost.drain(..) {
            let first = self.pages.flats[lost.page as usize] << (self.pages.shift - self.line_shift);
            let lines = first + lost.lines.start..first + lost.lines.end;
            self.caches.take(lost.node.into(), lines, lost.whole, &mut self.brought);
        }
        fx.withdrawn.append(&mut self.brought.withdrawn);
        self.brought.written_back = 0;
    }

    /// A miss inside a node.
    fn local(&mut self, a: Access, page: u32, may: May, now: u64, fx: &mut Effects) {
        fx.private = true;
        let node = self.world.node_of(a.processor).0;
        let found = self.caches.access((a.processor, a.line, page), (a.writes, may == May::Write), &mut self.brought);
        fx.withdrawn.append(&mut self.brought.withdrawn);
        let fabric = &self.world.fabric;
        fx.posted.extend((0..std::mem::take(&mut self.brought.written_back)).map(|_| fabric.write_back(node)));
        let way = match found {
            Found::Second => Path::default().delay(self.world.net.l2_hit as u32),
            Found::Upgrade => fabric.upgrade(node),
            Found::Memory => fabric.line(node),
        };
        self.refers(a, page);
        if !a.writes {
            fx.first = way;
            return;
        }
        let stalls = self.processors[a.processor as usize].writes.put(now, way.cycles());
        if found != Found::Second {
            fx.posted.push(way);
        }
        if stalls > 0 {
            fx.first = Path::default().delay(u32::try_from(stalls).unwrap_or(u32::MAX));
        }
    }

    /// A processor takes a lock, or gives it up. Whether there is nothing to do but to go on.
    fn lock(&mut self, processor: u32, slot: u32, takes: bool) -> bool {
        let held = self.processors[processor as usize].held.entry(slot).or_default();
        let before = *held;
        *held = if takes { before + 1 } else { before.saturating_sub(1) };
        let (operation, is_done) = match takes {
            true => (Operation::Acquire { slot }, before > 0),
            false => (Operation::Release { slot }, before != 1),
        };
        if !is_done {
            self.begin(processor, Waiting::Lock(slot, takes), operation, self.world.net.handlers.local);
        }
        is_done
    }

    /// A processor comes to a barrier.
    fn arrive(&mut self, processor: u32, slot: u32) {
        let node = self.world.node_of(processor).0;
        let threads = self.slots.parties(slot, node.into());
        let gathered = self.gathered.entry((node, slot)).or_default();
        *gathered = (*gathered + 1) % threads;
        let h = &self.world.net.handlers;
        let owed = h.local + if *gathered == 0 { h.leader } else { 0 };
        self.begin(processor, Waiting::Barrier(slot), self.slots.barrier(slot), owed);
    }
}

impl Memory for System {
    const LOOKS_AT_WORDS: bool = true;
    const GOES_ON: bool = true;

    fn processors(&self) -> u32 {
        self.processors.len() as u32
    }
    fn servers(&self) -> usize {
        Fabric::servers(self.world.nodes.len())
    }
    fn line_shift(&self) -> u32 {
        self.line_shift
    }
    #[inline]
    fn hits(&self, a: Access) -> bool {
        self.caches.hits(a.processor, a.line, a.writes)
    }
    #[inline]
    fn touched(&mut self, a: Access) {
        if a.writes || self.world.contents.is_some() {
            self.refers(a, self.caches.page(a.processor, a.line));
        }
    }
    fn miss(&mut self, a: Access, now: u64, fx: &mut Effects) {
        self.world.acts(now);
        let page = self.page(a.processor, a.line);
        let mut may = May::Write;
        if page != NONE_PAGE {
            may = self.world.nodes[self.world.node_of(a.processor).index()].access[page as usize].get();
            if may < if a.writes { May::Write } else { May::Read } {
                fx.suspends = true;
                let operation = Operation::Fault { page: PageId(page), write: a.writes };
                self.begin(a.processor, Waiting::Data(page), operation, self.world.net.handlers.fault);
                return self.tell(fx);
            }
        }
        self.local(a, page, may, now, fx);
    }
    fn synchronise(&mut self, _: u32, _: u64, _: &mut Effects) {}
    fn operate(&mut self, processor: u32, object: Object, deed: Deed, now: u64, fx: &mut Effects) -> bool {
        let Some(slot) = self.slots.number(object) else { return false };
        self.world.acts(now);
        let is_done = match deed {
            Deed::Take { .. } => self.lock(processor, slot, true),
            Deed::Give => self.lock(processor, slot, false),
            Deed::Arrive(_) => {
                self.arrive(processor, slot);
                false
            }
            Deed::Leave => true,
        };
        if is_done {
            fx.resumed.push((processor, now));
        }
        self.tell(fx);
        true
    }
    fn called(&mut self, token: u32, now: u64, fx: &mut Effects) {
        self.world.called(token, now);
        self.tell(fx);
    }
    fn counting(&mut self, processor: u32, counts: bool) {
        self.processors[processor as usize].counts = counts;
    }
    fn phase(&mut self, processor: u32, phase: u32) {
        self.processors[processor as usize].phase = phase;
        let phases = self.phase_waits.len().max(phase as usize + 1);
        self.phase_waits.resize(phases, [0; 2]);
    }
}
