//! The objects of this moment.
use crate::object::ObjectKind;
use crate::ranges::Ranges;
use crate::shape::{Shape, creates};
use hashbrown::HashMap;
use homenode_trace::event::{Event, EventKind};

/// One address space: objects proper lie over mappings, so that a heap block is found before the mapping around it.
#[derive(Clone, Debug, Default)]
struct Space {
    objects: Ranges,
    mappings: Ranges,
}

/// What a change of the live objects was, for whoever keeps a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A range came into being.
    Begin { space: u32, first: u64, last: u64, object: u32, mapping: bool },
    /// The range that begins at `first` ended.
    End { space: u32, first: u64, object: u32, mapping: bool },
}

const CACHE_SLOTS: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Cached {
    generation: u64,
    space: u32,
    first: u64,
    last: u64,
    object: u32,
}

/// Follows events and knows whose an address is now. Give it every event of a stream, in that order.
#[derive(Clone, Debug)]
pub struct LiveObjects<'t> {
    shape: &'t Shape,
    spaces: HashMap<u32, Space>,
    /// Objects each thread has created so far.
    created: Vec<u32>,
    cache: Vec<Cached>,
    generation: u64,
    pub(crate) changes: Option<Vec<Change>>,
}

impl<'t> LiveObjects<'t> {
    pub(crate) fn new(shape: &'t Shape) -> LiveObjects<'t> {
        let empty = Cached { generation: 0, space: 0, first: 0, last: 0, object: 0 };
        let mut live = LiveObjects {
            shape,
            spaces: HashMap::new(),
            created: vec![0; shape.threads.len()],
            cache: vec![empty; CACHE_SLOTS],
            generation: 1,
            changes: None,
        };
        live.add_globals();
        live
    }

    pub(crate) fn with_history(shape: &'t Shape) -> LiveObjects<'t> {
        let mut live = LiveObjects { changes: Some(Vec::new()), ..LiveObjects::new(shape) };
        live.spaces.clear();
        live.add_globals();
        live
    }

    fn add_globals(&mut self) {
        for (id, &(space, addr, bytes)) in self.shape.globals.iter().enumerate() {
            self.begin(space, addr, bytes, id as u32, false);
        }
    }

    /// The object that `addr` belongs to in an address space now.
    #[inline]
    pub fn lookup(&mut self, space: u32, addr: u64) -> Option<u32> {
        let slot = ((addr >> 12) ^ u64::from(space)) as usize % CACHE_SLOTS;
        let c = &self.cache[slot];
        if c.generation == self.generation && c.space == space && c.first <= addr && addr <= c.last {
            return Some(c.object);
        }
        self.search(space, addr, slot)
    }

    fn search(&mut self, space: u32, addr: u64, slot: usize) -> Option<u32> {
        let ranges = self.spaces.get(&space)?;
        if let Some((first, last, object)) = ranges.objects.covering(addr) {
            self.cache[slot] = Cached { generation: self.generation, space, first, last, object };
            return Some(object);
        }
        ranges.mappings.covering(addr).map(|(_, _, object)| object)
    }

    /// What lies at `addr` now, with the first and last byte of a range around it that has the same answer until
    /// the next event.
    pub fn around(&self, space: u32, addr: u64) -> (u64, u64, Option<u32>) {
        let Some(ranges) = self.spaces.get(&space) else { return (0, u64::MAX, None) };
        let (from, to, object) = ranges.objects.around(addr);
        if object.is_some() {
            return (from, to, object);
        }
        // A mapping shows between the objects that lie over it.
        let (first, last, mapping) = ranges.mappings.around(addr);
        (from.max(first), to.min(last), mapping)
    }

    /// Takes note of an event.
    pub fn event(&mut self, e: &Event) {
        let Some(&(process, space)) = self.shape.threads.get(e.thread as usize) else { return };
        if let Some((kind, addr, bytes)) = creates(&e.kind) {
            let n = &mut self.created[e.thread as usize];
            let object = self.shape.first_of_thread[e.thread as usize] + *n;
            *n += 1;
            self.begin(space, addr, bytes, object, kind == ObjectKind::Map);
            return;
        }
        match e.kind {
            EventKind::Free { addr } => {
                self.end_at(space, addr, false);
            }
            EventKind::Unmap { addr, bytes } if bytes > 0 => {
                self.cut(space, addr, addr.saturating_add(bytes - 1), true);
                self.cut(space, addr, addr.saturating_add(bytes - 1), false);
            }
            EventKind::Spawn { child } => self.fork(process, space, child),
            _ => {}
        }
    }

    /// A process created by fork begins with its parent's memory.
    fn fork(&mut self, process: u32, space: u32, child: u32) {
        let Some(&(child_process, child_space)) = self.shape.threads.get(child as usize) else { return };
        if child_process == process || child_space == space {
            return;
        }
        let copy = self.spaces.get(&space).cloned().unwrap_or_default();
        for (ranges, mapping) in [(&copy.objects, false), (&copy.mappings, true)] {
            for (first, last, object) in ranges.all() {
                self.insert(child_space, first, last, object, mapping);
            }
        }
    }

    fn begin(&mut self, space: u32, addr: u64, bytes: u64, object: u32, mapping: bool) {
        if bytes > 0 {
            self.insert(space, addr, addr.saturating_add(bytes - 1), object, mapping);
        }
    }

    fn insert(&mut self, space: u32, first: u64, last: u64, object: u32, mapping: bool) {
        self.cut(space, first, last, mapping);
        self.ranges(space, mapping).insert((first, last, object));
        self.note(Change::Begin { space, first, last, object, mapping });
    }

    fn ranges(&mut self, space: u32, mapping: bool) -> &mut Ranges {
        self.generation += 1;
        let s = self.spaces.entry(space).or_default();
        if mapping { &mut s.mappings } else { &mut s.objects }
    }

    fn end_at(&mut self, space: u32, first: u64, mapping: bool) {
        if let Some((.., object)) = self.ranges(space, mapping).remove(first) {
            self.note(Change::End { space, first, object, mapping });
        }
    }

    /// Takes a range out of whatever lies there; objects partly outside keep the rest.
    fn cut(&mut self, space: u32, first: u64, last: u64, mapping: bool) {
        for (from, to, object) in self.ranges(space, mapping).overlapping(first, last) {
            self.end_at(space, from, mapping);
            let mut keep = |from: u64, to: u64| {
                self.ranges(space, mapping).insert((from, to, object));
                self.note(Change::Begin { space, first: from, last: to, object, mapping });
            };
            if from < first {
                keep(from, first - 1);
            }
            if to > last {
                keep(last + 1, to);
            }
        }
    }

    fn note(&mut self, change: Change) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }
}
