//! All files of a trace to references and events.
use super::super::ReadError;
use super::calls::{Calls, Happened};
use super::entry::{VERSION_STAMPS, marker};
use super::functions::{Does, Functions};
use super::futex::{self, Call, End, Waits};
use super::order::{Did, Note};
use super::summary::{Origin, Summary};
use crate::report::{Batch, ExactSink, FileReport, ImportSink};
use homenode_trace::event::SyncKind;
use homenode_trace::frame::RawRef;
use homenode_trace::{Event, EventKind};
use std::collections::HashMap;

/// What says that a lock was taken whose owner has died.
const EOWNERDEAD: u32 = 130;
/// `PTHREAD_BARRIER_SERIAL_THREAD`, which one thread of each round is told.
const SERIAL: u32 = -1_i32 as u32;

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
    /// The calls of functions that it is in.
    calls: Calls,
}

/// Hands on what files hold.
pub(super) struct Decoding<'a> {
    sink: &'a mut dyn ImportSink,
    by_ids: HashMap<(u32, u32), usize>,
    pub(super) states: Vec<ThreadState>,
    pub(super) summary: Summary,
    waits: Waits,
    functions: Functions,
}

impl<'a> Decoding<'a> {
    /// Of a trace with this list of functions.
    pub(super) fn new(sink: &'a mut dyn ImportSink, functions: Functions) -> Decoding<'a> {
        let (by_ids, states, summary, waits) = Default::default();
        Decoding { sink, by_ids, states, summary, waits, functions }
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
            calls: Calls::default(),
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
    /// What a marker says of a call, which stands after so many references of its thread.
    pub(super) fn call(&mut self, thread: usize, marker: (u16, u64), at: u64, file_type: u64) {
        let state = &mut self.states[thread];
        let (what, value) = marker;
        if what == marker::FUNCTION {
            state.in_futex = futex::is_futex(value, file_type);
            state.calls.speak((value < futex::CALLS).then_some(value));
        } else if state.in_futex {
            let begin = || Call::new(state.now);
            state.call.get_or_insert_with(begin).marker(what, value, (at, state.now));
        } else if let Some(happened) = state.calls.marker(what, value, &mut self.functions) {
            // A call of futex that is over but has no stamp is of a version whose traces do not say when it was.
            state.call = None;
            let note = Note { ns: state.now, at, word: 0, thread: state.number, pid: state.pid, did: Did::Wake };
            happened_to(happened, &mut |word, did| self.waits.did(Note { word, did, ..note }));
        }
    }
    /// The end of a thread, as far as is known.
    pub(super) fn exit(&mut self, thread: usize, now: u64) {
        let state = &mut self.states[thread];
        (state.exited, state.now) = (true, state.now.max(now));
    }

    /// Events of all threads, in whose order it is known, and the report.
    pub(super) fn finish(mut self) -> Result<FileReport, ReadError> {
        let sink = self.sink.exact().map_err(ReadError::Sink)?;
        let ends = self.states.iter().filter(|s| s.exited);
        let ends: Vec<End> = ends.map(|s| (s.number, (s.pid, s.tid), s.now, sink.taken(s.number))).collect();
        (self.summary.calls, self.summary.waited) = (self.functions.calls(), self.waits.waited());
        let mut notes = self.functions.notes();
        notes.extend(self.waits.events(&ends, &mut |event| sink.event(event).map_err(ReadError::Sink))?);
        for (thread, _, stamp, at) in ends {
            sink.event(Event { thread, at, stamp, kind: EventKind::Exit }).map_err(ReadError::Sink)?;
        }
        Ok(self.summary.report(self.states.len() as u64, notes))
    }
}

/// What a call, of which this has happened, does to which word.
fn happened_to(happened: Happened, did: &mut dyn FnMut(u64, Did)) {
    match happened {
        Happened::Begun { does, call, returns } => {
            let [word, second, third] = call.arguments;
            match does {
                Does::Unlock => did(word, Did::Unlock),
                Does::Barrier => did(word, Did::Arrive),
                Does::Wait => did(second, Did::Unlock),
                Does::Signal(sync) => did(word, Did::Signal(sync)),
                Does::Post => did(word, Did::Post),
                // What is made is there before anybody can use it.
                Does::MakeBarrier => did(word, Did::MakeBarrier(third as u32)),
                Does::MakeSemaphore => did(word, Did::MakeSemaphore(third as u32)),
                Does::Lock(_) | Does::Take => {}
            }
            // What does not say when it returns is taken to do so at once, with success.
            if !returns {
                happened_to(Happened::Returned { does, call, result: 0 }, did);
            }
        }
        Happened::Returned { does, call, result } => {
            let [word, second, _] = call.arguments;
            // Results are of type int.
            match (does, result as u32) {
                // The lock of an owner that has died is taken all the same.
                (Does::Lock(sync), 0 | EOWNERDEAD) => did(word, Did::Lock(sync)),
                (Does::Barrier, result) => did(word, Did::Leave(result == SERIAL)),
                (Does::Wait, result) => {
                    if result == 0 {
                        did(word, Did::Waited);
                    }
                    did(second, Did::Lock(SyncKind::Mutex));
                }
                (Does::Take, 0) => did(word, Did::Take),
                _ => {}
            }
        }
    }
}

/// An error with the name of the file in which it is.
pub(super) fn named(name: &str, error: ReadError) -> ReadError {
    match error {
        ReadError::File(why) if !name.is_empty() => ReadError::File(format!("{name}: {why}")),
        other => other,
    }
}
