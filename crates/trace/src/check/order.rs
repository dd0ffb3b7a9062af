//! Whether any order exists, on the events alone: threads go on as far as they can until nobody can.
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

type ObjectId = (u32, u64, u64);

#[derive(Default)]
struct Object {
    /// Numbers of releases that have not happened.
    open: BTreeSet<(u64, u32, usize)>,
    /// Threads that wait, by the number of their acquire.
    waiting: BTreeMap<(u64, u32), ()>,
}

pub(super) fn check(data: &DatasetReader) -> Result<(), String> {
    let mut objects: HashMap<ObjectId, Object> = HashMap::new();
    let mut spawns = vec![0u32; data.threads() as usize];
    for t in 0..data.threads() {
        for (n, e) in data.thread_events(t).enumerate() {
            match e.kind {
                EventKind::Release { object, epoch, seq } | EventKind::AcqRel { object, epoch, seq } => {
                    objects.entry((data.address_space(t), object, epoch)).or_default().open.insert((seq, t, n));
                }
                EventKind::Spawn { child } if child < data.threads() => spawns[child as usize] += 1,
                _ => {}
            }
        }
    }
    let mut done = vec![0usize; spawns.len()];
    let mut able: Vec<u32> = (0..data.threads()).filter(|&t| spawns[t as usize] == 0).collect();
    while let Some(t) = able.pop() {
        advance(data, t, &mut done, &mut spawns, &mut objects, &mut able);
    }
    let stuck =
        (0..data.threads()).find(|&t| spawns[t as usize] > 0 || data.thread_event(t, done[t as usize]).is_some());
    match stuck {
        Some(t) => Err(format!("no order is possible: thread {t} cannot get past its event {}", done[t as usize])),
        None => Ok(()),
    }
}

/// Executes events of thread `t` until one has to wait.
fn advance(
    data: &DatasetReader,
    t: u32,
    done: &mut [usize],
    spawns: &mut [u32],
    objects: &mut HashMap<ObjectId, Object>,
    able: &mut Vec<u32>,
) {
    while let Some(e) = data.thread_event(t, done[t as usize]) {
        let space = data.address_space(t);
        if let EventKind::Acquire { object, epoch, seq } | EventKind::AcqRel { object, epoch, seq } = e.kind {
            let o = objects.entry((space, object, epoch)).or_default();
            if o.open.first().is_some_and(|&(first, ..)| first < seq) {
                o.waiting.insert((seq, t), ());
                return;
            }
        }
        if let EventKind::Release { object, epoch, seq } | EventKind::AcqRel { object, epoch, seq } = e.kind {
            let o = objects.entry((space, object, epoch)).or_default();
            o.open.remove(&(seq, t, done[t as usize]));
            let low = o.open.first().map_or(u64::MAX, |&(first, ..)| first);
            while let Some(entry) = o.waiting.first_entry().filter(|w| w.key().0 <= low) {
                able.push(entry.remove_entry().0.1);
            }
        }
        if let EventKind::Spawn { child } = e.kind
            && let Some(left) = spawns.get_mut(child as usize)
        {
            *left -= 1;
            if *left == 0 {
                able.push(child);
            }
        }
        done[t as usize] += 1;
    }
}
