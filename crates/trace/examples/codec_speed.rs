//! Speed and density of the frame codec and of the merge on three kinds of reference streams.
//!
//! `cargo run --release -p homenode-trace --example codec_speed`
use homenode_synthetic::{Builder, PROGRAMS, Scale};
use homenode_trace::check::check;
use homenode_trace::frame::{BATCH_REFS_MAX, DecodedFrame, FRAME_REFS_MAX, FrameEncoder, RawRef, decode_frame};
use homenode_trace::framing::Codec;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{Columns, DatasetReader, Op};
use std::time::Instant;

type Made = (u64, u32, Op, u64);
/// Small enough for a last-level cache, as the rings of the recorder are.
const REFS: usize = 1 << 20;
const BASE: u64 = 0x7f00_0000_0000;

/// Blocked LU: row updates of 16 x 16 blocks inside a 512 x 512 matrix.
fn lu() -> Vec<Made> {
    let (n, block) = (512u64, 16u64);
    let at = |i: u64, j: u64| BASE + 8 * (i * n + j);
    let mut out = Vec::with_capacity(REFS);
    for k in 0.. {
        for (bi, bj) in (0..n / block).flat_map(|i| (0..n / block).map(move |j| (i * block, j * block))) {
            for (i, l) in (0..block).flat_map(|i| (0..block).map(move |l| (i, l))) {
                out.push((at(bi + i, k % n / block * block + l), 8, Op::Read, 0x1000));
                for j in 0..block {
                    out.push((at(k % n / block * block + l, bj + j), 8, Op::Read, 0x1010));
                    out.push((at(bi + i, bj + j), 8, Op::Read, 0x1018));
                    out.push((at(bi + i, bj + j), 8, Op::Write, 0x1020));
                }
            }
            if out.len() >= REFS {
                return out;
            }
        }
    }
    out
}

/// Red-black SOR on 1024 x 1024 doubles.
fn sor() -> Vec<Made> {
    let n = 1024u64;
    let at = |i: u64, j: u64| BASE + 8 * (i * n + j);
    let mut out = Vec::with_capacity(REFS);
    for colour in 0.. {
        for i in 1..n - 1 {
            for j in (1 + (i + colour) % 2..n - 1).step_by(2) {
                let near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1), (i, j)];
                out.extend(near.iter().enumerate().map(|(s, &(a, b))| (at(a, b), 8, Op::Read, 0x2000 + 8 * s as u64)));
                out.push((at(i, j), 8, Op::Write, 0x2040));
            }
            if out.len() >= REFS {
                return out;
            }
        }
    }
    out
}

/// Radix sort: one pass counts digits, the next scatters keys, on 2^17 keys and 1024 buckets.
fn radix() -> Vec<Made> {
    let (n, buckets) = (1u64 << 17, 1024u64);
    let (ranks, to) = (BASE + (64 << 20), BASE + (32 << 20));
    let mut rng = homenode_base::Rng::new(1);
    let mut out = Vec::with_capacity(REFS);
    loop {
        let digits: Vec<u64> = (0..n).map(|_| rng.below(buckets)).collect();
        let mut rank = vec![0u64; buckets as usize + 1];
        for (i, &d) in digits.iter().enumerate() {
            out.push((BASE + 4 * i as u64, 4, Op::Read, 0x3000));
            out.push((ranks + 4 * d, 4, Op::Read, 0x3008));
            out.push((ranks + 4 * d, 4, Op::Write, 0x3010));
            rank[d as usize + 1] += 1;
        }
        (1..rank.len()).for_each(|i| rank[i] += rank[i - 1]);
        for (i, &d) in digits.iter().enumerate() {
            out.push((BASE + 4 * i as u64, 4, Op::Read, 0x3020));
            out.push((ranks + 4 * d, 4, Op::Read, 0x3028));
            out.push((to + 4 * rank[d as usize], 4, Op::Write, 0x3030));
            out.push((ranks + 4 * d, 4, Op::Write, 0x3038));
            rank[d as usize] += 1;
        }
        if out.len() >= REFS {
            return out;
        }
    }
}

