//! Whether any order exists, on the events alone: threads go on as far as they can until nobody can.
use super::{each_sync, room};
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use crate::packed::{Item, ThreadEvents};
use hashbrown::HashMap;
use homenode_base::numbers::Numbers;
use std::collections::BTreeSet;

struct Search<'a> {
    /// The events of each thread that have not happened, and the next of them.
    walks: Vec<(ThreadEvents<'a>, Option<Item<'a>>)>,
    /// Numbers of releases that have not happened.
    open: Numbers,
    /// How many more of them have the same object and number, in a damaged dataset.
    more: HashMap<(u32, u64), u32>,
    /// By object: threads that wait, by the number of their acquire.
    waiting: HashMap<u32, BTreeSet<(u64, u32)>>,
    /// Creations of each thread that have not happened.
    spawns: Vec<u32>,
    able: Vec<u32>,
}

pub(super) fn check(data: &DatasetReader) -> Result<(), String> {
    let mut open = room(data, |s| s.releases);
    let mut more = HashMap::new();
    each_sync(data, |s| {
        if s.releases && !open.insert(s.object, s.seq) {
            *more.entry((s.object, s.seq)).or_default() += 1;
        }
    });
    let mut spawns = vec![0u32; data.threads() as usize];
    let mut walks = Vec::new();
    for t in 0..data.threads() {
        let mut walk = data.thread_events(t);
        let next = walk.item();
        walks.push((walk.clone(), next));
        let mut rest = next;
        while let Some(item) = rest {
            if let Some(EventKind::Spawn { child }) = item.other().map(|e| &e.kind)
                && let Some(n) = spawns.get_mut(*child as usize)
            {
                *n += 1;
            }
            rest = walk.item();
        }
    }
    let able = (0..data.threads()).filter(|&t| spawns[t as usize] == 0).collect();
    let mut search = Search { walks, open, more, waiting: HashMap::new(), spawns, able };
    while let Some(t) = search.able.pop() {
        search.advance(t);
    }
    let stuck = (0..data.threads()).find(|&t| search.spawns[t as usize] > 0 || search.walks[t as usize].1.is_some());
    match stuck {
        Some(t) => {
            let (walk, next) = &search.walks[t as usize];
            let done = walk.done() - u32::from(next.is_some());
            Err(format!("no order is possible: thread {t} cannot get past its event {done}"))
        }
        None => Ok(()),
    }
}

impl Search<'_> {
    /// Executes events of thread `t` until one has to wait.
    fn advance(&mut self, t: u32) {
        while let Some(item) = self.walks[t as usize].1 {
            match item {
                Item::Sync(s) => {
                    if s.acquires && self.open.first(s.object).is_some_and(|first| first < s.seq) {
                        self.waiting.entry(s.object).or_default().insert((s.seq, t));
                        return;
                    }
                    if s.releases {
                        self.release(s.object, s.seq);
                    }
                }
                Item::Other(e) => {
                    if let EventKind::Spawn { child } = e.kind
                        && let Some(left) = self.spawns.get_mut(child as usize)
                    {
                        *left -= 1;
                        if *left == 0 {
                            self.able.push(child);
                        }
                    }
                }
            }
            let (walk, next) = &mut self.walks[t as usize];
            *next = walk.item();
        }
    }

    fn release(&mut self, object: u32, seq: u64) {
        match self.more.get_mut(&(object, seq)).filter(|n| **n > 0) {
            Some(n) => *n -= 1,
            None => self.open.remove(object, seq),
        }
        let Some(waiting) = self.waiting.get_mut(&object) else { return };
        let low = self.open.first(object).unwrap_or(u64::MAX);
        while let Some(&(needs, t)) = waiting.first().filter(|w| w.0 <= low) {
            waiting.remove(&(needs, t));
            self.able.push(t);
        }
    }
}
