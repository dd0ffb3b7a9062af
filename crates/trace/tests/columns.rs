//! Optional columns: what every member of the family must do, columns of later versions, and damage.
use homenode_base::Rng;
use homenode_synthetic::Builder;
use homenode_trace::check::{check, plain};
use homenode_trace::columns::{ALL, Column, INSTRUCTIONS, instructions};
use homenode_trace::frame::{DecodedFrame, FRAME_REFS_MAX, FrameEncoder, decode_frame};
use homenode_trace::framing::{Codec, Header, Kind};
use homenode_trace::{Op, Sample};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const HEADER: usize = 40;

fn value(rng: &mut Rng, column: &Column) -> u64 {
    [0, 1, column.max, rng.below(column.max + 1)][rng.below(4) as usize]
}

fn plain_decode(frame: &[u8]) -> Option<plain::PlainFrame> {
    let header = Header::parse(frame, Kind::Refs).ok().filter(|h| h.count as usize <= FRAME_REFS_MAX)?;
    plain::decode(header.open(frame, &mut Vec::new()).ok()?, &header)
}

/// A frame of `refs` references with these values of a column; `columns` of them are made with `put`.
fn frame_of(refs: usize, columns: &[(&Column, Vec<u64>)], codec: Codec) -> Vec<u8> {
    let mut e = FrameEncoder::default();
    e.begin(1, 7);
    for i in 0..refs {
        assert!(e.push(i as u64 * 8, 8, Op::Read, 0x40_0000 + i as u64 % 3));
        assert!(columns.iter().all(|(column, values)| e.put(column, values[i])));
    }
    let mut out = Vec::new();
    e.finish(9, codec, &mut out);
    out
}

#[test]
fn every_column_survives_both_decoders_in_every_codec() {
    let mut rng = Rng::new(8);
    for column in ALL {
        for refs in [0, 1, 2, 63, 1000] {
            let values: Vec<u64> = (0..refs).map(|_| value(&mut rng, column)).collect();
            for codec in [Codec::Raw, Codec::Lz4, Codec::Zstd] {
                let bytes = frame_of(refs, &[(column, values.clone())], codec);
                let (mut f, mut found) = (DecodedFrame::default(), Vec::new());
                assert_eq!(decode_frame(&bytes, &mut f).unwrap(), bytes.len(), "{}", column.name);
                f.values(column, &mut found);
                found.resize(refs, 0);
                let second = plain_decode(&bytes).unwrap();
                assert!(found == values && second.column(column) == values, "{}", column.name);
                assert!(second.same_columns(&f) && f.unknown_columns() == 0);
                assert!(f.samples().is_empty() || column.of_samples());
            }
        }
        let mut e = FrameEncoder::default();
        e.begin(0, 0);
        assert!(!e.put(column, 0), "there is no reference yet");
        assert!(e.push(0, 8, Op::Read, 1) && !e.put(column, column.max + 1) && e.put(column, column.max));
    }
}

#[test]
fn the_family_is_in_order_and_a_frame_of_all_its_largest_values_fits() {
    assert!(ALL.is_sorted_by(|a, b| a.number < b.number), "by number, none twice");
    assert!(ALL.iter().all(|c| c.version >= 1 && !c.name.is_empty() && c.of_samples() == (c.number <= 4)));
    let mut rng = Rng::new(5);
    let mut e = FrameEncoder::default();
    e.begin(0, 0);
    for _ in 0..FRAME_REFS_MAX {
        e.stamp(rng.next_u64());
        assert!(e.push(rng.next_u64(), rng.next_u64() as u32, Op::Atomic, rng.next_u64()) || e.room() == 0);
        ALL.iter().for_each(|c| assert!(e.put(c, c.max - rng.below(2))));
    }
    let mut out = Vec::new();
    e.finish(u64::MAX, Codec::Raw, &mut out);
    assert!(out.len() < 4 << 20, "what a header may announce: {}", out.len());
    decode_frame(&out, &mut DecodedFrame::default()).unwrap();
}

#[test]
fn a_column_of_zeros_is_not_written() {
    let bare = frame_of(100, &[], Codec::Raw);
    let alone: Vec<_> = ALL.iter().filter(|c| !c.of_samples()).map(|c| (*c, vec![0; 100])).collect();
    assert!(!alone.is_empty() && frame_of(100, &alone, Codec::Raw) == bare && bare[4] == 1);
}

/// Number, version and bytes of a column.
type Part<'a> = (u64, u64, &'a [u8]);

