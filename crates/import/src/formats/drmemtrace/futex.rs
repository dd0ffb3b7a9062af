//! Waits in the kernel: what a thread that is woken waited for happened before it went on.
//!
//! A trace has the arguments and results of futex calls, and stamps before and after them. A thread that wakes releases the word, with
//! the time at which its call began; one that was woken acquires it, with the time at which its call was over. So every edge goes
//! forward in time, and none are missing among threads that waited. Locks that were taken without waiting make no call.
use super::entry::{file_type, marker};
use homenode_trace::event::SyncKind;
use homenode_trace::{Event, EventKind};
use std::collections::HashMap;

/// Number that is added to that of a system call to tell it from functions.
const CALLS: u64 = 1 << 32;
/// Number of futex(2).
const FUTEX_X86_64: u64 = 202;
const FUTEX_AARCH64: u64 = 98;
/// Arguments of futex(2).
const ARGUMENTS: usize = 6;
/// Commands of futex(2), without its flags.
const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const LOCK_PI: u64 = 6;
const UNLOCK_PI: u64 = 7;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
const WAIT_REQUEUE_PI: u64 = 11;
const LOCK_PI2: u64 = 13;
/// Flags of futex(2): private to the process, by the real-time clock.
const FLAGS: u64 = 128 | 256;
/// Most wakes and waits that are held.
const NOTES_MAX: usize = 1 << 22;

/// Whether a function's number is that of futex(2).
pub(super) fn is_futex(function: u64, bits: u64) -> bool {
    let number = if bits & file_type::AARCH64 != 0 { FUTEX_AARCH64 } else { FUTEX_X86_64 };
    function == CALLS + number
}

/// A call of futex(2).
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    begin: u64,
    arguments: Vec<u64>,
    result: Option<u64>,
    failed: bool,
    /// References of the thread before it.
    at: u64,
}

impl Call {
    pub(super) fn new(begin: u64) -> Call {
        Call { begin, ..Call::default() }
    }
    /// What a marker says of it, which stands after so many references, at this time.
    pub(super) fn marker(&mut self, what: u16, value: u64, (at, now): (u64, u64)) {
        match what {
            marker::ARGUMENT => {
                if self.arguments.len() == ARGUMENTS {
                    *self = Call::new(now);
                }
                self.arguments.push(value);
            }
            marker::RESULT => (self.result, self.at) = (Some(value), at),
            _ => self.failed = true,
        }
    }
    /// Whether it has come back.
    pub(super) fn is_back(&self) -> bool {
        self.result.is_some()
    }
}

/// What a thread did to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Wake,
    WasWoken,
    /// Woken by the end of a thread, of this number on the recorded machine.
    Joined(u32),
}

#[derive(Clone, Copy, Debug)]
struct Note {
    ns: u64,
    thread: u32,
    pid: u32,
    at: u64,
    word: u64,
    did: Did,
}

/// Wakes and waits of all threads; those of one thread in its order.
#[derive(Debug, Default)]
pub(super) struct Waits {
    notes: Vec<Note>,
    /// Calls beyond what is held.
    more: u64,
    /// Calls of versions that do not say when a wait was over.
    unstamped: u64,
}

/// The end of a thread: its number in the dataset, its process and number on the recorded machine, its last stamp, its references.
pub(super) type End = (u32, (u32, u32), u64, u64);

