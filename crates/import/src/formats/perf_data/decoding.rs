//! From the records of a file to samples and notices in order of time.
use super::container::Header;
use super::event::{FileEvent, attribute};
use super::features;
use super::packed::Unpacker;
use super::queue::Queue;
use super::rebuild::Rebuilder;
use super::spe::{Piece, Spe};
use super::stream::{End, Stream};
use crate::formats::ReadError;
use crate::report::{FileReport, ImportSink};
use homenode_sampling::perf::effective::{Isa, When};
use homenode_sampling::perf::notices::{Side, side};
use homenode_sampling::perf::records::{Layout, Record, kind, trailer};
use homenode_sampling::perf::wire::Cursor;
use homenode_sampling::perf::{Counts, Decoder, EventFacts};
use homenode_sampling::{Notice, RawSample};
use homenode_sys::perf::attr::{KIND_SOFTWARE, SOFTWARE_DUMMY, SOFTWARE_PAGE_FAULTS, flag, sample};
use homenode_trace::{Op, SampleUnit};
use std::collections::HashMap;
use std::io::Read;

/// Kinds of records that `perf` itself adds.
mod user {
    pub(super) const ATTR: u32 = 64;
    pub(super) const TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE_INFO: u32 = 70;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const TIME_CONV: u32 = 79;
    pub(super) const FEATURE: u32 = 80;
    /// Compressed records, and those with a length of their own.
    pub(super) const COMPRESSED: [u32; 2] = [COMPRESSED_PLAIN, COMPRESSED_PADDED];
    pub(super) const COMPRESSED_PADDED: u32 = 83;
    const COMPRESSED_PLAIN: u32 = 81;
}
/// Flag of a name record: it comes from an exec.
const MISC_EXEC: u16 = 1 << 13;
/// Latency threshold (`ldlat`) from which on a loads event counts misses rather than all loads.
const MISS_CYCLES: u64 = 8;
/// Most events that a pipe may describe.
const EVENTS_MAX: usize = 4096;

/// What waits for its turn.
enum Item {
    Sample(RawSample),
    Notice(Notice),
    Name { pid: u32, name: String, exec: bool },
}

/// What stands behind a record and is none.
enum Follows {
    Nothing,
    Skipped(u64),
    Packets(Piece),
}

struct Reading<'s> {
    header: Header,
    decoders: Vec<Decoder>,
    /// For each decoder how to find addresses that samples do not have.
    rebuilt: Vec<Option<When>>,
    rebuilder: Rebuilder,
    spe: Spe,
    by_id: HashMap<u64, usize>,
    /// Counts of decoders that a later description of events replaced.
    before: Counts,
    queue: Queue<Item>,
    sink: &'s mut dyn ImportSink,
    samples: Vec<RawSample>,
    notices: Vec<Notice>,
    /// Samples read, the time of files without one.
    ordinal: u64,
    timed: bool,
    /// When the first and the last sample were taken.
    between_ns: Option<(u64, u64)>,
    sees_writes: bool,
    notes: Vec<String>,
}

/// Reads all records: those behind the header, and those of files without one.
pub(super) fn run<R: Read, P: Read>(
    header: Header,
    reader: R,
    parts: &mut dyn Iterator<Item = Result<P, ReadError>>,
    sink: &mut dyn ImportSink,
) -> Result<FileReport, ReadError> {
    let stream = Stream::new(reader, header.data_bytes);
    let mut reading = Reading {
        header,
        decoders: Vec::new(),
        rebuilt: Vec::new(),
        rebuilder: Rebuilder::default(),
        spe: Spe::default(),
        by_id: HashMap::new(),
        before: Counts::default(),
        queue: Queue::default(),
        sink,
        samples: Vec::new(),
        notices: Vec::new(),
        ordinal: 0,
        timed: false,
        between_ns: None,
        sees_writes: false,
        notes: Vec::new(),
    };
    reading.describe().map_err(ReadError::File)?;
    reading.stream(stream)?;
    for part in parts {
        reading.stream(Stream::new(part?, None))?;
    }
    let rest = reading.queue.rest();
    reading.give(rest)?;
    Ok(reading.report())
}

