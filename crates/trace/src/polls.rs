//! Busy waiting that the recorder could not tell while it happened: what a thread does again and again, exactly the same,
//! without changing anything, until something that another thread does lets it go on.
//!
//! A *round* is a few nodes of one thread in a row: reads, atomics that changed nothing, and locks taken and given back. Where a round is
//! directly followed by the same round (same code, same addresses) the first one had no effect and only says how
//! long the host made the thread wait. So its references are spins: not charged and no progress of virtual time; and
//! its synchronisation orders nothing, except that a release still publishes what the thread had written before. Of
//! any number of rounds the last is kept, as if the thread had come in time.
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use crate::frame::DecodedFrame;
use crate::record::Op;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// Nodes of the longest round.
const ROUND_MAX: usize = 8;
/// Nodes looked back on: what is older is settled.
const TAIL_MAX: usize = 8 * ROUND_MAX;

/// What is different from what was recorded.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// By thread: references that are spins or, if they were recorded as spins, what the kept round did. Ascending.
    refs: Vec<Vec<(u64, Op)>>,
    /// Events that order nothing.
    pub(crate) events: HashSet<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A read-modify-write that left memory as it was, or an atomic read.
    Poll,
    /// A plain read.
    Read,
    /// A write that is a release: an atomic store.
    Store,
    /// A read-modify-write.
    Modify,
    /// A lock taken in the library.
    Lock,
    /// A lock given back.
    Unlock,
    /// Anything else: no part of a round.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    /// Code that made the reference; of an event without one the epoch.
    pc: u64,
    addr: u64,
    op: Op,
    /// Ordinal of the reference, if it is one.
    at: Option<u64>,
    event: Option<u32>,
    /// A release, and the thread had written something since the one before.
    publishes: bool,
}

impl Node {
    fn same(&self, other: &Node) -> bool {
        let reads = |n: &Node| matches!(n.kind, Kind::Poll | Kind::Read);
        let alike = self.kind == other.kind || (reads(self) && reads(other));
        alike && self.at.is_some() == other.at.is_some() && (self.pc, self.addr) == (other.pc, other.addr)
    }
}

impl Polls {
    /// Finds the busy waiting in an exact recording.
    pub(crate) fn find(data: &DatasetReader) -> Result<Polls, TraceError> {
        let mut polls = Polls { refs: vec![Vec::new(); data.threads() as usize], events: HashSet::new() };
        if data.manifest().sampling.is_none() {
            for thread in 0..data.threads() {
                Finder::new(data, thread).run(&mut polls)?;
            }
        }
        Ok(polls)
    }

    /// Changes the operations of a decoded frame.
    pub(crate) fn apply(&self, thread: u32, frame: &mut DecodedFrame) {
        let all = &self.refs[thread as usize];
        let from = all.partition_point(|r| r.0 < frame.first_ref);
        let end = frame.first_ref + frame.len() as u64;
        let mut keys: HashMap<(u16, Op), u16> = HashMap::new();
        for &(at, op) in all[from..].iter().take_while(|r| r.0 < end) {
            let key = &mut frame.key[(at - frame.first_ref) as usize];
            let room = frame.keys.len() <= usize::from(u16::MAX);
            let changed = keys.entry((*key, op)).or_insert_with(|| {
                if !room {
                    return *key;
                }
                let changed = crate::frame::Key { op, ..frame.keys[usize::from(*key)] };
                frame.keys.push(changed);
                (frame.keys.len() - 1) as u16
            });
            *key = *changed;
        }
    }
}

