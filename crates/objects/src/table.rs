//! All objects of a dataset.
use crate::group::{GroupKey, Groups};
use crate::live::{Change, LiveObjects};
use crate::object::{Group, Object, ObjectKind};
use crate::shape::{Shape, creates};
use crate::spans::{Span, Spans};
use hashbrown::HashMap;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::symbols::Symbols;
use homenode_trace::{Events, Manifest};

/// All objects of a dataset. Ids are dense: globals first, then the objects of each thread in its program order, so that
/// they do not depend on how threads are interleaved.
#[derive(Clone, Debug, Default)]
pub struct ObjectTable {
    objects: Vec<Object>,
    groups: Vec<Group>,
    shape: Shape,
    spans: HashMap<u32, Spans>,
}

impl ObjectTable {
    /// The objects of `events`, which keep each thread's program order. Positions in lifetimes and in
    /// [`ObjectTable::lookup`] are places in this list, so its order decides which of two uses of the same memory came
    /// first: give events in the order of a stream if threads free each other's memory.
    pub fn build(manifest: &Manifest, events: &Events, symbols: &Symbols) -> ObjectTable {
        let space_of = |process: u32| manifest.processes.get(process as usize).map_or(process, |p| p.address_space);
        let mut shape = Shape {
            threads: manifest.threads.iter().map(|t| (t.process, space_of(t.process))).collect(),
            globals: symbols.globals.iter().map(|g| (space_of(g.process), g.addr, g.bytes)).collect(),
            first_of_thread: Vec::new(),
        };
        let mut counts = vec![0u32; shape.threads.len()];
        for (_, e) in events.others().filter(|(_, e)| creates(&e.kind).is_some()) {
            if let Some(n) = counts.get_mut(e.thread as usize) {
                *n += 1;
            }
        }
        let mut next = shape.globals.len() as u32;
        for n in &counts {
            shape.first_of_thread.push(next);
            next += n;
        }
        let (mut objects, groups) = list(&shape, next, events, symbols);
        let spans = history(&shape, events, &mut objects);
        ObjectTable { objects, groups, shape, spans }
    }

    /// A follower that stands before the first event.
    pub fn live(&self) -> LiveObjects<'_> {
        LiveObjects::new(&self.shape)
    }
    /// All objects; the index is the id.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }
    /// All groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// The group of an object.
    pub fn group_of(&self, object: u32) -> &Group {
        &self.groups[self.objects[object as usize].group as usize]
    }
    /// The object that `addr` belonged to in an address space just before the event at `position` of the slice that the
    /// table was built from.
    pub fn lookup(&self, space: u32, addr: u64, position: u64) -> Option<u32> {
        // Positions inside are shifted by one, so that globals are born before the first event.
        self.spans.get(&space)?.find(addr, position + 1)
    }
}

fn list(shape: &Shape, total: u32, events: &Events, symbols: &Symbols) -> (Vec<Object>, Vec<Group>) {
    let blank = Object {
        kind: ObjectKind::Global,
        space: 0,
        addr: 0,
        bytes: 0,
        thread: None,
        group: 0,
        born: 0,
        died: u64::MAX,
    };
    let mut objects = vec![blank.clone(); total as usize];
    let mut groups = Groups::default();
    for (i, &(space, addr, bytes)) in shape.globals.iter().enumerate() {
        let mut o = Object { space, addr, bytes, ..blank.clone() };
        o.group = groups.enter(GroupKey::Global(i), &o, symbols);
        objects[i] = o;
    }
    let mut created = shape.first_of_thread.clone();
    for (position, e) in events.others() {
        let (Some((kind, addr, bytes)), Some(&(process, space))) =
            (creates(&e.kind), shape.threads.get(e.thread as usize))
        else {
            continue;
        };
        let (thread, born) = (Some(e.thread), position as u64);
        let mut o = Object { kind, space, addr, bytes, thread, born, ..blank.clone() };
        o.group = groups.enter(group_key(&e.kind, kind, process, e.thread), &o, symbols);
        let id = &mut created[e.thread as usize];
        objects[*id as usize] = o;
        *id += 1;
    }
    (objects, groups.list)
}

fn group_key(event: &EventKind, kind: ObjectKind, process: u32, thread: u32) -> GroupKey {
    match event {
        EventKind::Alloc { source: AllocSource::Stack, .. } => GroupKey::Stack(thread),
        EventKind::Alloc { stack, .. } => GroupKey::Allocated { process, kind, stack: stack.clone() },
        EventKind::Map { addr, .. } => GroupKey::Mapped { process, addr: *addr },
        _ => GroupKey::Mapped { process, addr: 0 },
    }
}

/// Replays the events once and notes when each range began and ended.
fn history(shape: &Shape, events: &Events, objects: &mut [Object]) -> HashMap<u32, Spans> {
    let mut live = LiveObjects::with_history(shape);
    let mut open: HashMap<(u32, u64, bool), Span> = HashMap::new();
    let mut closed: HashMap<u32, Vec<Span>> = HashMap::new();
    let mut ranges_left = vec![0u32; objects.len()];
    let last = (events.len(), None);
    // Globals are there before the first event.
    let mut at = 0;
    for (position, e) in events.others().map(|(n, e)| (n, Some(e))).chain([last]) {
        for change in live.changes.as_mut().map(std::mem::take).unwrap_or_default() {
            match change {
                Change::Begin { space, first, last, object, mapping } => {
                    open.insert(
                        (space, first, mapping),
                        Span { first, last, object, mapping, born: at, died: u64::MAX },
                    );
                    let o = &mut objects[object as usize];
                    ranges_left[object as usize] += u32::from(o.space == space);
                    o.died = u64::MAX;
                }
                Change::End { space, first, object, mapping } => {
                    if let Some(span) = open.remove(&(space, first, mapping)) {
                        closed.entry(space).or_default().push(Span { died: at, ..span });
                        let o = &mut objects[object as usize];
                        ranges_left[object as usize] -= u32::from(o.space == space);
                        if ranges_left[object as usize] == 0 && o.space == space {
                            o.died = at.saturating_sub(1);
                        }
                    }
                }
            }
        }
        // What changes with an event holds from there on.
        at = position as u64 + 1;
        e.into_iter().for_each(|e| live.event(e));
    }
    open.into_iter().for_each(|((space, ..), span)| closed.entry(space).or_default().push(span));
    closed.into_iter().map(|(space, spans)| (space, Spans::new(spans))).collect()
}
