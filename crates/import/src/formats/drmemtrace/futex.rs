//! Waits in the kernel: what a thread that is woken waited for happened before it went on.
//!
//! A trace has the arguments and results of futex calls, and stamps before and after them. A thread that wakes releases the word, with
//! the time at which its call began; one that was woken acquires it, with the time at which its call was over. So every edge goes
//! forward in time, and none are missing among threads that waited. Locks that were taken without waiting make no call.
use super::super::ReadError;
use super::entry::{file_type, marker};
use super::order::{Did, Note, Ordered, Ordering};
use homenode_trace::Event;
use std::collections::{BTreeMap, HashMap};

/// Number that is added to that of a system call to tell it from functions.
pub(super) const CALLS: u64 = 1 << 32;
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
/// Most notes that are held.
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

/// What all threads did to each other; that of one thread in its order.
#[derive(Debug, Default)]
pub(super) struct Waits {
    notes: Vec<Note>,
    /// Waits in the kernel.
    waited: u64,
    /// Notes beyond what is held.
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
            (true, false) => self.more += notes.len() as u64,
            (true, true) => {
                self.waited += notes.iter().filter(|n| n.did != Did::Wake).count() as u64;
                self.notes.extend(notes);
            }
        }
    }
    /// What a function did.
    pub(super) fn did(&mut self, note: Note) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        } else {
            self.more += 1;
        }
    }
    /// Waits in the kernel that order threads.
    pub(super) fn waited(&self) -> u64 {
        self.waited
    }

    /// Hands on the acquires and releases of all threads, with the ends of threads that were waited for. Those of a thread stand in its
    /// order. Returns sentences for the reader.
    pub(super) fn events(
        mut self,
        ends: &[End],
        give: &mut dyn FnMut(Event) -> Result<(), ReadError>,
    ) -> Result<Vec<String>, ReadError> {
        let mut last: HashMap<u32, u64> = HashMap::new();
        for note in &mut self.notes {
            let before = last.entry(note.thread).or_default();
            note.ns = note.ns.max(*before);
            *before = note.ns;
        }
        self.ends(ends, &last);
        // Stable: the order within a thread stays.
        self.notes.sort_by_key(|n| n.thread);
        let ordered = Ordering::new(&self.notes).run(give)?;
        Ok(self.sentences(ordered))
    }

    fn sentences(&self, ordered: Ordered) -> Vec<String> {
        let mut out = Vec::new();
        let functions = self.notes.iter().any(|n| !matches!(n.did, Did::Wake | Did::WasWoken | Did::Joined(_)));
        let missing = match functions {
            true => "atomics, functions that were not recorded and the begins of threads are not known",
            false => "locks that were taken without waiting, atomics and the begins of threads were not recorded",
        };
        match (self.waited, functions) {
            (0, false) => out.push("no wait of a thread for another one is known".to_owned()),
            (0, true) => out.push(missing.to_owned()),
            (n, _) => out.push(format!("{n} waits in the kernel (futex) order threads; {missing}")),
        }
        let counts = [
            (self.more, "further calls that would order threads are left out"),
            (
                self.unstamped,
                "calls of futex order nothing: this version of the format does not say when they were over",
            ),
            (
                ordered.unknown,
                "arrivals at barriers order nothing: neither the call that made the barrier nor what it returned says how many \
                 threads it takes",
            ),
            (
                ordered.forced,
                "calls took a lock that another thread held, or left a barrier that not all had reached, as far as the trace says: \
                 their stamps alone order them",
            ),
        ];
        out.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        out
    }

    /// Adds a wake for each thread that was waited for and had ended by then.
    fn ends(&mut self, ends: &[End], last: &HashMap<u32, u64>) {
        let by_ids: HashMap<(u32, u32), &End> = ends.iter().map(|end| (end.1, end)).collect();
        let mut wakes: BTreeMap<(u32, u64), Note> = BTreeMap::new();
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
