//! The memory of one node as operations change it: its region, its copy of the heap, and its threads, which are woken and stopped.
use super::{Opening, Stopped, shared};
use crate::bell;
use crate::shared::{self as words, Doing, Shared};
use homenode_base::NodeId;
use homenode_hlrc::cluster::Layout;
use homenode_hlrc::diff;
use homenode_hlrc::host::Wake;
use homenode_sys::interrupt;
use homenode_sys::words::Words;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Region and heap of a node.
#[derive(Debug)]
pub(crate) struct Memory {
    region: Words,
    heap: Words,
    layout: Layout,
    threads: u16,
    stopped: Stopped,
}

impl Memory {
    /// Maps a node's memory.
    pub(super) fn map(opening: &Opening<'_>, node: NodeId) -> io::Result<Memory> {
        Ok(Memory {
            region: Words::of_file(opening.files.region(node)?, 0, opening.layout.words())?,
            heap: Words::of_file(opening.files.heap(node)?, 0, opening.heap_words)?,
            layout: *opening.layout,
            threads: opening.threads,
            stopped: opening.stopped,
        })
    }
    /// Leaves the node's memory: what is done from now on reaches nobody.
    pub(super) fn detach(&self) -> io::Result<()> {
        self.region.detach()?;
        self.heap.detach()
    }

    /// Words of the region.
    pub(super) fn region(&self) -> &[AtomicU64] {
        &self.region
    }
    /// Words of the heap.
    pub(super) fn heap(&self) -> &[AtomicU64] {
        &self.heap
    }
    /// What the host uses of the region.
    pub(super) fn shared(&self) -> Shared<'_> {
        shared(&self.region, &self.layout)
    }
    /// Wakes the node's threads after a change of its words.
    pub(super) fn wake(&self, wake: Wake) {
        let is_expected = || {
            // Who waits for deposits says so before it looks, and who deposits looks after it has.
            fence(Ordering::SeqCst);
            self.shared().word(words::EXPECTING).load(Ordering::SeqCst) > 0
        };
        if wake == Wake::All || wake == Wake::Expecting && is_expected() {
            bell::ring(self.shared());
        }
    }
    /// Calls the node's first thread.
    pub(super) fn call(&self) {
        bell::call(self.shared());
    }

    pub(super) fn get(&self, word: usize, into: &mut [u64]) {
        let from = &self.region[word..][..into.len()];
        for (to, from) in into.iter_mut().zip(from) {
            *to = from.load(Ordering::Acquire);
        }
    }
    /// Writes words, and wakes nobody yet.
    pub(super) fn put(&self, word: usize, values: &[u64]) {
        for (to, value) in self.region[word..][..values.len()].iter().zip(values) {
            to.store(*value, Ordering::Release);
        }
    }
    pub(super) fn compare_swap(&self, word: usize, old: u64, new: u64) -> u64 {
        let before = self.region[word].compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        before.unwrap_or_else(|found| found)
    }
    pub(super) fn fetch_add(&self, word: usize, add: u64, wake: Wake) -> u64 {
        let before = self.region[word].fetch_add(add, Ordering::SeqCst);
        self.wake(wake);
        before
    }
    pub(super) fn get_page(&self, region: (usize, &mut [u64]), (first_word, into): (usize, &[AtomicU64])) {
        self.get(region.0, region.1);
        for (to, from) in into.iter().zip(&self.heap[first_word..][..into.len()]) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // Later reads are not done before these.
        fence(Ordering::Acquire);
    }
    pub(super) fn put_page(&self, first_word: usize, from: &[AtomicU64]) {
        // Not before what was written to that node already.
        fence(Ordering::Release);
        for (to, from) in self.heap[first_word..][..from.len()].iter().zip(from) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
    pub(super) fn put_run(&self, first_word: usize, run: &[(u64, u64)]) {
        fence(Ordering::Release);
        for (to, (value, mask)) in self.heap[first_word..][..run.len()].iter().zip(run) {
            diff::merge(to, *value, *mask);
        }
    }

    /// Makes a thread of the node, which is this process, serve.
    pub(super) fn interrupt(&self, process: u32) {
        let (to, polled) = (self.shared(), self.stopped == Stopped::Nobody);
        // What is asked for is there before anybody is asked to look; a thread that leaves looks at this word after it has said so.
        to.word(words::WANTED).fetch_add(1, Ordering::SeqCst);
        self.wake(Wake::All);
        if polled {
            return self.call();
        }
        let inside = (0..self.threads).any(|t| to.thread(t).doing().1 == Doing::Inside);
        if !inside && !self.stop_one(process) {
            self.call();
        }
    }
    /// The process that the node says it is.
    pub(super) fn process(&self) -> u32 {
        self.shared().word(words::PROCESS).load(Ordering::Acquire) as u32
    }

    /// The threads of the node in the order in which an interrupt asks them.
    fn asked(&self) -> impl Iterator<Item = u16> + use<> {
        let from = match self.stopped {
            Stopped::First | Stopped::Nobody => 0,
            Stopped::RoundRobin => self.shared().word(words::TURN).fetch_add(1, Ordering::Relaxed) as usize,
        };
        let threads = usize::from(self.threads);
        (0..threads).map(move |k| ((from % threads + k) % threads) as u16)
    }

    /// Stops a thread of the node that computes; false if there is none.
    fn stop_one(&self, process: u32) -> bool {
        let to = self.shared();
        self.asked().any(|thread| {
            let (id, doing) = to.thread(thread).doing();
            let sent = doing == Doing::Computing && interrupt::interrupt(process, id).unwrap_or(false);
            if sent {
                to.word(words::SIGNALS).fetch_add(1, Ordering::Relaxed);
            }
            sent
        })
    }
}
