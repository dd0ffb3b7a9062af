//! Rows to references and events.
use super::objects::Objects;
use super::phases::{Change, Phases};
use super::sites::Sites;
use super::survey::Survey;
use super::{ADDR, ASKED, COUNTED, INSTRUCTIONS, LINE, OBJECT, OP, OPS, PHASE, SIZE, THREAD, TIME};
use crate::formats::ReadError;
use crate::report::{Batch as Refs, ExactReport, ExactSink, FileReport};
use homenode_table::read::{Batch, TableReader};
use homenode_trace::frame::{BATCH_REFS_MAX, RawRef};
use homenode_trace::{Event, EventKind, Op};
use std::collections::HashMap;

/// Process of all rows: a table does not say which.
const PID: u32 = 1;
/// How exports say that instructions were counted.
const WERE_COUNTED: &str = "counted";

/// Words of operations that are kept at hand.
const RECENT_OPS: usize = 16;

/// Hands rows on.
pub(super) struct Writing<'w> {
    survey: &'w Survey,
    sink: &'w mut dyn ExactSink,
    threads: HashMap<u64, u32>,
    sites: Sites,
    objects: Objects,
    phases: Phases,
    /// The last thread: its number in the table and in the dataset.
    last: Option<(u64, u32)>,
    /// Operations by the number of their word, and those of the last words.
    ops: HashMap<u32, Op>,
    recent_ops: [Option<(u32, Op)>; RECENT_OPS],
    timed: bool,
    named: bool,
    rows: u64,
    /// Of these, by operation.
    by_op: [u64; Op::ALL.len()],
    /// Rows whose instructions were not counted, or are too many for a dataset.
    not_counted: u64,
    /// Last time of each thread.
    times: Vec<u64>,
    refs: Vec<RawRef>,
    instructions: Vec<u32>,
    /// Thread and stamp of `refs`.
    of: (u32, u64),
}

