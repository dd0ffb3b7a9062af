//! A partition as bytes, so that other processes can work on its regions.
//!
//! The records of every region, stream by stream, as little-endian words of 32 bits; then an index in words of 64 bits;
//! then four such words: where the index begins, its bytes, its checksum, magic and version. Every region's records have a
//! checksum of their own, so that a worker reads and checks no more than it works on.
use super::spill::{Store, Words, as_bytes};
use super::stream::{Filtered, Key};
use super::{Head, Partition, Records, Stream, Transfers, Whole};
use crate::StudyError;
use homenode_machine::CacheGeometry;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// "HNPART" and the version.
const MAGIC: u64 = u64::from_le_bytes(*b"HNPART\x01\x00");
const TRAILER_BYTES: u64 = 32;
/// Bytes read at once.
const PIECE_BYTES: u64 = 1 << 16;

/// The records of one region of one stream.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    words: u64,
    checksum: u64,
}

/// Records in a file.
pub(super) struct Opened {
    store: Box<dyn Store>,
    /// By `streams * region + stream`.
    extents: Vec<Extent>,
}

impl Opened {
    pub(super) fn length(&self, at: usize) -> u64 {
        self.extents[at].words
    }
    /// `per`: words of a record, so that none is torn between two pieces.
    pub(super) fn read(&self, at: usize, per: usize, each: &mut dyn FnMut(&[u32])) -> Result<(), StudyError> {
        let Extent { offset, words, checksum } = self.extents[at];
        let (mut hash, mut pieces, mut whole) = (Xxh3::new(), Words::default(), Whole::new(per));
        let mut bytes = vec![0; (words * 4).min(PIECE_BYTES) as usize];
        let mut done = 0;
        while done < words * 4 {
            let piece = &mut bytes[..(words * 4 - done).min(PIECE_BYTES) as usize];
            self.store.read_at(offset + done, piece).map_err(StudyError::Damaged)?;
            hash.update(piece);
            pieces.bytes(piece, &mut |words| whole.words(words, each));
            done += piece.len() as u64;
        }
        if hash.digest() == checksum {
            Ok(())
        } else {
            Err(damaged("the records of a region do not have their checksum"))
        }
    }
}

fn damaged(what: &str) -> StudyError {
    StudyError::Damaged(what.into())
}

impl Partition {
    /// Writes the partition; `out` takes the bytes in order.
    ///
    /// # Errors
    /// Records cannot be read, or `out` says so.
    pub fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<(), String>) -> Result<(), StudyError> {
        let mut extents = Vec::new();
        for region in 0..self.regions() {
            for stream in 0..self.head.streams.len() {
                let (mut words, mut hash, mut failed) = (0, Xxh3::new(), Ok(()));
                self.read(stream, region, &mut |records| {
                    words += records.len() as u64;
                    let written = as_bytes(records, |bytes| {
                        hash.update(bytes);
                        out(bytes)
                    });
                    failed = std::mem::replace(&mut failed, Ok(())).and(written);
                })?;
                failed.map_err(StudyError::Spill)?;
                extents.push(Extent { offset: 0, words, checksum: hash.digest() });
            }
        }
        let index: Vec<u8> = self.index(&extents).iter().flat_map(|w| w.to_le_bytes()).collect();
        let begin: u64 = extents.iter().map(|e| e.words * 4).sum();
        out(&index).map_err(StudyError::Spill)?;
        for word in [begin, index.len() as u64, xxh3_64(&index), MAGIC] {
            out(&word.to_le_bytes()).map_err(StudyError::Spill)?;
        }
        Ok(())
    }

    fn index(&self, extents: &[Extent]) -> Vec<u64> {
        let head = &self.head;
        let kept = |pick: fn(&Stream) -> bool| u64::from(head.streams.iter().any(pick));
        let (weighted, timed) = (kept(|s| s.format.weighted), kept(|s| s.format.timed));
        let flags = u64::from(head.spins) | weighted << 1 | timed << 2;
        let counts = [head.streams.len() as u64, head.regions.len() as u64];
        let mut words = vec![flags, head.region_shift.into(), head.threads as u64, head.refs, counts[0], counts[1]];
        for Stream { key, transfers, .. } in &head.streams {
            words.extend([transfers.near, transfers.far]);
            match key {
                Key::Words(bytes) => words.extend([0, u64::from(*bytes)]),
                Key::FirstByte => words.push(1),
                Key::Events(f) => {
                    words.extend([2, f.line_bytes.into()]);
                    words.extend([f.private.bytes, f.private.ways.into(), f.shared.bytes, f.shared.ways.into()]);
                    for list in [&f.cores, &f.cpus] {
                        words.push(list.len() as u64);
                        words.extend(list.iter().map(|n| u64::from(*n)));
                    }
                }
            }
        }
        words.extend(&head.regions);
        words.extend(extents.iter().flat_map(|e| [e.words, e.checksum]));
        words
    }

    /// Opens what [`Partition::write`] wrote.
    ///
    /// # Errors
    /// The bytes are no partition, of another version, or damaged. Records are checked when they are read.
    pub fn open(store: Box<dyn Store>) -> Result<Partition, StudyError> {
        let total = store.bytes();
        let trailer_at = total.checked_sub(TRAILER_BYTES).ok_or_else(|| damaged("too short to be one"))?;
        let [begin, bytes, checksum, magic] = words_at::<4>(&*store, trailer_at)?;
        if magic != MAGIC {
            return Err(damaged("not one, or written by another version"));
        }
        if begin.checked_add(bytes) != Some(trailer_at) || !bytes.is_multiple_of(8) {
            return Err(damaged("its index is not where its end says"));
        }
        let mut index = vec![0; bytes as usize];
        store.read_at(begin, &mut index).map_err(StudyError::Damaged)?;
        if xxh3_64(&index) != checksum {
            return Err(damaged("its index does not have its checksum"));
        }
        let words: Vec<u64> =
            index.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
        let mut reader = Reader { words: &words };
        let head = reader.head()?;
        let extents = reader.extents(&head, begin)?;
        Ok(Partition { head, records: Records::Opened(Opened { store, extents }) })
    }
}

