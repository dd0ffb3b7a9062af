//! Bandwidth of all processors of a node together.
use super::Effort;
use super::clock::Stopwatch;
use super::pinned::pinned;
use homenode_sys::chase::Buffer;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Duration;

/// Bytes of a line that streams are priced by.
const LINE_BYTES: f64 = 64.0;

/// What the processors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Load.
    Read,
    /// Store; the lines are read too, which the figure does not count.
    Write,
}

/// MB/s, one value a repeat. Every processor goes through a part of its own.
pub(super) fn measure(buffer: &mut Buffer, cpus: &[u32], direction: Direction, effort: Effort) -> Vec<f64> {
    buffer.flush();
    (0..effort.repeats).map(|_| once(buffer.words_mut(), cpus, direction, effort.each)).collect()
}

/// MB/s of one processor that goes through what its caches hold, which it has read once before.
pub(super) fn warm(words: &mut [u64], cpu: u32, direction: Direction, effort: Effort) -> Vec<f64> {
    black_box(read_pass(words));
    (0..effort.repeats).map(|_| once(words, &[cpu], direction, effort.each)).collect()
}

/// Picoseconds a line at so many MB/s.
pub(super) fn line_ps(mbs: f64) -> f64 {
    LINE_BYTES * 1e6 / mbs.max(1.0)
}

fn once(words: &mut [u64], cpus: &[u32], direction: Direction, time: Duration) -> f64 {
    let share = words.len().div_ceil(cpus.len()).max(1);
    let parts = words.len().div_ceil(share);
    let start = &Barrier::new(parts);
    std::thread::scope(|scope| {
        let one = |(part, &cpu): (_, &u32)| scope.spawn(move || pinned(cpu, || stream(part, direction, start, time)));
        let threads: Vec<_> = words.chunks_mut(share).zip(cpus).map(one).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(0.0)).sum()
    })
}

/// Goes through a part again and again; MB/s of this processor.
fn stream(part: &mut [u64], direction: Direction, start: &Barrier, time: Duration) -> f64 {
    const PIECE: usize = 1 << 16;
    start.wait();
    let (watch, mut words, mut value) = (Stopwatch::start(time), 0usize, 0u64);
    while words == 0 || !watch.over() {
        for piece in part.chunks_mut(PIECE) {
            match direction {
                Direction::Read => value ^= read_pass(piece),
                Direction::Write => piece.fill(black_box(value)),
            }
            words += piece.len();
            if watch.over() {
                break;
            }
        }
        value = value.wrapping_add(1);
    }
    black_box(value);
    words as f64 * 8.0 * 1000.0 / watch.nanoseconds()
}

/// Loads every word.
pub(super) fn read_pass(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, w| sum ^ w)
}
