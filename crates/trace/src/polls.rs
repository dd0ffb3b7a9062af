//! Busy waiting that the recorder could not tell while it happened: what a thread does again and again, exactly the same,
//! without changing anything, until something that another thread does lets it go on.
//!
//! A *round* is up to 128 nodes of one thread in a row: reads, atomics that changed nothing, and locks taken and given back.
//! Where a round is directly followed by the same round (same code, same addresses) the first one had no effect and only says how
//! long the host made the thread wait. So its references are spins: not charged and no progress of virtual time; and
//! its synchronisation orders nothing, except that a release still publishes what the thread had written before. Of
//! any number of rounds the last is kept, as if the thread had come in time.
//!
//! A read that the recorder marked as waiting repeats the one before it by the same code at the same address: that one goes,
//! with what stands between (the recorder has seen that it is the thread's own), so that none of the tries before the last is
//! charged. Marks that an event takes back (what was read never changed: a loop that counts) are reads.
mod node;
mod round;
mod tail;

use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::{Event, EventKind};
use crate::frame::DecodedFrame;
use crate::packed::ThreadEvents;
use crate::record::Op;
use crate::waits::Polls;
use hashbrown::{HashMap, HashSet};
use node::{Kind, Node};
use round::{SHORT_MAX, Word, add, hash, is_round, looked_at, word, writers};
use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;
use tail::Tail;

/// Nodes of the longest round: a thread may look into the queues of all others, with two locks each, again and again.
const ROUND_MAX: usize = 128;
/// Nodes looked back on: what is older is settled.
const TAIL_MAX: usize = 8 * ROUND_MAX;
/// Nodes or references that are near.
const NEAR: usize = 8;

/// The busy waiting in a dataset, found at the first call.
pub(crate) fn of(data: &DatasetReader) -> Result<&Polls, TraceError> {
    if let Some(polls) = data.polls.get() {
        return Ok(polls);
    }
    let found = find(data)?;
    Ok(data.polls.get_or_init(|| found))
}

/// Finds the busy waiting in an exact recording.
fn find(data: &DatasetReader) -> Result<Polls, TraceError> {
    let threads = data.threads() as usize;
    let (refs, reads) = (vec![Vec::new(); threads], vec![Vec::new(); threads]);
    let mut polls = Polls { refs, reads, events: HashSet::new() };
    if data.manifest().sampling.is_some() {
        return Ok(polls);
    }
    let mut doubtful = Vec::new();
    for thread in 0..data.threads() {
        let mut finder = Finder::new(data, thread);
        finder.reads = finder.taken_back()?;
        polls.reads[thread as usize].clone_from(&finder.reads);
        finder.run()?;
        if finder.wanted.is_empty() {
            finder.enter(&mut polls);
        } else {
            doubtful.push(finder);
        }
    }
    let words = doubtful.iter().flat_map(|f| f.wanted.iter().copied()).collect();
    let writing = if doubtful.is_empty() { HashMap::new() } else { writers(data, &words)? };
    for mut finder in doubtful {
        let others = |w: &Word| writing.get(w).is_some_and(|by| *by != finder.thread);
        let changed: HashSet<Word> = finder.wanted.iter().copied().filter(others).collect();
        if !changed.is_empty() {
            let mut again = Finder::new(data, finder.thread);
            again.reads = std::mem::take(&mut finder.reads);
            again.changed = Some(changed);
            again.run()?;
            finder = again;
        }
        finder.enter(&mut polls);
    }
    Ok(polls)
}

/// One thread's nodes, as far as they may be part of a round.
struct Finder<'a> {
    data: &'a DatasetReader,
    thread: u32,
    /// Events from the next one on, and its number.
    walk: Peekable<ThreadEvents<'a>>,
    next: u32,
    frame: DecodedFrame,
    loaded: Option<usize>,
    bytes: Vec<u8>,
    tail: Tail,
    /// Whether the thread has written anything since its last release.
    wrote: bool,
    changes: HashMap<u64, Op>,
    ignored: Vec<u32>,
    /// Where marks were taken back.
    reads: Vec<Range<u64>>,
    /// What long rounds wait for, if another thread changes it.
    wanted: HashSet<Word>,
    /// Of that what another thread changes; before that is known, no long round is a wait.
    changed: Option<HashSet<Word>>,
    /// Nodes still to come before long rounds are looked for again.
    refused: usize,
}

