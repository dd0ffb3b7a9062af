//! Bytes as a program of references: what is encoded is what is decoded, by both decoders.
#![no_main]
use homenode_trace::check::plain;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::frame::{DecodedFrame, FrameEncoder, RawRef, decode_frame};
use homenode_trace::framing::{Codec, Header, Kind};
use homenode_trace::{DataSource, Op, Sample};
use libfuzzer_sys::fuzz_target;

/// Five bytes make one step: a reference near the last one of its site, anywhere, or a whole loop.
fn references(data: &[u8]) -> Vec<RawRef> {
    let mut out = Vec::new();
    let mut last = [0u64; 8];
    for s in data.chunks_exact(5) {
        let site = usize::from(s[0] & 7);
        let step = match s[1] & 3 {
            0 => u64::from(s[2]),
            1 => u64::from(s[2]).wrapping_neg(),
            2 => u64::from_le_bytes([s[2], s[3], s[4], s[2], s[3], s[4], s[2], s[3]]),
            _ => 8,
        };
        let repeat = if s[0] & 128 != 0 { usize::from(s[3]) } else { 1 };
        for _ in 0..repeat {
            last[site] = last[site].wrapping_add(step);
            let size = if s[0] & 64 != 0 { u32::MAX } else { 8 };
            let op = Op::ALL[usize::from(s[1] >> 6)];
            let pc = if s[1] & 4 != 0 { last[site] } else { site as u64 };
            out.push(RawRef { addr: last[site], size, op, pc });
        }
        if out.len() > 60_000 {
            break;
        }
    }
    out
}

fn sample(bytes: &[u8], i: usize) -> Option<Sample> {
    let at = |k: usize| u32::from(bytes[(i / 7 + k) % bytes.len()]);
    (!bytes.is_empty()).then(|| Sample {
        weight: 1 + (at(0) << (at(1) % 24)),
        latency_cycles: (at(2) % 3 != 0).then(|| at(3) << (at(2) % 24)),
        source: DataSource::ALL[at(4) as usize % 9],
        cpu: (at(5) % 2 == 0).then(|| (at(5) * 257) as u16),
    })
}

/// Of half of the inputs, instructions of every reference whose byte is odd.
fn counted(bytes: &[u8], i: usize) -> Option<u64> {
    let byte = u64::from(*bytes.get(i % bytes.len().max(1))?);
    (bytes.len() % 2 == 1 && byte % 2 == 1).then(|| byte << (i % 24))
}

fuzz_target!(|data: &[u8]| {
    let refs = references(data);
    // A third of the inputs are sampled frames, whose samples come from the same bytes.
    let samples: &[u8] = if data.len() % 3 == 0 { data } else { &[] };
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    for (i, r) in refs.iter().enumerate() {
        if i % 50 == 0 {
            e.stamp(i as u64 * 77);
        }
        let pushed = match sample(samples, i) {
            Some(s) => e.push_sample(r.addr, r.size, r.op, r.pc, &s),
            None => e.push(r.addr, r.size, r.op, r.pc),
        };
        assert!(pushed);
        assert!(counted(data, i).is_none_or(|n| e.put(INSTRUCTIONS, n)));
    }
    let codec = [Codec::Raw, Codec::Lz4, Codec::Zstd][data.len() % 3];
    let mut bytes = Vec::new();
    e.finish(7, codec, &mut bytes);
    let mut frame = DecodedFrame::default();
    assert_eq!(decode_frame(&bytes, &mut frame).expect("just written"), bytes.len());
    let back = (0..frame.len()).map(|i| {
        let r = frame.get(i);
        RawRef { addr: r.addr, size: r.size, op: r.op, pc: frame.pcs[r.site as usize] }
    });
    assert!(back.eq(refs.iter().copied()));
    assert!((0..frame.samples().len()).all(|i| sample(samples, i) == Some(frame.samples()[i])));
    let column = frame.column(INSTRUCTIONS);
    assert!((0..refs.len()).all(|i| counted(data, i).unwrap_or(0) == column.get(i).copied().unwrap_or(0)));
    assert_eq!(frame.samples().len(), if samples.is_empty() { 0 } else { refs.len() });
    let header = Header::parse(&bytes, Kind::Refs).expect("just written");
    let mut scratch = Vec::new();
    let payload = header.open(&bytes, &mut scratch).expect("just written");
    let second = plain::decode(payload, &header).expect("just written");
    assert!(second.same_columns(&frame));
    assert!(second.refs.into_iter().eq(refs.into_iter().map(|r| (r.addr, r.size, r.op as u8, r.pc))));
});
