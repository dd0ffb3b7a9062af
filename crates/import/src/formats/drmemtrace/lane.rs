//! What the records of one file mean: whose they are, which instruction refers to what, and when.
use super::super::ReadError;
use super::decoding::Decoding;
use super::entry::{BYTES, Entry, VERSION_MAX, file_type, kind, marker};
use super::summary::Origin;
use homenode_trace::Op;
use homenode_trace::frame::RawRef;
use std::collections::HashMap;

/// First address that is of the kernel.
const KERNEL: u64 = 1 << 63;
/// Bits of an address that AArch64 leaves to programs: their tags.
const TAG: u64 = 0xff << 56;
/// Microseconds from 1601, where stamps begin, to 1970.
const EPOCH_US: u64 = 11_644_473_600_000_000;

/// The state of one file.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Records seen, for messages.
    records: u64,
    version: u64,
    pub(super) file_type: u64,
    origin: Origin,
    pids: HashMap<u64, u64>,
    tid: u64,
    /// The thread's place among those of the trace, once a record needed it.
    thread: Option<usize>,
    pc: u64,
    /// Address behind the instruction, where the next one of a bundle begins.
    next_pc: u64,
    /// Instructions of the thread since its last reference.
    instructions: u32,
    /// References of the thread that were not handed on yet, with their instructions.
    refs: Vec<RawRef>,
    counts: Vec<u32>,
    /// A stamp that no reference has yet.
    stamp: Option<u64>,
    now: u64,
    /// Whether the records are of the kernel.
    in_kernel: bool,
    chunks: u64,
    /// The last record: a file ends with a footer.
    last: u16,
}

impl Lane {
    pub(super) fn new(origin: Origin) -> Lane {
        Lane { origin, ..Lane::default() }
    }

    /// Takes whole records, which stand after those taken before.
    pub(super) fn feed(&mut self, bytes: &[u8], to: &mut Decoding<'_>) -> Result<(), ReadError> {
        if let Some(state) = self.thread {
            self.instructions = std::mem::take(&mut to.states[state].instructions);
        }
        if self.records == 0 && bytes.as_chunks::<BYTES>().0.first().is_some_and(|r| Entry::of(r).kind != kind::HEADER)
        {
            return self.refuse("it does not begin with a header: it is no trace of drmemtrace, or a piece of one");
        }
        for record in bytes.as_chunks::<BYTES>().0 {
            self.records += 1;
            let entry = Entry::of(record);
            match entry.kind {
                kind::READ => self.refer(entry, Op::Read, to)?,
                kind::WRITE => self.refer(entry, Op::Write, to)?,
                kind::ENCODING => {}
                kind::INSTRUCTION..=kind::RETURN | kind::TAKEN | kind::UNTAKEN => self.fetched(entry, to),
                _ => self.other(entry, to)?,
            }
            self.last = entry.kind;
        }
        self.leave(to)
    }

    /// Hands on what is held of the thread.
    fn leave(&mut self, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        self.hand_on(to)?;
        if let Some(state) = self.thread {
            to.states[state].instructions = std::mem::take(&mut self.instructions);
        }
        Ok(())
    }
    fn hand_on(&mut self, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        if let (Some(thread), false) = (self.thread, self.refs.is_empty()) {
            to.references(thread, self.stamp.take(), &self.refs, &self.counts)?;
            self.refs.clear();
            self.counts.clear();
        }
        Ok(())
    }

    /// Why the record that was taken last is refused.
    fn refuse<T>(&self, why: &str) -> Result<T, ReadError> {
        Err(ReadError::File(format!("record {}: {why}", self.records)))
    }

