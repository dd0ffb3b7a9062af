//! What a node's protocol stands on: its memory, its own state, and operations on the memory of peers. Real clusters and simulated
//! ones implement it.
pub use crate::access::Access;
use crate::access::{Does, Place};
use crate::cluster::{Cluster, Layout, PageId};
use crate::diff::Run;
use homenode_base::NodeId;
use std::ops::Range;

/// What an interrupt of a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// A page is wanted.
    Page,
    /// A diff is to be applied.
    Diff,
    /// A lock is wanted.
    Lock,
    /// A log of notices is full, and must be applied.
    Notices,
}

/// Which threads of the other node a change of its words wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// No thread: none waits for these words.
    Nobody,
    /// Threads that wait, if one of them waits for deposits ([`Host::expects`]).
    Expecting,
    /// Threads that wait.
    All,
}

/// What the protocol did, to be counted by the host. Each is an event, unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A page read or requested from its home.
    Fetch,
    /// A fetch that found the home's copy too old and was made again.
    FetchRetry,
    /// A page read with another one, before the program has touched it.
    Prefetch,
    /// The last of such pages given up before the program has touched it.
    PrefetchInVain,
    /// A twin made.
    Twin,
    /// A diff made.
    Diff,
    /// A run of changed words in a diff.
    DiffRun,
    /// An interval in which a home wrote a page of its own.
    HomeWrite,
    /// A page whose home moved to the node that counts it.
    Migration,
    /// A page taken from the program because another node wrote it.
    Invalidation,
    /// A message to one node that carries notices.
    NoticeMessage,
    /// A notice in such a message.
    Notice,
    /// A vector in a message, one word a node: what a copy of a page has or must have, or who takes a lock or leaves a barrier must see.
    Vector,
    /// A lock that came from another node.
    LockRemote,
    /// A lock that was here.
    LockLocal,
    /// A request that this node served for another one.
    Served,
}

/// A node. Its memory is words of 64 bits that peers may read and change at any time, so all of it is atomic.
///
/// *Order:* what one node changes of another's memory is changed in the order of its operations; nothing else is promised, and reads
/// keep no order but that of [`Host::get_pages`]. Operations end when they are done at the other side, but [`Host::put`], [`Host::put_page`], [`Host::put_run`] and
/// [`Host::interrupt`] may end as soon as their place in that order is taken. A node may name itself.
///
/// *Threads:* several threads of a node are in the protocol at a time, each in an operation of its own. No function may wait, but the
/// `async` ones.
#[allow(async_fn_in_trait, reason = "futures are polled where they are made, by one thread")]
pub trait Host {
    /// The cluster.
    fn cluster(&self) -> &Cluster;
    /// The layout of every region.
    fn layout(&self) -> &Layout;
    /// Number of the calling thread among those of this node, below [`Cluster::threads`].
    fn thread(&self) -> u16;

    /// How many threads of a node come to a barrier to which not all threads of the cluster do ([`Parties`](crate::barrier::Parties)); the same
    /// every time and on every node.
    fn parties(&self, _slot: u32, _node: NodeId) -> u64 {
        self.cluster().threads.into()
    }

    /// Does something to a word of this node's own memory, its region, its copy of the heap or its [`Tables`](crate::state::Tables), at
    /// once.
    fn access(&self, place: Place, does: Does) -> u64;
    /// Makes the twin of a page: its copy as it is now.
    fn make_twin(&self, page: PageId);
    /// Finds the next run of words of a page that its twin does not have, at word `from` or later. False at the end of the page.
    fn changed(&self, page: PageId, from: usize, run: &mut Run) -> bool;
    /// Sets what all threads of this node may do to these pages, before it returns.
    fn allow(&self, pages: Range<u32>, access: Access);
    /// Pages have been made read-only by [`Host::allow`]: waits until what the program wrote to them before is where [`Host::changed`] finds it. Where a
    /// system protects them, that is so when its call returns.
    async fn protected(&self) {}

    /// Reads words of a peer's region: `into[0]` first.
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]);
    /// Writes words of a peer's region.
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake);
    /// Sets a word of a peer's region to `new` if it is `old`, and wakes nobody; the word before that.
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64;
    /// Adds to a word of a peer's region; the word before that.
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64;
    /// Reads words of a peer's region, `words[0]` first, and after these its copy of pages into ours.
    async fn get_pages(&self, node: NodeId, word: usize, words: &mut [u64], pages: Range<u32>);
    /// Writes our copy of a page into a peer's.
    async fn put_page(&self, node: NodeId, page: PageId);
    /// Writes into a peer's copy of a page, as [`diff::merge`](crate::diff::merge) does: words and masks of one run. One deposit.
    async fn put_run(&self, node: NodeId, page: PageId, first_word: usize, run: &[(u64, u64)]);
    /// Makes a processor of the peer run [`serve`](crate::serve::serve), unless one of its threads waits and does so anyway.
    async fn interrupt(&self, node: NodeId, why: Interrupt);

    /// Number of times that this node was woken.
    fn bell(&self) -> u64;
    /// Wakes the threads of this node that wait.
    fn ring(&self);
    /// Waits until the bell is another one than `seen`.
    async fn until_rung(&self, seen: u64);
    /// As that, for some time at most.
    async fn a_moment(&self, seen: u64);
    /// A thread of this node begins to wait for what others deposit, stamps and notices, or has ended to. Who deposits after
    /// that sees it.
    fn expects(&self, begins: bool);

    /// Runs [`serve::serve`](crate::serve::serve): whoever waits serves.
    async fn serve(&self);
    /// Runs [`serve::scan`](crate::serve::scan), for who waits under the node's lock.
    async fn scan(&self);

    /// Counts what happened.
    fn count(&self, what: Count, times: u64);
    /// Counts what happened to a page.
    fn count_at(&self, page: PageId, what: Count, times: u64);
    /// This thread begins to look for the changes of a page and to send them, or has sent them.
    fn diffing(&self, begins: bool);
}
