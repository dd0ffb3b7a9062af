//! How fast the folded engine is: nanoseconds a reference for partition, fold and kernels, and what that makes in
//! references x configurations a second. 13 block sizes (4 B to 16 KiB) x 64 machines, optimum with replication.
//!
//! `sweep_speed [MILLIONS] [FILE]`: references a kernel in millions (default 4); a file of 16-byte records (address: 8
//! bytes; thread: 2; operation: 1, 0 read, 1 write; size: 1; unused: 4; little-endian) instead of the synthetic kernels.
use homenode_base::{Cost, NodeId, Rng};
use homenode_machine::{CopyCost, Machine, Matrix, models};
use homenode_sim::Seat;
use homenode_study::{Layout, Partition, Partitioner, Question, Want, answer, answer_these, plain};
use homenode_trace::{DataSource, Merged, Op};
use std::time::Instant;

const THREADS: u32 = 8;
const MACHINES: usize = 64;
/// References that the plain engine is timed with.
const PLAIN_REFS: usize = 500_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let millions: usize = args.next().map_or(Ok(4), |n| n.parse())?;
    let inputs = match args.next() {
        Some(path) => vec![(path.clone(), raw(&std::fs::read(path)?))],
        None => synthetic(millions * 1_000_000),
    };
    println!("kernel        refs  partition  fold  kernels  sum ns/ref   1e9 ref x conf/s  2 workers  x plain");
    for (name, refs) in inputs {
        row(&name, &refs)?;
    }
    Ok(())
}

/// Seconds of processor time that this thread has used, where the system says so: what else runs on the machine does not
/// count. Else those since `origin`.
fn now(origin: Instant) -> f64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = scheduled.and_then(|s| s.split_whitespace().next()?.parse::<f64>().ok());
    used.map_or_else(|| origin.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Seconds that `f` takes in this thread, and its result.
fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let origin = Instant::now();
    let begin = now(origin);
    let result = f();
    (now(origin) - begin, result)
}

fn row(name: &str, refs: &[Merged]) -> Result<(), Box<dyn std::error::Error>> {
    let (few, all) = (question(16), question(MACHINES));
    let (t_partition, partition) = timed(|| partition(&all, refs));
    let partition = partition?;
    let regions = partition.regions();
    let (t_few, _) = timed(|| answer(&few, &partition, 0..regions));
    let (t_all, found) = timed(|| answer(&all, &partition, 0..regions));
    found?;
    let kernels = (t_all - t_few) * 4.0 / 3.0;
    let two = two_workers(&all, &partition)?;
    let configurations = (MACHINES * all.blocks.len()) as f64;
    // The plain engine, once per configuration: all block sizes, one machine.
    let sample = &refs[..refs.len().min(PLAIN_REFS)];
    let (t_plain, checked) = timed(|| plain::answer(&question(1), sample));
    checked?;
    let plain_each = t_plain / sample.len() as f64 * MACHINES as f64;
    let ns = |t: f64| t * 1e9 / refs.len() as f64;
    println!(
        "{name:10} {:7.1} M  {:9.2} {:5.1} {:8.1} {:11.1} {:18.2} {:9.2}x {:7.0}x",
        refs.len() as f64 / 1e6,
        ns(t_partition),
        ns(t_all - kernels),
        ns(kernels),
        ns(t_partition + t_all),
        refs.len() as f64 * configurations / (t_partition + t_all) / 1e9,
        t_all / two,
        plain_each / ((t_partition + t_all) / refs.len() as f64),
    );
    Ok(())
}

fn partition(q: &Question, refs: &[Merged]) -> Result<Partition, homenode_study::StudyError> {
    let mut partitioner = Partitioner::new(q, Layout::default())?;
    for piece in refs.chunks(4096) {
        partitioner.refs(piece)?;
    }
    partitioner.finish()
}

