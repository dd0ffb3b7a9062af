//! Locks and barriers of a recording, by number, and who comes to which barrier.
use crate::ClusterError;
use crate::error::threads;
use hashbrown::HashMap;
use homenode_hlrc::operation::Operation;
use homenode_threads::ThreadBinding;
use homenode_timed::engine::Object;
use homenode_trace::DatasetReader;
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::order::Granted;
use std::collections::BTreeSet;

/// A barrier that threads of some processors come to.
#[derive(Clone, Debug)]
struct Few {
    /// How many of each node.
    nodes: Vec<u32>,
    /// Whether others run meanwhile.
    some: bool,
    processors: BTreeSet<u32>,
}

/// Locks and barriers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    numbers: HashMap<Object, u32>,
    /// Barriers to which not all processors come.
    few: HashMap<u32, Few>,
    /// Processors of a node.
    threads: u32,
}

/// What the recording says of a barrier.
#[derive(Default)]
struct Came {
    parties: u32,
    threads: BTreeSet<u32>,
}

impl Slots {
    /// Numbers in the order of the recording; `bindings` have processors of so many nodes with so many each.
    pub(crate) fn find(
        data: &DatasetReader,
        bindings: &[ThreadBinding],
        (nodes, threads): (u32, u32),
    ) -> Result<Slots, ClusterError> {
        let (granted, mut slots) = (Granted::default(), Slots { threads, ..Slots::default() });
        let mut barriers: Vec<(Object, u32, Came)> = Vec::new();
        let mut known: HashMap<u32, usize> = HashMap::new();
        for e in data.events() {
            if !matches!(e.kind, EventKind::Acquire { .. } | EventKind::Release { .. }) {
                continue;
            }
            let Some((object, sync)) = granted.object(data.shared(), data.address_space(e.thread), &e) else {
                continue;
            };
            let next = slots.numbers.len() as u32;
            let slot = *slots.numbers.entry(object).or_insert(next);
            let SyncKind::Barrier { parties } = sync else { continue };
            let at = *known.entry(slot).or_insert_with(|| {
                barriers.push((object, slot, Came { parties, ..Came::default() }));
                barriers.len() - 1
            });
            let came = &mut barriers[at].2;
            if came.parties != parties {
                return Err(ClusterError::Parties { object: object.1, before: came.parties, parties });
            }
            came.threads.insert(e.thread);
        }
        slots.few = few(data, bindings, (nodes, threads), barriers)?;
        Ok(slots)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Object, u32)> + '_ {
        self.numbers.iter().map(|(object, slot)| (*object, *slot))
    }
    pub(crate) fn number(&self, object: Object) -> Option<u32> {
        self.numbers.get(&object).copied()
    }
    /// How a thread waits at a barrier.
    pub(crate) fn barrier(&self, slot: u32) -> Operation {
        match self.few.get(&slot) {
            None => Operation::Barrier { slot },
            Some(few) => Operation::Meet { slot, some: few.some },
        }
    }
    /// How many processors of a node come to a barrier.
    pub(crate) fn parties(&self, slot: u32, node: usize) -> u32 {
        self.few.get(&slot).map_or(self.threads, |few| few.nodes[node])
    }
    /// Whether a processor comes to a barrier.
    pub(crate) fn has(&self, slot: u32, processor: u32) -> bool {
        self.few.get(&slot).is_none_or(|few| few.processors.contains(&processor))
    }
}

/// Barriers to which not all processors come, of those of a recording.
fn few(
    data: &DatasetReader,
    bindings: &[ThreadBinding],
    (nodes, threads): (u32, u32),
    barriers: Vec<(Object, u32, Came)>,
) -> Result<HashMap<u32, Few>, ClusterError> {
    let mut all = HashMap::new();
    let processor = |thread: u32| u32::from(bindings[thread as usize].cpu);
    let running: BTreeSet<u32> = (0..data.threads()).filter(|t| data.refs(*t) > 0).map(processor).collect();
    for (object, slot, came) in barriers.into_iter().filter(|b| b.2.parties != nodes * threads) {
        let processors: BTreeSet<u32> = came.threads.iter().map(|t| processor(*t)).collect();
        if processors.len() as u32 != came.parties {
            return Err(refused(data, object, &came, nodes * threads));
        }
        let of = |node: u32| processors.iter().filter(|p| **p / threads == node).count() as u32;
        let some = !running.is_subset(&processors);
        all.insert(slot, Few { nodes: (0..nodes).map(of).collect(), some, processors });
    }
    Ok(all)
}

/// Not as many come as the barrier takes.
fn refused(data: &DatasetReader, object: Object, came: &Came, processors: u32) -> ClusterError {
    let missing = (0..data.threads()).filter(|t| data.refs(*t) > 0 && !came.threads.contains(t));
    ClusterError::Barrier {
        object: object.1,
        parties: came.parties,
        processors,
        come: threads(came.threads.iter().copied()),
        missing: threads(missing),
    }
}