impl Reading<'_> {
    /// Handles the records of a stream.
    fn stream<R: Read>(&mut self, mut stream: Stream<R>) -> Result<(), ReadError> {
        let mut unpacker = Unpacker::default();
        loop {
            let follows = match stream.next() {
                Ok(record) if user::COMPRESSED.contains(&record.kind) => {
                    unpacker.piece(packed(&record), |record| self.unpacked(record))?;
                    Follows::Nothing
                }
                Ok(record) => self.record(&record)?,
                Err(End::Clean) => break,
                Err(End::CutOff) => {
                    self.note("the file ends within a record: what follows is lost");
                    break;
                }
            };
            let there = match follows {
                Follows::Nothing => true,
                Follows::Skipped(bytes) => stream.skip(bytes),
                Follows::Packets(piece) => stream.payload(piece.bytes).is_some_and(|bytes| {
                    self.spe.piece(piece, &bytes, &mut self.samples);
                    self.queue_up();
                    true
                }),
            };
            if !there {
                self.note("the file ends within trace data");
                break;
            }
        }
        if let Some(damage) = unpacker.damage() {
            self.note(damage);
        }
        Ok(())
    }

    /// Handles a record that was compressed. What stands outside of records cannot be, nor can a compressed record itself.
    fn unpacked(&mut self, record: &Record<'_>) -> Result<(), ReadError> {
        match record.kind {
            user::TRACING_DATA | user::AUXTRACE => self.damaged(),
            k if user::COMPRESSED.contains(&k) => self.damaged(),
            _ => self.record(record).map(|_| ()),
        }
    }

    /// Notes something once.
    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|n| n == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// Makes decoders for the events described so far: one for each layout.
    fn describe(&mut self) -> Result<(), String> {
        self.before = self.decoders.iter().fold(self.before, |sum, d| sum.plus(&d.counts));
        (self.decoders, self.rebuilt, self.by_id) = (Vec::new(), Vec::new(), HashMap::new());
        let events = &self.header.events;
        let mut layouts: Vec<Layout> = Vec::new();
        for event in events {
            if !layouts.contains(&event.layout()) {
                layouts.push(event.layout());
            }
        }
        let named = layouts.iter().all(|l| l.sample_type & sample::IDENTIFIER != 0);
        if layouts.len() > 1 && !named {
            return Err("its events have different fields and their samples do not say which is which".into());
        }
        for (i, layout) in layouts.iter().enumerate() {
            let own = events.iter().filter(|e| e.layout() == *layout);
            own.clone().flat_map(|e| &e.ids).for_each(|&id| {
                self.by_id.insert(id, i);
            });
            self.rebuilt.push(own.clone().find_map(rebuilt));
            self.decoders.push(Decoder::new(*layout, all_facts(layout, own)));
        }
        self.timed = layouts.iter().any(|l| l.sample_type & sample::TIME != 0);
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.decoders.iter().fold(self.before.plus(&self.spe.counts), |sum, d| sum.plus(&d.counts))
    }

    /// Handles a record.
    fn record(&mut self, record: &Record<'_>) -> Result<Follows, ReadError> {
        match record.kind {
            user::FINISHED_ROUND => {
                let ready = self.queue.round();
                self.give(ready)?;
            }
            user::ATTR => self.described(record.body).map_err(ReadError::File)?,
            user::FEATURE => {
                let mut c = Cursor(record.body);
                let number = c.u64().and_then(|n| u32::try_from(n).ok()).filter(|&n| features::wanted(n));
                if let Some(number) = number {
                    features::feature(number, c.0, &mut self.header.facts, &mut self.header.events);
                }
            }
            user::TRACING_DATA => {
                let bytes = u64::from(Cursor(record.body).u32().unwrap_or(0));
                return Ok(Follows::Skipped(bytes.next_multiple_of(8)));
            }
            user::AUXTRACE_INFO => self.trace_described(record.body),
            user::TIME_CONV => self.spe.timer(record.body),
            user::AUXTRACE => return Ok(self.trace(Piece::of(record.body))),
            k if k >= user::ATTR => {}
            _ => self.kernel(record)?,
        }
        Ok(Follows::Nothing)
    }

    fn trace_described(&mut self, body: &[u8]) {
        self.spe.described(body);
        let own = |e: &&FileEvent| e.name.starts_with("arm_spe");
        self.spe.period = self.header.events.iter().find(own).map_or(1, |e| e.attr.period);
    }

    fn trace(&mut self, piece: Piece) -> Follows {
        if self.spe.is_here() {
            return Follows::Packets(piece);
        }
        self.note("trace data of the processor itself, other than ARM SPE's, was passed over");
        Follows::Skipped(piece.bytes)
    }

    /// An event described within a pipe: attribute, then ids.
    fn described(&mut self, body: &[u8]) -> Result<(), String> {
        let damaged = || "an event within it is cut off".to_owned();
        let attr = attribute(body).ok_or_else(damaged)?;
        let ids = body.get(attr.size as usize..).ok_or_else(damaged)?;
        let ids = ids.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default())).collect();
        if self.header.events.len() >= EVENTS_MAX {
            return Err(format!("it describes more than {EVENTS_MAX} events"));
        }
        self.header.events.push(FileEvent { attr, ids, name: String::new() });
        self.describe()
    }

    /// A record of the kernel.
    fn kernel(&mut self, record: &Record<'_>) -> Result<(), ReadError> {
        let Some(which) = self.decoder_of(record) else {
            let none = "it has records before it describes any event";
            return if self.decoders.is_empty() { Err(ReadError::File(none.to_owned())) } else { self.damaged() };
        };
        let layout = *self.decoders[which].layout();
        if record.kind == kind::COMM {
            let time = self.time(trailer(record.body, &layout).map_or(0, |t| t.time));
            if let Some(Side::Name { pid, tid, name }) = side(record, &layout) {
                self.spe.thread(pid, tid);
                self.queue.push(time, Item::Name { pid, name, exec: record.misc & MISC_EXEC != 0 });
            }
            return Ok(());
        }
        match self.rebuilt[which] {
            Some(when) if record.kind == kind::SAMPLE => {
                let (rebuilder, isa) = (&mut self.rebuilder, Isa::of_machine(&self.header.facts.arch));
                let found = self.decoders[which].found(record.body, |f| rebuilder.access(isa, f, when));
                self.samples.extend(found);
            }
            _ => self.decoders[which].record(record, &mut self.samples, &mut self.notices),
        }
        self.queue_up();
        Ok(())
    }

    /// Lets what was decoded wait for its turn.
    fn queue_up(&mut self) {
        for mut s in std::mem::take(&mut self.samples) {
            self.ordinal += 1;
            s.time_ns = self.time(s.time_ns);
            self.sees_writes |= s.op != Op::Read;
            self.queue.push(s.time_ns, Item::Sample(s));
        }
        for notice in std::mem::take(&mut self.notices) {
            self.rebuilder.notice(&notice);
            self.spe.notice(&notice);
            let time = match &notice {
                Notice::Fork { time_ns, .. } | Notice::Exit { time_ns, .. } | Notice::Map { time_ns, .. } => *time_ns,
                Notice::Lost(_) | Notice::Throttled => continue,
            };
            let time = self.time(time);
            self.queue.push(time, Item::Notice(notice));
        }
    }

    fn damaged(&mut self) -> Result<(), ReadError> {
        self.before.damaged += 1;
        Ok(())
    }

    /// Time of the file, or the number of the sample where it has none.
    fn time(&self, time: u64) -> u64 {
        if self.timed { time } else { self.ordinal }
    }

    /// Which decoder a record is for.
    fn decoder_of(&self, record: &Record<'_>) -> Option<usize> {
        if self.decoders.len() < 2 {
            return (!self.decoders.is_empty()).then_some(0);
        }
        if record.kind == kind::SAMPLE {
            return self.by_id.get(&Cursor(record.body).u64()?).copied();
        }
        // Where there are several, all have the identifier as the last word.
        let last = record.body.len().checked_sub(8)?;
        let found = self.by_id.get(&Cursor(&record.body[last..]).u64()?).copied();
        // What `perf` itself wrote to begin with has no identity.
        found.or(Some(0))
    }

    fn give(&mut self, items: Vec<(u64, Item)>) -> Result<(), ReadError> {
        for (_, item) in items {
            match item {
                Item::Sample(s) => {
                    let (first, last) = self.between_ns.unwrap_or((s.time_ns, s.time_ns));
                    self.between_ns = Some((first.min(s.time_ns), last.max(s.time_ns)));
                    self.sink.sample(&s)
                }
                Item::Notice(n) => self.sink.notice(&n),
                Item::Name { pid, name, exec } => {
                    self.sink.name(pid, &name, exec);
                    Ok(())
                }
            }
            .map_err(ReadError::Sink)?;
        }
        Ok(())
    }

    fn report(mut self) -> FileReport {
        let counts = self.counts();
        if counts.damaged > 0 {
            self.notes.push(format!("{} records contradict themselves and were passed over", counts.damaged));
        }
        if counts.kernel > 0 {
            self.notes.push(format!("{} samples have addresses of the kernel and were dropped", counts.kernel));
        }
        if counts.throttled > 0 {
            self.notes.push(format!("the kernel throttled sampling {} times", counts.throttled));
        }
        self.notes.extend(self.rebuilder.note());
        self.notes.extend(self.spe.notes());
        if !self.timed {
            self.notes.push("the samples have no time: their order is that of the file".to_owned());
        }
        let sampled: Vec<&FileEvent> = self.header.events.iter().filter(|e| !is_dummy(e)).collect();
        let sampling = homenode_trace::Sampling {
            unit: sampled.first().map_or(SampleUnit::Reference, |e| unit(e)),
            event: sampled.iter().map(|e| words(e)).collect::<Vec<_>>().join(", "),
            sees_writes: self.sees_writes,
            elapsed_ns: self.between_ns.filter(|_| self.timed).map_or(0, |(first, last)| last - first),
            ..homenode_trace::Sampling::default()
        };
        FileReport {
            sampling,
            counts,
            facts: self.header.facts,
            timed: self.timed,
            notes: self.notes,
            ..FileReport::default()
        }
    }
}

