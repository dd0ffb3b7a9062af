//! One-sided operations of an MPI for pages and their changed bytes, and sockets for the rest. The MPI is in another process beside the
//! node, which has the node's heap, too, and does what the node asks for ([`mailbox`]): handlers of signals call transports, and an MPI allocates
//! and takes locks.
//!
//! Words of regions go over sockets, to the node's own processor, and so does what wakes or interrupts: an MPI promises neither that a word is seen
//! whole while it is written, nor that its atomic operations are atomic with those of the processor, and nodes change and read words of their own
//! without asking a transport.
//!
//! *Order:* what goes by the MPI is done at the other node when the operation ends. It waits for what was told over the socket before.
pub mod carried;
pub mod mailbox;

use super::tcp::{self, Tcp};
use super::{Opening, Spec, Transport, Wire};
use homenode_base::NodeId;
use homenode_hlrc::host::Wake;
use mailbox::{DATA, Mailbox, Operation};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(crate) static SPEC: Spec = Spec {
    name: "mpi",
    summary: "nodes that an mpirun starts: pages by one-sided operations of its MPI, the rest by sockets; tcp where these need the other's help",
    is_apart: true,
    has_mailbox: true,
    meet: tcp::meet,
    open: |opening| Ok(Wire::Mpi(Mpi::open(opening)?)),
};

/// A node's mailbox, and its connections to the others.
#[derive(Debug)]
pub(crate) struct Mpi {
    tcp: Tcp,
    mailbox: Mailbox,
    me: NodeId,
    turns: u32,
    /// By node: times that something was told over the socket, and how many of these are known to be done.
    told: Vec<[AtomicU64; 2]>,
}

/// Writes words to a mailbox.
fn fill<'w>(words: impl Iterator<Item = u64> + 'w) -> impl FnOnce(&[AtomicU64]) + 'w {
    move |data| data.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed))
}

impl Mpi {
    fn open(opening: &Opening<'_>) -> io::Result<Mpi> {
        let mailbox = Mailbox::of(opening.files.mailbox(opening.me)?)?;
        let told = (0..opening.nodes).map(|_| Default::default()).collect();
        Ok(Mpi { tcp: Tcp::open(opening)?, mailbox, me: opening.me, turns: opening.turns, told })
    }
    /// Whether the connection to a node is closed at its side.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        self.tcp.is_gone(node)
    }
    /// Waits for an answer over the socket: all that was told to the node before is done then, for it is done in order.
    async fn answered<A>(&self, node: NodeId, answer: impl Future<Output = A>) -> A {
        let [told, done] = &self.told[node.index()];
        let before = told.load(Ordering::Acquire);
        let answer = answer.await;
        done.fetch_max(before, Ordering::AcqRel);
        answer
    }
    /// Waits until all that was told to a node is done.
    async fn settle(&self, node: NodeId) {
        let [told, done] = &self.told[node.index()];
        if done.load(Ordering::Acquire) < told.load(Ordering::Acquire) {
            self.answered(node, self.tcp.get(node, 0, &mut [0])).await;
        }
    }
    /// Has something written.
    fn write<'w>(&self, node: NodeId, operation: Operation, words: impl Iterator<Item = u64> + 'w) {
        self.mailbox.ask(node, operation, self.turns, fill(words), |_| {});
    }
}

impl Transport for Mpi {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        self.answered(node, self.tcp.get(node, word, into)).await;
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        self.tcp.put(node, word, values, wake).await;
        self.told[node.index()][0].fetch_add(u64::from(node != self.me), Ordering::AcqRel);
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.answered(node, self.tcp.compare_swap(node, word, old, new)).await
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.answered(node, self.tcp.fetch_add(node, word, add, wake)).await
    }
    async fn get_page(&self, node: NodeId, region: (usize, &mut [u64]), (first, into): (usize, &[AtomicU64])) {
        if node == self.me {
            return self.tcp.get_page(node, region, (first, into)).await;
        }
        self.get(node, region.0, region.1).await;
        for (at, part) in (first..).step_by(DATA).zip(into.chunks(DATA)) {
            let take = |data: &[AtomicU64]| {
                part.iter().zip(data).for_each(|(to, word)| to.store(word.load(Ordering::Relaxed), Ordering::Relaxed));
            };
            self.mailbox.ask(node, Operation::Get((at, part.len())), self.turns, |_| {}, take);
        }
        // Later reads are not done before these.
        fence(Ordering::Acquire);
    }
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        if node == self.me {
            return self.tcp.put_page(node, first_word, from).await;
        }
        self.settle(node).await;
        for (first, part) in (first_word..).step_by(DATA).zip(from.chunks(DATA)) {
            let words = part.iter().map(|word| word.load(Ordering::Relaxed));
            self.write(node, Operation::Put((first, part.len())), words);
        }
    }
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        if node == self.me {
            return self.tcp.put_run(node, first_word, run).await;
        }
        self.settle(node).await;
        for (first, part) in (first_word..).step_by(DATA / 2).zip(run.chunks(DATA / 2)) {
            let (values, masks) = (part.iter().map(|(value, _)| *value), part.iter().map(|(_, mask)| *mask));
            self.write(node, Operation::PutRun((first, part.len())), values.chain(masks));
        }
    }
    async fn interrupt(&self, node: NodeId) {
        self.tcp.interrupt(node).await;
    }
    async fn call(&self, node: NodeId) {
        self.tcp.call(node).await;
    }
    fn flush(&self) {
        self.tcp.flush();
    }
}