/// One thread's nodes, as far as they may be part of a round.
struct Finder<'a> {
    data: &'a DatasetReader,
    thread: u32,
    frame: DecodedFrame,
    loaded: Option<usize>,
    bytes: Vec<u8>,
    tail: Vec<Node>,
    /// Whether the thread has written anything since its last release.
    wrote: bool,
    changes: HashMap<u64, Op>,
    ignored: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(data: &'a DatasetReader, thread: u32) -> Finder<'a> {
        let (frame, bytes, tail) = Default::default();
        let (changes, ignored) = Default::default();
        Finder { data, thread, frame, loaded: None, bytes, tail, wrote: true, changes, ignored }
    }

    fn run(mut self, polls: &mut Polls) -> Result<(), TraceError> {
        let mut next_event = 0;
        for zone in self.zones()? {
            self.tail.clear();
            self.wrote = true;
            while self.data.thread_event(self.thread, next_event).is_some_and(|e| e.at < zone.start) {
                next_event += 1;
            }
            for at in zone.clone() {
                next_event = self.events(next_event, at)?;
                if at < self.data.refs(self.thread) && at + 1 < zone.end {
                    self.reference(at)?;
                }
            }
        }
        let changes = &mut polls.refs[self.thread as usize];
        changes.extend(self.changes);
        changes.sort_unstable_by_key(|c| c.0);
        polls.events.extend(self.ignored);
        Ok(())
    }

    /// Where rounds can be: between synchronisation events that are close to each other, and around spins. Ranges of
    /// references, ascending and apart.
    fn zones(&mut self) -> Result<Vec<Range<u64>>, TraceError> {
        let sync = |kind: &EventKind| {
            matches!(kind, EventKind::Acquire { .. } | EventKind::Release { .. } | EventKind::AcqRel { .. })
        };
        let near = ROUND_MAX as u64;
        let mut zones: Vec<Range<u64>> = Vec::new();
        let mut last = None;
        for e in self.data.thread_events(self.thread).filter(|e| sync(&e.kind)) {
            if let Some(last) = last.filter(|last| e.at - last <= near) {
                // The reference of a read-modify-write stands before its event.
                add(&mut zones, last.saturating_sub(1)..e.at + 2);
            }
            last = Some(e.at);
        }
        if self.data.manifest().threads[self.thread as usize].spins > 0 {
            zones.extend(self.spins(near)?);
            zones.sort_unstable_by_key(|z| z.start);
            let mut apart = Vec::new();
            zones.into_iter().for_each(|z| add(&mut apart, z));
            zones = apart;
        }
        Ok(zones)
    }

    fn spins(&mut self, near: u64) -> Result<Vec<Range<u64>>, TraceError> {
        let mut zones = Vec::new();
        for frame in 0..self.data.frames(self.thread).len() {
            self.load(frame)?;
            let f = &self.frame;
            if f.keys.iter().any(|k| k.op == Op::Spin) {
                for (at, key) in (f.first_ref..).zip(&f.key) {
                    if f.keys[usize::from(*key)].op == Op::Spin {
                        add(&mut zones, at.saturating_sub(near)..at + near + 2);
                    }
                }
            }
        }
        Ok(zones)
    }

    fn load(&mut self, frame: usize) -> Result<(), TraceError> {
        if self.loaded != Some(frame) {
            self.loaded = None;
            self.data.read_frame(self.thread, frame, &mut self.bytes, &mut self.frame)?;
            self.loaded = Some(frame);
        }
        Ok(())
    }

    /// The reference with this ordinal.
    fn get(&mut self, at: u64) -> Result<Option<(u64, u64, Op)>, TraceError> {
        let here = |f: &DecodedFrame| at.checked_sub(f.first_ref).filter(|i| *i < f.len() as u64);
        if self.loaded.is_none() || here(&self.frame).is_none() {
            let Some(frame) = self.data.frame_of(self.thread, at) else { return Ok(None) };
            self.load(frame)?;
        }
        let Some(i) = here(&self.frame) else { return Ok(None) };
        let r = self.frame.get(i as usize);
        Ok(Some((self.frame.pcs[r.site as usize], r.addr, r.op)))
    }

    /// The events before this reference, from `next` on; returns the first one after it.
    fn events(&mut self, mut next: usize, at: u64) -> Result<usize, TraceError> {
        while let Some(e) = self.data.thread_event(self.thread, next).filter(|e| e.at <= at) {
            let index = Some(self.data.event_index(self.thread, next));
            next += 1;
            let last_before = self.tail.last_mut().filter(|n| n.at == at.checked_sub(1) && n.event.is_none());
            let bare = |kind, epoch, addr| Node {
                kind,
                pc: epoch,
                addr,
                op: Op::Read,
                at: None,
                event: index,
                publishes: false,
            };
            match e.kind {
                EventKind::Acquire { object, epoch, .. } => {
                    // That of an atomic stands before its reference.
                    self.push(bare(Kind::Lock, epoch, object));
                }
                EventKind::Release { object, epoch, .. } => match last_before.filter(|n| n.addr == object) {
                    Some(store) => {
                        (store.kind, store.event) = (Kind::Store, index);
                        self.released();
                    }
                    None => {
                        self.push(bare(Kind::Unlock, epoch, object));
                        self.released();
                    }
                },
                EventKind::AcqRel { object, epoch, .. } => match last_before.filter(|n| n.addr == object) {
                    Some(modify) => {
                        (modify.kind, modify.event) = (Kind::Modify, index);
                        self.released();
                    }
                    None => self.push(bare(Kind::Other, epoch, object)),
                },
                _ => self.push(bare(Kind::Other, 0, 0)),
            }
        }
        Ok(next)
    }

    /// The last node is a release.
    fn released(&mut self) {
        let wrote = std::mem::take(&mut self.wrote);
        if let Some(last) = self.tail.last_mut() {
            last.publishes = wrote;
        }
        self.reduce();
    }

    fn reference(&mut self, at: u64) -> Result<(), TraceError> {
        let Some((pc, addr, op)) = self.get(at)? else { return Ok(()) };
        let mut node = Node { kind: Kind::Read, pc, addr, op, at: Some(at), event: None, publishes: false };
        let acquired = self.tail.last().filter(|n| n.kind == Kind::Lock && n.at.is_none() && n.addr == addr);
        match (op, acquired.and_then(|n| n.event)) {
            (Op::Read | Op::Atomic, Some(event)) => {
                self.tail.pop();
                (node.kind, node.event) = (Kind::Poll, Some(event));
            }
            (Op::Spin, _) => node.kind = Kind::Poll,
            (Op::Read, None) => {}
            // A store or a read-modify-write until its event says otherwise: it comes next.
            (Op::Write | Op::Atomic, _) => node.kind = Kind::Other,
        }
        let lock_word = op.writes() && node.kind == Kind::Other && self.is_locked(addr);
        self.wrote |= node.kind == Kind::Other && !lock_word;
        self.push(node);
        Ok(())
    }

    /// Whether the address is that of a lock taken a few nodes ago: giving it back publishes nothing by itself.
    fn is_locked(&self, addr: u64) -> bool {
        let taken = |n: &Node| matches!(n.kind, Kind::Modify | Kind::Lock | Kind::Poll) && n.addr == addr;
        self.tail.iter().rev().take(ROUND_MAX).any(taken)
    }

    fn push(&mut self, node: Node) {
        if self.tail.len() >= TAIL_MAX {
            self.tail.drain(..TAIL_MAX / 2);
        }
        self.wrote |= node.kind == Kind::Other && node.at.is_none();
        self.tail.push(node);
        self.reduce();
    }

    /// While the nodes end with two equal rounds, the first of them goes.
    fn reduce(&mut self) {
        while let Some(n) = (1..=ROUND_MAX).find(|&n| self.repeats(n)) {
            let (old, new) = (self.tail.len() - 2 * n, self.tail.len() - n);
            for i in 0..n {
                let gone = self.tail[old + i];
                let kept = &mut self.tail[new + i];
                if let Some(at) = gone.at {
                    match self.changes.contains_key(&at) {
                        true => drop(self.changes.remove(&at)),
                        false if gone.op != Op::Spin => drop(self.changes.insert(at, Op::Spin)),
                        false => {}
                    }
                }
                if kept.op == Op::Spin && gone.op != Op::Spin {
                    (kept.op, kept.kind) = (gone.op, Kind::Poll);
                    kept.at.map(|at| self.changes.insert(at, gone.op));
                }
                match (gone.event, kept.event) {
                    (Some(event), Some(_)) if !gone.publishes => self.ignored.push(event),
                    (Some(event), None) => kept.event = Some(event),
                    _ => {}
                }
            }
            self.tail.drain(old..new);
        }
    }

    /// Whether the last `n` nodes are a round and the `n` before them the same.
    fn repeats(&self, n: usize) -> bool {
        let Some(from) = self.tail.len().checked_sub(2 * n) else { return false };
        let (old, new) = self.tail[from..].split_at(n);
        old.iter().zip(new).all(|(a, b)| a.same(b)) && (is_round(old) || is_round(new))
    }
}

