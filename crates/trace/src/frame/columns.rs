//! The optional columns of a frame as bytes: each a list of runs, in a section of its own.
use crate::bytes::{Fault, Reader, put_varint};
use crate::columns::{ALL, Column, Held, WEIGHT};
use crate::framing::{COLUMNS_VERSION, EXACT_VERSION, Header, SAMPLES_VERSION};
use crate::sample::Sample;

/// What is known beside the references of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    /// Empty, or one for each reference.
    pub(super) samples: Vec<Sample>,
    /// By place in [`ALL`]: empty, or a value for each reference, of the columns that are held alone.
    alone: Vec<Vec<u64>>,
    /// Columns that this build does not know.
    pub(super) unknown: u32,
}

impl Extras {
    pub(super) fn clear(&mut self) {
        self.samples.clear();
        self.alone.iter_mut().for_each(Vec::clear);
        self.unknown = 0;
    }
    /// The values of a column that is held alone; none if the frame does not have it.
    pub(super) fn alone(&self, column: &Column) -> &[u64] {
        self.alone.get(column.place()).map_or(&[], Vec::as_slice)
    }
    fn alone_mut(&mut self, column: &Column) -> &mut Vec<u64> {
        self.alone.resize_with(ALL.len(), Vec::new);
        &mut self.alone[column.place()]
    }
    /// Says what a column holds for the last of `refs` references.
    pub(super) fn put(&mut self, column: &Column, value: u64, refs: usize) {
        match column.held {
            Held::InSample { set, .. } => {
                self.samples.resize(refs, Sample::ONE);
                self.samples.last_mut().into_iter().for_each(|s| set(s, value));
            }
            Held::Alone => {
                let values = self.alone_mut(column);
                values.resize(refs, 0);
                values.last_mut().into_iter().for_each(|v| *v = value);
            }
        }
    }

    /// Appends the columns of a frame of `refs` references; returns the version that the frame has by them. `values` is
    /// scratch.
    pub(super) fn write(&mut self, refs: usize, values: &mut Vec<u64>, out: &mut Vec<u8>) -> u16 {
        if !self.samples.is_empty() {
            self.samples.resize(refs, Sample::ONE);
        }
        let (mut sections, mut count, mut section) = (Vec::new(), 0u64, Vec::new());
        for column in ALL {
            self.values(column, refs, values);
            let needed = column.number == WEIGHT.number && !self.samples.is_empty();
            if needed || values.iter().any(|v| *v != 0) {
                section.clear();
                list(values, &mut section);
                for n in [u64::from(column.number), u64::from(column.version), section.len() as u64] {
                    put_varint(&mut sections, n);
                }
                sections.extend_from_slice(&section);
                count += 1;
            }
        }
        if count == 0 {
            return EXACT_VERSION;
        }
        put_varint(out, count);
        out.extend_from_slice(&sections);
        COLUMNS_VERSION
    }

    /// Replaces the content of `out` by what a column holds for each of `refs` references; none if the frame lacks it.
    pub(super) fn values(&self, column: &Column, refs: usize, out: &mut Vec<u64>) {
        out.clear();
        match column.held {
            Held::InSample { get, .. } => out.extend(self.samples.iter().map(get)),
            Held::Alone => {
                let values = self.alone(column);
                out.extend_from_slice(values);
                if !values.is_empty() {
                    out.resize(refs, 0);
                }
            }
        }
    }

    /// Reads the columns of a frame of any version; nothing is held yet.
    pub(super) fn read(&mut self, r: &mut Reader<'_>, header: &Header, refs: usize) -> Result<(), Fault> {
        if header.sampled() {
            self.samples.resize(refs, Sample::ONE);
        }
        match header.version {
            SAMPLES_VERSION => {
                ALL.iter().filter(|c| c.of_samples()).try_for_each(|column| self.column(r, column, refs))
            }
            COLUMNS_VERSION => self.sections(r, header, refs),
            _ => Ok(()),
        }
    }

    fn sections(&mut self, r: &mut Reader<'_>, header: &Header, refs: usize) -> Result<(), Fault> {
        let count = r.bounded(r.remaining() as u64, "number of columns")?;
        let (mut before, mut weights) = (0, false);
        for _ in 0..count {
            let (number, version) = (r.varint()?, r.varint()?);
            if number <= before {
                return Err(r.fault(format!("column {number} stands after column {before}")));
            }
            before = number;
            let bytes = r.section()?;
            let Some(column) = Column::find(number, version) else {
                self.unknown += 1;
                continue;
            };
            if column.of_samples() && !header.sampled() {
                return Err(r.fault(format!("a column of samples ({}) in a frame without samples", column.name)));
            }
            weights |= column.number == WEIGHT.number;
            let mut own = Reader::new(bytes);
            self.column(&mut own, column, refs)?;
            if !own.is_empty() {
                return Err(r.fault(format!("bytes after the last value of a column ({})", column.name)));
            }
        }
        // A sum without weights would be wrong unnoticed.
        if header.sampled() && !weights { Err(r.fault("a frame of samples without weights")) } else { Ok(()) }
    }

    fn column(&mut self, r: &mut Reader<'_>, column: &Column, refs: usize) -> Result<(), Fault> {
        match column.held {
            Held::InSample { set, .. } => read_list(r, column, &mut self.samples, set),
            Held::Alone => {
                let values = self.alone_mut(column);
                values.resize(refs, 0);
                read_list(r, column, values, |to, value| *to = value)
            }
        }
    }
}

/// Equal values in a row that are worth a run of their own: its two numbers and the next list's head.
const RUN_MIN: usize = 4;

fn list(values: &[u64], out: &mut Vec<u8>) {
    let (mut listed, mut at) = (0, 0);
    for run in values.chunk_by(|a, b| a == b) {
        if run.len() >= RUN_MIN {
            one_by_one(&values[listed..at], out);
            put_varint(out, (run.len() as u64) << 1 | 1);
            put_varint(out, run[0]);
            listed = at + run.len();
        }
        at += run.len();
    }
    one_by_one(&values[listed..], out);
}

fn one_by_one(values: &[u64], out: &mut Vec<u8>) {
    if !values.is_empty() {
        put_varint(out, (values.len() as u64) << 1);
        values.iter().for_each(|&v| put_varint(out, v));
    }
}

/// Reads a value for each of `out`.
fn read_list<T>(r: &mut Reader<'_>, column: &Column, out: &mut [T], set: impl Fn(&mut T, u64)) -> Result<(), Fault> {
    let mut left = out;
    while !left.is_empty() {
        let head = r.varint()?;
        if head < 2 || head >> 1 > left.len() as u64 {
            return Err(r.fault(format!("{} values listed of {}", head >> 1, left.len())));
        }
        let (these, rest) = left.split_at_mut((head >> 1) as usize);
        if head & 1 == 1 {
            let value = r.bounded(column.max, column.summary)?;
            these.iter_mut().for_each(|to| set(to, value));
        } else {
            for to in these {
                set(to, r.bounded(column.max, column.summary)?);
            }
        }
        left = rest;
    }
    Ok(())
}
