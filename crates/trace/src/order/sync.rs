//! Synchronisation edges: which events wait, and for what.
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use crate::polls::Polls;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event means for the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// Object, or `u32::MAX` if the event is no acquire and no release.
    object: u32,
    /// Releases of the object that it follows (those of lower number).
    needs: u32,
    /// Its own place among the releases, or `u32::MAX`.
    release: u32,
}

const NONE: u32 = u32::MAX;
const PENDING: u64 = u64::MAX;

/// The releases of one object in order of number.
#[derive(Debug, Default)]
struct Object {
    /// Virtual time of each release: [`PENDING`] until executed; below `low` the largest so far.
    times: Vec<u64>,
    /// The lowest release that is not executed.
    low: u32,
    /// Threads whose acquire needs more releases than `low`.
    waiters: BinaryHeap<Reverse<(u32, u32)>>,
}

/// All objects. Address spaces keep equal addresses apart.
#[derive(Debug, Default)]
pub(super) struct Sync {
    objects: Vec<Object>,
    links: Vec<Link>,
}

/// Acquire and release halves of an event.
fn halves(kind: &EventKind) -> Option<((u64, u64), u64, bool, bool)> {
    match *kind {
        EventKind::Release { object, epoch, seq } => Some(((object, epoch), seq, false, true)),
        EventKind::Acquire { object, epoch, seq } => Some(((object, epoch), seq, true, false)),
        EventKind::AcqRel { object, epoch, seq } => Some(((object, epoch), seq, true, true)),
        _ => None,
    }
}

impl Sync {
    pub(super) fn new(data: &DatasetReader, polls: &Polls) -> Sync {
        let mut ids: HashMap<(u32, u64, u64), u32> = HashMap::new();
        let mut releases: Vec<Vec<(u64, u32)>> = Vec::new();
        let mut links = vec![Link { object: NONE, needs: 0, release: NONE }; data.events().len()];
        let waiting = |i: usize| !polls.events.is_empty() && polls.events.contains(&(i as u32));
        for (i, e) in data.events().iter().enumerate() {
            if waiting(i) {
                continue;
            }
            let Some(((object, epoch), seq, _, is_release)) = halves(&e.kind) else { continue };
            let next = releases.len() as u32;
            let id = *ids.entry((data.address_space(e.thread), object, epoch)).or_insert(next);
            if id == next {
                releases.push(Vec::new());
            }
            links[i].object = id;
            if is_release {
                releases[id as usize].push((seq, i as u32));
            }
        }
        for list in &mut releases {
            list.sort_unstable();
            list.iter().enumerate().for_each(|(n, &(_, event))| links[event as usize].release = n as u32);
        }
        for (link, e) in links.iter_mut().zip(data.events()) {
            if link.object != NONE
                && let Some((_, seq, true, _)) = halves(&e.kind)
            {
                link.needs = releases[link.object as usize].partition_point(|&(s, _)| s < seq) as u32;
            }
        }
        let objects = releases.iter().map(|r| Object { times: vec![PENDING; r.len()], ..Object::default() }).collect();
        Sync { objects, links }
    }

    /// Whether the event can happen now; if so, the largest virtual time of what it follows (0 if nothing).
    pub(super) fn ready(&self, event: u32) -> Option<u64> {
        let link = self.links[event as usize];
        if link.object == NONE || link.needs == 0 {
            return Some(0);
        }
        let o = &self.objects[link.object as usize];
        (o.low >= link.needs).then(|| o.times[link.needs as usize - 1])
    }

    /// Remembers that `thread` waits for `event` to become ready.
    pub(super) fn wait(&mut self, event: u32, thread: u32) {
        let link = self.links[event as usize];
        self.objects[link.object as usize].waiters.push(Reverse((link.needs, thread)));
    }

    /// The event happens at `time`; threads that no longer wait are appended to `woken`.
    pub(super) fn execute(&mut self, event: u32, time: u64, woken: &mut Vec<u32>) {
        let link = self.links[event as usize];
        if link.release == NONE {
            return;
        }
        let o = &mut self.objects[link.object as usize];
        o.times[link.release as usize] = time;
        let mut largest = if o.low > 0 { o.times[o.low as usize - 1] } else { 0 };
        while let Some(t) = o.times.get_mut(o.low as usize).filter(|t| **t != PENDING) {
            largest = largest.max(*t);
            *t = largest;
            o.low += 1;
        }
        while let Some(&Reverse((needs, thread))) = o.waiters.peek()
            && needs <= o.low
        {
            o.waiters.pop();
            woken.push(thread);
        }
    }
}