impl<'w> Writing<'w> {
    pub(super) fn new(
        survey: &'w Survey,
        table: &TableReader<'_>,
        sink: &'w mut dyn ExactSink,
    ) -> Result<Writing<'w>, ReadError> {
        let dense = Survey::dense(&survey.threads).map(|end| (0..end).collect());
        let numbers: Vec<u64> = dense.unwrap_or_else(|| survey.threads.iter().copied().collect());
        let mut threads = HashMap::new();
        for number in numbers {
            // Numbers that are no thread ids can be told apart only as threads of the dataset.
            let tid = u32::try_from(number).unwrap_or(u32::MAX - threads.len() as u32);
            threads.insert(number, sink.thread(PID, tid).map_err(ReadError::Sink)?);
        }
        let (objects, phases, last, ops, recent_ops) = Default::default();
        let (refs, instructions, by_op) = Default::default();
        let times = vec![0; threads.len()];
        Ok(Writing {
            survey,
            sink,
            threads,
            sites: Sites::new(survey),
            objects,
            phases,
            last,
            ops,
            recent_ops,
            timed: table.has(TIME),
            named: table.has(OBJECT),
            rows: 0,
            by_op,
            not_counted: 0,
            times,
            refs,
            instructions,
            of: (0, 0),
        })
    }

    /// Takes a row.
    pub(super) fn row(&mut self, batch: &Batch, row: usize, table: &TableReader<'_>) -> Result<(), ReadError> {
        let cells = &batch.columns;
        let number = cells[THREAD].count(row).ok_or_else(|| wrong(batch, row, THREAD, "it is empty"))?;
        let addr = cells[ADDR].count(row).ok_or_else(|| wrong(batch, row, ADDR, "it is empty"))?;
        let op = self.op(batch, row, table)?;
        let size = match cells[SIZE].count(row).map_or(Ok(1), u32::try_from) {
            Ok(size) if size > 0 => size,
            _ => return Err(wrong(batch, row, SIZE, "a reference has 1 to 2^32 - 1 bytes")),
        };
        let line = u32::try_from(cells[LINE].count(row).unwrap_or(0));
        let line = line.map_err(|_| wrong(batch, row, LINE, "no file has that many lines"))?;
        let thread = match self.last {
            Some((last, thread)) if last == number => thread,
            _ => *self.threads.get(&number).ok_or_else(|| wrong(batch, row, THREAD, "the file has changed"))?,
        };
        self.last = Some((number, thread));
        let stamp = self.stamp(thread, batch, row)?;
        self.enter(thread, cells[PHASE].word(row), stamp, table)?;
        let counted = self.counted(batch, row, table);
        let begin = self.refs.is_empty()
            || counted.is_some() == self.instructions.is_empty()
            || self.refs.len() == BATCH_REFS_MAX;
        if begin || thread != self.of.0 || (self.timed && stamp != self.of.1) {
            self.flush()?;
            self.of = (thread, stamp);
        }
        self.refs.push(RawRef { addr, size, op, pc: self.sites.pc(batch, row, line) });
        self.instructions.extend(counted);
        if self.named {
            self.objects.row(addr, size, cells[OBJECT].word(row));
        }
        self.rows += 1;
        self.by_op[op as usize] += 1;
        Ok(())
    }

    fn op(&mut self, batch: &Batch, row: usize, table: &TableReader<'_>) -> Result<Op, ReadError> {
        let word = batch.columns[OP].word(row).ok_or_else(|| wrong(batch, row, OP, "it is empty"))?;
        let recent = word as usize % RECENT_OPS;
        if let Some((known, op)) = self.recent_ops[recent]
            && known == word
        {
            return Ok(op);
        }
        if let Some(&op) = self.ops.get(&word) {
            self.recent_ops[recent] = Some((word, op));
            return Ok(op);
        }
        let text = table.word(word);
        let Some((_, op)) = OPS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) else {
            let names: Vec<&str> = OPS.iter().map(|(name, _)| *name).collect();
            let shown: String = text.chars().take(40).collect();
            return Err(wrong(batch, row, OP, &format!("'{shown}' is none of {}", names.join(", "))));
        };
        self.ops.insert(word, *op);
        Ok(*op)
    }

    /// The stamp of a row: its time, or twice its number from 1, which leaves room for the events before it.
    fn stamp(&mut self, thread: u32, batch: &Batch, row: usize) -> Result<u64, ReadError> {
        if !self.timed {
            return Ok(2 * (self.rows + 1));
        }
        let time = batch.columns[TIME].count(row).ok_or_else(|| wrong(batch, row, TIME, "it is empty"))?;
        let last = &mut self.times[thread as usize];
        if time < *last {
            let why = format!("{time} is before {last}, the time of the same thread in a row above");
            return Err(wrong(batch, row, TIME, &why));
        }
        *last = time;
        Ok(time)
    }

    /// Lets a thread be in a phase.
    fn enter(&mut self, thread: u32, name: Option<u32>, stamp: u64, table: &TableReader<'_>) -> Result<(), ReadError> {
        while let Some(change) = self.phases.change(thread, name) {
            self.flush()?;
            let (thread, kind) = match change {
                Change::End(thread, name) => (thread, EventKind::PhaseEnd { name: table.word(name).to_owned() }),
                Change::Begin(thread, name) => (thread, EventKind::PhaseBegin { name: table.word(name).to_owned() }),
            };
            let stamp = stamp - u64::from(!self.timed);
            let event = Event { thread, at: self.sink.taken(thread), stamp, kind };
            self.sink.event(event).map_err(ReadError::Sink)?;
        }
        Ok(())
    }

    /// The instructions that were counted before a row.
    fn counted(&mut self, batch: &Batch, row: usize, table: &TableReader<'_>) -> Option<u32> {
        let count = batch.columns[INSTRUCTIONS].count(row)?;
        // A table of somebody else need not say how it knows.
        let were = batch.columns[COUNTED].word(row).is_none_or(|word| table.word(word) == WERE_COUNTED);
        let counted = u32::try_from(count).ok().filter(|_| were);
        self.not_counted += u64::from(counted.is_none());
        counted
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        let (thread, stamp) = self.of;
        if !self.refs.is_empty() {
            let batch = Refs { stamp: Some(stamp), refs: &self.refs, instructions: &self.instructions };
            self.sink.references(thread, batch).map_err(ReadError::Sink)?;
            self.refs.clear();
            self.instructions.clear();
        }
        Ok(())
    }

    /// Hands on the rest, and names.
    pub(super) fn finish(mut self, table: &TableReader<'_>) -> Result<FileReport, ReadError> {
        self.flush()?;
        if self.rows == 0 {
            return Err(ReadError::File("it has no rows".to_owned()));
        }
        let notes = self.notes();
        self.sites.name(self.survey, table, &mut *self.sink);
        self.objects.name(table, &mut *self.sink);
        let names = ["loads", "stores", "atomics", "spins"];
        let counted = std::iter::once(("rows", self.rows)).chain(names.into_iter().zip(self.by_op)).collect();
        let exact = ExactReport { in_order: true, counted, ..ExactReport::default() };
        Ok(FileReport { timed: self.timed, notes, exact, ..FileReport::default() })
    }

    fn notes(&self) -> Vec<String> {
        let rows = [
            (self.not_counted, "rows have instructions that were not counted: these are not kept"),
            (
                self.sites.moved,
                "rows have another file, line or function than the first row of their site: that of the first is kept",
            ),
            (
                self.objects.renamed,
                "rows name data otherwise than a row before them at the same address: the first name is kept",
            ),
        ];
        let mut notes: Vec<String> =
            rows.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if self.objects.given_up {
            notes.push("names of data are left out: they change too often from address to address".to_owned());
        }
        notes.push(if self.timed {
            "the times of the rows are their order; nothing says which references the program itself ordered".to_owned()
        } else {
            "the order of the rows is that of the references; nothing says which of them the program itself ordered"
                .to_owned()
        });
        notes
    }
}

fn wrong(batch: &Batch, row: usize, column: usize, why: &str) -> ReadError {
    ReadError::File(format!("{}, column {}: {why}", batch.place(row), ASKED[column].names[0]))
}
