//! References and events that are held back, by processor, and what must be given before what.
use super::Sync;
use hashbrown::HashMap;
use homenode_base::VirtualTime;
use homenode_sim::ThreadBinding;
use homenode_trace::event::EventKind;
use homenode_trace::order::Piece;
use homenode_trace::{Event, Merged};
use std::collections::{BTreeSet, VecDeque};

/// What goes on, until it is pulled.
#[derive(Default)]
pub(super) struct Out {
    refs: Vec<Merged>,
    /// Each comes after so many of the references.
    events: VecDeque<(usize, Event, VirtualTime)>,
    /// References that were given.
    given: usize,
    /// The event that was given last.
    event: Option<(Event, VirtualTime)>,
}

/// References in a piece, and a few more.
const PIECE_REFS: usize = 4096;

impl Out {
    #[inline]
    pub(super) fn reference(&mut self, r: &Merged) {
        self.refs.push(*r);
    }
    pub(super) fn event(&mut self, event: Event, time: VirtualTime) {
        self.events.push_back((self.refs.len(), event, time));
    }
    /// Forgets what was given.
    pub(super) fn forget(&mut self) {
        if self.events.is_empty() {
            self.refs.drain(..self.given);
            self.given = 0;
        }
    }
    /// Whether there is a piece to give.
    pub(super) fn full(&self) -> bool {
        !self.events.is_empty() || self.refs.len() >= PIECE_REFS
    }
    /// Gives what goes on up to the next event; `None` if there is nothing.
    pub(super) fn piece(&mut self) -> Option<Piece<'_>> {
        let from = self.given;
        let (to, event) = match self.events.pop_front() {
            Some((to, event, time)) => (to, Some((event, time))),
            None => (self.refs.len(), None),
        };
        (self.given, self.event) = (to, event);
        let event = self.event.as_ref().map(|(event, time)| (event, *time));
        (from < to || event.is_some()).then(|| Piece { refs: &self.refs[from..to], event })
    }
}

enum What {
    Ref(Merged),
    Event(Box<(Event, VirtualTime)>),
}

struct Node {
    /// When it came in.
    arrival: u64,
    what: What,
}

/// A synchronisation object or an allocation: address space, address, generation.
type Key = (u32, u64, u64);

/// What an event means for others while it is held.
enum Role {
    Nothing,
    /// The event follows releases of the object with lower numbers, and is one itself or not.
    Sync {
        key: Key,
        seq: u64,
        acquires: bool,
        releases: bool,
    },
    Spawn(u32),
    /// Memory is obtained, or given back: an address may come back in another thread without any recorded
    /// synchronisation, through the allocator.
    Obtain(Key),
    GiveBack(Key),
}

fn role(event: &Event, space: u32) -> Role {
    match event.kind {
        EventKind::Release { object, epoch, seq, .. } => {
            Role::Sync { key: (space, object, epoch), seq, acquires: false, releases: true }
        }
        EventKind::Acquire { object, epoch, seq, .. } => {
            Role::Sync { key: (space, object, epoch), seq, acquires: true, releases: false }
        }
        EventKind::AcqRel { object, epoch, seq, .. } => {
            Role::Sync { key: (space, object, epoch), seq, acquires: true, releases: true }
        }
        EventKind::Spawn { child } => Role::Spawn(child),
        EventKind::Alloc { addr, .. } | EventKind::Map { addr, .. } => Role::Obtain((space, addr, 0)),
        EventKind::Free { addr } | EventKind::Unmap { addr, .. } => Role::GiveBack((space, addr, 0)),
        _ => Role::Nothing,
    }
}

/// What is held that others wait for.
#[derive(Default)]
struct Waits {
    /// Releases by object: (number, arrival).
    releases: HashMap<Key, BTreeSet<(u64, u64)>>,
    /// Creations by thread created.
    spawns: HashMap<u32, u32>,
    /// Arrivals of memory obtained, by place.
    obtained: HashMap<Key, BTreeSet<u64>>,
    /// Arrivals of memory given back, by address space.
    given_back: HashMap<u32, BTreeSet<u64>>,
}

impl Waits {
    fn enter(&mut self, role: &Role, arrival: u64) {
        match *role {
            Role::Sync { key, seq, releases: true, .. } => {
                self.releases.entry(key).or_default().insert((seq, arrival));
            }
            Role::Spawn(child) => *self.spawns.entry(child).or_default() += 1,
            Role::Obtain(key) => {
                self.obtained.entry(key).or_default().insert(arrival);
            }
            Role::GiveBack(key) => {
                self.given_back.entry(key.0).or_default().insert(arrival);
            }
            _ => {}
        }
    }
    fn leave(&mut self, role: &Role, arrival: u64) {
        match *role {
            Role::Sync { key, seq, releases: true, .. } => {
                remove(&mut self.releases, key, &(seq, arrival));
            }
            Role::Spawn(child) => {
                if let Some(n) = self.spawns.get_mut(&child) {
                    *n -= 1;
                    if *n == 0 {
                        self.spawns.remove(&child);
                    }
                }
            }
            Role::Obtain(key) => remove(&mut self.obtained, key, &arrival),
            Role::GiveBack(key) => remove(&mut self.given_back, key.0, &arrival),
            _ => {}
        }
    }
    /// Whether nothing that is held must be given before.
    fn allow(&self, role: &Role, arrival: u64) -> bool {
        match role {
            Role::Sync { key, seq, acquires: true, .. } => {
                self.releases.get(key).is_none_or(|held| held.first() >= Some(&(*seq, 0)))
            }
            Role::Obtain(key) => self.given_back.get(&key.0).is_none_or(|held| held.first() > Some(&arrival)),
            Role::GiveBack(key) => self.obtained.get(key).is_none_or(|held| held.first() > Some(&arrival)),
            _ => true,
        }
    }
}