fn encode(refs: &[Made], codec: Codec) -> Vec<Vec<u8>> {
    let mut e = FrameEncoder::default();
    let mut clock = 0;
    let mut frames = Vec::new();
    for (f, frame) in refs.chunks(FRAME_REFS_MAX).enumerate() {
        e.begin(0, (f * FRAME_REFS_MAX) as u64);
        for (b, batch) in frame.chunks(BATCH_REFS_MAX - 1).enumerate() {
            clock += 600 + (b as u64 * 37) % 101;
            e.stamp(clock);
            e.extend(batch.iter().map(|&(addr, size, op, pc)| RawRef { addr, size, op, pc }));
        }
        let mut out = Vec::new();
        e.finish(clock, codec, &mut out);
        frames.push(out);
    }
    frames
}

fn rate(refs: usize, f: impl Fn()) -> f64 {
    let best = (0..15).map(|_| Instant::now()).map(|t| {
        f();
        t.elapsed().as_secs_f64()
    });
    refs as f64 / best.fold(f64::MAX, f64::min) / 1e6
}

/// Goes through a dataset in this order, looking at each reference.
fn pull(data: &DatasetReader, kind: OrderKind) -> u64 {
    let (mut order, mut sum) = (Order::new(data, kind).expect("valid"), 0);
    while let Some(piece) = order.pull().expect("acyclic") {
        sum += piece.refs.iter().map(|r| r.addr & 1).sum::<u64>() + piece.refs.len() as u64;
    }
    sum
}

/// The checker, which decodes every frame twice.
fn checked(refs: &[Made]) -> f64 {
    let mut b = Builder::new(1);
    refs.iter().for_each(|&(addr, size, op, pc)| {
        b.access(0, addr, size, op, pc);
    });
    let data = b.open().expect("the builder writes valid datasets");
    rate(refs.len(), || assert!(check(&data).ok()))
}

/// The stream given to four threads, with a barrier every 100,000 references of each.
fn merged(refs: &[Made]) -> f64 {
    let mut b = Builder::new(4);
    for (i, &(addr, size, op, pc)) in refs.iter().enumerate() {
        b.access((i / 16 % 4) as u32, addr, size, op, pc);
        if i % 400_000 == 399_999 {
            b.barrier(1, 0..4);
        }
    }
    let data = b.open().expect("the builder writes valid datasets");
    rate(refs.len(), || assert!(pull(&data, OrderKind::Model) > 0))
}

/// The merge of programs in which threads meet often, in both orders.
fn merges() {
    println!("program            refs/event  model  recorded (Mref/s)");
    for program in PROGRAMS {
        let data = (program.build)(1, Scale { threads: 8, rounds: 4000 }).open().expect("valid");
        let refs: u64 = (0..data.threads()).map(|t| data.refs(t)).sum();
        let speed = |kind| rate(refs as usize, || assert!(pull(&data, kind) > 0));
        println!(
            "{:18} {:10.1} {:6.0} {:8.0}",
            program.name,
            refs as f64 / data.events().len() as f64,
            speed(OrderKind::Model),
            speed(OrderKind::Recorded { seed: 1 })
        );
    }
}

fn main() {
    println!("stream  encode  +lz4  +zstd  decode  columns  merged(4)  checked  B/ref raw    lz4   zstd");
    println!("        Mref/s Mref/s Mref/s Mref/s   Mref/s     Mref/s   Mref/s");
    for (name, refs) in [("lu", lu()), ("sor", sor()), ("radix", radix())] {
        let codecs = [Codec::Raw, Codec::Lz4, Codec::Zstd];
        let speed = codecs.map(|c| rate(refs.len(), || drop(encode(&refs, c))));
        let size = codecs.map(|c| encode(&refs, c).iter().map(Vec::len).sum::<usize>() as f64 / refs.len() as f64);
        let frames = encode(&refs, Codec::Lz4);
        let read = |columns: bool| {
            let (mut frame, mut out) = (DecodedFrame::default(), Columns::default());
            for f in &frames {
                decode_frame(f, &mut frame).expect("undamaged");
                if columns {
                    frame.columns(&mut out);
                }
            }
        };
        let (decode, columns) = (rate(refs.len(), || read(false)), rate(refs.len(), || read(true)));
        println!(
            "{name:6} {:7.0} {:6.0} {:6.0} {decode:6.0} {columns:8.0} {:10.0} {:8.0}  {:9.3} {:6.3} {:6.3}",
            speed[0],
            speed[1],
            speed[2],
            merged(&refs[..refs.len().min(4 << 20)]),
            checked(&refs),
            size[0],
            size[1],
            size[2]
        );
    }
    merges();
}