impl<'a> Finder<'a> {
    fn new(data: &'a DatasetReader, thread: u32) -> Finder<'a> {
        let (frame, bytes, tail) = Default::default();
        let (changes, ignored, reads, wanted) = Default::default();
        let (walk, next) = (data.thread_events(thread).peekable(), data.event_index(thread, 0));
        let (loaded, changed, wrote, refused) = (None, None, true, 0);
        Finder {
            data,
            thread,
            walk,
            next,
            frame,
            loaded,
            bytes,
            tail,
            wrote,
            changes,
            ignored,
            reads,
            wanted,
            changed,
            refused,
        }
    }

    fn run(&mut self) -> Result<(), TraceError> {
        for zone in self.zones()? {
            self.tail.clear();
            self.wrote = true;
            while self.next_event(|e| e.at < zone.start).is_some() {}
            for at in zone.clone() {
                self.events(at);
                if at < self.data.refs(self.thread) && at + 1 < zone.end {
                    self.reference(at)?;
                }
            }
        }
        Ok(())
    }

    fn enter(self, polls: &mut Polls) {
        let changes = &mut polls.refs[self.thread as usize];
        changes.extend(self.changes);
        changes.sort_unstable_by_key(|c| c.0);
        polls.events.extend(self.ignored);
    }

    /// Where rounds can be: between synchronisation events that are close to each other, and around spins. Ranges of
    /// references, ascending and apart.
    fn zones(&mut self) -> Result<Vec<Range<u64>>, TraceError> {
        let sync = |kind: &EventKind| {
            matches!(kind, EventKind::Acquire { .. } | EventKind::Release { .. } | EventKind::AcqRel { .. })
        };
        let near = NEAR as u64;
        let mut zones: Vec<Range<u64>> = Vec::new();
        let mut last: Option<u64> = None;
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

    /// Where marks were taken back: ranges of references, ascending and apart.
    fn taken_back(&mut self) -> Result<Vec<Range<u64>>, TraceError> {
        let (mut ranges, mut settled) = (Vec::<Range<u64>>::new(), 0);
        for e in self.data.thread_events(self.thread) {
            let EventKind::NoWait { reads } = e.kind else { continue };
            let floor = std::mem::replace(&mut settled, e.at);
            let (mut left, mut at, mut range) = (reads, e.at.min(self.data.refs(self.thread)), None::<Range<u64>>);
            while left > 0 && at > floor {
                at -= 1;
                if self.get(at)?.is_some_and(|r| r.2 == Op::Spin) {
                    left -= 1;
                    range = Some(at..range.map_or(at + 1, |r| r.end));
                }
            }
            ranges.extend(range);
        }
        Ok(ranges)
    }

    /// Whether the mark of this reference was taken back.
    fn is_read(&self, at: u64) -> bool {
        let i = self.reads.partition_point(|r| r.end <= at);
        self.reads.get(i).is_some_and(|r| r.contains(&at))
    }

    fn spins(&mut self, near: u64) -> Result<Vec<Range<u64>>, TraceError> {
        let mut zones = Vec::new();
        for frame in 0..self.data.frames(self.thread).len() {
            self.load(frame)?;
            let f = &self.frame;
            if f.keys.iter().any(|k| k.op == Op::Spin) {
                for (at, key) in (f.first_ref..).zip(&f.key) {
                    if f.keys[usize::from(*key)].op == Op::Spin && !self.is_read(at) {
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
        let op = if r.op == Op::Spin && self.is_read(at) { Op::Read } else { r.op };
        Ok(Some((self.frame.pcs[r.site as usize], r.addr, op)))
    }

    /// The next event, if it is like this, and its number.
    fn next_event(&mut self, like: impl Fn(&Event) -> bool) -> Option<(u32, Cow<'a, Event>)> {
        let e = self.walk.next_if(|e| like(e))?;
        self.next += 1;
        Some((self.next - 1, e))
    }

    /// The next events that stand before this reference.
    fn events(&mut self, at: u64) {
        while let Some((index, e)) = self.next_event(|e| e.at <= at) {
            let index = Some(index);
            let last_before = self.tail.last_mut().filter(|n| n.at == at.checked_sub(1) && n.event.is_none());
            let bare = |kind, epoch, addr| Node {
                kind,
                pc: epoch,
                addr,
                op: Op::Read,
                at: None,
                event: index,
                marked: false,
                gap: 0,
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
        let (marked, event) = (op == Op::Spin, None);
        let mut node = Node { kind: Kind::Read, pc, addr, op, at: Some(at), event, marked, gap: 0, publishes: false };
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
        self.put(node);
        self.absorb();
        self.reduce();
        Ok(())
    }

    /// A read that is part of a wait repeats the one before it by the same code at the same address: that one goes, and what
    /// stands between. It is part of one if it was marked, or if the one before it was and the same stood before that.
    fn absorb(&mut self) {
        let Some((last, before)) = self.tail.split_last() else { return };
        if last.kind != Kind::Poll && last.kind != Kind::Read {
            return;
        }
        let bare =
            |n: &Node| n.at.is_some() && n.event.is_none() && matches!(n.kind, Kind::Poll | Kind::Read | Kind::Other);
        let near = before.iter().rev().take(NEAR);
        let Some(back) = near.take_while(|n| bare(n) || n.same(last)).position(|n| n.same(last)) else { return };
        let from = before.len() - 1 - back;
        let gap = hash(&before[from + 1..]);
        if !(last.marked || (before[from].marked && before[from].gap == gap)) {
            return;
        }
        let gone = self.tail.take(from..self.tail.len() - 1);
        let Some(mut kept) = self.tail.pop() else { return };
        self.replace(gone[0], &mut kept);
        for node in &gone[1..] {
            if let Some(at) = node.at {
                self.leave_out(at, node.op);
            }
        }
        (kept.marked, kept.gap) = (true, gap);
        self.tail.push(kept);
    }

    /// A reference that is no more than waiting.
    fn leave_out(&mut self, at: u64, op: Op) {
        match self.changes.contains_key(&at) {
            true => drop(self.changes.remove(&at)),
            false if op != Op::Spin => drop(self.changes.insert(at, Op::Spin)),
            false => {}
        }
    }

    /// `gone` is left out, `kept` stands for it.
    fn replace(&mut self, gone: Node, kept: &mut Node) {
        if let Some(at) = gone.at {
            self.leave_out(at, gone.op);
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

    /// Whether the address is that of a lock taken a few nodes ago: giving it back publishes nothing by itself.
    fn is_locked(&self, addr: u64) -> bool {
        let taken = |n: &Node| matches!(n.kind, Kind::Modify | Kind::Lock | Kind::Poll) && n.addr == addr;
        self.tail.iter().rev().take(NEAR).any(taken)
    }

    fn push(&mut self, node: Node) {
        self.put(node);
        self.reduce();
    }

    fn put(&mut self, node: Node) {
        if self.tail.len() >= TAIL_MAX {
            self.tail.take(0..TAIL_MAX / 2);
        }
        self.wrote |= node.kind == Kind::Other && node.at.is_none();
        self.refused = self.refused.saturating_sub(1);
        self.tail.push(node);
    }

    /// While the nodes end with two equal rounds, the first of them goes.
    fn reduce(&mut self) {
        while let Some(n) = self.repeated() {
            let (old, new) = (self.tail.len() - 2 * n, self.tail.len() - n);
            for i in 0..n {
                let mut kept = self.tail[new + i];
                self.replace(self.tail[old + i], &mut kept);
                self.tail[new + i] = kept;
            }
            self.tail.take(old..new);
        }
    }

    /// The length of the shortest round that the nodes end with twice, if that is a wait.
    fn repeated(&mut self) -> Option<usize> {
        let n =
            self.tail.distances().take_while(|n| *n <= SHORT_MAX || self.refused == 0).find(|&n| self.repeats(n))?;
        if n > SHORT_MAX && !self.waits_for_others(n) {
            // What is looked at is the same wherever the round is said to begin.
            self.refused = n;
            return None;
        }
        Some(n)
    }

    /// Whether the last `n` nodes are a round and the `n` before them the same.
    fn repeats(&self, n: usize) -> bool {
        let Some(from) = self.tail.len().checked_sub(2 * n).filter(|_| self.tail.may_repeat(n)) else { return false };
        let (old, new) = self.tail[from..].split_at(n);
        old.iter().zip(new).rev().all(|(a, b)| a.same(b)) && (is_round(old) || is_round(new))
    }

    /// Whether the last `n` nodes look at something again and again that another thread is known to change.
    fn waits_for_others(&mut self, n: usize) -> bool {
        let view = self.data.view(self.thread);
        let words: Vec<Word> =
            looked_at(&self.tail[self.tail.len() - n..]).into_iter().map(|addr| word(view, addr)).collect();
        match &self.changed {
            Some(changed) => words.iter().any(|w| changed.contains(w)),
            None => {
                self.wanted.extend(&words);
                false
            }
        }
    }
}
