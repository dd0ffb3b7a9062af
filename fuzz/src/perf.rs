//! Small perf.data files and rings, made byte by byte, from which fuzzing begins.

/// IP, TID, TIME, ADDR, ID, CPU, PERIOD, WEIGHT, DATA_SRC.
const SAMPLE_TYPE: u64 = 0xc1cf;
const ATTR_BYTES: usize = 112;

fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &[0, 0], &(8 + body.len() as u16).to_le_bytes(), body].concat()
}

fn attribute(sample_type: u64) -> Vec<u8> {
    let mut out = words(&[4 | (ATTR_BYTES as u64) << 32, 0x1cd, 1000, sample_type]);
    out.resize(ATTR_BYTES, 0);
    out
}

/// Records of one process: a name, a mapping, samples of two threads out of order, the end of a round, an exit, a loss.
fn records() -> Vec<u8> {
    let pair = |low: u64, high: u64| low | high << 32;
    let mut out = record(3, &[words(&[pair(7, 7)]), b"lu\0\0\0\0\0\0".to_vec()].concat());
    let map = words(&[pair(7, 7), 0x40_0000, 0x2000, 0x1000, 0, 0, 0, pair(5, 2)]);
    out.extend(record(10, &[map, b"/usr/bin/lu\0\0\0\0\0".to_vec()].concat()));
    for i in 0..6 {
        let source = 2 | (2 | 0x100) << 5;
        let addr = 0x7000_0000 + i * 4096;
        out.extend(record(9, &words(&[0x40_1000, pair(7, 7 + i % 2), 100 - i, addr, 11, 3, 1000, 250, source])));
    }
    out.extend(record(68, &[]));
    out.extend(record(4, &words(&[pair(7, 7), pair(8, 7), 400])));
    out.extend(record(2, &words(&[11, 5])));
    out
}

/// Packets of ARM SPE: two records of program counter, thread, operation, events, latency, address and time.
fn packets() -> Vec<u8> {
    let word = |header: u8, value: u64| [&[header][..], &value.to_le_bytes()].concat();
    let one = |ticks: u64| {
        let small = [0x65, 7, 0, 0, 0, 0x49, 1, 0x52, 0, 4, 0x98, 0x2c, 1];
        [word(0xb0, 0x40_1000), small.to_vec(), word(0xb2, 0x7000_0000), word(0x71, ticks)].concat()
    };
    [one(10), one(20)].concat()
}

/// A perf.data file with trace data of ARM SPE.
pub fn spe_file() -> Vec<u8> {
    let mut trace = packets();
    trace.resize(trace.len().next_multiple_of(8), 0);
    let piece = words(&[trace.len() as u64, 0, 0, 7 << 32, 3]);
    let described = [record(70, &words(&[4, 0])), record(79, &words(&[2, 40, 1000]))].concat();
    with_records(&[described, record(71, &piece), trace, records()].concat())
}

/// A perf.data file.
pub fn file() -> Vec<u8> {
    with_records(&records())
}

/// A perf.data file with compressed records: a zstd stream of one block that is not compressed.
pub fn packed_file() -> Vec<u8> {
    let records = records();
    let block = (1 | (records.len() as u32) << 3).to_le_bytes();
    let stream = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x48][..], &block[..3], &records].concat();
    let (first, last) = stream.split_at(stream.len() / 2);
    with_records(&[record(81, first), record(83, &[words(&[last.len() as u64]), last.to_vec()].concat())].concat())
}

fn with_records(data: &[u8]) -> Vec<u8> {
    let attr = attribute(SAMPLE_TYPE);
    let attrs_at = 104 + 8;
    let data_at = attrs_at + (ATTR_BYTES + 16) as u64;
    let head = [104, (ATTR_BYTES + 16) as u64, attrs_at, (ATTR_BYTES + 16) as u64, data_at, data.len() as u64];
    let head = [words(&head), vec![0; 48], words(&[11]), attr, words(&[104, 8])].concat();
    [&b"PERFILE2"[..], &head, data].concat()
}

/// The same as a pipe.
pub fn pipe() -> Vec<u8> {
    let event = record(64, &[attribute(SAMPLE_TYPE), words(&[11])].concat());
    [b"PERFILE2".to_vec(), words(&[16]), event, records()].concat()
}

/// A ring whose samples have the fields of `sample_type`, as the target `perf_ring` wants it.
pub fn ring(sample_type: u64) -> Vec<u8> {
    [words(&[sample_type, 0x3e8_20, 0, 0xffff, 3]), records()].concat()
}