    /// Goes to a thread, whose process the file may say later.
    fn switch(&mut self, tid: u64, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        self.leave(to)?;
        (self.tid, self.thread) = (tid, None);
        self.enter(to)
    }
    /// Finds the thread, if its ids are known and can be such; others are refused when something is of them.
    fn enter(&mut self, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        let id = |id: u64| u32::try_from(id).ok().filter(|&id| id > 0);
        let Some((pid, tid)) = self.pids.get(&self.tid).and_then(|&pid| Some((id(pid)?, id(self.tid)?))) else {
            return Ok(());
        };
        let thread = to.thread(pid, tid, &self.origin)?;
        self.instructions = self.instructions.saturating_add(std::mem::take(&mut to.states[thread].instructions));
        self.thread = Some(thread);
        Ok(())
    }
    fn current(&self) -> Result<usize, ReadError> {
        match (self.thread, self.pids.get(&self.tid)) {
            (Some(thread), _) => Ok(thread),
            (None, None) => self.refuse("it comes before the records that say of which thread and process it is"),
            (None, Some(pid)) => {
                self.refuse(&format!("{} and {pid} cannot be the numbers of a thread and its process", self.tid))
            }
        }
    }

    fn fetched(&mut self, entry: Entry, to: &mut Decoding<'_>) {
        self.pc = entry.value;
        // One of size 0 only says to which instruction the next references belong.
        if entry.size > 0 {
            self.next_pc = entry.value.wrapping_add(entry.size.into());
            self.count_instructions(1, to);
        }
    }
    fn count_instructions(&mut self, n: u32, to: &mut Decoding<'_>) {
        to.summary.instructions += u64::from(n);
        if !self.in_kernel {
            self.instructions = self.instructions.saturating_add(n);
        }
    }

    fn refer(&mut self, entry: Entry, op: Op, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        match op {
            Op::Write => to.summary.stores += 1,
            _ => to.summary.loads += 1,
        }
        let mut addr = entry.value;
        if self.in_kernel || addr >= KERNEL {
            // The upper byte of a user's address on AArch64 is a tag; bit 55 says whose the address is.
            if self.in_kernel || self.file_type & file_type::AARCH64 == 0 || addr & (1 << 55) != 0 {
                to.summary.kernel += 1;
                return Ok(());
            }
        }
        if self.file_type & file_type::AARCH64 != 0 {
            addr &= !TAG;
        }
        to.summary.unsized_refs += u64::from(entry.size == 0);
        self.current()?;
        self.refs.push(RawRef { addr, size: u32::from(entry.size).max(1), op, pc: self.pc });
        self.counts.push(std::mem::take(&mut self.instructions));
        Ok(())
    }

    #[cold]
    fn other(&mut self, entry: Entry, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        match entry.kind {
            kind::MARKER => self.marker(entry, to)?,
            kind::SYSENTER => self.fetched(entry, to),
            kind::NOT_FETCHED => self.not_fetched(entry, to),
            kind::MAYBE_FETCHED if self.pc == entry.value => self.not_fetched(entry, to),
            kind::MAYBE_FETCHED => self.fetched(entry, to),
            kind::BUNDLE => self.bundle(entry, to)?,
            kind::PREFETCH..=kind::PREFETCH_LAST
            | kind::HARDWARE_PREFETCH
            | kind::PREFETCH_BY_LEVEL..=kind::PREFETCH_BY_LEVEL_LAST => to.summary.prefetches += 1,
            kind::FLUSH..=kind::FLUSH_LAST => to.summary.flushes += u64::from(entry.size > 0 || entry.kind % 2 == 1),
            kind::THREAD => self.switch(entry.value, to)?,
            kind::PROCESS => {
                self.pids.insert(self.tid, entry.value);
                self.switch(self.tid, to)?;
            }
            kind::THREAD_EXIT => self.exit(entry, to)?,
            kind::HEADER => self.version(entry.value)?,
            kind::FOOTER => {}
            unknown => {
                return self.refuse(&format!("it is of type {unknown}, which no version up to {VERSION_MAX} has"));
            }
        }
        Ok(())
    }

    fn not_fetched(&mut self, entry: Entry, to: &mut Decoding<'_>) {
        self.pc = entry.value;
        to.summary.not_fetched += u64::from(entry.size > 0);
    }

