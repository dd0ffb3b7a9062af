//! Frames with samples: both decoders, any bytes, and frames without samples as they always were.
mod common;
use common::{Log, cases};
use homenode_base::Rng;
use homenode_synthetic::{Builder, random};
use homenode_trace::check::{check, plain};
use homenode_trace::columns::ALL;
use homenode_trace::dataset::frames_file;
use homenode_trace::frame::{DecodedFrame, FRAME_REFS_MAX, FrameEncoder, decode_frame};
use homenode_trace::framing::{Codec, Header, Kind};
use homenode_trace::order::{Order, OrderKind, rest};
use homenode_trace::store::{MemStore, Store};
use homenode_trace::{DataSource, DatasetReader, Merged, Op, Sample, Sampling};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const CODECS: [Codec; 3] = [Codec::Raw, Codec::Lz4, Codec::Zstd];

/// Stretches of equal and of wild values, extremes among them.
fn wild(rng: &mut Rng, n: usize) -> Vec<Sample> {
    let mut s = Sample::ONE;
    let one = |rng: &mut Rng, s: &mut Sample| {
        if rng.chance(1, 3) {
            s.weight = [1, 2, 10_007, u32::MAX, rng.next_u64() as u32 | 1][rng.below(5) as usize];
        }
        if rng.chance(1, 2) {
            s.latency_cycles = [None, Some(0), Some(u32::MAX), Some(rng.below(900) as u32)][rng.below(4) as usize];
        }
        if rng.chance(1, 6) {
            s.source = DataSource::ALL[rng.below(9) as usize];
        }
        if rng.chance(1, 9) {
            s.cpu = [None, Some(0), Some(u16::MAX), Some(rng.below(8) as u16)][rng.below(4) as usize];
        }
        *s
    };
    (0..n).map(|_| if rng.chance(1, 4) { one(rng, &mut s) } else { s }).collect()
}

fn encode(samples: &[Sample], codec: Codec) -> Vec<u8> {
    let mut e = FrameEncoder::default();
    e.begin(3, 1 << 40);
    for (i, s) in samples.iter().enumerate() {
        assert!(e.push_sample(i as u64 * 8, 8, Op::ALL[i % 3], i as u64 % 5, s));
    }
    let mut out = Vec::new();
    e.finish(99, codec, &mut out);
    out
}

fn plain_decode(frame: &[u8]) -> Option<plain::PlainFrame> {
    let header = Header::parse(frame, Kind::Refs).ok().filter(|h| h.count as usize <= FRAME_REFS_MAX)?;
    let mut scratch = Vec::new();
    plain::decode(header.open(frame, &mut scratch).ok()?, &header)
}

/// As the columns say it: each number with its least one, or that none is known, at 0.
fn as_plain(samples: &[Sample]) -> [Vec<u64>; 4] {
    [
        samples.iter().map(|s| u64::from(s.weight) - 1).collect(),
        samples.iter().map(|s| s.latency_cycles.map_or(0, |l| u64::from(l) + 1)).collect(),
        samples.iter().map(|s| s.source as u64).collect(),
        samples.iter().map(|s| s.cpu.map_or(0, |c| u64::from(c) + 1)).collect(),
    ]
}

fn plain_samples(frame: &plain::PlainFrame) -> [Vec<u64>; 4] {
    [0, 1, 2, 3].map(|place| frame.column(ALL[place]))
}

fn survives(samples: &[Sample]) {
    let mut f = DecodedFrame::default();
    for codec in CODECS {
        let bytes = encode(samples, codec);
        assert_eq!([bytes[4], bytes[7]], if samples.is_empty() { [1, 0] } else { [3, 1] });
        assert_eq!(decode_frame(&bytes, &mut f).expect("undamaged"), bytes.len());
        assert!(f.samples() == samples && (0..f.len()).all(|i| f.addr[i] == i as u64 * 8));
        assert_eq!(plain_samples(&plain_decode(&bytes).expect("undamaged")), as_plain(samples));
    }
}

