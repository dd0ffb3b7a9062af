//! Traces made record by record, for tests.
use super::entry::{BYTES, file_type, kind, marker};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Microseconds from 1601 to the second 1,000 of 1970.
pub(crate) const US: u64 = 11_644_473_600_000_000 + 1_000_000_000;
/// Nanoseconds at [`US`].
pub(crate) const NS: u64 = 1_000_000_000_000;

/// Builds the records of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestFile {
    bytes: Vec<u8>,
}

impl TestFile {
    /// A file of one thread, as version 7 begins it.
    pub(crate) fn of(pid: u64, tid: u64, bits: u64) -> TestFile {
        TestFile::headed(7, bits).thread(tid, pid)
    }
    /// Header, version and file type.
    pub(crate) fn headed(version: u64, bits: u64) -> TestFile {
        let file = TestFile::default().add(kind::HEADER, 0, version);
        file.mark(marker::VERSION, version).mark(marker::FILE_TYPE, bits | file_type::X86_64)
    }
    pub(crate) fn add(mut self, kind: u16, size: u16, value: u64) -> TestFile {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(value.to_le_bytes());
        self
    }
    pub(crate) fn mark(self, which: u16, value: u64) -> TestFile {
        self.add(kind::MARKER, which, value)
    }
    pub(crate) fn thread(self, tid: u64, pid: u64) -> TestFile {
        self.add(kind::THREAD, 4, tid).add(kind::PROCESS, 4, pid)
    }
    /// A stamp, microseconds after [`US`].
    pub(crate) fn at(self, us: u64) -> TestFile {
        self.mark(marker::TIMESTAMP, US + us).mark(marker::CPU, 3)
    }
    pub(crate) fn instruction(self, pc: u64) -> TestFile {
        self.add(kind::ENCODING, 4, 0x12).add(kind::INSTRUCTION, 4, pc)
    }
    pub(crate) fn load(self, addr: u64) -> TestFile {
        self.add(kind::READ, 8, addr)
    }
    pub(crate) fn store(self, addr: u64) -> TestFile {
        self.add(kind::WRITE, 8, addr)
    }
    /// A call of futex(2) from one time to another.
    pub(crate) fn futex(self, (from, to): (u64, u64), arguments: [u64; 3], result: i64) -> TestFile {
        const FUTEX: u64 = (1 << 32) + 202;
        let mut file = self.at(from).mark(25, 202).mark(26, 0).mark(marker::FUNCTION, FUTEX);
        for argument in arguments.into_iter().chain([0; 3]) {
            file = file.mark(marker::ARGUMENT, argument);
        }
        file = file.mark(marker::FUNCTION, FUTEX).mark(marker::RESULT, result as u64);
        if result < 0 {
            file = file.mark(marker::FAILED, result.unsigned_abs());
        }
        file.at(to)
    }
    /// A function of the program begins, with these arguments.
    pub(crate) fn call(self, function: u64, arguments: &[u64]) -> TestFile {
        let file = self.mark(marker::FUNCTION, function).mark(marker::RETURN_ADDRESS, 0x40_2000);
        arguments.iter().fold(file, |file, &argument| file.mark(marker::ARGUMENT, argument))
    }
    /// A function returns.
    pub(crate) fn returned(self, function: u64, result: i64) -> TestFile {
        self.mark(marker::FUNCTION, function).mark(marker::RESULT, result as u64)
    }
    /// A function that is called with one argument and returns 0.
    pub(crate) fn called(self, function: u64, argument: u64) -> TestFile {
        self.call(function, &[argument]).returned(function, 0)
    }
    /// The bytes, with the end of a thread and that of a file.
    pub(crate) fn ended(self, tid: u64) -> Vec<u8> {
        self.add(kind::THREAD_EXIT, 4, tid).add(kind::FOOTER, 0, 0).bytes
    }
    /// The bytes, with the end of a file.
    pub(crate) fn footed(self) -> Vec<u8> {
        self.add(kind::FOOTER, 0, 0).bytes
    }
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Packed by gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Packed by lz4.
pub(crate) fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip of chunks of so many records.
pub(crate) fn zip(bytes: &[u8], records: usize) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (i, chunk) in bytes.chunks(records * BYTES).enumerate() {
        writer.start_file(format!("chunk.{i:04}"), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(chunk).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A trace folder with these files, named relative to it.
pub(crate) fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}
