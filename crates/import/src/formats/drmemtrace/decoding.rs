//! All files of a trace to references and events.
use super::super::ReadError;
use super::entry::{VERSION_STAMPS, marker};
use super::futex::{self, Call, End, Waits};
use super::summary::{Origin, Summary};
use crate::report::{Batch, ExactSink, FileReport, ImportSink};
use homenode_trace::frame::RawRef;
use homenode_trace::{Event, EventKind};
use std::collections::HashMap;

/// What is known of a thread.
#[derive(Debug)]
pub(super) struct ThreadState {
    /// Number in the dataset.
    pub(super) number: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Instructions since the thread's last reference, while no file is at it.
    pub(super) instructions: u32,
    /// The last stamp.
    pub(super) now: u64,
    /// Whether it has ended. It may go on in a further window, where it ends again.
    pub(super) exited: bool,
    /// Whether what its markers say of a call is about a futex.
    in_futex: bool,
    /// The futex call that it is in.
    call: Option<Call>,
}

/// Hands on what files hold.
pub(super) struct Decoding<'a> {
    sink: &'a mut dyn ImportSink,
    by_ids: HashMap<(u32, u32), usize>,
    pub(super) states: Vec<ThreadState>,
    pub(super) summary: Summary,
    waits: Waits,
}

impl<'a> Decoding<'a> {
    pub(super) fn new(sink: &'a mut dyn ImportSink) -> Decoding<'a> {
        let (by_ids, states, summary, waits) = Default::default();
        Decoding { sink, by_ids, states, summary, waits }
    }

    /// The place of a thread of the trace.
    pub(super) fn thread(&mut self, pid: u32, tid: u32, origin: &Origin) -> Result<usize, ReadError> {
        if let Some(&known) = self.by_ids.get(&(pid, tid)) {
            return Ok(known);
        }
        let sink = self.exact()?;
        let number = sink.thread(pid, tid).map_err(ReadError::Sink)?;
        if !origin.program.is_empty() {
            sink.process(pid, &origin.program);
        }
        let place = self.states.len();
        self.by_ids.insert((pid, tid), place);
        self.states.push(ThreadState {
            number,
            pid,
            tid,
            instructions: 0,
            now: 0,
            exited: false,
            in_futex: false,
            call: None,
        });
        Ok(place)
    }

    pub(super) fn references(
        &mut self,
        thread: usize,
        stamp: Option<u64>,
        refs: &[RawRef],
        instructions: &[u32],
    ) -> Result<(), ReadError> {
        let number = self.states[thread].number;
        self.exact()?.references(number, Batch { stamp, refs, instructions }).map_err(ReadError::Sink)
    }
    /// References of a thread that were handed on.
    pub(super) fn taken(&mut self, thread: usize) -> Result<u64, ReadError> {
        let number = self.states[thread].number;
        Ok(self.exact()?.taken(number))
    }
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ReadError> {
        self.sink.exact().map_err(ReadError::Sink)
    }

    /// A stamp of a thread: the first one after a call says when it was back.
    pub(super) fn time(&mut self, thread: usize, ns: u64, version: u64) {
        let state = &mut self.states[thread];
        self.summary.backwards += u64::from(ns < state.now);
        state.now = state.now.max(ns);
        if let Some(call) = state.call.take_if(|call| call.is_back()) {
            self.waits.add(&call, (state.number, state.pid), state.now, version >= VERSION_STAMPS);
        }
    }
    /// What a marker says of a call.
    pub(super) fn call(&mut self, thread: usize, marker: (u16, u64), at: u64, file_type: u64) {
        let state = &mut self.states[thread];
        let (what, value) = marker;
        if what == marker::FUNCTION {
            state.in_futex = futex::is_futex(value, file_type);
        } else if state.in_futex {
            let begin = || Call::new(state.now);
            state.call.get_or_insert_with(begin).marker(what, value, (at, state.now));
        }
    }
    /// The end of a thread, as far as is known.
    pub(super) fn exit(&mut self, thread: usize, now: u64) {
        let state = &mut self.states[thread];
        (state.exited, state.now) = (true, state.now.max(now));
    }

    /// Events of all threads, in whose order it is known, and the report.
    pub(super) fn finish(self) -> Result<FileReport, ReadError> {
        let (notes, sink) = (self.waits.notes(), self.sink.exact().map_err(ReadError::Sink)?);
        let ends = self.states.iter().filter(|s| s.exited);
        let ends: Vec<End> = ends.map(|s| (s.number, (s.pid, s.tid), s.now, sink.taken(s.number))).collect();
        for event in self.waits.events(&ends) {
            sink.event(event).map_err(ReadError::Sink)?;
        }
        for (thread, _, stamp, at) in ends {
            sink.event(Event { thread, at, stamp, kind: EventKind::Exit }).map_err(ReadError::Sink)?;
        }
        Ok(self.summary.report(self.states.len() as u64, notes))
    }
}

/// An error with the name of the file in which it is.
pub(super) fn named(name: &str, error: ReadError) -> ReadError {
    match error {
        ReadError::File(why) if !name.is_empty() => ReadError::File(format!("{name}: {why}")),
        other => other,
    }
}
