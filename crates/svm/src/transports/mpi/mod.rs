//! One-sided operations of an MPI for data, and sockets for the rest. The MPI is in another process beside the node, which has the node's
//! memory, too, and does what the node asks for ([`mailbox`]): signals' handlers call transports, and an MPI allocates and takes locks.
//!
//! What changes words by what they were, wakes or interrupts goes over sockets, to the node's own processor: an MPI's atomic operations need not be
//! atomic with those of the processor there, and nodes change their own words without asking a transport.
//!
//! *Order:* every operation is done at the other node when it ends here.
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
    summary: "nodes that an mpirun starts: pages and words by one-sided operations of the MPI, the rest by sockets; tcp where these need the other's help",
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
}

/// Writes words to a mailbox.
fn fill<'w>(words: impl Iterator<Item = u64> + 'w) -> impl FnOnce(&[AtomicU64]) + 'w {
    move |data| data.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed))
}

impl Mpi {
    fn open(opening: &Opening<'_>) -> io::Result<Mpi> {
        let mailbox = Mailbox::of(opening.files.mailbox(opening.me)?)?;
        Ok(Mpi { tcp: Tcp::open(opening)?, mailbox, me: opening.me, turns: opening.turns })
    }
    /// Whether the connection to a node is closed at its side.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        self.tcp.is_gone(node)
    }
    /// Has something written.
    fn write<'w>(&self, node: NodeId, operation: Operation, words: impl Iterator<Item = u64> + 'w) {
        self.mailbox.ask(node, operation, self.turns, fill(words), |_| {});
    }
}

impl Transport for Mpi {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        if node == self.me {
            return self.tcp.get(node, word, into).await;
        }
        for (first, part) in (word..).step_by(DATA).zip(into.chunks_mut(DATA)) {
            let operation = Operation::Get { region: (first, part.len()), heap: (0, 0) };
            self.mailbox.ask(
                node,
                operation,
                self.turns,
                |_| {},
                |data| {
                    part.iter_mut().zip(data).for_each(|(to, word)| *to = word.load(Ordering::Relaxed));
                },
            );
        }
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        if node == self.me {
            return self.tcp.put(node, word, values, wake).await;
        }
        for (first, part) in (word..).step_by(DATA).zip(values.chunks(DATA)) {
            self.write(node, Operation::PutRegion((first, part.len())), part.iter().copied());
        }
        if wake != Wake::Nobody {
            self.tcp.put(node, word, &[], wake).await;
        }
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.tcp.compare_swap(node, word, old, new).await
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.tcp.fetch_add(node, word, add, wake).await
    }
    async fn get_page(&self, node: NodeId, (word, words): (usize, &mut [u64]), (first, into): (usize, &[AtomicU64])) {
        if node == self.me {
            return self.tcp.get_page(node, (word, words), (first, into)).await;
        }
        // The stamps and what fits beside them go together.
        let beside = into.len().min(DATA.saturating_sub(words.len()));
        let region = if words.len() > DATA { (word, 0) } else { (word, words.len()) };
        if region.1 < words.len() {
            self.get(node, word, words).await;
        }
        let (now, later) = into.split_at(beside);
        self.mailbox.ask(
            node,
            Operation::Get { region, heap: (first, now.len()) },
            self.turns,
            |_| {},
            |data| {
                let (stamps, page) = data.split_at(region.1);
                words.iter_mut().zip(stamps).for_each(|(to, word)| *to = word.load(Ordering::Relaxed));
                now.iter().zip(page).for_each(|(to, word)| to.store(word.load(Ordering::Relaxed), Ordering::Relaxed));
            },
        );
        for (at, part) in (first + beside..).step_by(DATA).zip(later.chunks(DATA)) {
            let operation = Operation::Get { region: (0, 0), heap: (at, part.len()) };
            self.mailbox.ask(
                node,
                operation,
                self.turns,
                |_| {},
                |data| {
                    part.iter()
                        .zip(data)
                        .for_each(|(to, word)| to.store(word.load(Ordering::Relaxed), Ordering::Relaxed));
                },
            );
        }
        // Later reads are not done before these.
        fence(Ordering::Acquire);
    }
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        if node == self.me {
            return self.tcp.put_page(node, first_word, from).await;
        }
        for (first, part) in (first_word..).step_by(DATA).zip(from.chunks(DATA)) {
            let words = part.iter().map(|word| word.load(Ordering::Relaxed));
            self.write(node, Operation::PutHeap((first, part.len())), words);
        }
    }
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        if node == self.me {
            return self.tcp.put_run(node, first_word, run).await;
        }
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