/// An uncompressed frame whose columns are replaced by these: number, version, bytes.
fn with_columns(mark: u8, columns: &[Part<'_>]) -> Vec<u8> {
    let mut bytes = frame_of(3, &[], Codec::Raw);
    bytes.push(columns.len() as u8);
    for (number, version, content) in columns {
        bytes.extend([*number as u8, *version as u8, content.len() as u8]);
        bytes.extend_from_slice(content);
    }
    (bytes[4], bytes[7]) = (3, mark);
    let len = ((bytes.len() - HEADER) as u32).to_le_bytes();
    bytes[24..28].copy_from_slice(&len);
    bytes[28..32].copy_from_slice(&len);
    sealed(bytes)
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh3_64_with_seed(&bytes[HEADER..], xxh3_64(&bytes[..32]));
    bytes[32..40].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Three times 4: a run.
const FOUR: &[u8] = &[7, 4];

#[test]
fn what_is_not_known_is_skipped() {
    let mut f = DecodedFrame::default();
    for columns in [
        &[(5, 1, FOUR), (6, 1, b"whatever")][..],
        &[(5, 1, FOUR), (5 + 64, 9, b"")],
        &[(2, 7, b"a latency as nobody knows it"), (5, 1, FOUR)],
    ] {
        let bytes = with_columns(0, columns);
        decode_frame(&bytes, &mut f).unwrap();
        assert_eq!((f.column(INSTRUCTIONS), f.unknown_columns()), (&[4, 4, 4][..], 1));
        assert_eq!(instructions(f.column(INSTRUCTIONS)[0]), Some(3));
        assert!(plain_decode(&bytes).unwrap().same_columns(&f));
    }
    decode_frame(&with_columns(0, &[(5, 2, FOUR)]), &mut f).unwrap();
    assert!(f.column(INSTRUCTIONS).is_empty() && f.unknown_columns() == 1, "of another version");
}

#[test]
fn what_cannot_be_is_refused_by_both_decoders() {
    let twice: &[Part<'_>] = &[(5, 1, FOUR), (5, 1, FOUR)];
    let cases: &[(u8, &[Part<'_>], &str)] = &[
        (0, twice, "stands after"),
        (0, &[(9, 1, b""), (9, 2, b"")], "stands after"),
        (0, &[(9, 1, b""), (5, 1, FOUR)], "stands after"),
        (0, &[(0, 1, b"")], "stands after"),
        (0, &[(5, 1, &[7])], "ends early"),
        (0, &[(5, 1, &[5, 4])], "ends early"),
        (0, &[(5, 1, &[9, 4])], "listed of 3"),
        (0, &[(5, 1, &[7, 4, 0])], "bytes after the last value"),
        (0, &[(5, 1, &[7, 0x81, 0x80, 0x80, 0x80, 0x10])], "at most"),
        (0, &[(1, 1, FOUR)], "without samples"),
        (1, &[(5, 1, FOUR)], "without weights"),
        (1, &[(1, 2, FOUR)], "without weights"),
        (2, &[(5, 1, FOUR)], "marks"),
    ];
    for (mark, columns, says) in cases {
        let bytes = with_columns(*mark, columns);
        let fault = decode_frame(&bytes, &mut DecodedFrame::default()).unwrap_err();
        assert!(fault.what.contains(says), "{columns:?}: {}", fault.what);
        assert!(plain_decode(&bytes).is_none());
    }
    // Cut off anywhere behind the references, with a length that is right.
    let whole = with_columns(1, &[(1, 1, FOUR), (2, 1, FOUR), (5, 1, FOUR)]);
    let bare = frame_of(3, &[], Codec::Raw).len();
    for end in bare..whole.len() {
        let mut cut = whole[..end].to_vec();
        let len = ((end - HEADER) as u32).to_le_bytes();
        cut[24..28].copy_from_slice(&len);
        cut[28..32].copy_from_slice(&len);
        let cut = sealed(cut);
        assert!(decode_frame(&cut, &mut DecodedFrame::default()).is_err() && plain_decode(&cut).is_none(), "{end}");
    }
}

#[test]
fn damage_under_a_right_checksum_never_panics_and_both_decoders_agree() {
    let (mut rng, mut f, mut accepted) = (Rng::new(41), DecodedFrame::default(), 0u32);
    for _ in 0..20_000 {
        let refs = rng.below(30) as usize;
        let some: Vec<_> = ALL.iter().filter(|_| rng.chance(1, 2)).collect();
        let columns: Vec<_> = some.into_iter().map(|c| (*c, (0..refs).map(|_| value(&mut rng, c)).collect())).collect();
        let mut bad = frame_of(refs, &columns, Codec::Raw);
        for _ in 0..1 + rng.below(3) {
            let len = bad.len() as u64;
            let at = if rng.chance(3, 4) { len - 1 - rng.below(len.min(60)) } else { 4 + rng.below(len - 4) } as usize;
            bad[at] = if rng.chance(1, 2) { rng.next_u64() as u8 } else { bad[at] ^ (1 << rng.below(8)) };
        }
        let bad = sealed(bad);
        let second = plain_decode(&bad);
        assert_eq!(decode_frame(&bad, &mut f).is_ok(), second.is_some(), "both decoders accept the same");
        if let Some(second) = second {
            accepted += 1;
            assert!(second.same_columns(&f));
        }
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn an_exact_recording_may_count_instructions() {
    let mut program = Builder::new(2);
    for i in 0..200u64 {
        program.write(0, 0x1000 + i * 8).column(0, INSTRUCTIONS, 1 + i % 5);
        program.read(1, 0x9000);
    }
    let data = program.frame_refs(64).open().unwrap();
    assert_eq!((data.manifest().version, check(&data).problems), (1, Vec::new()));
    let (mut bytes, mut f, mut sum) = (Vec::new(), DecodedFrame::default(), 0);
    for frame in 0..data.frames(0).len() {
        data.read_frame(0, frame, &mut bytes, &mut f).unwrap();
        sum += f.column(INSTRUCTIONS).iter().map(|v| instructions(*v).unwrap()).sum::<u64>();
    }
    assert_eq!(sum, (0..200).map(|i| i % 5).sum::<u64>());
    data.read_frame(1, 0, &mut bytes, &mut f).unwrap();
    assert!(f.column(INSTRUCTIONS).is_empty() && f.samples() == [] as [Sample; 0]);
}