/// The compressed bytes of a record.
fn packed<'r>(record: &Record<'r>) -> &'r [u8] {
    if record.kind != user::COMPRESSED_PADDED {
        return record.body;
    }
    let mut c = Cursor(record.body);
    let bytes = c.u64().unwrap_or(0);
    &c.0[..c.0.len().min(usize::try_from(bytes).unwrap_or(usize::MAX))]
}

fn is_dummy(e: &FileEvent) -> bool {
    e.attr.kind == KIND_SOFTWARE && e.attr.config == SOFTWARE_DUMMY
}

/// Whether addresses of this event's samples must be found from registers, and of which moment these are.
fn rebuilt(e: &FileEvent) -> Option<When> {
    let has = |fields: u64| e.attr.sample_type & fields != 0;
    let precise = e.attr.flags >> 15 & 3 != 0;
    (!has(sample::ADDR) && has(sample::REGS_USER | sample::REGS_INTR)).then_some(if precise {
        When::After
    } else {
        When::Before
    })
}

fn unit(e: &FileEvent) -> SampleUnit {
    match (e.attr.kind, e.attr.config) {
        (KIND_SOFTWARE, SOFTWARE_PAGE_FAULTS) => SampleUnit::Window,
        // Load latency: the second word holds the threshold.
        _ if e.attr.sample_type & (sample::WEIGHT | sample::WEIGHT_STRUCT) != 0
            && (MISS_CYCLES..1 << 16).contains(&e.attr.config1) =>
        {
            SampleUnit::Miss
        }
        _ => SampleUnit::Reference,
    }
}

fn words(e: &FileEvent) -> String {
    if e.name.is_empty() { format!("event {:#x} of unit {}", e.attr.config, e.attr.kind) } else { e.name.clone() }
}

/// Facts of the events of one layout. Where there is one event, or samples do not name theirs, ids do not matter.
fn all_facts<'e>(layout: &Layout, own: impl Iterator<Item = &'e FileEvent> + Clone) -> Vec<EventFacts> {
    let named = layout.sample_type & (sample::ID | sample::IDENTIFIER) != 0;
    if named && own.clone().count() > 1 {
        return own.flat_map(facts).collect();
    }
    own.take(1).flat_map(facts).take(1).collect()
}

/// What the decoder must know of each id of an event; an event without ids has one that matters to nobody.
fn facts(e: &FileEvent) -> Vec<EventFacts> {
    let period = if e.attr.flags & flag::FREQ == 0 { e.attr.period.max(1) } else { 1 };
    let stores = e.name.contains("store");
    let op = if stores { Op::Write } else { Op::Read };
    let one = |id: u64| EventFacts { id, op, period, only_misses: false };
    if e.ids.is_empty() { vec![one(0)] } else { e.ids.iter().map(|&id| one(id)).collect() }
}