#[test]
fn any_samples_survive() {
    let mut rng = Rng::new(31);
    for _ in 0..cases(1_000, 50_000) {
        let n = rng.below(300) as usize;
        survives(&wild(&mut rng, n));
    }
    survives(&wild(&mut rng, FRAME_REFS_MAX));
}

#[test]
fn constant_columns_take_no_room_and_noise_is_bounded() {
    let equal = vec![Sample { weight: 4001, cpu: Some(3), ..Sample::ONE }; FRAME_REFS_MAX];
    let plain = vec![Sample::ONE; FRAME_REFS_MAX];
    let bytes = encode(&equal, Codec::Raw).len();
    assert!(bytes <= encode(&plain, Codec::Raw).len() + 16, "{bytes}");
    let mut rng = Rng::new(5);
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    for _ in 0..FRAME_REFS_MAX {
        let (weight, latency_cycles, cpu) = (u32::MAX, Some(u32::MAX), Some(u16::MAX));
        let s = Sample { weight: weight - rng.below(9) as u32, latency_cycles, source: DataSource::Io, cpu };
        e.stamp(rng.next_u64());
        assert!(e.push_sample(rng.next_u64(), rng.next_u64() as u32, Op::Atomic, rng.next_u64(), &s) || e.room() == 0);
    }
    let mut out = Vec::new();
    e.finish(u64::MAX, Codec::Raw, &mut out);
    assert!(out.len() < 4 << 20, "what a header may announce: {}", out.len());
    decode_frame(&out, &mut DecodedFrame::default()).expect("undamaged");
}

#[test]
fn references_without_a_sample_count_once_and_the_next_frame_forgets() {
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    let heavy = Sample { weight: 7, ..Sample::ONE };
    assert!(e.push(0, 8, Op::Read, 1) && e.push_sample(8, 8, Op::Read, 1, &heavy) && e.push(16, 8, Op::Read, 1));
    assert!(e.push_sample(24, 8, Op::Read, 1, &Sample { weight: 0, ..Sample::ONE }) && e.push(32, 8, Op::Read, 1));
    let (mut out, mut f) = (Vec::new(), DecodedFrame::default());
    e.finish(0, Codec::Lz4, &mut out);
    decode_frame(&out, &mut f).expect("undamaged");
    assert_eq!(f.samples().iter().map(|s| s.weight).collect::<Vec<_>>(), [1, 7, 1, 1, 1]);
    e.begin(0, 5);
    assert!(e.push(0, 8, Op::Read, 1));
    out.clear();
    e.finish(0, Codec::Lz4, &mut out);
    decode_frame(&out, &mut f).expect("undamaged");
    assert!(f.samples().is_empty() && out[4] == 1);
}

/// The number changes only with what `random` builds. The manifest is taken without the line feed at its end, which it did not
/// have when the number was made.
#[test]
fn exact_datasets_are_the_same_bytes_as_ever() {
    let store = random(3, 3, 4_000).store();
    let names = (0..3).map(frames_file).chain(["events.bin".to_owned(), "manifest.json".to_owned()]);
    let sum = names.fold(0, |sum, name| {
        let bytes = store.get(&name).expect("written");
        let end = if name.ends_with(".json") { bytes.trim_ascii_end().len() } else { bytes.len() };
        xxh3_64_with_seed(&bytes[..end], sum)
    });
    assert_eq!(sum, EXACT_BYTES);
}
const EXACT_BYTES: u64 = 0x7048_2de3_d4a9_259f;

