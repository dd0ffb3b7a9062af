//! Records that do not fit into memory.

/// A place for records outside of memory: files, for instance. Regions are numbered by the partitioner as it meets them.
pub trait Spill: Send + Sync {
    /// Appends bytes to a region.
    ///
    /// # Errors
    /// What went wrong, for the user.
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String>;
    /// All bytes of a region in the order in which they were appended, in pieces of any size; none if there are none.
    ///
    /// # Errors
    /// What went wrong, for the user.
    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String>;
    /// Bytes appended to a region so far.
    fn bytes(&self, region: u64) -> u64;
}

/// Memory, as if it were outside: for tests and where there is no budget to keep.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    regions: hashbrown::HashMap<u64, Vec<u8>>,
}

impl Spill for InMemory {
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String> {
        self.regions.entry(region).or_default().extend_from_slice(bytes);
        Ok(())
    }
    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        // In pieces that are no whole words, so that nobody relies on them.
        self.regions.get(&region).map_or(&[][..], |b| b).chunks(4093).for_each(each);
        Ok(())
    }
    fn bytes(&self, region: u64) -> u64 {
        self.regions.get(&region).map_or(0, |b| b.len() as u64)
    }
}

/// Bytes that can be read anywhere: what a partition is opened from.
pub trait Store: Send + Sync {
    /// Number of bytes.
    fn bytes(&self) -> u64;
    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// What went wrong, for the user; always if they are not all there.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), String>;
}

impl Store for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        let from = usize::try_from(offset).map_err(|_| "offset beyond the end".to_string())?;
        let bytes = self.get(from..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(bytes.ok_or("it ends too early")?);
        Ok(())
    }
}

/// Puts 32-bit words together again from bytes that come in pieces.
#[derive(Default)]
pub(crate) struct Words {
    begun: Vec<u8>,
    words: Vec<u32>,
}

impl Words {
    /// Calls `each` with the whole words that are there by now.
    pub(crate) fn bytes(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(&[u32])) {
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        self.words.clear();
        if !self.begun.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(4 - self.begun.len()));
            self.begun.extend_from_slice(more);
            bytes = rest;
            if self.begun.len() == 4 {
                self.words.push(word(&self.begun));
                self.begun.clear();
            }
        }
        let whole = bytes.chunks_exact(4);
        self.begun.extend_from_slice(whole.remainder());
        self.words.extend(whole.map(word));
        each(&self.words);
    }
}

/// Calls `each` with the little-endian bytes of these words, in pieces.
pub(crate) fn as_bytes<E>(words: &[u32], mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut bytes = [0; 4096];
    for piece in words.chunks(1024) {
        for (to, word) in bytes.chunks_exact_mut(4).zip(piece) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        each(&bytes[..piece.len() * 4])?;
    }
    Ok(())
}
