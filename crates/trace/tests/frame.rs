//! The frame codec on adversarial columns, and on damaged bytes.
mod common;
use common::{cases, check};
use homenode_base::Rng;
use homenode_trace::check::plain;
use homenode_trace::frame::{BATCH_REFS_MAX, Batch, DecodedFrame, FRAME_REFS_MAX, FrameEncoder, RawRef, decode_frame};
use homenode_trace::framing::{Codec, Header, Kind};
use homenode_trace::{Columns, Op};
use proptest::prelude::*;

const CODECS: [Codec; 3] = [Codec::Raw, Codec::Lz4, Codec::Zstd];

fn encode(refs: &[RawRef], codec: Codec) -> Vec<u8> {
    let mut e = FrameEncoder::default();
    e.begin(3, 1 << 40);
    assert_eq!(e.extend(refs.iter().copied()), refs.len());
    let mut out = vec![7; 5]; // what stands before it stays
    e.finish(99, codec, &mut out);
    assert_eq!(out[..5], [7; 5]);
    out.split_off(5)
}

fn decode(bytes: &[u8]) -> Vec<RawRef> {
    let mut f = DecodedFrame::default();
    assert_eq!(decode_frame(bytes, &mut f).expect("undamaged"), bytes.len());
    assert_eq!((f.thread, f.first_ref, f.end), (3, 1 << 40, 99));
    assert_eq!(f.batches.iter().map(|b| b.refs as usize).sum::<usize>(), f.len());
    let mut columns = Columns::default();
    f.columns(&mut columns);
    (0..f.len())
        .map(|i| {
            let r = f.get(i);
            assert_eq!(columns.get(i), r);
            RawRef { addr: r.addr, size: r.size, op: r.op, pc: f.pcs[r.site as usize] }
        })
        .collect()
}

fn survives(refs: &[RawRef]) {
    for codec in CODECS {
        assert!(decode(&encode(refs, codec)) == refs, "{codec:?}, {} references", refs.len());
    }
}

/// What the next reference of a stream is like: as the one before it went on, unless the first number is one of five; the
/// others say how it differs.
type Step = (u8, u64, u8);

/// A stream that jumps between regular and wild behaviour.
fn stream(steps: impl Iterator<Item = Step>) -> Vec<RawRef> {
    let extremes = [0, 1, u64::MAX, u64::MAX - 7, 1 << 63, (1 << 63) - 1];
    let mut out: Vec<RawRef> = Vec::new();
    let (mut addr, mut stride, mut sites) = (0u64, 8u64, 1u64);
    for (what, any, shift) in steps {
        match what {
            5 => stride = any >> shift,
            1 => addr = extremes[(any % 6) as usize],
            2 => addr = any,
            3 => sites = 1 + any % 30,
            4 if !out.is_empty() => {
                out.push(out[(any % out.len() as u64) as usize]);
                continue;
            }
            _ => addr = addr.wrapping_add(stride),
        }
        let s = out.len() as u64 % sites;
        let size = [1, 8, u32::MAX, 0][(s % 4) as usize];
        out.push(RawRef { addr, size, op: Op::ALL[(s / 4 % 4) as usize], pc: s.wrapping_mul(0x1357_9BDF_0246) });
    }
    out
}

fn wild(rng: &mut Rng, n: usize) -> Vec<RawRef> {
    stream((0..n).map(|_| (rng.below(40) as u8, rng.next_u64(), rng.below(64) as u8)))
}

#[test]
fn any_stream_survives() {
    let steps = proptest::collection::vec((0..40_u8, any::<u64>(), 0..64_u8), 0..500);
    check(cases(1_500, 100_000), &steps, |steps| survives(&stream(steps.into_iter())));
    survives(&wild(&mut Rng::new(11), FRAME_REFS_MAX));
    survives(&[]);
}

#[test]
fn every_reference_may_have_its_own_site() {
    let refs: Vec<RawRef> = (0..FRAME_REFS_MAX as u64)
        .map(|i| RawRef { addr: i.wrapping_mul(u64::MAX / 3), size: i as u32, op: Op::Write, pc: u64::MAX - i * i })
        .collect();
    survives(&refs);
}

#[test]
fn noise_is_bounded() {
    let mut rng = Rng::new(5);
    let mut any = || RawRef {
        addr: rng.next_u64(),
        size: rng.next_u64() as u32,
        op: Op::ALL[rng.below(4) as usize],
        pc: rng.next_u64(),
    };
    let refs: Vec<RawRef> = (0..FRAME_REFS_MAX).map(|_| any()).collect();
    survives(&refs);
    assert!(encode(&refs, Codec::Raw).len() < FRAME_REFS_MAX * 40);
}

#[test]
fn a_full_frame_takes_no_more_and_a_new_one_forgets_it() {
    let r = RawRef { addr: 1, size: 1, op: Op::Read, pc: 1 };
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    assert_eq!(e.extend(std::iter::repeat(r)), FRAME_REFS_MAX);
    assert!(!e.push(1, 1, Op::Read, 1) && e.room() == 0);
    let mut full = Vec::new();
    e.finish(0, Codec::Lz4, &mut full);
    assert!(full.len() < 200, "65,536 equal references are a few bytes: {}", full.len());
    e.begin(3, 1 << 40);
    assert!(e.push(2, 2, Op::Write, 1));
    let mut second = Vec::new();
    e.finish(99, Codec::Lz4, &mut second);
    assert_eq!(decode(&second), [RawRef { addr: 2, size: 2, op: Op::Write, pc: 1 }]);
}

