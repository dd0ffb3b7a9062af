//! All rings of a recording, drained by one or more workers that share the work.
use crate::blocks::Definitions;
use crate::control::{Control, Entry};
use crate::drain::{Buffers, DrainError, Ledger, Target, ThreadDrain};
use crate::facts::Facts;
use crate::ring::Ring;
use crate::store::DirStore;
use homenode_base::ring::*;
use homenode_sys::dir::Dir;
use homenode_sys::futex;
use homenode_trace::writer::{Counts, ThreadFile};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest sleep of a worker. The doorbell ends it earlier; this is for programs that die without ringing it.
const SLEEP: Duration = Duration::from_millis(50);

/// What workers and supervisor share.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) root: Dir,
    pub(crate) control: Control,
    definitions: Arc<Definitions>,
    pub(crate) ledger: Ledger,
    pub(crate) facts: Facts,
    /// How many workers drain.
    workers: u32,
    cells: Vec<Cell>,
    finishing: AtomicBool,
    troubles: Mutex<Troubles>,
}

/// What went wrong, for the manifest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles {
    /// Why the dataset could not be written on.
    pub(crate) write: Option<String>,
    /// Rings that could not be read, in sentences.
    pub(crate) rings: Vec<String>,
}

#[derive(Debug, Default)]
struct Cell {
    state: Mutex<State>,
    /// Process id of the ring's entry when that process was found dead, else 0. A ring that was claimed for a forked child
    /// bears its parent's id until the child runs, so the id is compared again when it matters.
    dead_pid: AtomicU32,
}

impl Cell {
    fn is_orphan(&self, entry: &Entry) -> bool {
        entry.pid != 0 && self.dead_pid.load(Ordering::Acquire) == entry.pid
    }
}

/// What a look at an open ring came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advance {
    Nothing,
    Worked,
    Ended,
    Damaged,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    Open(Box<ThreadDrain>),
    /// Damaged: what its producer goes on writing is thrown away, so that it does not wait for ever.
    Ignored(Box<ThreadDrain>),
    Closed(Counts),
}

/// What one worker still has to look at: programs may have had many thousands of threads that ended long ago.
#[derive(Debug, Default)]
struct Open {
    rings: Vec<u32>,
    /// Rings it has met.
    known: u32,
}

impl Recording {
    /// A recording into the dataset at `root` for that many workers.
    pub(crate) fn new(root: Dir, control: Control, ledger: Ledger, workers: u32) -> Recording {
        let cells = (0..RINGS_MAX).map(|_| Cell::default()).collect();
        let (facts, finishing, troubles) = Default::default();
        let definitions = Definitions::of(&control);
        Recording { root, control, definitions, ledger, facts, workers, cells, finishing, troubles }
    }

