//! What a node asks of the process beside it that has an MPI: slots in a file in memory that both have. A node's side allocates nothing
//! and takes no lock: a thread takes a free slot, writes what it wants, and waits for the answer in the same place.
use crate::border::die;
use homenode_base::NodeId;
use homenode_sys::futex::{wait_low, wake_all_low};
use homenode_sys::words::{Words, memory_file};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Slots: more than a node has threads.
const SLOTS: usize = 80;
/// Words that go in one asking.
pub(super) const DATA: usize = 1 << 13;
/// Words before the data of a slot: state, who sleeps, and what is asked.
const HEAD: usize = 8;
/// Words before the slots.
const BEFORE: usize = 8;

/// Times that something was asked.
const ASKED_TIMES: usize = 0;
/// Whether the process beside sleeps until something is asked.
const SLEEPS: usize = 1;
/// Whether it serves no more.
const BROKEN: usize = 2;

/// Words of a slot's head.
pub(super) const STATE: usize = 0;
const SLEEPER: usize = 1;
pub(super) const KIND: usize = 2;
const NODE: usize = 3;
pub(super) const FIRST: usize = 4;

/// States of a slot.
const FREE: u64 = 0;
const TAKEN: u64 = 1;
const ASKED: u64 = 2;
const DONE: u64 = 3;

/// How long to sleep at a time.
const SLEEP: Duration = Duration::from_millis(100);

/// Words of a node's heap: the first one and how many.
pub type Span = (usize, usize);

/// An operation on another node's heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Words are read.
    Get(Span),
    /// Words are written.
    Put(Span),
    /// Bytes of words are written: values, and after these masks.
    PutRun(Span),
}

impl Operation {
    fn words(self) -> [u64; 3] {
        let (kind, (word, count)) = match self {
            Operation::Get(span) => (1, span),
            Operation::Put(span) => (2, span),
            Operation::PutRun(span) => (3, span),
        };
        [kind, word as u64, count as u64]
    }
    fn of([kind, word, count]: [u64; 3]) -> Option<Operation> {
        let span = (usize::try_from(word).ok()?, usize::try_from(count).ok()?);
        match kind {
            1 => Some(Operation::Get(span)),
            2 => Some(Operation::Put(span)),
            3 => Some(Operation::PutRun(span)),
            _ => None,
        }
    }
    /// Words of data that it needs.
    fn data(self) -> Option<usize> {
        match self {
            Operation::Get(span) | Operation::Put(span) => Some(span.1),
            Operation::PutRun(span) => span.1.checked_mul(2),
        }
    }
}

/// A mailbox, of which both processes have one.
#[derive(Debug)]
pub struct Mailbox {
    words: Words,
}

/// Something that was asked.
#[derive(Debug)]
pub struct Asked<'m> {
    /// Whose memory it is about.
    pub node: NodeId,
    /// What is to be done.
    pub operation: Operation,
    /// What is to be written, or has been read.
    pub data: &'m [AtomicU64],
    head: &'m [AtomicU64],
}

const fn words() -> usize {
    BEFORE + SLOTS * (HEAD + DATA)
}

impl Mailbox {
    /// A file for one.
    ///
    /// # Errors
    /// There is no memory.
    pub fn file() -> io::Result<File> {
        memory_file("homenode mailbox", (8 * words() as u64).next_multiple_of(4096))
    }
    /// The mailbox in a file.
    ///
    /// # Errors
    /// It is none.
    pub fn of(file: &File) -> io::Result<Mailbox> {
        Ok(Mailbox { words: Words::of_file(file, 0, words())? })
    }

    fn slots(&self) -> impl Iterator<Item = (&[AtomicU64], &[AtomicU64])> {
        self.words[BEFORE..].chunks_exact(HEAD + DATA).map(|slot| slot.split_at(HEAD))
    }

    /// At the node: has something done, after `fill` has written the data, and lets `take` read them when it is; `turns`: looks before the thread sleeps.
    pub(super) fn ask(
        &self,
        node: NodeId,
        operation: Operation,
        turns: u32,
        fill: impl FnOnce(&[AtomicU64]),
        take: impl FnOnce(&[AtomicU64]),
    ) {
        let free = |head: &[AtomicU64]| {
            head[STATE].compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let (head, data) = loop {
            if let Some(slot) = self.slots().find(|(head, _)| free(head)) {
                break slot;
            }
            std::hint::spin_loop();
        };
        head[NODE].store(node.0.into(), Ordering::Relaxed);
        for (to, word) in head[FIRST..].iter().zip(&operation.words()[1..]) {
            to.store(*word, Ordering::Relaxed);
        }
        head[KIND].store(operation.words()[0], Ordering::Relaxed);
        fill(data);
        head[STATE].store(ASKED, Ordering::SeqCst);
        self.words[ASKED_TIMES].fetch_add(1, Ordering::SeqCst);
        if self.words[SLEEPS].load(Ordering::SeqCst) != 0 {
            wake_all_low(&self.words[ASKED_TIMES]);
        }
        self.await_done(head, turns);
        take(data);
        head[STATE].store(FREE, Ordering::Release);
    }
    fn await_done(&self, head: &[AtomicU64], turns: u32) {
        let is_done = || head[STATE].load(Ordering::Acquire) == DONE;
        for _ in 0..turns {
            if is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        head[SLEEPER].store(1, Ordering::SeqCst);
        while !is_done() {
            if self.words[BROKEN].load(Ordering::Acquire) != 0 {
                die("the process with the MPI beside this node serves no more");
            }
            wait_low(&head[STATE], ASKED as u32, SLEEP);
        }
        head[SLEEPER].store(0, Ordering::Relaxed);
    }

    /// At the process beside the node: what was asked and is to be done. `Err` with what is none.
    ///
    /// # Errors
    /// What is asked does not exist.
    pub fn next(&self) -> Result<Option<Asked<'_>>, String> {
        let Some((head, data)) = self.slots().find(|(head, _)| head[STATE].load(Ordering::Acquire) == ASKED) else {
            return Ok(None);
        };
        let number = |at: usize| head[at].load(Ordering::Relaxed);
        let words = [number(KIND), number(FIRST), number(FIRST + 1)];
        let found = Operation::of(words).and_then(|operation| Some((operation, data.get(..operation.data()?)?)));
        let node = u16::try_from(number(NODE)).ok().map(NodeId);
        match (found, node) {
            (Some((operation, data)), Some(node)) => Ok(Some(Asked { node, operation, data, head })),
            _ => Err(format!("its node asks for {words:?}, which does not exist")),
        }
    }
    /// Times that something was asked.
    pub fn times(&self) -> u64 {
        self.words[ASKED_TIMES].load(Ordering::SeqCst)
    }
    /// Waits until something more is asked than `seen` times, for so long at most.
    pub fn wait(&self, seen: u64, most: Duration) {
        self.words[SLEEPS].store(1, Ordering::SeqCst);
        if self.times() == seen {
            wait_low(&self.words[ASKED_TIMES], seen as u32, most);
        }
        self.words[SLEEPS].store(0, Ordering::SeqCst);
    }
    /// Says that nothing will be done any more.
    pub fn close(&self) {
        self.words[BROKEN].store(1, Ordering::Release);
    }
}

impl Asked<'_> {
    /// Says that it is done.
    pub fn done(self) {
        self.head[STATE].store(DONE, Ordering::SeqCst);
        if self.head[SLEEPER].load(Ordering::SeqCst) != 0 {
            wake_all_low(&self.head[STATE]);
        }
    }
}