    /// Up to eight instructions one after the other, whose lengths stand in the value.
    fn bundle(&mut self, entry: Entry, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        let lengths = entry.value.to_le_bytes();
        let Some(lengths) = lengths.get(..entry.size.into()) else {
            return self.refuse(&format!("it is a bundle of {} instructions, more than 8", entry.size));
        };
        for &length in lengths {
            self.pc = self.next_pc;
            self.next_pc = self.pc.wrapping_add(length.into());
        }
        self.count_instructions(lengths.len() as u32, to);
        Ok(())
    }

    fn exit(&mut self, entry: Entry, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        if entry.value != self.tid {
            self.switch(entry.value, to)?;
        }
        let thread = self.current()?;
        self.hand_on(to)?;
        to.exit(thread, self.now);
        Ok(())
    }

    fn version(&mut self, version: u64) -> Result<(), ReadError> {
        if version == 0 || version > VERSION_MAX {
            return self.refuse(&format!("version {version} of the format, of which 1 to {VERSION_MAX} are known"));
        }
        self.version = version;
        Ok(())
    }

    fn marker(&mut self, entry: Entry, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        match entry.size {
            marker::TIMESTAMP => self.time(entry.value, to)?,
            marker::CPU => to.summary.processor(entry.value),
            marker::FUNCTION | marker::RETURN_ADDRESS | marker::ARGUMENT | marker::RESULT | marker::FAILED
                if !self.in_kernel =>
            {
                let thread = self.current()?;
                let at = to.taken(thread)? + self.refs.len() as u64;
                to.call(thread, (entry.size, entry.value), at, self.file_type);
            }
            marker::FILE_TYPE => self.of_type(entry.value, to)?,
            marker::VERSION => self.version(entry.value)?,
            marker::WINDOW => to.summary.window(entry.value),
            marker::CHUNK_END => self.chunk(entry.value)?,
            marker::KERNEL_BEGIN | marker::SWITCH_BEGIN => self.in_kernel = true,
            marker::KERNEL_END | marker::SWITCH_END => self.in_kernel = false,
            known if known <= marker::LAST => {}
            unknown => to.summary.unknown(unknown),
        }
        Ok(())
    }

    fn time(&mut self, stamp_us: u64, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        let ns = stamp_us.checked_sub(EPOCH_US).unwrap_or(stamp_us).saturating_mul(1000);
        self.hand_on(to)?;
        (self.now, self.stamp) = (ns, Some(ns));
        to.summary.stamps += 1;
        if let Some(thread) = self.thread {
            to.time(thread, ns, self.version);
        }
        Ok(())
    }

    fn of_type(&mut self, bits: u64, to: &mut Decoding<'_>) -> Result<(), ReadError> {
        if bits & (file_type::ARM32 | file_type::X86_32) != 0 {
            return self.refuse("it is of a 32-bit program: only 64-bit traces are read");
        }
        if bits & file_type::TEMPLATES != 0 {
            return self.refuse("it is a file of templates for the kernel's part of traces, and no trace");
        }
        self.file_type = bits;
        to.summary.file_type |= bits;
        Ok(())
    }

    /// The end of a chunk. Chunks are numbered; in files of processors they keep the numbers of the files that they come from.
    fn chunk(&mut self, number: u64) -> Result<(), ReadError> {
        if self.file_type & file_type::BY_CORE == 0 && number != self.chunks {
            return self.refuse(&format!("chunk {number} ends where chunk {} should: a chunk is missing", self.chunks));
        }
        self.chunks += 1;
        Ok(())
    }

    /// Looks whether the file ended as it should.
    pub(super) fn end(&self) -> Result<(), ReadError> {
        match self.last {
            _ if self.records == 0 => Err(ReadError::File("it is empty".to_owned())),
            kind::FOOTER => Ok(()),
            _ => Err(ReadError::File(format!(
                "it ends with record {} and without its footer: the end is missing",
                self.records
            ))),
        }
    }
}
