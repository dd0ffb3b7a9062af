//! The cluster as every node knows it, and where each word of a node's *region* lies: the memory beside the heap that peers read and
//! change.
use crate::steps::{self, Step};
use homenode_base::NodeId;

/// A page of the heap, counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

impl PageId {
    /// The page as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where pages without a home get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// Where the directory says. If that says nothing, with the node that touches the page first, which notes it there; who gives a page
    /// away may note another home before anybody touches it ([`page::give_home`](crate::page::give_home)).
    FirstTouch,
    /// Page by page in turn.
    RoundRobin,
}

/// Shape of a cluster. Equal on all nodes but for `me`.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// This node.
    pub me: NodeId,
    /// Nodes, at least 1.
    pub nodes: u16,
    /// Application threads a node, 1 to 64.
    pub threads: u16,
    /// Pages of the heap.
    pub pages: u32,
    /// Words of 64 bits a page.
    pub page_words: usize,
    /// Step of the ladder.
    pub step: Step,
    /// Homes.
    pub homes: Homes,
    /// Whether the other nodes have not begun: this one tells nobody what it writes, and asks nobody.
    pub alone: bool,
    /// Entries of a log of notices, at least 4.
    pub log: u32,
    /// Words of the inbox from each node, at least [`Cluster::least_inbox`].
    pub inbox: u32,
    /// Slots for locks, barriers, conditions and flags.
    pub slots: u32,
    /// Whether a home's pages that no other node has a copy of stay writable there, unnoted.
    pub exclusive: bool,
    /// How many pages come with one that is fetched, up to [`PREFETCH_MOST`](crate::PREFETCH_MOST); where pages are requested none do.
    pub prefetch: u8,
    /// Whether the home of a page that one node alone writes moves to that node.
    pub migrate: bool,
    /// Whether pages that notices name are given up in the order of pages, for all writers together, and not in that of notices.
    pub sorted: bool,
    /// Whether threads of a node have a lock in the order in which they asked for it.
    pub tickets: bool,
    /// Whether nodes tell each other by a tree that a barrier of all is open, and not one of them all others.
    pub tree: bool,
    /// Words at the end of a region that the host uses for itself.
    pub extra: u32,
}

/// Words of a slot before its vectors: key, tail, token, grant, local, arrived, released, gathered, state.
const SLOT_WORDS: usize = 9;
/// Words of a thread's part in a reduction: which one, and its value.
const TERM_WORDS: usize = 2;

/// Where each word of a region is, as indices of words. All regions are laid out alike.
///
/// | words | what |
/// |---|---|
/// | stamps | a page, a writer: up to which notice of that writer the home's copy has its changes |
/// | homes | a page: its home + 1; only the words of node `page % nodes` are used |
/// | logs | a writer: pages that it wrote, a ring; a notice is named by its number, from 0 |
/// | tails | a writer: how many of its notices are in the log here |
/// | inboxes | a sender: a ring of messages |
/// | freed | a receiver: how many words of what was sent to it, it has taken |
/// | applied | a writer: how many of its notices this node has applied; of itself, has made |
/// | posted | a sender, a writer: how many of the writer's notices the sender had applied when it posted |
/// | called | whether somebody's log is full of what this node has not applied |
/// | replies | a thread of this node: the page reply that it waits for |
/// | wakes | a thread of this node: how often it was woken from a condition or a flag |
/// | terms | a turn (even, odd), a thread of the cluster: its part in a reduction; at the manager |
/// | slots | locks, barriers, conditions, flags |
/// | copies | how many times a page got its first copy at another node; at its home |
/// | copied | a page: whether another node may have a copy ([`exclusive`](crate::exclusive)); at its home, with [`Cluster::exclusive`] |
/// | extra | what the host needs beside the protocol |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    nodes: usize,
    slot_words: usize,
    log: usize,
    inbox: usize,
    homes: usize,
    logs: usize,
    tails: usize,
    inboxes: usize,
    freed: usize,
    applied: usize,
    posted: usize,
    called: usize,
    replies: usize,
    wakes: usize,
    terms: usize,
    threads: usize,
    slots: usize,
    copies: usize,
    extra: usize,
    end: usize,
}

/// Step of the first node before there are others: nothing in it needs another processor.
const STEP_ALONE: &str = "nil";

