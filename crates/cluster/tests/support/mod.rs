//! Programs without data races, and what they run on.
use homenode_base::Rng;
use homenode_machine::{Machine, models};
use homenode_synthetic::Builder;
use homenode_timed::engine::Gaps;
use homenode_trace::{DatasetReader, Merged, TraceError};

pub(crate) const PAGES: u64 = 6;
pub(crate) const SHARED: u64 = 0x10_0000;
pub(crate) const BARRIER: u64 = 0x9000;

/// A few instructions between references.
pub(crate) struct Few;

impl Gaps for Few {
    fn before(&mut self, r: &Merged, index: u64) -> Result<u32, TraceError> {
        Ok(((r.addr / 8 + index) % 7) as u32)
    }
}

pub(crate) fn machine(name: &str, (nodes, processors): (usize, u16)) -> Machine {
    let mut machine = models::find(name).expect("in the registry");
    machine.shape.cores = vec![processors; nodes];
    machine
}

/// Threads that take turns by locks and barriers at what they share: no races, though other words of the same pages are written at the same time.
pub(crate) fn ordered(seed: u64, threads: u32) -> DatasetReader {
    let (mut rng, mut b) = (Rng::new(seed), Builder::new(threads));
    for round in 0..6 {
        for _ in 0..20 * threads {
            let t = rng.below(threads.into()) as u32;
            // Words of a thread alone in this round, on pages that all have words on.
            let own = SHARED
                + 4096 * rng.below(PAGES)
                + 8 * (u64::from((t + round) % threads) + u64::from(threads) * rng.below(20));
            match rng.below(6) {
                0 | 1 => _ = b.write(t, own),
                2 | 3 => _ = b.read(t, own),
                _ => {
                    let lock = rng.below(3);
                    let word = SHARED + 4096 * rng.below(PAGES) + 3200 + 64 * lock + 8 * rng.below(8);
                    let address = 0x8000 + 64 * lock;
                    b.acquire(t, address, 0).read(t, word).write(t, word).read(t, own).release(t, address, 0);
                }
            }
        }
        b.barrier(BARRIER, 0..threads);
    }
    b.open().expect("valid")
}
