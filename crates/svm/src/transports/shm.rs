//! Memory of one host: every node has the regions and the heaps of all nodes mapped, and operations are loads and stores. Page data
//! is always copied.
use super::{Opening, Spec, Stopped, Transport, Wire, shared};
use crate::bell;
use crate::shared::{self as words, Doing, Shared};
use homenode_base::NodeId;
use homenode_hlrc::cluster::Layout;
use homenode_hlrc::diff;
use homenode_sys::interrupt;
use homenode_sys::words::Words;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(crate) static SPEC: Spec =
    Spec { name: "shm", summary: "nodes of one host; data is copied between their memories", open };

/// The memories of all nodes, by node.
#[derive(Debug)]
pub(crate) struct Shm {
    regions: Vec<Words>,
    heaps: Vec<Words>,
    layout: Layout,
    threads: u16,
    stopped: Stopped,
}

fn open(opening: &Opening<'_>) -> io::Result<Wire> {
    let map = |files: &[std::fs::File], words: usize| {
        files.iter().map(|file| Words::of_file(file, 0, words)).collect::<io::Result<Vec<_>>>()
    };
    Ok(Wire::Shm(Shm {
        regions: map(&opening.files.regions, opening.layout.words())?,
        heaps: map(&opening.files.heaps, opening.heap_words)?,
        layout: *opening.layout,
        threads: opening.threads,
        stopped: opening.stopped,
    }))
}

impl Shm {
    fn region(&self, node: NodeId) -> &[AtomicU64] {
        &self.regions[node.index()]
    }
    fn heap(&self, node: NodeId, first_word: usize, words: usize) -> &[AtomicU64] {
        &self.heaps[node.index()][first_word..][..words]
    }
    fn shared(&self, node: NodeId) -> Shared<'_> {
        shared(self.region(node), &self.layout)
    }
    fn ring(&self, node: NodeId) {
        bell::ring(self.shared(node));
    }

    /// The threads of a node in the order in which an interrupt asks them.
    fn asked(&self, node: NodeId) -> impl Iterator<Item = u16> + use<> {
        let from = match self.stopped {
            Stopped::First => 0,
            Stopped::RoundRobin => self.shared(node).word(words::TURN).fetch_add(1, Ordering::Relaxed) as usize,
        };
        let threads = usize::from(self.threads);
        (0..threads).map(move |k| ((from % threads + k) % threads) as u16)
    }

    /// Stops a thread of the node that computes; false if there is none.
    fn stop_one(&self, node: NodeId) -> bool {
        let node_words = self.shared(node);
        let process = node_words.word(words::PROCESS).load(Ordering::Acquire) as u32;
        self.asked(node).any(|thread| {
            let (id, doing) = node_words.thread(thread).doing();
            let sent = doing == Doing::Computing && interrupt::interrupt(process, id).unwrap_or(false);
            if sent {
                node_words.word(words::SIGNALS).fetch_add(1, Ordering::Relaxed);
            }
            sent
        })
    }
}

impl Transport for Shm {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        let from = &self.region(node)[word..][..into.len()];
        for (to, from) in into.iter_mut().zip(from) {
            *to = from.load(Ordering::Acquire);
        }
    }

    async fn put(&self, node: NodeId, word: usize, values: &[u64]) {
        let to = &self.region(node)[word..][..values.len()];
        for (to, value) in to.iter().zip(values) {
            to.store(*value, Ordering::Release);
        }
        self.ring(node);
    }

    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        let before = self.region(node)[word].compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        self.ring(node);
        before.unwrap_or_else(|found| found)
    }

    async fn fetch_add(&self, node: NodeId, word: usize, add: u64) -> u64 {
        let before = self.region(node)[word].fetch_add(add, Ordering::SeqCst);
        self.ring(node);
        before
    }

    async fn get_page(&self, node: NodeId, first_word: usize, into: &[AtomicU64]) {
        for (to, from) in into.iter().zip(self.heap(node, first_word, into.len())) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // Later reads are not done before these.
        fence(Ordering::Acquire);
    }

    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        // Not before what was written to that node already.
        fence(Ordering::Release);
        for (to, from) in self.heap(node, first_word, from.len()).iter().zip(from) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        fence(Ordering::Release);
        for (to, (value, mask)) in self.heap(node, first_word, run.len()).iter().zip(run) {
            diff::merge(to, *value, *mask);
        }
    }

    async fn interrupt(&self, node: NodeId) {
        let to = self.shared(node);
        // What is asked for is there before anybody is asked to look; a thread that leaves looks at this word after it has said so.
        to.word(words::WANTED).fetch_add(1, Ordering::SeqCst);
        self.ring(node);
        let inside = (0..self.threads).any(|t| to.thread(t).doing().1 == Doing::Inside);
        if !inside && !self.stop_one(node) {
            self.call(node).await;
        }
    }

    async fn call(&self, node: NodeId) {
        bell::call(self.shared(node));
    }
}