impl Cluster {
    /// This cluster before the other nodes have begun.
    pub fn before_others(&self) -> Cluster {
        Cluster { step: steps::find(STEP_ALONE).copied().unwrap_or(self.step), alone: true, ..*self }
    }
    /// The layout of every region of this cluster.
    pub fn layout(&self) -> Layout {
        let (n, pages) = (usize::from(self.nodes), self.pages as usize);
        let threads = usize::from(self.threads);
        let slot_words = SLOT_WORDS + 3 * n;
        let homes = pages * n;
        let logs = homes + pages;
        let tails = logs + n * self.log as usize;
        let inboxes = tails + n;
        let freed = inboxes + n * self.inbox as usize;
        let applied = freed + n;
        let posted = applied + n;
        let called = posted + n * n;
        let replies = called + 1;
        let wakes = replies + threads;
        let terms = wakes + threads;
        let slots = terms + 2 * n * threads * TERM_WORDS;
        let copies = slots + self.slots as usize * slot_words;
        let extra = copies + 1 + if self.exclusive { pages } else { 0 };
        let end = extra + self.extra as usize;
        Layout {
            nodes: n,
            slot_words,
            log: self.log as usize,
            inbox: self.inbox as usize,
            homes,
            logs,
            tails,
            inboxes,
            freed,
            applied,
            posted,
            called,
            replies,
            wakes,
            terms,
            threads,
            slots,
            copies,
            extra,
            end,
        }
    }

    /// Words of the smallest inbox that takes four of the largest messages: a diff of which every other word differs in part.
    pub fn least_inbox(&self) -> u32 {
        4 * (3 * self.page_words as u32 + u32::from(self.nodes) + 8)
    }

    /// All nodes, this one included.
    pub fn all(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes).map(NodeId)
    }

    /// All nodes but this one, the next one first: not all begin with the same.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (me, n) = (self.me.0, self.nodes);
        (1..n).map(move |k| NodeId((me + k) % n))
    }

    /// The home that the rule gives without asking anybody.
    pub fn fixed_home(&self, page: PageId) -> Option<NodeId> {
        match self.homes {
            Homes::FirstTouch => None,
            Homes::RoundRobin => Some(NodeId((page.0 % u32::from(self.nodes)) as u16)),
        }
    }

    /// The node whose region says who is the home of a page.
    pub fn directory(&self, page: PageId) -> NodeId {
        NodeId((page.0 % u32::from(self.nodes)) as u16)
    }

    /// The node that looks after a slot.
    pub fn manager(&self, slot: u32) -> NodeId {
        NodeId((slot % u32::from(self.nodes)) as u16)
    }

    /// Threads of the cluster.
    pub fn all_threads(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.threads)
    }
}