#[test]
fn damage_under_a_right_checksum_never_panics_and_both_decoders_agree() {
    let (mut rng, mut f, mut accepted) = (Rng::new(22), DecodedFrame::default(), 0u32);
    for case in 0..cases(20_000, 2_000_000) {
        let n = rng.below(40) as usize;
        let mut bad = encode(&wild(&mut rng, n), CODECS[(case % 3) as usize]);
        for _ in 0..1 + rng.below(4) {
            // Mostly near the end, where the samples are.
            let len = bad.len() as u64;
            let at = if rng.chance(3, 4) { len - 1 - rng.below(len.min(40)) } else { 4 + rng.below(len - 4) } as usize;
            bad[at] = if rng.chance(1, 2) { rng.next_u64() as u8 } else { bad[at] ^ (1 << rng.below(8)) };
        }
        let sum = xxh3_64_with_seed(&bad[40..], xxh3_64(&bad[..32]));
        bad[32..40].copy_from_slice(&sum.to_le_bytes());
        let second = plain_decode(&bad);
        assert_eq!(decode_frame(&bad, &mut f).is_ok(), second.is_some(), "both decoders accept the same");
        if let Some(second) = second {
            accepted += 1;
            assert!(second.same_columns(&f));
            assert!(f.samples().iter().all(|s| s.weight >= 1) && [0, f.len()].contains(&f.samples().len()));
        }
    }
    assert!(accepted > 100, "the damage must reach the columns: {accepted}");
}

fn rows(data: &DatasetReader, kind: OrderKind) -> Vec<Merged> {
    rest(&mut Order::new(data, kind).expect("ordered")).expect("ordered")
}

fn three_samples() -> Builder {
    let mut b = Builder::new(2);
    b.sampled(Sampling { period: 100, ..Sampling::default() });
    let s = Sample { weight: 100, latency_cycles: Some(0), source: DataSource::RemoteMemory, cpu: Some(9) };
    b.sample(0, 64, 8, Op::Read, 1, s).sample(1, 128, 4, Op::Write, 2, Sample { weight: 7, ..Sample::ONE }).read(1, 0);
    b
}

#[test]
fn what_is_sampled_reaches_the_consumer() {
    let data = three_samples().open().expect("valid");
    assert_eq!((data.manifest().version, check(&data).problems), (2, Vec::new()));
    for kind in [OrderKind::Model, OrderKind::Recorded { seed: 1 }] {
        let of = |r: &Merged| (r.addr, r.weight, r.latency_cycles(), r.source, r.cpu());
        let mut got: Vec<_> = rows(&data, kind).iter().map(of).collect();
        got.sort_unstable();
        let unknown = DataSource::Unknown;
        let sampled = (64, 100, Some(0), DataSource::RemoteMemory, Some(9));
        assert_eq!(got, [(0, 1, None, unknown, None), sampled, (128, 7, None, unknown, None)]);
    }
    assert_eq!(size_of::<Merged>(), 32);
}

#[test]
fn exact_references_have_weight_one_and_nothing_sampled() {
    let rows = rows(&random(5, 3, 500).open().expect("valid"), OrderKind::Model);
    assert!(!rows.is_empty());
    let bare = |r: &Merged| r.weight == 1 && r.latency_cycles().is_none() && r.cpu().is_none();
    assert!(rows.iter().all(|r| bare(r) && r.source == DataSource::Unknown));
}

#[test]
fn frames_and_manifest_must_agree_about_samples() {
    let (sampled, exact) = (three_samples().store(), Builder::new(2).read(0, 64).write(1, 128).read(1, 0).store());
    for (manifest_of, frames_of, says) in [(&sampled, &exact, "without samples"), (&exact, &sampled, "with samples")] {
        let store = MemStore::default();
        for name in manifest_of.names().expect("memory") {
            let from = if name.starts_with("threads/") { frames_of } else { manifest_of };
            store.put(&name, from.get(&name).expect("written").to_vec());
        }
        let error = DatasetReader::open(std::sync::Arc::new(store)).expect_err("mixed");
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(Log::of(&three_samples().open().expect("valid"), OrderKind::Model).is_ok());
}
