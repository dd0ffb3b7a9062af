//! Kernels made up so that neighbouring references of a block are by different threads as often as possible: harder than
//! what programs do.
use crate::question::NODES;
use homenode_base::Rng;
use homenode_trace::{DataSource, Merged, Op};

/// A reference.
pub(crate) fn reference(thread: u32, op: Op, addr: u64, size: u32) -> Merged {
    let source = DataSource::Unknown;
    Merged { addr, size, site: 0, thread, weight: 1, op, source, cpu_code: 0, latency_code: 0 }
}

/// All of them, by name.
pub(crate) fn synthetic(refs: usize) -> Vec<(String, Vec<Merged>)> {
    vec![("lu*".into(), lu(refs)), ("sor*".into(), sor(refs)), ("radix*".into(), radix(refs))]
}

/// Elimination on a matrix of doubles whose rows are dealt out; threads take turns every four elements.
fn lu(refs: usize) -> Vec<Merged> {
    const N: u64 = 384;
    let at = |i: u64, j: u64| 0x10_0000 + (i * N + j) * 8;
    let mut all = Vec::with_capacity(refs + 64);
    for k in (0..N).cycle() {
        for turn in 0..(N - k).div_ceil(u64::from(NODES)) {
            for piece in 0..(N - k).div_ceil(4) {
                for t in 0..NODES {
                    let i = k + 1 + turn * u64::from(NODES) + u64::from(t);
                    for j in (k + piece * 4..k + piece * 4 + 4).filter(|j| i < N && *j < N) {
                        all.push(reference(t, Op::Read, at(k, j), 8));
                        all.push(reference(t, Op::Read, at(i, j), 8));
                        all.push(reference(t, Op::Write, at(i, j), 8));
                    }
                }
                if all.len() >= refs {
                    return all;
                }
            }
        }
    }
    all
}

/// Five-point relaxation of a grid of floats by bands of rows.
fn sor(refs: usize) -> Vec<Merged> {
    const N: u64 = 512;
    let at = |i: u64, j: u64| 0x4000_0000 + (i * N + j) * 4;
    let band = N / u64::from(NODES);
    let mut all = Vec::with_capacity(refs + 64);
    loop {
        for i in 0..band {
            for j in 1..N - 1 {
                for t in 0..NODES {
                    let row = (u64::from(t) * band + i).clamp(1, N - 2);
                    for (di, dj) in [(0, 1), (2, 1), (1, 0), (1, 2)] {
                        all.push(reference(t, Op::Read, at(row + di - 1, j + dj - 1), 4));
                    }
                    all.push(reference(t, Op::Read, at(row, j), 4));
                    all.push(reference(t, Op::Write, at(row, j), 4));
                }
                if all.len() >= refs {
                    return all;
                }
            }
        }
    }
}

/// Radix sort: keys are read in order, counted, and written where they belong.
fn radix(refs: usize) -> Vec<Merged> {
    const KEYS: u64 = 1 << 17;
    const BUCKETS: u64 = 256;
    let mut rng = Rng::new(5);
    let mut all = Vec::with_capacity(refs + 64);
    let share = KEYS / u64::from(NODES);
    loop {
        for i in 0..share {
            for t in 0..NODES {
                let (key, digit) = (u64::from(t) * share + i, rng.below(BUCKETS));
                let count = 0x9000_0000 + (u64::from(t) * BUCKETS + digit) * 4;
                let to = 0x7000_0000 + (digit * (KEYS / BUCKETS) + (u64::from(t) * share + i) % (KEYS / BUCKETS)) * 4;
                all.push(reference(t, Op::Read, 0x6000_0000 + key * 4, 4));
                all.push(reference(t, Op::Read, count, 4));
                all.push(reference(t, Op::Write, count, 4));
                all.push(reference(t, Op::Write, to, 4));
            }
            if all.len() >= refs {
                return all;
            }
        }
    }
}

/// Relaxation of a grid of 64 MiB by bands of rows, a few thousand references at a time and never all of them in memory;
/// every tenth reference is to one counter after another of a small table that all threads use: a very hot region.
pub(crate) fn stream(refs: u64, each: &mut dyn FnMut(&[Merged])) {
    const N: u64 = 4096;
    const HOT: u64 = 512;
    let at = |i: u64, j: u64| 0x4000_0000 + (i * N + j) * 4;
    let band = N / u64::from(NODES);
    let (mut all, mut left, mut hot) = (Vec::new(), refs, 0);
    for i in (0..band).cycle() {
        for j in 1..N - 1 {
            for t in 0..NODES {
                let row = (u64::from(t) * band + i).clamp(1, N - 2);
                for (di, dj) in [(0, 1), (2, 1), (1, 0), (1, 2), (1, 1)] {
                    all.push(reference(t, Op::Read, at(row + di - 1, j + dj - 1), 4));
                }
                all.push(reference(t, Op::Write, at(row, j), 4));
                if (j + u64::from(t)).is_multiple_of(2) {
                    hot = (hot * 5 + 1) % HOT;
                    all.push(reference(t, if hot % 3 > 0 { Op::Read } else { Op::Write }, 0x9000_0000 + hot * 4, 4));
                }
            }
            if all.len() >= 4096 {
                let some = all.len().min(left as usize);
                each(&all[..some]);
                left -= some as u64;
                all.clear();
                if left == 0 {
                    return;
                }
            }
        }
    }
}