impl Layout {
    /// Words of a region.
    pub fn words(&self) -> usize {
        self.end
    }
    /// First of the stamps of a page, one a writer.
    pub fn stamps(&self, page: PageId) -> usize {
        page.index() * self.nodes
    }
    /// Home of a page.
    pub fn home(&self, page: PageId) -> usize {
        self.homes + page.index()
    }
    /// The notice with this number of a writer.
    pub fn notice(&self, writer: NodeId, number: u64) -> usize {
        self.logs + writer.index() * self.log + number as usize % self.log
    }
    /// Notices of a writer that are in the log.
    pub fn tail(&self, writer: NodeId) -> usize {
        self.tails + writer.index()
    }
    /// The word of a sender's inbox at this position.
    pub fn inbox(&self, sender: NodeId, position: u64) -> usize {
        self.inboxes + sender.index() * self.inbox + position as usize % self.inbox
    }
    /// Words that a receiver has taken of what was sent to it.
    pub fn freed(&self, receiver: NodeId) -> usize {
        self.freed + receiver.index()
    }
    /// Notices of a writer that this node has applied; of itself, that it has made.
    pub fn applied(&self, writer: NodeId) -> usize {
        self.applied + writer.index()
    }
    /// First word of the vector that a sender posted here, one a writer.
    pub fn posted(&self, sender: NodeId) -> usize {
        self.posted + sender.index() * self.nodes
    }
    /// Whether this node is asked to apply what was posted to it.
    pub fn called(&self) -> usize {
        self.called
    }
    /// The reply for a thread of this node.
    pub fn reply(&self, thread: u16) -> usize {
        self.replies + usize::from(thread)
    }
    /// Number of times that a thread of this node was woken.
    pub fn wakes(&self, thread: u16) -> usize {
        self.wakes + usize::from(thread)
    }
    /// First word of what a thread of the cluster brings into a reduction, in an even or an odd turn: which one, and its value.
    pub fn term(&self, turn: u64, thread: usize) -> usize {
        let first = (turn % 2) as usize * self.nodes * self.threads;
        self.terms + (first + thread) * TERM_WORDS
    }
    /// Number of times that a page of this home got its first copy at another node.
    pub fn copies(&self) -> usize {
        self.copies
    }
    /// Whether another node may have a copy of a page of this home; there is such a word only with [`Cluster::exclusive`].
    pub fn copied(&self, page: PageId) -> usize {
        self.copies + 1 + page.index()
    }
    /// First of the words that the host uses for itself.
    pub fn extra(&self) -> usize {
        self.extra
    }
    fn slot(&self, slot: u32, word: usize) -> usize {
        self.slots + slot as usize * self.slot_words + word
    }
    /// Address that the slot stands for; at the manager, and remembered elsewhere.
    pub fn key(&self, slot: u32) -> usize {
        self.slot(slot, 0)
    }
    /// Who asked for the lock last, + 1; at the manager.
    pub fn queue(&self, slot: u32) -> usize {
        self.slot(slot, 1)
    }
    /// Token of the lock at a node.
    pub fn token(&self, slot: u32) -> usize {
        self.slot(slot, 2)
    }
    /// Number of times that the token has come to this node from another one.
    pub fn grant(&self, slot: u32) -> usize {
        self.slot(slot, 3)
    }
    /// The lock among threads of a node.
    pub fn local(&self, slot: u32) -> usize {
        self.slot(slot, 4)
    }
    /// Threads that have arrived at the barrier in all; at the manager.
    pub fn arrived(&self, slot: u32) -> usize {
        self.slot(slot, 5)
    }
    /// Number of times that the barrier has opened for this node.
    pub fn released(&self, slot: u32) -> usize {
        self.slot(slot, 6)
    }
    /// Threads of this node that have come to the barrier in all.
    pub fn gathered(&self, slot: u32) -> usize {
        self.slot(slot, 7)
    }
    /// Whether a flag is set; of a condition, who is the first one to be woken next. At the manager.
    pub fn state(&self, slot: u32) -> usize {
        self.slot(slot, 8)
    }
    /// First of the words of who waits for a condition or a flag, one a node, a bit a thread; at the manager, behind the state.
    pub fn waiting(&self, slot: u32) -> usize {
        self.slot(slot, SLOT_WORDS)
    }
    /// First word of the vector that a lock's token leaves with, or of what all know who have arrived at a barrier.
    pub fn leaving(&self, slot: u32) -> usize {
        self.slot(slot, SLOT_WORDS + self.nodes)
    }
    /// First word of the vector that came with the token or the opening of a barrier.
    pub fn came(&self, slot: u32) -> usize {
        self.slot(slot, SLOT_WORDS + 2 * self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_is_one_thing_only() {
        let cluster = Cluster {
            me: NodeId(0),
            nodes: 3,
            threads: 2,
            pages: 5,
            page_words: 8,
            step: *steps::ALL[0],
            homes: Homes::FirstTouch,
            alone: false,
            log: 4,
            inbox: 16,
            slots: 2,
            exclusive: true,
            prefetch: 0,
            migrate: false,
            sorted: false,
            tickets: false,
            tree: false,
            extra: 0,
        };
        let l = cluster.layout();
        let mut seen = BTreeSet::new();
        let mut take = |word: usize| assert!(seen.insert(word), "{word} twice");
        for page in (0..5).map(PageId) {
            (0..3).for_each(|w| take(l.stamps(page) + w));
            take(l.home(page));
            take(l.copied(page));
        }
        for node in cluster.all() {
            (0..4).for_each(|i| take(l.notice(node, i)));
            (0..16).for_each(|i| take(l.inbox(node, i)));
            take(l.tail(node));
            take(l.freed(node));
            take(l.applied(node));
            (0..3).for_each(|w| take(l.posted(node) + w));
        }
        take(l.called());
        take(l.copies());
        (0..2).for_each(|t| take(l.reply(t)));
        (0..2).for_each(|t| take(l.wakes(t)));
        for turn in 7..9 {
            (0..6).for_each(|t| (0..2).for_each(|word| take(l.term(turn, t) + word)));
        }
        for slot in 0..2 {
            let singles = [l.key(slot), l.queue(slot), l.token(slot), l.grant(slot), l.local(slot), l.arrived(slot)];
            singles.into_iter().chain([l.released(slot), l.gathered(slot), l.state(slot)]).for_each(&mut take);
            (0..3).for_each(|w| take(l.waiting(slot) + w));
            assert_eq!(l.waiting(slot), l.state(slot) + 1);
            (0..3).for_each(|w| take(l.leaving(slot) + w));
            (0..3).for_each(|w| take(l.came(slot) + w));
        }
        assert_eq!(seen.len(), l.words());
        assert_eq!(seen.last(), Some(&(l.words() - 1)));
    }

    #[test]
    fn homes_by_rule_are_shared_out() {
        let mut cluster = Cluster {
            me: NodeId(1),
            nodes: 4,
            threads: 1,
            pages: 100,
            page_words: 8,
            step: *steps::ALL[0],
            homes: Homes::RoundRobin,
            alone: false,
            log: 4,
            inbox: 16,
            slots: 2,
            exclusive: true,
            prefetch: 0,
            migrate: false,
            sorted: false,
            tickets: false,
            tree: false,
            extra: 0,
        };
        let homes: Vec<u16> = (0..6).map(|p| cluster.fixed_home(PageId(p)).expect("a rule").0).collect();
        assert_eq!(homes, [0, 1, 2, 3, 0, 1]);
        cluster.homes = Homes::FirstTouch;
        assert_eq!(cluster.fixed_home(PageId(3)), None);
        assert_eq!(cluster.others().collect::<Vec<_>>(), [NodeId(2), NodeId(3), NodeId(0)]);
    }
}
