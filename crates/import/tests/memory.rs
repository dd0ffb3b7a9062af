//! Packed files that grow to a thousand times their size take the memory of a window, whatever comes out of them.
use flate2::Compression;
use flate2::write::GzEncoder;
use homenode_import::import;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::io::{Cursor, Write};
use std::path::Path;

/// Bytes that come out.
const CONTENT: usize = 256 << 20;
/// Bytes of memory that reading them may take beyond what was taken before.
const MEMORY: u64 = 64 << 20;

/// Begins a new count of the most memory that this process has had.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Most memory that this process has had since then, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

fn record(kind: u16, size: u16, value: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// A drmemtrace file of loads that are all zeros, and a log of lackey of one instruction again and again; how much they shrink at
/// least.
fn traces() -> [(&'static str, usize, [Vec<u8>; 3]); 2] {
    let start = [record(25, 0, 7), record(28, 9, 0x40), record(22, 4, 5), record(24, 4, 4)].concat();
    let one = record(0, 0, 0).repeat(1 << 12);
    let end = [record(23, 4, 5), record(26, 0, 0)].concat();
    let line = b"I  0401ab70,3\n".repeat(1 << 12);
    let log = *b"==7== Lackey, an example Valgrind tool\n L 1000,8\n";
    [("trace", 1000, [start, one, end]), ("log", 300, [log.to_vec(), line, b"==7== Exit code:       0\n".to_vec()])]
}

fn put(to: &mut dyn Write, [start, middle, end]: &[Vec<u8>; 3]) {
    to.write_all(start).unwrap();
    (0..CONTENT / middle.len()).for_each(|_| to.write_all(middle).unwrap());
    to.write_all(end).unwrap();
}

fn packed(pieces: &[Vec<u8>; 3]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    put(&mut gzip, pieces);
    let info = FrameInfo::new().block_size(BlockSize::Max4MB);
    let mut lz4 = FrameEncoder::with_frame_info(info, Vec::new());
    put(&mut lz4, pieces);
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("chunk.0", zip::write::SimpleFileOptions::default().compression_level(Some(9))).unwrap();
    put(&mut zip, pieces);
    let zip = zip.finish().unwrap().into_inner();
    [("gzip", gzip.finish().unwrap()), ("lz4", lz4.finish().unwrap()), ("zip", zip)]
}

/// Most that an lz4 frame grows.
const LZ4: usize = 200;

#[test]
fn what_grows_a_thousandfold_takes_the_memory_of_a_window() {
    let dir = tempfile::tempdir().unwrap();
    for (what, ratio, pieces) in traces() {
        for (how, bytes) in packed(&pieces) {
            let (grown, ratio) = (bytes.len(), if how == "lz4" { LZ4 } else { ratio });
            assert!(grown * ratio < CONTENT, "{what} {how}: {grown} bytes");
            let (file, out) = (dir.path().join("file"), dir.path().join("x.hnt"));
            std::fs::write(&file, &bytes).unwrap();
            drop(bytes);
            forget_peak();
            let before = peak();
            let summary = import(Path::new(&file), &out, true).unwrap();
            let took = peak() - before;
            println!("{what} {how}: {grown} bytes grew to {CONTENT}, in {} KiB of memory more", took >> 10);
            assert!(took < MEMORY, "{what} {how} took {took} bytes");
            let lines = ((CONTENT / pieces[1].len()) << 12) as u64;
            let instructions = summary.counted.iter().find(|c| c.0 == "instructions").map_or(0, |c| c.1);
            let read = if what == "log" { (1, lines) } else { (lines, 0) };
            assert_eq!((summary.references, instructions), read);
        }
    }
}