fn remove<K: std::hash::Hash + Eq, V: Ord>(map: &mut HashMap<K, BTreeSet<V>>, key: K, value: &V) {
    if let Some(set) = map.get_mut(&key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(&key);
        }
    }
}

#[derive(Default)]
struct ThreadQueue {
    nodes: VecDeque<Node>,
    refs: u64,
}

/// Everything held.
pub(super) struct ReorderBuffer {
    queues: Vec<ThreadQueue>,
    /// (queue, address space) by thread.
    threads: Vec<(u32, u32)>,
    waits: Waits,
    sync: Sync,
    arrivals: u64,
    refs: u64,
}

impl ReorderBuffer {
    pub(super) fn new(bindings: &[ThreadBinding], sync: Sync) -> ReorderBuffer {
        let queues = bindings.iter().map(|s| usize::from(s.cpu) + 1).max().unwrap_or(1);
        let mut held = ReorderBuffer {
            queues: Vec::new(),
            threads: bindings.iter().map(|s| (s.cpu.into(), s.space)).collect(),
            waits: Waits::default(),
            sync,
            arrivals: 0,
            refs: 0,
        };
        held.queues.resize_with(queues, ThreadQueue::default);
        held
    }
    /// Processors.
    pub(super) fn queues(&self) -> usize {
        self.queues.len()
    }
    /// References held.
    pub(super) fn refs(&self) -> u64 {
        self.refs
    }
    /// References held of a processor.
    pub(super) fn refs_of(&self, queue: usize) -> u64 {
        self.queues[queue].refs
    }
    /// The processor of a thread; threads without a binding, of hostile traces, share the first.
    #[inline]
    pub(super) fn queue(&self, thread: u32) -> usize {
        self.threads.get(thread as usize).map_or(0, |t| t.0 as usize)
    }
    fn role(&self, event: &Event) -> Role {
        match self.sync {
            Sync::Ignored => Role::Nothing,
            Sync::Kept => role(event, self.threads.get(event.thread as usize).map_or(0, |t| t.1)),
        }
    }
    fn exists(&self, thread: u32) -> bool {
        self.waits.spawns.is_empty() || !self.waits.spawns.contains_key(&thread)
    }

    /// Holds a reference.
    pub(super) fn hold_reference(&mut self, r: &Merged) {
        let queue = self.queue(r.thread);
        self.arrivals += 1;
        self.refs += 1;
        self.queues[queue].refs += 1;
        self.queues[queue].nodes.push_back(Node { arrival: self.arrivals, what: What::Ref(*r) });
    }
    /// Whether a reference that comes now could go on at once.
    pub(super) fn passes(&self, r: &Merged) -> bool {
        self.queues[self.queue(r.thread)].nodes.is_empty() && self.exists(r.thread)
    }
    /// Holds an event.
    pub(super) fn hold_event(&mut self, event: &Event, time: VirtualTime) {
        let queue = self.queue(event.thread);
        self.arrivals += 1;
        let role = self.role(event);
        self.waits.enter(&role, self.arrivals);
        let what = What::Event(Box::new((event.clone(), time)));
        self.queues[queue].nodes.push_back(Node { arrival: self.arrivals, what });
    }
    /// Whether the next of a processor is a reference that can go on.
    #[inline]
    pub(super) fn can_give(&self, queue: usize) -> bool {
        matches!(self.queues[queue].nodes.front(), Some(Node { what: What::Ref(r), .. }) if self.exists(r.thread))
    }
    /// Gives the next of a processor, whatever it is.
    pub(super) fn give(&mut self, queue: usize, out: &mut Out) {
        let Some(node) = self.queues[queue].nodes.pop_front() else { return };
        match node.what {
            What::Ref(r) => {
                self.refs -= 1;
                self.queues[queue].refs -= 1;
                out.reference(&r);
            }
            What::Event(e) => {
                let role = self.role(&e.0);
                self.waits.leave(&role, node.arrival);
                out.event(e.0, e.1);
            }
        }
    }
    /// Gives the events that come next on processors that `move` and wait for nothing: an event takes no time.
    pub(super) fn settle(&mut self, out: &mut Out, moves: impl Fn(usize) -> bool) {
        loop {
            let mut more = false;
            for queue in (0..self.queues.len()).filter(|l| moves(*l)) {
                while self.event_ready(queue) {
                    self.give(queue, out);
                    more = true;
                }
            }
            if !more {
                return;
            }
        }
    }
    fn event_ready(&self, queue: usize) -> bool {
        let Some(Node { arrival, what: What::Event(e) }) = self.queues[queue].nodes.front() else { return false };
        self.exists(e.0.thread) && self.waits.allow(&self.role(&e.0), *arrival)
    }
    /// Whether the next of a processor is a reference, so that nothing of it must be settled.
    #[inline]
    pub(super) fn needs_settling(&self, queue: usize) -> bool {
        matches!(self.queues[queue].nodes.front(), Some(Node { what: What::Event(_), .. }))
    }
    /// The processor whose next came in first, if anything is held. In a legal order it never waits for what is held.
    pub(super) fn oldest(&self) -> Option<usize> {
        let front = |l: &usize| self.queues[*l].nodes.front().map(|n| n.arrival);
        (0..self.queues.len()).filter(|l| front(l).is_some()).min_by_key(front)
    }
}