/// Seconds of the slower of two workers at once, each with its own copy and half of the regions by weight.
fn two_workers(q: &Question, partition: &Partition) -> Result<f64, Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    partition.write(&mut |b| {
        bytes.extend_from_slice(b);
        Ok(())
    })?;
    let mut order: Vec<usize> = (0..partition.regions()).collect();
    order.sort_by_key(|r| std::cmp::Reverse(partition.weight(*r)));
    let mut parts = [(0, Vec::new()), (0, Vec::new())];
    for region in order {
        let part = usize::from(parts[1].0 < parts[0].0);
        parts[part].0 += partition.weight(region);
        parts[part].1.push(region);
    }
    let seconds = std::thread::scope(|scope| {
        let work = parts.map(|(_, regions)| {
            let (q, bytes) = (q.clone(), bytes.clone());
            scope.spawn(move || {
                let partition = Partition::open(Box::new(bytes)).ok()?;
                let (seconds, done) = timed(|| answer_these(&q, &partition, regions));
                done.is_ok().then_some(seconds)
            })
        });
        work.map(|w| w.join().ok().flatten())
    });
    let [Some(a), Some(b)] = seconds else { return Err("a worker failed".into()) };
    Ok(a.max(b))
}

/// Machines with r from 2 to 65 and R in proportion to it.
fn question(machines: usize) -> Question {
    let machine = |i: usize| -> Machine {
        let mut m = models::find("butterfly").expect("in the registry");
        m.name = format!("m{i}");
        m.cores = vec![1; THREADS as usize];
        m.word_bytes = 4;
        m.read = Matrix::uniform(THREADS as usize, Cost(1), Cost(2 + i as i64));
        (m.write, m.write_back) = (m.read.clone(), m.read.clone());
        m.copy = CopyCost::linear(Cost(10 + 7 * i as i64), Cost(2));
        m
    };
    let seat = |t: u32| Seat { cpu: t as u16, node: NodeId(t as u16), space: 0 };
    let seats: Vec<Seat> = (0..THREADS).map(seat).collect();
    let blocks = (2..=14).map(|b| 1 << b).collect();
    let mut q = Question::new((0..machines).map(machine).collect(), vec![seats; machines], blocks);
    q.with_replication = Want::Cost;
    q
}

fn reference(thread: u32, op: Op, addr: u64, size: u32) -> Merged {
    let source = DataSource::Unknown;
    Merged { addr, size, site: 0, thread, weight: 1, op, source, cpu_code: 0, latency_code: 0 }
}

fn raw(bytes: &[u8]) -> Vec<Merged> {
    let record = |b: &[u8]| {
        let addr = u64::from_le_bytes(b[..8].try_into().expect("eight bytes"));
        let thread = u32::from(u16::from_le_bytes([b[8], b[9]])) % THREADS;
        reference(thread, if b[10] == 0 { Op::Read } else { Op::Write }, addr, b[11].into())
    };
    bytes.chunks_exact(16).map(record).collect()
}

fn synthetic(refs: usize) -> Vec<(String, Vec<Merged>)> {
    vec![("lu".into(), lu(refs)), ("sor".into(), sor(refs)), ("radix".into(), radix(refs))]
}

/// Elimination on a matrix of doubles whose rows are dealt out; threads take turns every four elements.
fn lu(refs: usize) -> Vec<Merged> {
    const N: u64 = 384;
    let at = |i: u64, j: u64| 0x10_0000 + (i * N + j) * 8;
    let mut all = Vec::with_capacity(refs + 64);
    for k in (0..N).cycle() {
        for turn in 0..(N - k).div_ceil(u64::from(THREADS)) {
            for piece in 0..(N - k).div_ceil(4) {
                for t in 0..THREADS {
                    let i = k + 1 + turn * u64::from(THREADS) + u64::from(t);
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
    let band = N / u64::from(THREADS);
    let mut all = Vec::with_capacity(refs + 64);
    loop {
        for i in 0..band {
            for j in 1..N - 1 {
                for t in 0..THREADS {
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
    let share = KEYS / u64::from(THREADS);
    loop {
        for i in 0..share {
            for t in 0..THREADS {
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
