//! Instructions between references: counted where the recording says so, else estimated from the program's files.
use homenode_symbols::Paths;
use homenode_trace::columns::{INSTRUCTIONS, instructions};
use homenode_trace::frame::DecodedFrame;
use homenode_trace::{DatasetReader, TraceError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How many instructions of its own a program executed from one reference of a thread to the next, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Counted while it ran.
    Counted(u64),
    /// The shortest path in the machine code: [`homenode_symbols::paths`].
    Estimated(u32),
    /// Neither.
    Unknown,
}

/// Estimates for a dataset whose references follow each other as the program's do.
#[derive(Debug)]
pub struct Instructions<'d>(Option<Paths<'d>>);

impl<'d> Instructions<'d> {
    /// Reads the program's files, as far as they are still what was recorded. There are no estimates for a sampled dataset:
    /// what lies between two samples is not what lies between two references.
    pub fn new(reader: &'d DatasetReader) -> Instructions<'d> {
        let exact = reader.manifest().sampling.is_none();
        Instructions(
            exact.then(|| Paths::new(reader.symbols(), &homenode_hooks::ARCHIVE, homenode_hooks::plain::beside)),
        )
    }

    /// The files that estimates rest on: programs and libraries as they were recorded, and what lies beside them that was built without hooks.
    pub fn files(&self) -> Vec<PathBuf> {
        let found = self.0.iter().flat_map(Paths::files).map(Path::new);
        let both = found.flat_map(|file| [file.to_owned(), homenode_hooks::plain::beside(file)]);
        both.filter(|file| file.is_file()).collect()
    }

    /// What lies between a reference at site `to` and the one of the same thread before it, by sites; `column` is what the
    /// column of counts says of it, 0 where there is none.
    pub fn between(&mut self, from: Option<u32>, to: u32, column: u64) -> Between {
        if let Some(n) = instructions(column) {
            return Between::Counted(n);
        }
        let estimate = from.and_then(|from| self.0.as_mut()?.between(from, to));
        estimate.map_or(Between::Unknown, Between::Estimated)
    }
}

/// What is known of a number of references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// References whose instructions were counted, and how many these were.
    pub counted: (u64, u64),
    /// References whose instructions are estimated, and how many these are.
    pub estimated: (u64, u64),
    /// References of which nothing is known.
    pub unknown: u64,
    /// Pairs of sites that follow each other.
    pub pairs: u64,
    /// Of these, pairs with an estimate.
    pub pairs_estimated: u64,
}

/// Entries of the memo of pairs, as a power of two.
const MEMO_BITS: u32 = 10;

/// A pair of sites, and how often it came.
type Times = ((u32, u32), u64);

/// Counts which site follows which, frame by frame.
#[derive(Debug)]
pub struct Followers {
    pairs: HashMap<(u32, u32), u64>,
    /// Recent pairs, not in `pairs` yet.
    memo: Vec<Times>,
    counted: (u64, u64),
    /// First references of threads.
    first: u64,
    before: Option<u32>,
}

impl Default for Followers {
    fn default() -> Followers {
        let memo = vec![((0, 0), 0); 1 << MEMO_BITS];
        Followers { pairs: HashMap::new(), memo, counted: (0, 0), first: 0, before: None }
    }
}

impl Followers {
    /// The next frame is the first of another thread.
    pub fn thread(&mut self) {
        self.before = None;
    }

    /// The thread's next frame; `sites` are those of its program counters.
    pub fn frame(&mut self, frame: &DecodedFrame, sites: &[u32]) {
        let column = frame.column(INSTRUCTIONS);
        for (i, key) in frame.key.iter().enumerate() {
            let site = sites[frame.keys[usize::from(*key)].site as usize];
            let before = self.before.replace(site);
            match (column.get(i).and_then(|v| instructions(*v)), before) {
                (Some(n), _) => self.counted = (self.counted.0 + 1, self.counted.1.saturating_add(n)),
                (None, Some(before)) => self.pair((before, site)),
                (None, None) => self.first += 1,
            }
        }
    }

    #[inline]
    fn pair(&mut self, pair: (u32, u32)) {
        let mixed = (u64::from(pair.0) << 32 | u64::from(pair.1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.memo[(mixed >> (64 - MEMO_BITS)) as usize];
        if slot.0 == pair {
            slot.1 += 1;
        } else {
            let (old, n) = std::mem::replace(slot, (pair, 1));
            if n > 0 {
                *self.pairs.entry(old).or_default() += n;
            }
        }
    }

    /// What is known of all of them.
    pub fn known(mut self, estimates: &mut Instructions<'_>) -> Known {
        for (pair, n) in self.memo.drain(..).filter(|m| m.1 > 0) {
            *self.pairs.entry(pair).or_default() += n;
        }
        let mut known = Known { counted: self.counted, unknown: self.first, ..Known::default() };
        for (&(from, to), &n) in &self.pairs {
            known.pairs += 1;
            match estimates.between(Some(from), to, 0) {
                Between::Estimated(each) => {
                    known.pairs_estimated += 1;
                    known.estimated.0 += n;
                    known.estimated.1 = known.estimated.1.saturating_add(n.saturating_mul(each.into()));
                }
                _ => known.unknown += n,
            }
        }
        known
    }
}

/// The column of counts of each thread, read in the thread's order beside an order of all.
#[derive(Debug)]
pub struct Column<'d> {
    reader: &'d DatasetReader,
    threads: Vec<Place>,
    bytes: Vec<u8>,
    frame: DecodedFrame,
}

/// Where a thread is.
#[derive(Clone, Debug, Default)]
struct Place {
    next_frame: usize,
    /// References left in the frame.
    left: usize,
    /// Empty if the frame has no counts.
    values: Vec<u64>,
}

impl<'d> Column<'d> {
    /// Before the first reference of every thread.
    pub fn new(reader: &'d DatasetReader) -> Column<'d> {
        let threads = vec![Place::default(); reader.threads() as usize];
        Column { reader, threads, bytes: Vec::new(), frame: DecodedFrame::default() }
    }

    /// The value of the thread's next reference, 0 if there is none.
    ///
    /// # Errors
    /// A frame cannot be read.
    pub fn next(&mut self, thread: u32) -> Result<u64, TraceError> {
        let Column { reader, threads, bytes, frame } = self;
        let Some(place) = threads.get_mut(thread as usize) else { return Ok(0) };
        while place.left == 0 {
            let Some(entry) = reader.frames(thread).get(place.next_frame) else { return Ok(0) };
            place.left = entry.refs as usize;
            place.values.clear();
            if entry.columns {
                reader.read_frame(thread, place.next_frame, bytes, frame)?;
                place.values.extend_from_slice(frame.column(INSTRUCTIONS));
            }
            place.next_frame += 1;
        }
        let value = place.values.len().checked_sub(place.left).map_or(0, |at| place.values[at]);
        place.left -= 1;
        Ok(value)
    }
}
