//! perf.data files made byte by byte, for tests.

/// Builds a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestFile {
    events: Vec<(Vec<u8>, Vec<u64>)>,
    features: Vec<(u32, Vec<u8>)>,
    data: Vec<u8>,
}

/// Words as bytes.
pub(crate) fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Two halves of a word, low one first.
pub(crate) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// A record with its header.
pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut out = kind.to_le_bytes().to_vec();
    out.extend(misc.to_le_bytes());
    out.extend((8 + body.len() as u16).to_le_bytes());
    out.extend(body);
    out
}

/// A string padded with zeros to a multiple of 8 bytes.
pub(crate) fn padded(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    out.resize((text.len() / 8 + 1) * 8, 0);
    out
}

/// Compressed bytes behind their number, padded to whole words.
fn padded_piece(piece: &[u8]) -> Vec<u8> {
    let mut out = [words(&[piece.len() as u64]), piece.to_vec()].concat();
    out.resize(out.len().next_multiple_of(8), 0xee);
    out
}

/// A string as features have it: its length, then the string padded with zeros.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [(padded(text).len() as u32).to_le_bytes().to_vec(), padded(text)].concat()
}

/// An attribute of 112 bytes.
pub(crate) fn attr(kind: u32, config: u64, period: u64, sample_type: u64, flags: u64) -> Vec<u8> {
    let mut out = words(&[pair(kind, 112), config, period, sample_type, 0, flags]);
    out.resize(112, 0);
    out
}

impl TestFile {
    pub(crate) fn event(mut self, attr: Vec<u8>, ids: &[u64]) -> TestFile {
        self.events.push((attr, ids.to_vec()));
        self
    }
    pub(crate) fn feature(mut self, number: u32, bytes: Vec<u8>) -> TestFile {
        self.features.push((number, bytes));
        self
    }
    pub(crate) fn add(mut self, kind: u32, misc: u16, body: &[u8]) -> TestFile {
        self.data.extend(record(kind, misc, body));
        self
    }
    pub(crate) fn raw(mut self, bytes: &[u8]) -> TestFile {
        self.data.extend(bytes);
        self
    }

    /// The first `records` records, and the others.
    pub(crate) fn split(&self, records: usize) -> (TestFile, TestFile) {
        let size = |at: usize| usize::from(u16::from_le_bytes([self.data[at + 6], self.data[at + 7]]));
        let at = (0..records).fold(0, |at, _| at + size(at));
        let (first, rest) = self.data.split_at(at);
        (TestFile { data: first.to_vec(), ..self.clone() }, TestFile { data: rest.to_vec(), ..self.clone() })
    }
    /// The bytes of the records.
    pub(crate) fn records(&self) -> &[u8] {
        &self.data
    }

    /// This file with the bytes of all records compressed as one stream, cut after every `bytes` bytes of it into records, with a
    /// length of their own if `padded`. Records of this file may lie over the cuts.
    pub(crate) fn packed(&self, bytes: usize, padded: bool) -> TestFile {
        let mut stream = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        std::io::Write::write_all(&mut stream, &self.data).unwrap();
        std::io::Write::flush(&mut stream).unwrap();
        let mut out = TestFile { data: Vec::new(), ..self.clone() };
        for piece in stream.get_ref().chunks(bytes) {
            out = if padded { out.add(83, 0, &padded_piece(piece)) } else { out.add(81, 0, piece) };
        }
        out
    }

    /// The bytes of a file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let attr_bytes = self.events.first().map_or(0, |e| e.0.len()) + 16;
        let mut ids = Vec::new();
        let mut attrs = Vec::new();
        for (attr, numbers) in &self.events {
            attrs.extend(attr);
            attrs.extend(words(&[104 + ids.len() as u64, numbers.len() as u64 * 8]));
            ids.extend(words(numbers));
        }
        let attrs_at = 104 + ids.len() as u64;
        let data_at = attrs_at + attrs.len() as u64;
        let mut flags = [0_u64; 4];
        for (number, _) in &self.features {
            flags[(number / 64) as usize] |= 1 << (number % 64);
        }
        let mut out = b"PERFILE2".to_vec();
        out.extend(words(&[
            104,
            attr_bytes as u64,
            attrs_at,
            attrs.len() as u64,
            data_at,
            self.data.len() as u64,
            0,
            0,
        ]));
        out.extend(words(&flags));
        out.extend(ids);
        out.extend(attrs);
        out.extend(&self.data);
        let mut place = out.len() as u64 + self.features.len() as u64 * 16;
        let mut sorted: Vec<_> = self.features.iter().collect();
        sorted.sort_by_key(|f| f.0);
        for (_, bytes) in &sorted {
            out.extend(words(&[place, bytes.len() as u64]));
            place += bytes.len() as u64;
        }
        sorted.iter().for_each(|f| out.extend(&f.1));
        out
    }

    /// The bytes of a pipe, as `perf record -o -` writes them.
    pub(crate) fn pipe(&self) -> Vec<u8> {
        let mut out = b"PERFILE2".to_vec();
        out.extend(words(&[16]));
        for (attr, ids) in &self.events {
            out.extend(record(64, 0, &[attr.clone(), words(ids)].concat()));
        }
        for (number, bytes) in &self.features {
            out.extend(record(80, 0, &[words(&[u64::from(*number)]), bytes.clone()].concat()));
        }
        out.extend(&self.data);
        out
    }
}
