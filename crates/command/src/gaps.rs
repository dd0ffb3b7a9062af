//! Instructions between references for virtual time: counted, estimated, or one.
use crate::instructions::{Between, Instructions};
use homenode_timed::engine::Gaps;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::{DatasetReader, Merged, TraceError};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::{Cell, RefCell};

/// How the instructions before references are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Known {
    /// References before which they were counted.
    pub counted: u64,
    /// References before which they are the shortest way through the machine code.
    pub estimated: u64,
    /// References of which nothing is known: taken as one instruction.
    pub unknown: u64,
}

impl Known {
    /// What the times do not rest on, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let (mut notes, refs) = (Vec::new(), self.counted + self.estimated + self.unknown);
        if self.unknown > 0 && self.unknown * 100 >= refs {
            let percent = 100.0 * self.unknown as f64 / refs as f64;
            notes.push(format!(
                "before {percent:.0} % of the references the number of instructions is not known: taken as 1"
            ));
        }
        if self.estimated > 0 {
            notes.push(
                "instructions between references are estimated: the shortest way through the machine code".to_owned(),
            );
        }
        notes
    }
}

/// What all runs over a dataset share.
pub struct Source<'d> {
    reader: &'d DatasetReader,
    estimates: RefCell<Instructions<'d>>,
    factor: f64,
    known: Cell<Known>,
}

impl<'d> Source<'d> {
    /// Instructions times `factor`.
    pub fn new(reader: &'d DatasetReader, factor: f64) -> Source<'d> {
        let estimates = RefCell::new(Instructions::new(reader));
        Source { reader, estimates, factor, known: Cell::default() }
    }
    /// For a run from the beginning.
    pub fn run(&self) -> Run<'d, '_> {
        self.known.set(Known::default());
        let threads = vec![Place::default(); self.reader.threads() as usize];
        Run {
            source: self,
            threads,
            memo: vec![((0, 0), None); 1 << MEMO_BITS],
            bytes: Vec::new(),
            frame: DecodedFrame::default(),
            known: Known::default(),
        }
    }
    /// Of the run that ended last.
    pub fn known(&self) -> Known {
        self.known.get()
    }
}

const MEMO_BITS: u32 = 12;

/// Two sites and the estimate between them, once it was looked up.
type Pair = ((u32, u32), Option<Between>);

/// Where a thread is in its column of counts.
#[derive(Clone, Debug, Default)]
struct Place {
    last: Option<u32>,
    next_frame: usize,
    /// First reference of the frame, and the one after its last.
    frame: (u64, u64),
    /// Empty if the frame has no counts.
    values: Vec<u64>,
}

/// One run.
pub struct Run<'d, 's> {
    source: &'s Source<'d>,
    threads: Vec<Place>,
    memo: Vec<Pair>,
    bytes: Vec<u8>,
    frame: DecodedFrame,
    known: Known,
}

impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        self.source.known.set(self.known);
    }
}

impl Run<'_, '_> {
    /// The value of the column of counts.
    fn column(&mut self, thread: u32, index: u64) -> Result<u64, TraceError> {
        let Run { source, threads, bytes, frame, .. } = self;
        let place = &mut threads[thread as usize];
        while index >= place.frame.1 {
            let Some(entry) = source.reader.frames(thread).get(place.next_frame) else { return Ok(0) };
            place.frame = (entry.first_ref, entry.first_ref + u64::from(entry.refs));
            place.values.clear();
            if entry.columns && index < place.frame.1 {
                source.reader.read_frame(thread, place.next_frame, bytes, frame)?;
                place.values.extend_from_slice(frame.column(INSTRUCTIONS));
            }
            place.next_frame += 1;
        }
        Ok(place.values.get((index - place.frame.0) as usize).copied().unwrap_or(0))
    }

    fn between(&mut self, from: Option<u32>, to: u32, column: u64) -> Between {
        let Some(from) = from.filter(|_| column == 0) else {
            return self.source.estimates.borrow_mut().between(from, to, column);
        };
        let mixed = (u64::from(from) << 32 | u64::from(to)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.memo[(mixed >> (64 - MEMO_BITS)) as usize];
        match slot {
            (pair, Some(known)) if *pair == (from, to) => *known,
            _ => {
                let found = self.source.estimates.borrow_mut().between(Some(from), to, 0);
                *slot = ((from, to), Some(found));
                found
            }
        }
    }
}

impl Gaps for Run<'_, '_> {
    fn before(&mut self, r: &Merged, index: u64) -> Result<u32, TraceError> {
        let column = self.column(r.thread, index)?;
        let last = self.threads[r.thread as usize].last.replace(r.site);
        let between = self.between(last, r.site, column);
        let known = &mut self.known;
        let instructions = match between {
            Between::Counted(n) => {
                known.counted += 1;
                n
            }
            Between::Estimated(n) => {
                known.estimated += 1;
                n.into()
            }
            Between::Unknown => {
                known.unknown += 1;
                1
            }
        };
        // The last of them makes the reference.
        let others = instructions.saturating_sub(1);
        if self.source.factor == 1.0 {
            return Ok(u32::try_from(others).unwrap_or(u32::MAX));
        }
        Ok((others as f64 * self.source.factor).round().min(f64::from(u32::MAX)) as u32)
    }
}
