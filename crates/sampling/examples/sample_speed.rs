//! How fast ring bytes become samples, and samples frames. Prints millions of samples per second of processor time, which a
//! busy machine distorts less than the time on the wall:
//! `cargo run --release -p homenode-capture --example sample_speed`
use homenode_base::Rng;
use homenode_sampling::RawSample;
use homenode_sampling::perf::records::Layout;
use homenode_sampling::perf::{Decoder, EventFacts};
use homenode_sys::clock::cpu_seconds;
use homenode_sys::perf::attr::sample;
use homenode_trace::frame::FrameEncoder;
use homenode_trace::framing::Codec;
use homenode_trace::{Op, Sample};

const SAMPLES: u64 = 1 << 20;
const THREADS: u64 = 8;
const ROUNDS: usize = 7;
/// Bytes drained at a time, as from one ring.
const PIECE: usize = 104 * 4096;

/// Records of a processor with PEBS: threads that walk over their own arrays and now and then over a shared one.
fn ring_bytes() -> Vec<u8> {
    let mut rng = Rng::new(1);
    let mut out = Vec::new();
    for time in 0..SAMPLES {
        let thread = rng.below(THREADS);
        let own = 0x7f00_0000_0000 + (thread << 32) + time * 64 % (1 << 26);
        let addr = if rng.chance(1, 4) { 0x7e00_0000_0000 + rng.below(1 << 24) * 8 } else { own };
        let src = 2 | (2 | if rng.chance(1, 3) { 0x100 } else { 0x80 }) << 5;
        let ip = 0x40_1000 + rng.below(64) * 4;
        let (pid_tid, cpu) = (77 | (100 + thread) << 32, thread);
        let words = [5, ip, pid_tid, time * 900, addr, cpu, 10_007, 200 + rng.below(300), src];
        out.extend(9_u32.to_le_bytes());
        out.extend([2, 0x40]);
        out.extend((8 + 8 * words.len() as u16).to_le_bytes());
        words.iter().for_each(|w| out.extend(w.to_le_bytes()));
    }
    out
}

fn decoder() -> Decoder {
    let sample_type = sample::IDENTIFIER
        | sample::IP
        | sample::TID
        | sample::TIME
        | sample::ADDR
        | sample::CPU
        | sample::PERIOD
        | sample::WEIGHT_STRUCT
        | sample::DATA_SRC;
    let layout = Layout { sample_type, sample_id_all: true, ..Layout::default() };
    let fact = |id| EventFacts { id, op: Op::Read, period: 10_007, only_misses: false };
    Decoder::new(layout, (0..16).map(fact).collect())
}

fn encode(lanes: &mut [Vec<RawSample>], encoder: &mut FrameEncoder, out: &mut Vec<u8>) {
    for (thread, lane) in (0..).zip(lanes.iter_mut()) {
        encoder.begin(thread, 0);
        for s in lane.iter() {
            let cpu = s.cpu.map(|c| c as u16);
            let extra = Sample { weight: s.weight, latency_cycles: s.latency_cycles, source: s.source, cpu };
            assert!(encoder.stamp(s.time_ns) && encoder.push_sample(s.addr, s.size, s.op, s.ip, &extra), "it fits");
        }
        encoder.finish(lane.last().map_or(0, |s| s.time_ns), Codec::Lz4, out);
        lane.clear();
    }
}

/// Seconds of one pass and bytes of the frames made; with `frames`, samples are sorted to threads and encoded.
fn pass(bytes: &[u8], frames: bool) -> (f64, usize) {
    let mut decoder = decoder();
    let (mut samples, mut notices, mut out, mut made) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut lanes = vec![Vec::new(); THREADS as usize];
    let mut encoder = FrameEncoder::default();
    let started = cpu_seconds();
    for piece in bytes.chunks(80 * (PIECE / 80)) {
        samples.clear();
        decoder.decode(piece, &mut samples, &mut notices);
        if frames {
            samples.sort_by_key(|s| s.time_ns);
            samples.iter().for_each(|s| lanes[s.tid as usize - 100].push(*s));
            if lanes.iter().any(|l| l.len() >= 8192) {
                out.clear();
                encode(&mut lanes, &mut encoder, &mut out);
                made += out.len();
            }
        }
    }
    if frames {
        out.clear();
        encode(&mut lanes, &mut encoder, &mut out);
        made += out.len();
    }
    let seconds = cpu_seconds() - started;
    assert_eq!((decoder.counts.delivered, decoder.counts.damaged), (SAMPLES, 0));
    (seconds, made)
}

fn main() {
    let bytes = ring_bytes();
    for (name, frames) in [("decode", false), ("decode, sort and encode", true)] {
        let mut runs: Vec<(f64, usize)> = (0..ROUNDS).map(|_| pass(&bytes, frames)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rate = |seconds: f64| SAMPLES as f64 / seconds / 1e6;
        let per_sample = runs[0].1 as f64 / SAMPLES as f64;
        println!(
            "{name}: best {:.1}, median {:.1} M samples/s a core; {per_sample:.2} B/sample",
            rate(runs[0].0),
            rate(runs[ROUNDS / 2].0)
        );
    }
}
