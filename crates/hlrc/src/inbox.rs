//! Messages to hosts: a ring of words for each pair of nodes, in the receiver's region. A message is a header, which is written last, and
//! its words; the receiver sets what it has taken to zero.
use crate::host::{Host, Wake};
use crate::memory::region;
use crate::{state, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Meaning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page is wanted: page, thread of the sender; what the copy must have seen.
    Page,
    /// Changes of a page: page, stamp of the sender; runs.
    Diff,
    /// To the manager, a lock is wanted: slot, thread of the sender; what its node has applied.
    Lock,
    /// To the last holder, on behalf of another node: slot, node and thread; what that node has applied.
    Forward,
    /// Notices that the receiver will be told to apply: writer, number of the first; pages.
    Notices,
}

impl Kind {
    fn of(code: u64) -> Option<Kind> {
        [Kind::Page, Kind::Diff, Kind::Lock, Kind::Forward, Kind::Notices].into_iter().find(|k| *k as u64 + 1 == code)
    }
}

/// Two words of every message beside its kind and length.
const FIXED: usize = 2;

fn header(kind: Kind, words: usize) -> u64 {
    (kind as u64 + 1) | ((words as u64) << 8)
}

/// Words of a message with so many after the fixed ones.
const fn length(words: usize) -> u64 {
    (1 + FIXED + words) as u64
}

/// Room for a message in a receiver's inbox.
pub(crate) struct Room {
    to: NodeId,
    start: u64,
    next: u64,
    kind: Kind,
    words: usize,
}

impl Room {
    /// Takes the next place in the order of messages to `to`, and waits until it is free.
    pub(crate) async fn take<H: Host>(host: &H, to: NodeId, kind: Kind, words: usize) -> Room {
        let start = state::of(host).sent(to).fetch_add(length(words), Ordering::AcqRel);
        let end = start + length(words);
        let freed = region(host, host.layout().freed(to));
        wait::until_locked(host, || end - freed.load(Ordering::Acquire) <= u64::from(host.cluster().inbox)).await;
        Room { to, start, next: start + 1, kind, words }
    }

    /// Writes the next words.
    pub(crate) async fn put<H: Host>(&mut self, host: &H, words: &[u64]) {
        put_ring(host, self.to, self.next, words, Wake::Nobody).await;
        self.next += words.len() as u64;
    }

    /// Makes the message one.
    pub(crate) async fn end<H: Host>(self, host: &H) {
        debug_assert_eq!(self.next, self.start + length(self.words));
        // The others have an interrupt behind them.
        let wake = if self.kind == Kind::Notices { Wake::All } else { Wake::Nobody };
        put_ring(host, self.to, self.start, &[header(self.kind, self.words)], wake).await;
    }
}

async fn put_ring<H: Host>(host: &H, to: NodeId, position: u64, words: &[u64], wake: Wake) {
    let (me, size) = (host.cluster().me, host.cluster().inbox as usize);
    let before_wrap = (size - position as usize % size).min(words.len());
    let (first, second) = words.split_at(before_wrap);
    host.put(to, host.layout().inbox(me, position), first, wake).await;
    if !second.is_empty() {
        host.put(to, host.layout().inbox(me, position + before_wrap as u64), second, wake).await;
    }
}

/// Sends a small message.
pub(crate) async fn send<H: Host>(host: &H, to: NodeId, kind: Kind, fixed: [u64; FIXED], words: &[u64]) {
    let mut room = Room::take(host, to, kind, words.len()).await;
    room.put(host, &fixed).await;
    room.put(host, words).await;
    room.end(host).await;
}

/// A message that has come, still in its ring.
pub(crate) struct Message {
    pub(crate) from: NodeId,
    pub(crate) kind: Kind,
    pub(crate) fixed: [u64; FIXED],
    start: u64,
    words: usize,
}

impl Message {
    /// The next message of a sender. One that makes no sense is taken for none, and blocks that sender's inbox.
    pub(crate) fn next<H: Host>(host: &H, from: NodeId) -> Option<Message> {
        let start = state::of(host).taken(from).load(Ordering::Acquire);
        let at = |position| region(host, host.layout().inbox(from, position)).load(Ordering::Acquire);
        let header = at(start);
        let kind = Kind::of(header & 0xff)?;
        let words = (header >> 8) as usize;
        if length(words) > u64::from(host.cluster().inbox) {
            return None;
        }
        Some(Message { from, kind, fixed: [at(start + 1), at(start + 2)], start, words })
    }
    /// Words after the fixed ones.
    pub(crate) fn len(&self) -> usize {
        self.words
    }
    /// One of the words after the fixed ones; 0 beyond the end.
    pub(crate) fn word<H: Host>(&self, host: &H, at: usize) -> u64 {
        if at >= self.words {
            return 0;
        }
        let position = self.start + length(at);
        region(host, host.layout().inbox(self.from, position)).load(Ordering::Relaxed)
    }
    /// Gives the room back.
    pub(crate) async fn done<H: Host>(self, host: &H) {
        let end = self.start + length(self.words);
        for position in self.start..end {
            region(host, host.layout().inbox(self.from, position)).store(0, Ordering::Relaxed);
        }
        state::of(host).taken(self.from).store(end, Ordering::Release);
        // The sender is told a few times a lap: three quarters of the ring are enough for any message.
        let quarter = u64::from(host.cluster().inbox) / 4;
        if end / quarter != self.start / quarter {
            host.put(self.from, host.layout().freed(host.cluster().me), &[end], Wake::All).await;
        }
    }
}
