//! Packed bytes and what comes out of them.
use super::*;
use flate2::write::GzEncoder;
use std::io::{Cursor, Write};

fn all(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    open(Cursor::new(packed))?.read_to_end(&mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(parts: &[&[u8]], method: ::zip::CompressionMethod) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (i, part) in parts.iter().enumerate() {
        let options = ::zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("chunk.{i:04}"), options).unwrap();
        writer.write_all(part).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const METHODS: [::zip::CompressionMethod; 2] = [::zip::CompressionMethod::Deflated, ::zip::CompressionMethod::Stored];

#[test]
fn all_pieces_of_every_kind_come_out_one_after_the_other() {
    let (a, b) = (vec![7; 300_000], (0..70_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let both = [a.clone(), b.clone()].concat();
    assert_eq!(all(&both).unwrap(), both);
    assert_eq!(all(&[gzip(&a), gzip(&b)].concat()).unwrap(), both);
    assert_eq!(all(&[lz4(&a), lz4(&b)].concat()).unwrap(), both);
    for method in METHODS {
        assert_eq!(all(&zip(&[&a, &[], &b], method)).unwrap(), both);
    }
    assert_eq!(all(&zip(&[], METHODS[0])).unwrap(), [0_u8; 0]);
    assert_eq!(start(&mut Cursor::new(gzip(&a)), 10).unwrap(), [7; 10]);
}

#[test]
fn damage_is_found_wherever_it_is() {
    let bytes: Vec<u8> = (0..50_000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    for packed in [gzip(&bytes), lz4(&bytes), zip(&[&bytes, &bytes], METHODS[0]), zip(&[&bytes], METHODS[1])] {
        for cut in [packed.len() - 1, packed.len() / 2, 9] {
            assert!(all(&packed[..cut]).is_err(), "cut at {cut} of {}", packed.len());
        }
        let mut flipped = packed.clone();
        flipped[packed.len() / 3] ^= 0x10;
        assert!(all(&flipped).is_err());
    }
}

#[test]
fn an_lz4_file_may_be_cut_nowhere_but_between_frames() {
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(|i| i.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    for checked in [false, true] {
        let frame = |bytes: &[u8]| {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(checked);
            let info = info.block_size(lz4_flex::frame::BlockSize::Max64KB);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let (first, empty) = (frame(&bytes), frame(&[]));
        let packed = [first.clone(), empty.clone(), first.clone()].concat();
        assert_eq!(all(&packed).unwrap(), bytes.repeat(2), "an empty frame ends nothing");
        let whole = [first.len(), first.len() + empty.len()];
        for cut in (5..packed.len()).filter(|n| n % 997 == 0 || first.len().abs_diff(*n) < 40 || packed.len() - n < 20)
        {
            assert_eq!(all(&packed[..cut]).is_ok(), whole.contains(&cut), "cut at {cut} of {}", packed.len());
        }
        // Between all blocks: each is behind its length, whose highest bit says that it is not packed.
        let mut at = 7;
        while let Some(length) = first.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3] & 0x7f])) {
            let why = all(&first[..at]).unwrap_err();
            assert!(why.contains(&format!("cut off after {at} bytes")), "{why}");
            if length == 0 {
                break;
            }
            at += 4 + length as usize;
        }
        assert!(at > 300_000 && at + 4 + 4 * usize::from(checked) == first.len(), "{at} of {}", first.len());
    }
}

#[test]
fn what_a_zip_claims_is_not_believed() {
    // Sizes in its directory that are not those of the files.
    let good = zip(&[&[7; 1000]], METHODS[0]);
    let directory = good.windows(4).position(|w| w == [b'P', b'K', 1, 2]).unwrap();
    for bytes in [999_u32, 1001, u32::MAX - 1] {
        let mut bad = good.clone();
        bad[directory + 24..directory + 28].copy_from_slice(&bytes.to_le_bytes());
        assert!(all(&bad).is_err(), "{bytes}");
    }
    // More files than there is room for, in the directory of large archives: nothing is taken for them.
    let word = |n: u64| n.to_le_bytes();
    for (files, bytes, start) in
        [(1 << 40, 1 << 50, 0), (1 << 40, 1 << 60, 1 << 60), (u64::MAX, u64::MAX, 0), (1 << 32, 1 << 40, 1 << 33)]
    {
        let counts = [word(files), word(files), word(bytes), word(start)].concat();
        let end = [&b"PK\x06\x06"[..], &word(44), &[45, 0, 45, 0], &[0; 8], &counts].concat();
        let last = [&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0; 2]].concat();
        // Without the end that the good directory has.
        let whole = &good[..good.len() - 22];
        let locator = [&b"PK\x06\x07"[..], &[0; 4], &word(whole.len() as u64), &[1, 0, 0, 0]].concat();
        let why = all(&[whole, &end, &locator, &last].concat()).unwrap_err();
        assert!(why.contains("zip"), "{why}");
    }
}

#[test]
fn what_is_not_unpacked_is_called_by_its_name() {
    for (magic, name) in OTHERS {
        let why = all(&[magic, &[0; 32]].concat()).unwrap_err();
        assert!(why.contains(name) && why.contains("unpack it first"), "{why}");
    }
}
