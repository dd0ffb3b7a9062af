//! Times of threads by phase of the program and by place.
use crate::row::InPhase;
use crate::system::System;
use hashbrown::HashMap;
use homenode_threads::ThreadBinding;
use homenode_timed::engine::{Simulated, Times};

/// Phases in which threads spent time.
pub(crate) fn phases(done: &Simulated<System>) -> Vec<InPhase> {
    let phase = |(number, p): (usize, &homenode_timed::engine::Phase)| {
        let ([lock, barrier], t) = (done.memory.synchronised_in(number), &p.times);
        InPhase {
            name: p.name.clone(),
            compute: t.instructions,
            local: t.private,
            data: t.shared,
            lock,
            barrier,
            other: t.synchronisation.saturating_sub(lock + barrier),
            interrupted: t.kernel_overhead,
        }
    };
    let all = done.phases.iter().enumerate().map(phase);
    all.filter(|p| p.cycles() > 0).collect()
}

/// The processor that has most cycles of computing and of misses inside the node, and these.
pub(crate) fn most_work(bindings: &[ThreadBinding], times: &[Times]) -> (u16, u64) {
    let by_processor = sums(bindings, times, |processor| processor, |t| t.instructions + t.private);
    by_processor
        .into_iter()
        .max_by_key(|(processor, cycles)| (*cycles, std::cmp::Reverse(*processor)))
        .unwrap_or_default()
}

/// Waiting for pages by node, of so many with so many processors each.
pub(crate) fn node_data(bindings: &[ThreadBinding], times: &[Times], (nodes, each): (u16, u16)) -> Vec<u64> {
    let by_node = sums(bindings, times, |processor| processor / each, |t| t.shared);
    (0..nodes).map(|node| by_node.get(&node).copied().unwrap_or(0)).collect()
}

fn sums(
    bindings: &[ThreadBinding],
    times: &[Times],
    place: impl Fn(u16) -> u16,
    of: fn(&Times) -> u64,
) -> HashMap<u16, u64> {
    let mut all: HashMap<u16, u64> = HashMap::new();
    for (b, t) in bindings.iter().zip(times) {
        *all.entry(place(b.node.0)).or_default() += of(t);
    }
    all
}