#[test]
fn batches_and_stamps_survive() {
    let refs = prop_oneof![Just(0), Just(1), Just(63), Just(BATCH_REFS_MAX as u32), 0..64_u32];
    let stamps = (any::<u64>(), 0..64_u8).prop_map(|(stamp, shift)| stamp >> shift);
    let batches = proptest::collection::vec((refs, stamps), 0..40);
    check(cases(300, 20_000), &(batches, any::<u64>()), |(each, end)| {
        let (mut e, mut sites, mut batches) = (FrameEncoder::default(), Vec::new(), Vec::new());
        e.begin(1, 5);
        for (refs, begin) in each {
            batches.push(Batch { refs, begin });
            assert!(e.stamp(batches[batches.len() - 1].begin));
            for i in 0..u64::from(refs) {
                sites.push(10 + i % 2 * 10);
                assert!(e.push(i * 8, 8, Op::Read, 10 + i % 2 * 10));
            }
        }
        let mut bytes = Vec::new();
        e.finish(end, Codec::Lz4, &mut bytes);
        let mut f = DecodedFrame::default();
        decode_frame(&bytes, &mut f).expect("undamaged");
        assert_eq!((&f.batches, f.end, f.len()), (&batches, end, sites.len()));
        assert!((0..f.len()).all(|i| f.pcs[f.get(i).site as usize] == sites[i]));
    });
}

#[test]
fn long_batches_are_split_and_too_many_stamps_refused() {
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    (0..10).for_each(|_| assert!(e.push(0, 1, Op::Read, 0)));
    assert!(e.stamp(50));
    (0..200).for_each(|_| assert!(e.push(0, 1, Op::Read, 0)));
    let mut bytes = Vec::new();
    e.finish(60, Codec::Raw, &mut bytes);
    let mut f = DecodedFrame::default();
    decode_frame(&bytes, &mut f).expect("undamaged");
    let got: Vec<_> = f.batches.iter().map(|b| (b.refs, b.begin)).collect();
    assert_eq!(got, [(10, 0), (128, 50), (72, 50)]);
    e.begin(0, 0);
    let stamps = (0..100_000).take_while(|&i| e.stamp(i)).count();
    assert!(stamps > 60_000 && stamps < 65_536 && e.room() == 0, "{stamps}");
    bytes.clear();
    e.finish(u64::MAX, Codec::Lz4, &mut bytes);
    decode_frame(&bytes, &mut f).expect("a frame of empty batches is a frame");
    assert!(f.is_empty() && f.batches.len() == stamps);
}

#[test]
fn damage_is_always_noticed() {
    let mut rng = Rng::new(21);
    let refs = wild(&mut rng, 60);
    let mut f = DecodedFrame::default();
    for codec in CODECS {
        let bytes = encode(&refs, codec);
        for n in 0..bytes.len() {
            assert!(decode_frame(&bytes[..n], &mut f).is_err(), "cut at {n}");
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[n] ^= 1 << bit;
                assert!(decode_frame(&bad, &mut f).is_err(), "bit {bit} of byte {n}");
            }
        }
    }
}

/// By the decoder that was written from the documentation of the format.
fn plain_decode(frame: &[u8]) -> Option<plain::PlainFrame> {
    let header = Header::parse(frame, Kind::Refs).ok().filter(|h| h.count as usize <= FRAME_REFS_MAX)?;
    let mut scratch = Vec::new();
    plain::decode(header.open(frame, &mut scratch).ok()?, &header)
}

/// With the checksum put right again the parser itself must cope.
#[test]
fn damage_under_a_right_checksum_never_panics() {
    let mut rng = Rng::new(22);
    let mut f = DecodedFrame::default();
    let mut accepted = 0u32;
    for case in 0..cases(20_000, 2_000_000) {
        let n = rng.below(80) as usize;
        let mut bad = encode(&wild(&mut rng, n), CODECS[(case % 3) as usize]);
        for _ in 0..1 + rng.below(4) {
            let at = 8 + rng.below(bad.len() as u64 - 8) as usize;
            bad[at] = if rng.chance(1, 2) { rng.next_u64() as u8 } else { bad[at] ^ (1 << rng.below(8)) };
        }
        let head = xxhash_rust::xxh3::xxh3_64(&bad[..32]);
        let sum = xxhash_rust::xxh3::xxh3_64_with_seed(&bad[40..], head);
        bad[32..40].copy_from_slice(&sum.to_le_bytes());
        let second = plain_decode(&bad);
        assert_eq!(decode_frame(&bad, &mut f).is_ok(), second.is_some(), "both decoders accept the same");
        if let Some(second) = second {
            accepted += 1;
            let first = (0..f.len()).map(|i| {
                let r = f.get(i);
                (r.addr, r.size, r.op as u8, f.pcs[r.site as usize])
            });
            assert!(first.eq(second.refs) && f.end == second.end);
            assert_eq!(f.batches.iter().map(|b| b.refs as usize).sum::<usize>(), f.len());
            assert!((0..f.len()).all(|i| (f.get(i).site as usize) < f.pcs.len()));
        }
    }
    assert!(accepted > 100, "the damage must reach the columns: {accepted}");
}
