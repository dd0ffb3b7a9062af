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
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
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
            // An lz4 frame that lacks nothing but its end passes: formats look for their own ends.
            if packed.starts_with(LZ4) && cut == packed.len() - 1 {
                continue;
            }
            assert!(all(&packed[..cut]).is_err(), "cut at {cut} of {}", packed.len());
        }
        let mut flipped = packed.clone();
        flipped[packed.len() / 3] ^= 0x10;
        assert!(all(&flipped).is_err());
    }
}

#[test]
fn what_is_not_unpacked_is_called_by_its_name() {
    for (magic, name) in OTHERS {
        let why = all(&[magic, &[0; 32]].concat()).unwrap_err();
        assert!(why.contains(name) && why.contains("unpack it first"), "{why}");
    }
}
