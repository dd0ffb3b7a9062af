//! Load latency.
use super::Effort;
use super::bandwidth::read_pass;
use super::clock::Stopwatch;
use super::memory::{Chain, Memory};
use super::pinned::pinned;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// Words of a line.
const LINE_WORDS: usize = 8;
/// Loads between two looks at the clock.
const STEPS: usize = 4096;

/// Picoseconds a load, one value a repeat, on one processor with nobody else at work.
pub(super) fn idle(chain: &Chain, cpu: u32, effort: Effort) -> Vec<f64> {
    walked(chain, cpu, effort, |chain| chain.flush())
}

/// Picoseconds a load, at places that do not depend on what was loaded: a processor has as many at a time as it can.
pub(super) fn overlapped(chain: &Chain, cpu: u32, effort: Effort) -> Vec<f64> {
    scattered(chain, cpu, effort, |chain| chain.flush())
}

/// Loads that depend on each other, after the processor has made the caches ready.
pub(super) fn walked(chain: &Chain, cpu: u32, effort: Effort, ready: impl Fn(&Chain) + Sync) -> Vec<f64> {
    alone(cpu, || {
        ready(chain);
        walk(chain.words(), effort)
    })
}

/// Loads that do not, likewise.
pub(super) fn scattered(chain: &Chain, cpu: u32, effort: Effort, ready: impl Fn(&Chain) + Sync) -> Vec<f64> {
    alone(cpu, || {
        ready(chain);
        scatter(chain.words(), effort)
    })
}

/// Likewise in the first bytes of a buffer, read in order before; none if it is no larger than that.
pub(super) fn scattered_within(chain: &Chain, bytes: u64, cpu: u32, effort: Effort) -> Option<Vec<f64>> {
    let words = chain.words().get(..usize::try_from(bytes / 8).ok()?).filter(|words| !words.is_empty())?;
    Some(alone(cpu, || {
        black_box(read_pass(words));
        scatter(words, effort)
    }))
}

fn alone(cpu: u32, work: impl FnOnce() -> Vec<f64> + Send) -> Vec<f64> {
    std::thread::scope(|scope| scope.spawn(|| pinned(cpu, work)).join().unwrap_or_default())
}

/// Picoseconds a load while all other processors of the node read its second buffer; empty if there are none.
pub(super) fn loaded(memory: &Memory, cpus: &[u32], effort: Effort) -> Vec<f64> {
    let Some((first, others)) = cpus.split_first().filter(|(_, o)| !o.is_empty()) else { return Vec::new() };
    memory.small.buffer.flush();
    let stop = &AtomicBool::new(false);
    let words = memory.large.buffer.words();
    let share = words.len().div_ceil(others.len()).max(1);
    std::thread::scope(|scope| {
        for (&cpu, part) in others.iter().zip(words.chunks(share)) {
            scope.spawn(move || {
                pinned(cpu, || {
                    while !stop.load(Ordering::Relaxed) {
                        part.chunks(1 << 16).take_while(|_| !stop.load(Ordering::Relaxed)).for_each(|c| {
                            black_box(read_pass(c));
                        });
                    }
                });
            });
        }
        let work = scope.spawn(|| pinned(*first, || walk(memory.small.buffer.words(), effort)));
        let samples = work.join().unwrap_or_default();
        stop.store(true, Ordering::Relaxed);
        samples
    })
}

/// Follows the cycle; each repeat goes on where the last one ended.
fn walk(words: &[u64], effort: Effort) -> Vec<f64> {
    // The first loads fill the translation caches and wake the processor.
    let mut at = steps(words, 0);
    let mut one = || {
        let (watch, mut loads) = (Stopwatch::start(effort.each), 0u64);
        while loads == 0 || !watch.over() {
            at = steps(words, at);
            loads += STEPS as u64;
        }
        watch.nanoseconds() * 1000.0 / loads as f64
    };
    (0..effort.repeats).map(|_| one()).collect()
}

/// Loads at random places, line by line; each repeat at others.
fn scatter(words: &[u64], effort: Effort) -> Vec<f64> {
    let lines = (words.len() / LINE_WORDS).max(1) as u64;
    let mut place = 1u64;
    let mut one = || {
        let (watch, mut loads, mut sum) = (Stopwatch::start(effort.each), 0u64, 0);
        while loads == 0 || !watch.over() {
            for _ in 0..STEPS {
                // Knuth's linear congruential generator; its upper bits, in proportion.
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let line = ((u128::from(place) * u128::from(lines)) >> 64) as usize;
                sum ^= words[line * LINE_WORDS];
            }
            loads += STEPS as u64;
        }
        black_box(sum);
        watch.nanoseconds() * 1000.0 / loads as f64
    };
    (0..effort.repeats).map(|_| one()).collect()
}

fn steps(words: &[u64], from: usize) -> usize {
    let mut at = from;
    for _ in 0..STEPS {
        at = words[at] as usize;
    }
    black_box(at)
}