/// Whether nodes change nothing and wait for something: an atomic or volatile read, or a plain one with a lock taken before it that is given
/// back.
fn is_round(nodes: &[Node]) -> bool {
    let taken = |upto: usize, addr: u64| {
        nodes[..upto].iter().any(|n| matches!(n.kind, Kind::Lock | Kind::Modify | Kind::Poll) && n.addr == addr)
    };
    let given = |from: usize, addr: u64| {
        nodes[from..].iter().any(|n| matches!(n.kind, Kind::Store | Kind::Unlock) && n.addr == addr)
    };
    let mut waits = false;
    for (i, n) in nodes.iter().enumerate() {
        match n.kind {
            Kind::Other => return false,
            Kind::Store | Kind::Unlock if !taken(i, n.addr) => return false,
            Kind::Lock | Kind::Modify if !given(i, n.addr) => return false,
            Kind::Poll => waits |= !given(i, n.addr),
            Kind::Read => waits |= nodes[..i].iter().any(|l| matches!(l.kind, Kind::Lock | Kind::Modify | Kind::Poll)),
            _ => {}
        }
    }
    waits
}

/// Adds a range that begins no earlier than the last one.
fn add(zones: &mut Vec<Range<u64>>, zone: Range<u64>) {
    match zones.last_mut() {
        Some(last) if zone.start <= last.end => last.end = last.end.max(zone.end),
        _ => zones.push(zone),
    }
}