fn words_at<const N: usize>(store: &dyn Store, offset: u64) -> Result<[u64; N], StudyError> {
    let mut bytes = vec![0; N * 8];
    store.read_at(offset, &mut bytes).map_err(StudyError::Damaged)?;
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    Ok(words)
}

/// Reads an index that anybody may have written.
struct Reader<'a> {
    words: &'a [u64],
}

impl Reader<'_> {
    fn next(&mut self) -> Result<u64, StudyError> {
        let (first, rest) = self.words.split_first().ok_or_else(|| damaged("its index ends too early"))?;
        self.words = rest;
        Ok(*first)
    }
    fn at_most(&mut self, most: u64) -> Result<u64, StudyError> {
        self.next().and_then(|n| if n <= most { Ok(n) } else { Err(damaged("its index has a number out of range")) })
    }
    /// A power of two.
    fn size(&mut self, most: u64) -> Result<u32, StudyError> {
        let n = self.at_most(most)?;
        if n.is_power_of_two() { Ok(n as u32) } else { Err(damaged("its index has a size that is no power of two")) }
    }
    /// How many things of `each` words follow.
    fn count(&mut self, each: usize) -> Result<usize, StudyError> {
        let most = self.words.len() / each.max(1);
        self.at_most(most as u64).map(|n| n as usize)
    }
    fn list(&mut self) -> Result<Vec<u16>, StudyError> {
        let n = self.count(1)?;
        (0..n).map(|_| self.at_most(u16::MAX.into()).map(|n| n as u16)).collect()
    }
    fn cache(&mut self) -> Result<CacheGeometry, StudyError> {
        Ok(CacheGeometry { bytes: self.next()?, ways: self.at_most(u32::MAX.into())? as u32 })
    }
    fn key(&mut self, region_shift: u32) -> Result<Key, StudyError> {
        let most = 4096.min(1 << region_shift);
        Ok(match self.at_most(2)? {
            0 => Key::Words(self.size(most)?),
            1 => Key::FirstByte,
            _ => {
                let line_bytes = self.size(most)?;
                let (private, shared) = (self.cache()?, self.cache()?);
                Key::Events(Box::new(Filtered { line_bytes, private, shared, cores: self.list()?, cpus: self.list()? }))
            }
        })
    }
    fn head(&mut self) -> Result<Head, StudyError> {
        let flags = self.at_most(7)?;
        let region_shift = self.at_most(crate::question::BLOCK_BYTES_MAX.trailing_zeros().into())? as u32;
        if region_shift < crate::question::BLOCK_BYTES_MIN.trailing_zeros() {
            return Err(damaged("its regions are smaller than any block"));
        }
        let threads = self.at_most(1 << 32)? as usize;
        let refs = self.next()?;
        let (streams, regions) = (self.count(3)?, self.next()?);
        let mut head = Head { region_shift, threads, refs, spins: flags & 1 > 0, ..Head::default() };
        for _ in 0..streams {
            let transfers = Transfers { near: self.at_most(1 << 62)?, far: self.at_most(1 << 62)? };
            let key = self.key(region_shift)?;
            let format = key.format(region_shift, threads, flags & 2 > 0, flags & 4 > 0);
            head.streams.push(Stream { key, format, transfers });
        }
        if regions > self.words.len() as u64 {
            return Err(damaged("its index ends too early"));
        }
        head.regions = (0..regions).map(|_| self.at_most(u64::MAX >> region_shift)).collect::<Result<_, _>>()?;
        if !head.regions.is_sorted_by(|a, b| a < b) {
            return Err(damaged("its regions are not in order"));
        }
        Ok(head)
    }
    fn extents(&mut self, head: &Head, begin: u64) -> Result<Vec<Extent>, StudyError> {
        let (mut extents, mut offset) = (Vec::new(), 0u64);
        for _ in 0..head.regions.len() {
            for stream in &head.streams {
                let words = self.at_most(begin / 4)?;
                extents.push(Extent { offset, words, checksum: self.next()? });
                offset = offset.saturating_add(words * 4);
                if !words.is_multiple_of(stream.format.words() as u64) {
                    return Err(damaged("a region does not have whole records"));
                }
            }
        }
        if offset != begin || !self.words.is_empty() {
            return Err(damaged("its records are not as long as its index says"));
        }
        Ok(extents)
    }
}