    /// Starts the workers.
    pub(crate) fn start<'scope>(&'scope self, scope: &'scope std::thread::Scope<'scope, '_>) {
        (0..self.workers).for_each(|_| drop(scope.spawn(|| self.work())));
    }
    /// Drains rings until [`Recording::finish`], then what is left, and returns.
    fn work(&self) {
        let (mut buffers, mut open) = (Buffers::default(), Open::default());
        loop {
            let bell = self.control.doorbell().load(Ordering::Acquire);
            let finishing = self.finishing.load(Ordering::Acquire);
            let worked = self.scan(&mut open, &mut buffers);
            if finishing && !worked {
                return;
            }
            if !worked {
                futex::wait(self.control.doorbell(), bell, SLEEP);
            }
        }
    }
    /// Declares every producer ended and wakes the workers for the last round.
    pub(crate) fn finish(&self) {
        self.finishing.store(true, Ordering::Release);
        self.control.ring_doorbell();
    }
    /// Declares the producers of a dead process ended.
    pub(crate) fn orphan(&self, pid: u32) {
        for index in (0..self.control.rings()).filter(|&i| self.control.entry(i).pid == pid) {
            self.cells[index as usize].dead_pid.store(pid, Ordering::Release);
        }
        self.control.ring_doorbell();
    }
    /// Processes whose rings are not all closed.
    pub(crate) fn live_pids(&self) -> Vec<u32> {
        let numbered = (0..self.control.rings()).map(|i| (i, self.control.entry(i)));
        let entries = numbered.filter(|(i, e)| !self.cells[*i as usize].is_orphan(e)).map(|(_, e)| e);
        let mut pids: Vec<u32> =
            entries.filter(|e| e.state != ENTRY_FREE as u32 && e.pid != 0).map(|e| e.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }
    /// Stops recording (the program runs on) and lets go of producers that wait for space.
    pub(crate) fn stop(&self, reason: u64) -> bool {
        if !self.control.stop(reason) {
            return false;
        }
        for cell in &self.cells[..self.control.rings() as usize] {
            // A worker that holds the lock wakes its producer itself when it commits.
            if let Ok(State::Open(thread)) = cell.state.try_lock().as_deref() {
                thread.ring.wake();
            }
        }
        true
    }
    /// What went wrong so far.
    pub(crate) fn troubles(&self) -> Troubles {
        self.lock_troubles().clone()
    }
    fn lock_troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Counts of every thread; only after the workers returned.
    pub(crate) fn counts(&self) -> Vec<Counts> {
        let cells = &self.cells[..self.control.rings() as usize];
        let count = |cell: &Cell| match &*cell.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Closed(counts) => *counts,
            State::Open(thread) | State::Ignored(thread) => thread.counts(),
            State::New => Counts::default(),
        };
        cells.iter().map(count).collect()
    }

    /// Looks once at every ring that is not closed; whether anything was done.
    fn scan(&self, open: &mut Open, buffers: &mut Buffers) -> bool {
        let mut worked = false;
        let rings = self.control.rings();
        open.rings.extend(open.known..rings);
        open.known = rings;
        open.rings.retain(|&index| {
            let cell = &self.cells[index as usize];
            // Another worker is at it.
            let Ok(mut state) = cell.state.try_lock() else { return true };
            worked |= self.step(index, cell, &mut state, buffers);
            !matches!(*state, State::Closed(_))
        });
        worked
    }

    fn step(&self, index: u32, cell: &Cell, state: &mut State, buffers: &mut Buffers) -> bool {
        if matches!(state, State::Closed(_)) {
            return false;
        }
        // Whether it ended is read before the ring is: what the ring holds then is all there will be.
        let finishing = self.finishing.load(Ordering::Acquire);
        let entry = self.control.entry(index);
        let orphan = entry.state != ENTRY_CLAIMED as u32 && cell.is_orphan(&entry);
        let ended = finishing || orphan || entry.state == ENTRY_DONE as u32;
        if matches!(state, State::New) {
            let Some(next) = self.begin(index, &entry, ended) else { return false };
            *state = next;
        }
        match state {
            State::Open(thread) => {
                let next = self.advance(thread, ended, buffers);
                let worked = next != Advance::Nothing;
                if next == Advance::Ended {
                    *state = State::Closed(thread.counts());
                } else if next == Advance::Damaged
                    && let State::Open(thread) = std::mem::take(state)
                {
                    *state = State::Ignored(thread);
                }
                worked
            }
            State::Ignored(thread) => {
                thread.ring.discard();
                if ended {
                    *state = State::Closed(thread.counts());
                }
                ended
            }
            _ => true,
        }
    }

    /// Takes out of an open ring what is there, if that is worth a frame or the last.
    fn advance(&self, thread: &mut ThreadDrain, ended: bool, buffers: &mut Buffers) -> Advance {
        // A producer that was woken a moment ago may still be marked as waiting: there must be something to take out too.
        let backlog = thread.backlog();
        if !ended && backlog < thread.ring.slots() / 2 && (backlog == 0 || !thread.ring.is_waiting()) {
            return Advance::Nothing;
        }
        if self.workers > 1 {
            // The doorbell woke one worker; while this one writes, another may find more to do.
            futex::wake_all(self.control.doorbell());
        }
        let mut target = Target { ledger: &self.ledger, buffers, see: &|e| self.facts.see(e) };
        let mut round = |thread: &mut ThreadDrain| match ended {
            true => thread.finish(&mut target),
            false => thread.drain(&mut target),
        };
        let mut result = round(thread);
        if let Err(DrainError::Write(error)) = &result {
            self.write_failed(error);
            // Again: now the rest is counted as dropped and the producer let go.
            result = round(thread);
        }
        if self.ledger.exhausted() {
            self.stop(STOP_LIMIT);
        }
        if let Err(error) = result {
            thread.ring.wake();
            let text =
                format!("the ring of thread {} is damaged ({error}); what came before is recorded", thread.thread);
            self.lock_troubles().rings.push(text);
            return if ended { Advance::Ended } else { Advance::Damaged };
        }
        if ended {
            self.close(thread.thread, thread.damaged());
            return Advance::Ended;
        }
        Advance::Worked
    }

    fn write_failed(&self, error: &std::io::Error) {
        self.ledger.failed.store(true, Ordering::Release);
        self.lock_troubles().write.get_or_insert_with(|| error.to_string());
        self.stop(STOP_WRITE_FAILED);
    }

    /// Opens the ring of an entry once it is there; `None` if there is nothing to do yet.
    fn begin(&self, index: u32, entry: &Entry, ended: bool) -> Option<State> {
        let ready = entry.state == ENTRY_ACTIVE as u32 || entry.state == ENTRY_DONE as u32;
        if !ready {
            return ended.then(|| State::Closed(Counts::default()));
        }
        if entry.bytes == 0 {
            // The program could not create the file, which it counted; a ring that was ready has a size in the table.
            return Some(State::Closed(Counts::default()));
        }
        let ring = Ring::open(&self.control, index, entry);
        let thread = ring.and_then(|r| {
            ThreadDrain::new(
                index,
                (r, self.definitions.clone()),
                ThreadFile::create(&DirStore::of(&self.root), index)?,
            )
        });
        Some(match thread {
            Ok(thread) => State::Open(Box::new(thread)),
            Err(error) => {
                self.lock_troubles().rings.push(format!("the ring of thread {index} cannot be used: {error}"));
                State::Closed(Counts::default())
            }
        })
    }

    fn close(&self, index: u32, damaged: u64) {
        if damaged > 0 {
            let text =
                format!("{damaged} batches of thread {index} held slots that no runtime writes; they were left out");
            self.lock_troubles().rings.push(text);
        }
        self.control.remove_ring(index);
    }
}
