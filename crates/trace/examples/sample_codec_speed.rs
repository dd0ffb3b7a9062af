//! Prints how many samples a second one core encodes and decodes (wall time), and what one takes on disk.
//!
//! `cargo run --release -p homenode-trace --example sample_codec_speed`
use homenode_base::Rng;
use homenode_trace::frame::{DecodedFrame, FrameEncoder, decode_frame};
use homenode_trace::framing::Codec;
use homenode_trace::{DataSource, Op, Sample};
use std::time::Instant;

const SAMPLES: usize = 4_000_000;

fn main() {
    let mut rng = Rng::new(1);
    let (mut encoder, mut bytes) = (FrameEncoder::default(), Vec::new());
    let mut clock = 0;
    let start = Instant::now();
    encoder.begin(0, 0);
    for i in 0..SAMPLES {
        if encoder.room() == 0 {
            encoder.finish(clock, Codec::Lz4, &mut bytes);
            encoder.begin(0, i as u64);
        }
        clock += 1_000 + rng.below(5_000);
        encoder.stamp(clock);
        let (source, cpu) = (DataSource::ALL[rng.below(4) as usize], Some((i / 1_000 % 8) as u16));
        let latency_cycles = Some(40 + rng.below(600) as u32);
        let sample = Sample { weight: 1_009, latency_cycles, source, cpu };
        encoder.push_sample(0x7000_0000 + rng.below(1 << 28), 8, Op::Read, 0x40_0000 + rng.below(40) * 4, &sample);
    }
    encoder.finish(clock, Codec::Lz4, &mut bytes);
    let encoded = start.elapsed().as_secs_f64();
    let (mut at, mut frame, mut seen) = (0, DecodedFrame::default(), 0);
    let start = Instant::now();
    while at < bytes.len() {
        at += decode_frame(&bytes[at..], &mut frame).expect("just written");
        seen += frame.samples().len();
    }
    assert_eq!(seen, SAMPLES);
    let decoded = start.elapsed().as_secs_f64();
    let per_s = |seconds: f64| SAMPLES as f64 / seconds / 1e6;
    println!("encoded {:.1} M/s, decoded {:.1} M/s", per_s(encoded), per_s(decoded));
    println!("{:.1} bytes a sample", bytes.len() as f64 / SAMPLES as f64);
}
