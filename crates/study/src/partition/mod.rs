//! A trace cut into regions of memory, each with its accesses in order: what makes everything after it local.
//!
//! Machines without caches that agree in the size of a word share a stream of accesses, whatever their bindings: records
//! name threads, and nodes are looked up while folding. Each cache filter has a stream of its own, of the events that it
//! reports. A block lies in one region, since regions are at least as large as the largest block and aligned.
mod bytes;
mod fill;
mod partitioner;
pub(crate) mod record;
mod scatter;
pub(crate) mod spill;
pub(crate) mod stream;

pub use partitioner::{Layout, Partitioner};
pub use spill::{InMemory, Spill, Store};

use crate::{Question, StudyError};
use bytes::Opened;
use record::Format;
use stream::Key;

/// Transfers between caches, which no placement changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transfers {
    pub(crate) near: u64,
    pub(crate) far: u64,
}

/// A stream without its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) key: Key,
    pub(crate) format: Format,
    pub(crate) transfers: Transfers,
}

/// What all streams have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) streams: Vec<Stream>,
    /// Region numbers (flat address / region size), ascending.
    pub(crate) regions: Vec<u64>,
    pub(crate) region_shift: u32,
    /// Threads of the dataset.
    pub(crate) threads: usize,
    /// References, spins included.
    pub(crate) refs: u64,
    /// Whether spins are among the accesses.
    pub(crate) spins: bool,
}

/// The accesses of a trace, region by region.
pub struct Partition {
    pub(crate) head: Head,
    records: Records,
}

enum Records {
    Built(Built),
    Opened(Opened),
}

/// Records in memory and beyond.
struct Built {
    /// By stream and region.
    buffers: Vec<Vec<Vec<u32>>>,
    /// Number of each region in order of first appearance.
    slots: Vec<u32>,
    spill: Box<dyn Spill>,
}

impl Partition {
    /// Number of regions: work can be divided among them.
    pub fn regions(&self) -> usize {
        self.head.regions.len()
    }
    /// Size of a region in bytes.
    pub fn region_bytes(&self) -> u64 {
        1 << self.head.region_shift
    }
    /// 32-bit words of records of a region: what work on it is roughly proportional to.
    pub fn weight(&self, region: usize) -> u64 {
        (0..self.head.streams.len()).map(|s| self.length(s, region)).sum()
    }
    /// Calls `each` with the records of a region, in pieces of whole records, in order.
    pub(crate) fn read(&self, stream: usize, region: usize, each: &mut dyn FnMut(&[u32])) -> Result<(), StudyError> {
        let per = self.head.streams[stream].format.words();
        match &self.records {
            Records::Built(built) => built.read(stream, region, per, each),
            Records::Opened(opened) => opened.read(self.head.streams.len() * region + stream, per, each),
        }
    }
    /// Words of records.
    fn length(&self, stream: usize, region: usize) -> u64 {
        match &self.records {
            Records::Built(b) => b.buffers[stream][region].len() as u64 + b.spill.bytes(b.id(stream, region)) / 4,
            Records::Opened(opened) => opened.length(self.head.streams.len() * region + stream),
        }
    }
    /// The stream of a machine.
    pub(crate) fn stream_of(&self, question: &Question, machine: usize) -> Result<usize, StudyError> {
        let key = Key::of(question, machine);
        let missing = || StudyError::Missing(question.machines[machine].name.clone());
        self.head.streams.iter().position(|s| s.key == key).ok_or_else(missing)
    }
}

impl Built {
    fn id(&self, stream: usize, region: usize) -> u64 {
        fill::spill_id(self.buffers.len(), stream, self.slots[region])
    }
    fn read(&self, stream: usize, region: usize, per: usize, each: &mut dyn FnMut(&[u32])) -> Result<(), StudyError> {
        let id = self.id(stream, region);
        if self.spill.bytes(id) > 0 {
            let (mut words, mut whole) = (spill::Words::default(), Whole::new(per));
            let mut bytes = |b: &[u8]| words.bytes(b, &mut |w| whole.words(w, each));
            self.spill.read(id, &mut bytes).map_err(StudyError::Spill)?;
        }
        each(&self.buffers[stream][region]);
        Ok(())
    }
}

/// Puts records together from words that come in pieces.
struct Whole {
    per: usize,
    begun: Vec<u32>,
}

impl Whole {
    fn new(per: usize) -> Whole {
        Whole { per, begun: Vec::new() }
    }
    fn words(&mut self, words: &[u32], each: &mut dyn FnMut(&[u32])) {
        if self.begun.is_empty() && words.len().is_multiple_of(self.per) {
            return each(words);
        }
        self.begun.extend_from_slice(words);
        let whole = self.begun.len() / self.per * self.per;
        each(&self.begun[..whole]);
        self.begun.drain(..whole);
    }
}
