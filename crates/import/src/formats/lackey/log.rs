//! A whole log: lines of the trace, and around them what valgrind says.
use super::super::ReadError;
use super::line::{Line, What, parse, said};
use crate::report::{Batch, ExactReport, ExactSink, FileFacts, FileReport, ImportSink};
use homenode_trace::Op;
use homenode_trace::frame::RawRef;
use homenode_trace::{Event, EventKind};
use std::io::{ErrorKind, Read};

/// Bytes read at once; a line that is longer is none of the trace.
const BLOCK: usize = 1 << 18;
/// First address that is of the kernel.
const KERNEL: u64 = 1 << 63;

/// What a log said.
#[derive(Debug, Default)]
pub(super) struct Log {
    pid: Option<u32>,
    command: Vec<String>,
    /// Whether valgrind said that it begins, and that it ends.
    begun: bool,
    ended: bool,
    thread: Option<u32>,
    pc: u64,
    /// Instructions since the last reference.
    since: u32,
    instructions: u64,
    loads: u64,
    stores: u64,
    modified: u64,
    kernel: u64,
    /// Lines of neither valgrind nor the trace.
    strange: u64,
    refs: Vec<RawRef>,
    counts: Vec<u32>,
}

impl Log {
    /// Reads all lines.
    pub(super) fn read(&mut self, reader: &mut dyn Read, sink: &mut dyn ImportSink) -> Result<(), ReadError> {
        let mut buffer = vec![0; BLOCK];
        // Bytes in the buffer, and whether the line that it begins with is the rest of one that was too long.
        let (mut held, mut inside) = (0, false);
        loop {
            let n = match reader.read(&mut buffer[held..]) {
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(ReadError::File(format!("it cannot be unpacked, or read, to its end: {e}"))),
            };
            held += n;
            if n == 0 && held == 0 {
                return Ok(());
            }
            if n == 0 {
                // The last line has no end: it is cut off, unless valgrind was about to say something.
                self.strange += u64::from(!buffer[..held].starts_with(b"=="));
                return Ok(());
            }
            let whole = buffer[..held].iter().rposition(|&b| b == b'\n').map_or(0, |last| last + 1);
            if whole == 0 && held == BLOCK {
                (self.strange, held) = (self.strange + u64::from(!inside), 0);
                inside = true;
                continue;
            }
            let skip = match std::mem::take(&mut inside) && whole > 0 {
                true => buffer.iter().position(|&b| b == b'\n').map_or(0, |end| end + 1),
                false => 0,
            };
            self.lines(&buffer[skip..whole])?;
            self.hand_on(sink)?;
            buffer.copy_within(whole..held, 0);
            held -= whole;
        }
    }

    /// Whole lines.
    fn lines(&mut self, mut bytes: &[u8]) -> Result<(), ReadError> {
        while !bytes.is_empty() {
            let taken = match parse(bytes) {
                Some((line, taken)) => {
                    self.line(line);
                    taken
                }
                None => {
                    let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - 1);
                    self.other(&bytes[..end])?;
                    end + 1
                }
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self, line: Line) {
        match line.what {
            What::Instruction => {
                (self.pc, self.since) = (line.addr, self.since.saturating_add(1));
                self.instructions += 1;
            }
            What::Load => {
                self.loads += 1;
                self.refer(line, Op::Read);
            }
            What::Store => {
                self.stores += 1;
                self.refer(line, Op::Write);
            }
            What::Modify => {
                self.modified += 1;
                self.refer(line, Op::Read);
                self.refer(line, Op::Write);
            }
        }
    }
    fn refer(&mut self, line: Line, op: Op) {
        if line.addr >= KERNEL {
            self.kernel += 1;
            return;
        }
        self.refs.push(RawRef { addr: line.addr, size: line.size, op, pc: self.pc });
        self.counts.push(std::mem::take(&mut self.since));
    }

    #[cold]
    fn other(&mut self, line: &[u8]) -> Result<(), ReadError> {
        let Some((pid, words)) = said(line) else {
            self.strange += u64::from(!line.is_empty());
            return Ok(());
        };
        if *self.pid.get_or_insert(pid) != pid {
            let why = "it is the log of several processes, whose references cannot be told apart: record with \
                `--log-file=trace.%p` and import one file";
            return Err(ReadError::File(why.to_owned()));
        }
        self.begun |= words.starts_with("Lackey,");
        self.ended |= words.starts_with("Exit code:");
        if let Some(command) = words.strip_prefix("Command: ") {
            self.command = command.split_whitespace().map(str::to_owned).collect();
        }
        Ok(())
    }

    fn hand_on(&mut self, sink: &mut dyn ImportSink) -> Result<(), ReadError> {
        if self.refs.is_empty() {
            return Ok(());
        }
        let sink = sink.exact().map_err(ReadError::Sink)?;
        let thread = self.thread(sink)?;
        let batch = Batch { stamp: None, refs: &self.refs, instructions: &self.counts };
        sink.references(thread, batch).map_err(ReadError::Sink)?;
        self.refs.clear();
        self.counts.clear();
        Ok(())
    }
    fn thread(&mut self, sink: &mut dyn ExactSink) -> Result<u32, ReadError> {
        if let Some(thread) = self.thread {
            return Ok(thread);
        }
        let pid = self.pid.unwrap_or(1);
        let thread = sink.thread(pid, pid).map_err(ReadError::Sink)?;
        sink.process(pid, self.command.first().map_or("", String::as_str));
        self.thread = Some(thread);
        Ok(thread)
    }

    /// The end of the only thread, and the report.
    pub(super) fn finish(self, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
        let Some(thread) = self.thread else {
            let why = "it holds no line of a load or a store: record with `valgrind --tool=lackey --trace-mem=yes`";
            return Err(ReadError::File(why.to_owned()));
        };
        let sink = sink.exact().map_err(ReadError::Sink)?;
        let exit = Event { thread, at: sink.taken(thread), stamp: 0, kind: EventKind::Exit };
        sink.event(exit).map_err(ReadError::Sink)?;
        let mut notes = vec!["lackey does not say which thread refers to what: all are one thread".to_owned()];
        if self.kernel > 0 {
            notes.push(format!("{} loads and stores of the kernel are left out", self.kernel));
        }
        let mut missing = Vec::new();
        if self.strange > 0 {
            let lines = if self.strange == 1 { "line is" } else { "lines are" };
            missing.push(format!(
                "{} {lines} neither of the trace nor of valgrind, and references may have stood there",
                self.strange
            ));
        }
        if self.begun && !self.ended {
            missing.push("valgrind's last lines are missing".to_owned());
        }
        let counted = [
            ("instructions", self.instructions),
            ("loads", self.loads),
            ("stores", self.stores),
            ("modified in place", self.modified),
        ];
        Ok(FileReport {
            facts: FileFacts { command: self.command, ..FileFacts::default() },
            notes,
            exact: ExactReport {
                missing: missing.join("; "),
                counted: counted.into_iter().filter(|(_, n)| *n > 0).collect(),
                ..ExactReport::default()
            },
            ..FileReport::default()
        })
    }
}
