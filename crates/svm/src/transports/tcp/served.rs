//! The serving side of a connection: requests of one peer, carried out on this node's memory one after the other.
use super::message::{Limits, Malformed, Parser, Part, Request, WORD, word_of};
use crate::transports::memory::Memory;
use homenode_base::NodeId;
use homenode_hlrc::diff;
use homenode_sys::net::{self, Ready};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Bytes that are read, and that are answered, at a time.
const BUFFER: usize = 1 << 16;
/// Times that a peer is heard before others are.
const ROUNDS: usize = 16;
/// Words that are written at a time.
const SOME: usize = 64;

/// What is left to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Words of the region.
    Region(usize, usize),
    /// Words of the heap.
    Heap(usize, usize),
}

/// A peer that asks.
#[derive(Debug)]
pub(super) struct Served {
    peer: NodeId,
    socket: TcpStream,
    parser: Parser,
    input: Box<[u8]>,
    /// Bytes of the input that have come and were not looked at.
    heard: (usize, usize),
    answer: Answer,
    output: Box<[u8]>,
    /// Bytes of the output that are to be sent.
    unsent: (usize, usize),
}

impl Served {
    pub(super) fn new(peer: NodeId, socket: TcpStream, memory: &Memory) -> Served {
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        let limits = Limits { region: memory.region().len() as u64, heap: memory.heap().len() as u64 };
        Served {
            peer,
            socket,
            parser: Parser::new(limits),
            input: buffer(),
            heard: (0, 0),
            answer: Answer::Region(0, 0),
            output: buffer(),
            unsent: (0, 0),
        }
    }
    pub(super) fn peer(&self) -> NodeId {
        self.peer
    }
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Serves as long as that needs no waiting; what to wait for then. `process` is this node's.
    ///
    /// # Errors
    /// Bytes that are no request.
    pub(super) fn serve(&mut self, memory: &Memory, process: u32) -> Result<Ready, Malformed> {
        for round in 1..=ROUNDS {
            loop {
                match self.send(memory) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ready::Writing),
                    Err(_) => return Ok(Ready::Closed),
                }
                if !self.take(memory, process)? {
                    break;
                }
            }
            if round == ROUNDS {
                break;
            }
            let (from, to) = self.heard;
            self.input.copy_within(from..to, 0);
            self.heard = (0, to - from);
            match net::receive(&self.socket, &mut self.input[to - from..]) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Ready::Reading),
                Err(_) | Ok(0) => return Ok(Ready::Closed),
                Ok(bytes) => self.heard.1 += bytes,
            }
        }
        // All that has come is done.
        Ok(Ready::Reading)
    }

    /// Carries out requests that have come; true at one that is to be answered.
    fn take(&mut self, memory: &Memory, process: u32) -> Result<bool, Malformed> {
        loop {
            let (from, to) = self.heard;
            let mut bytes = &self.input[from..to];
            let part = self.parser.next(&mut bytes)?;
            self.heard.0 = to - bytes.len();
            match part {
                Part::More => return Ok(false),
                Part::Written(request, done, bytes) => write(memory, request, done, bytes),
                Part::Whole(Request::Put { wake, .. }) => memory.wake(wake),
                Part::Whole(Request::PutPage { .. } | Request::PutRun { .. }) => {}
                Part::Whole(Request::Interrupt) => memory.interrupt(process),
                Part::Whole(Request::Call) => memory.call(),
                Part::Whole(Request::Get { word, count }) => {
                    self.answer = Answer::Region(word, count);
                    return Ok(true);
                }
                Part::Whole(Request::GetPage { word, count }) => {
                    self.answer = Answer::Heap(word, count);
                    return Ok(true);
                }
                Part::Whole(Request::CompareSwap { word, old, new }) => {
                    self.put_out(memory.compare_swap(word, old, new));
                    return Ok(true);
                }
                Part::Whole(Request::FetchAdd { word, add, wake }) => {
                    self.put_out(memory.fetch_add(word, add, wake));
                    return Ok(true);
                }
            }
        }
    }

    /// A word into the output, which has room.
    fn put_out(&mut self, word: u64) {
        self.output[self.unsent.1..][..WORD].copy_from_slice(&word.to_le_bytes());
        self.unsent.1 += WORD;
    }

    /// Sends the answer; false if the socket takes no more at the moment.
    fn send(&mut self, memory: &Memory) -> io::Result<bool> {
        loop {
            self.fill(memory);
            let (from, to) = self.unsent;
            if from == to {
                return Ok(true);
            }
            match net::send(&self.socket, &self.output[from..to]) {
                Ok(sent) => self.unsent.0 += sent,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
    }

    /// Puts more of the answer into the output once that is empty.
    fn fill(&mut self, memory: &Memory) {
        if self.unsent.0 < self.unsent.1 {
            return;
        }
        self.unsent = (0, 0);
        let (from, word, count) = match self.answer {
            Answer::Region(word, count) => (memory.region(), word, count),
            Answer::Heap(word, count) => (memory.heap(), word, count),
        };
        let some = count.min(BUFFER / WORD);
        for word in &from[word..][..some] {
            // Words of the region may say that words of the heap, which are read later, are there.
            self.put_out(word.load(Ordering::Acquire));
        }
        self.answer = match self.answer {
            Answer::Region(..) => Answer::Region(word + some, count - some),
            Answer::Heap(..) => Answer::Heap(word + some, count - some),
        };
    }
}

/// Writes words of a request, of which `done` have been.
fn write(memory: &Memory, request: Request, done: usize, bytes: &[u8]) {
    let mut words = bytes.chunks_exact(WORD).map(word_of);
    match request {
        Request::Put { word, .. } => {
            let (mut at, mut some) = (word + done, [0; SOME]);
            for part in bytes.chunks(SOME * WORD) {
                let count = part.len() / WORD;
                for (to, from) in some.iter_mut().zip(part.chunks_exact(WORD)) {
                    *to = word_of(from);
                }
                memory.put(at, &some[..count]);
                at += count;
            }
        }
        Request::PutPage { word, .. } => {
            fence(Ordering::Release);
            for (to, value) in memory.heap()[word + done..].iter().zip(words) {
                to.store(value, Ordering::Relaxed);
            }
        }
        Request::PutRun { word, .. } => {
            fence(Ordering::Release);
            let heap: &[AtomicU64] = &memory.heap()[word + done / 2..];
            for to in heap {
                let (Some(value), Some(mask)) = (words.next(), words.next()) else { break };
                diff::merge(to, value, mask);
            }
        }
        // The others bring no words.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::tcp::tests::served;
    use std::io::Write;
    use std::time::Duration;

    #[test]
    fn what_has_come_is_done_before_anything_is_waited_for() {
        let (memory, mut served, mut peer) = served();
        // Heads that fill as many buffers as are read at a time, and one more request than that.
        let head = |kind: u64, word: u64| [kind, word].map(u64::to_le_bytes).concat();
        let mut sent = head(9, 0).repeat(ROUNDS * BUFFER / 16);
        sent.truncate((ROUNDS - 1) * BUFFER);
        sent.extend([head(2 | 1 << 8, 5), 1u64.to_le_bytes().to_vec()].concat());
        let writer = std::thread::spawn(move || peer.write_all(&sent).map(|()| peer).expect("sent"));
        let mut waits = 0;
        while memory.region()[5].load(Ordering::Acquire) == 0 {
            net::wait(&served.socket, Ready::Reading, Duration::from_millis(500));
            assert_eq!(served.serve(&memory, 0).expect("requests"), Ready::Reading);
            let mut left = &served.input[served.heard.0..served.heard.1];
            assert_eq!(served.parser.next(&mut left).expect("requests"), Part::More);
            waits += 1;
            assert!(waits < 10_000);
        }
        drop(writer.join().expect("it wrote"));
    }
}