impl Waits {
    /// A call that came back at this time.
    pub(super) fn add(&mut self, call: &Call, (thread, pid): (u32, u32), now: u64, stamped: bool) {
        let ([word, command, value, _, second, _], Some(result)) = (&call.arguments[..], call.result) else { return };
        let woken = !call.failed && result == 0;
        let wakes = !call.failed && (1..1 << 31).contains(&result);
        let note = |ns, word, did| Note { ns, thread, pid, at: call.at, word, did };
        let notes = match command & !FLAGS {
            WAIT | WAIT_BITSET | WAIT_REQUEUE_PI | LOCK_PI | LOCK_PI2 if woken => {
                // The word of a thread that lives holds its number; the kernel wakes who waits for it when the thread ends.
                let whom = u32::try_from(*value).ok().filter(|&tid| tid > 0 && command & !FLAGS != LOCK_PI);
                vec![note(now, *word, whom.map_or(Did::WasWoken, Did::Joined))]
            }
            WAKE | WAKE_BITSET | REQUEUE | CMP_REQUEUE if wakes => vec![note(call.begin, *word, Did::Wake)],
            WAKE_OP if wakes => vec![note(call.begin, *word, Did::Wake), note(call.begin, *second, Did::Wake)],
            UNLOCK_PI if woken => vec![note(call.begin, *word, Did::Wake)],
            _ => return,
        };
        match (stamped, self.notes.len() + notes.len() <= NOTES_MAX) {
            (false, _) => self.unstamped += 1,
            (true, false) => self.more += 1,
            (true, true) => self.notes.extend(notes),
        }
    }

    /// Sentences for the reader.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut out = Vec::new();
        let waited = self.notes.iter().filter(|n| n.did != Did::Wake).count();
        out.push(match waited {
            0 => "no wait of a thread for another one is known".to_owned(),
            n => format!(
                "{n} waits in the kernel (futex) order threads; locks that were taken without waiting, atomics and the begins \
                 of threads were not recorded"
            ),
        });
        if self.more > 0 {
            out.push(format!("{} further calls of futex are left out", self.more));
        }
        if self.unstamped > 0 {
            out.push(format!(
                "{} calls of futex order nothing: this version of the format does not say when they were over",
                self.unstamped
            ));
        }
        out
    }

    /// Releases and acquires of all threads, with the ends of threads that were waited for. Those of a thread stand in its order.
    pub(super) fn events(mut self, ends: &[End]) -> Vec<Event> {
        self.spread();
        self.ends(ends);
        // Who wakes comes before who is woken at the same time.
        self.notes.sort_by_key(|n| (n.ns, n.did != Did::Wake));
        let event = |(seq, n): (u64, &Note)| {
            let (object, epoch) = (n.word, 0);
            let joined = matches!(n.did, Did::Joined(_));
            let kind = match n.did {
                Did::Wake => EventKind::Release { object, epoch, seq, sync: SyncKind::Unknown },
                _ if joined => EventKind::Acquire { object, epoch, seq, sync: SyncKind::Join },
                _ => EventKind::Acquire { object, epoch, seq, sync: SyncKind::Unknown },
            };
            Event { thread: n.thread, at: n.at, stamp: n.ns, kind }
        };
        (1..).zip(&self.notes).map(event).collect()
    }

    /// Puts a wake of a thread after its wait before it where both have the same stamp.
    fn spread(&mut self) {
        let mut last: HashMap<u32, (u64, bool)> = HashMap::new();
        for note in &mut self.notes {
            let (before, waited) = last.get(&note.thread).copied().unwrap_or_default();
            let wakes = note.did == Did::Wake;
            note.ns = note.ns.max(before.saturating_add(u64::from(wakes && waited)));
            last.insert(note.thread, (note.ns, !wakes));
        }
    }

    /// Adds a wake for each thread that was waited for and had ended by then.
    fn ends(&mut self, ends: &[End]) {
        let by_ids: HashMap<(u32, u32), &End> = ends.iter().map(|end| (end.1, end)).collect();
        let mut last: HashMap<u32, u64> = HashMap::new();
        for note in &self.notes {
            last.insert(note.thread, note.ns);
        }
        let mut wakes: HashMap<(u32, u64), Note> = HashMap::new();
        for note in &mut self.notes {
            let Did::Joined(tid) = note.did else { continue };
            note.did = Did::WasWoken;
            let Some(&&(thread, (pid, _), now, at)) = by_ids.get(&(note.pid, tid)) else { continue };
            let ns = last.get(&thread).map_or(now, |l| now.max(l.saturating_add(1)));
            if ns < note.ns && thread != note.thread {
                note.did = Did::Joined(tid);
                let wake = Note { ns, thread, pid, at, word: note.word, did: Did::Wake };
                wakes.insert((thread, note.word), wake);
            }
        }
        self.notes.extend(wakes.into_values());
    }
}
