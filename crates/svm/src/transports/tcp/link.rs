//! The asking side of a connection to one node: requests go out in the order of the lock that senders hold, answers come back in the
//! same order, and each is read by who asked.
//!
//! *Nothing waits in a circle.* Who holds the lock, or has the turn to read, waits for the peer's NI thread alone. That one waits for
//! nobody: it stops reading requests of a connection only while an answer on the same connection cannot be sent, and answers are taken
//! by threads that have asked and now wait for nothing else. So two nodes that write to each other more than sockets hold both go on, and
//! who waits for an answer need not serve: nobody else's progress depends on it meanwhile.
//!
//! *Handlers of signals:* the lock is held by threads that are inside, which are not interrupted to serve.
use super::lost::lost;
use super::message::{Request, WORD, word_of};
use homenode_base::NodeId;
use homenode_sys::futex::{wait_low, wake_all_low};
use homenode_sys::net::{self, Ready};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of requests that are collected before they are sent, and of answers that are read at a time.
const BUFFER: usize = 1 << 15;
/// How long to sleep at a time.
const SLEEP: Duration = Duration::from_millis(100);

/// Requests on their way out.
#[derive(Debug)]
struct Sending {
    buffer: Box<[u8]>,
    filled: usize,
    /// Answers that were asked for.
    asked: u64,
}

/// A connection to a node.
#[derive(Debug)]
pub(super) struct Link {
    peer: NodeId,
    socket: TcpStream,
    sending: Mutex<Sending>,
    /// Whether requests are collected that have not been sent.
    is_filled: AtomicBool,
    /// Answers that have been read; the next one is its asker's to read.
    read: AtomicU64,
    /// Threads that wait for their turn to read.
    waiting: AtomicU32,
    receiving: Mutex<Box<[u8]>>,
    /// Times that a reader looks before it sleeps.
    turns: u32,
}

/// The place of an answer among all of a connection.
pub(super) struct Turn(u64);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Requests for `peer` over a connection that does not block.
    pub(super) fn new(peer: NodeId, socket: TcpStream, turns: u32) -> Link {
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        Link {
            peer,
            socket,
            sending: Mutex::new(Sending { buffer: buffer(), filled: 0, asked: 0 }),
            is_filled: AtomicBool::new(false),
            read: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            receiving: Mutex::new(buffer()),
            turns,
        }
    }

    /// Takes the next place in the order of what is written, and sends no sooner than it must: [`Link::flush`].
    pub(super) fn tell(&self, request: Request, payload: impl Iterator<Item = u64>) {
        let mut sending = locked(&self.sending);
        self.append(&mut sending, request, payload);
        self.is_filled.store(true, Ordering::Release);
    }
    /// Sends a request that has an answer, and all before it.
    pub(super) fn ask(&self, request: Request) -> Turn {
        let [turn] = self.ask_all([request]);
        turn
    }
    /// Sends requests that have answers, together, and all before them.
    pub(super) fn ask_all<const N: usize>(&self, requests: [Request; N]) -> [Turn; N] {
        let mut sending = locked(&self.sending);
        let turns = requests.map(|request| {
            self.append(&mut sending, request, std::iter::empty());
            sending.asked += 1;
            Turn(sending.asked - 1)
        });
        self.drain(&mut sending);
        turns
    }
    /// Sends what has been collected.
    pub(super) fn flush(&self) {
        if self.is_filled.load(Ordering::Acquire) {
            self.drain(&mut locked(&self.sending));
        }
    }

    fn append(&self, sending: &mut Sending, request: Request, payload: impl Iterator<Item = u64>) {
        let (head, length) = request.head();
        for word in head.into_iter().take(length).chain(payload) {
            if sending.filled == BUFFER {
                self.drain(sending);
            }
            sending.buffer[sending.filled..][..WORD].copy_from_slice(&word.to_le_bytes());
            sending.filled += WORD;
        }
    }

    fn drain(&self, sending: &mut Sending) {
        let mut from = 0;
        while from < sending.filled {
            match net::send(&self.socket, &sending.buffer[from..sending.filled]) {
                Ok(sent) => from += sent,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => net::wait(&self.socket, Ready::Writing, SLEEP),
                Err(_) => lost(self.peer),
            }
        }
        sending.filled = 0;
        self.is_filled.store(false, Ordering::Release);
    }

    /// Whether the peer has closed the connection. Answers that have come stay.
    pub(super) fn is_gone(&self) -> bool {
        match self.socket.peek(&mut [0]) {
            Ok(bytes) => bytes == 0,
            Err(e) => !matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// Reads an answer of so many words: the number of each, and it.
    pub(super) fn answer(&self, turn: &Turn, words: usize, mut take: impl FnMut(usize, u64)) {
        self.await_turn(turn);
        let mut buffer = locked(&self.receiving);
        let (mut done, mut filled) = (0, 0);
        while done < words {
            let wanted = BUFFER.min((words - done) * WORD);
            filled += self.receive(&mut buffer[filled..wanted]);
            let whole = filled / WORD;
            for (at, bytes) in buffer[..whole * WORD].chunks_exact(WORD).enumerate() {
                take(done + at, word_of(bytes));
            }
            done += whole;
            buffer.copy_within(whole * WORD..filled, 0);
            filled -= whole * WORD;
        }
        drop(buffer);
        self.read.store(turn.0 + 1, Ordering::SeqCst);
        // Who goes to sleep says so before it looks.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            wake_all_low(&self.read);
        }
    }

    fn await_turn(&self, turn: &Turn) {
        if self.read.load(Ordering::Acquire) == turn.0 {
            return;
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        loop {
            let seen = self.read.load(Ordering::SeqCst);
            if seen == turn.0 {
                break;
            }
            wait_low(&self.read, seen as u32, SLEEP);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Some bytes of the answer.
    fn receive(&self, into: &mut [u8]) -> usize {
        let mut looks = 0;
        loop {
            match net::receive(&self.socket, into) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && looks < self.turns => {
                    looks += 1;
                    std::hint::spin_loop();
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => net::wait(&self.socket, Ready::Reading, SLEEP),
                Err(_) | Ok(0) => lost(self.peer),
                Ok(bytes) => return bytes,
            }
        }
    }
}
