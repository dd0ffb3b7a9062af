//! A thread of a simulated node: what the protocol stands on, and what a program does.
use super::world::{Node, World, hashed};
use crate::access::{Does, Place};
use crate::cluster::{Cluster, Layout, PageId};
use crate::diff::Run;
use crate::host::{Access, Count, Host, Interrupt, Wake};
use crate::journal::{self, Record, Tape};
use crate::operation::{self, Operation, Refused};
use crate::reduce::Reduction;
use crate::slots::Use;
use crate::vector::Vector;
use crate::{diff, serve, slots, state, word};
use homenode_base::NodeId;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::hash::Hash;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// A word of a future: what an operation at another node came to.
struct Answer<T> {
    slot: Rc<RefCell<Option<T>>>,
}

impl<T> Future for Answer<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        self.slot.borrow_mut().take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A journal that is written.
#[derive(Default)]
struct Noted(RefCell<Vec<Record>>);

impl Tape for Noted {
    fn asks(&self, record: Record) {
        self.0.borrow_mut().push(record);
    }
    fn given(&self, record: Record) -> u64 {
        self.0.borrow_mut().push(record);
        record.value
    }
}

/// A thread of a node.
#[derive(Clone)]
pub(crate) struct Sim {
    pub(crate) world: Rc<World>,
    pub(crate) me: NodeId,
    pub(crate) thread: u16,
}

impl Sim {
    fn node(&self) -> &Node {
        &self.world.nodes[self.me.index()]
    }

    fn copy(&self, page: PageId) -> &[AtomicU64] {
        let words = self.node().cluster.page_words;
        &self.node().copies[page.index() * words..][..words]
    }
    fn twin(&self, page: PageId) -> &[AtomicU64] {
        let words = self.node().cluster.page_words;
        &self.node().twins[page.index() * words..][..words]
    }

    pub(super) async fn run(&self, operation: Operation) -> Result<u64, Refused> {
        self.run_with(operation, &mut |value| value).await
    }
    /// Carries an operation out, and keeps its journal if journals are written.
    async fn run_with(&self, operation: Operation, program: &mut impl FnMut(u64) -> u64) -> Result<u64, Refused> {
        let Some(journals) = &self.world.journals else { return operation::run(self, operation, program).await };
        let noted = Noted::default();
        let result = journal::run(self, &noted, operation, program).await;
        journals.borrow_mut().push((self.me, noted.0.into_inner()));
        result
    }
    async fn find(&self, key: u64) -> u32 {
        u32::try_from(self.run(Operation::Find { key }).await.expect("enough slots")).expect("it is a slot")
    }

    /// An operation at a peer whose answer comes back.
    async fn asked<T: Hash + 'static>(
        &self,
        to: NodeId,
        ordered: bool,
        print: u64,
        act: impl FnOnce(&Rc<World>, &Node) -> T + 'static,
    ) -> T {
        let slot = Rc::new(RefCell::new(None));
        let (answer, task) = (Answer { slot: slot.clone() }, self.world.current.get());
        self.world.deliver((self.me, to), ordered, hashed((print, task)), move |world, node| {
            let result = act(world, node);
            let back = if world.is_explored { 0 } else { 1 + world.below(world.delay) };
            let seen = hashed(&result);
            let act = move |world: &Rc<World>| {
                *slot.borrow_mut() = Some(result);
                world.wake(task, seen);
            };
            world.after(back, hashed((task, seen)), Box::new(act));
        });
        answer.await
    }

    pub(crate) async fn sleep(&self, ticks: u64) {
        let slot = Rc::new(RefCell::new(None));
        let (answer, task) = (Answer { slot: slot.clone() }, self.world.current.get());
        let act = move |world: &Rc<World>| {
            *slot.borrow_mut() = Some(());
            world.wake(task, 1);
        };
        self.world.after(ticks, hashed((task, "sleep")), Box::new(act));
        answer.await;
    }

    async fn touch(&self, address: usize, write: bool) {
        let page = PageId((address / (8 * self.node().cluster.page_words)) as u32);
        let wanted = if write { Access::Write } else { Access::Read };
        while self.node().access[page.index()].get() < wanted {
            self.run(Operation::Fault { page, write }).await.expect("it is not refused");
        }
    }

    /// Reads a byte, which must be what was last written.
    pub(crate) async fn read(&self, address: usize) -> u8 {
        self.touch(address, false).await;
        let word = self.node().copies[address / 8].load(Ordering::Relaxed);
        let (found, wanted) = (word.to_ne_bytes()[address % 8], self.world.shadow.borrow()[address]);
        assert_eq!(found, wanted, "byte {address} at node {} thread {}", self.me, self.thread);
        self.world.reads.set(self.world.reads.get() + 1);
        found
    }

    pub(crate) async fn write(&self, address: usize, value: u8) {
        self.touch(address, true).await;
        let mut mask = [0; 8];
        mask[address % 8] = 0xff;
        let value_word = [value; 8];
        diff::merge(&self.node().copies[address / 8], u64::from_ne_bytes(value_word), u64::from_ne_bytes(mask));
        self.world.shadow.borrow_mut()[address] = value;
    }

    pub(crate) async fn slot(&self, name: u64) -> u32 {
        self.find(name + 1).await
    }
    pub(crate) async fn lock(&self, name: u64) {
        let slot = self.slot(name).await;
        self.run(Operation::Acquire { slot }).await.expect("it is not refused");
    }
    pub(crate) async fn unlock(&self, name: u64) {
        let slot = self.slot(name).await;
        self.run(Operation::Release { slot }).await.expect("it was taken");
    }
    pub(crate) async fn barrier(&self) {
        self.meet(1000).await;
    }
    /// A barrier of this name.
    pub(crate) async fn meet(&self, name: u64) {
        let slot = self.named(Use::Barrier, name).await;
        self.run(Operation::Barrier { slot }).await.expect("it is not refused");
    }
    async fn named(&self, what: Use, name: u64) -> u32 {
        self.find(slots::key(what, name + 1)).await
    }
    /// Gives the lock up, waits for a signal, takes it again.
    pub(crate) async fn wait(&self, name: u64, lock: u64) {
        let (slot, lock) = (self.named(Use::Condition, name).await, self.slot(lock).await);
        self.run(Operation::Wait { slot, lock }).await.expect("it was taken");
    }
    /// Whether a wait is refused: the lock is not held.
    pub(crate) async fn waits_without(&self, name: u64) -> bool {
        let (slot, lock) = (self.named(Use::Condition, name).await, self.slot(name).await);
        self.run(Operation::Wait { slot, lock }).await == Err(Refused::NotHeld)
    }
    pub(crate) async fn signal(&self, name: u64) {
        let slot = self.named(Use::Condition, name).await;
        self.run(Operation::Signal { slot }).await.expect("it is not refused");
    }
    pub(crate) async fn broadcast(&self, name: u64) {
        let slot = self.named(Use::Condition, name).await;
        self.run(Operation::Broadcast { slot }).await.expect("it is not refused");
    }
    pub(crate) async fn set(&self, name: u64) {
        let slot = self.named(Use::Flag, name).await;
        self.run(Operation::SetFlag { slot }).await.expect("it is not refused");
    }
    pub(crate) async fn clear(&self, name: u64) {
        let slot = self.named(Use::Flag, name).await;
        self.run(Operation::ClearFlag { slot }).await.expect("it is not refused");
    }
    pub(crate) async fn is_set(&self, name: u64) -> bool {
        let slot = self.named(Use::Flag, name).await;
        self.run(Operation::IsFlagSet { slot }).await == Ok(1)
    }
    pub(crate) async fn until_set(&self, name: u64) {
        let slot = self.named(Use::Flag, name).await;
        self.run(Operation::AwaitFlag { slot }).await.expect("it is not refused");
    }
    /// Changes a word at once; what it was, which must be what was last written.
    pub(crate) async fn change(&self, word: usize, to: impl Fn(u64) -> u64) -> u64 {
        let slot = self.named(Use::Word, word::name(word)).await;
        let bytes = 8 * word..8 * word + 8;
        let program = &mut |value: u64| {
            let shadow = &mut self.world.shadow.borrow_mut()[bytes.clone()];
            assert_eq!(value.to_ne_bytes(), *shadow, "word {word} at node {} thread {}", self.me, self.thread);
            shadow.copy_from_slice(&to(value).to_ne_bytes());
            to(value)
        };
        self.run_with(Operation::Change { slot, word }, program).await.expect("it is not refused")
    }
    /// Reads a word at once.
    pub(crate) async fn look(&self, word: usize) -> u64 {
        let slot = self.named(Use::Word, word::name(word)).await;
        let program = &mut |value: u64| {
            let shadow = &self.world.shadow.borrow()[8 * word..8 * word + 8];
            assert_eq!(value.to_ne_bytes(), *shadow, "word {word} at node {} thread {}", self.me, self.thread);
            value
        };
        self.run_with(Operation::Read { slot, word }, program).await.expect("it is not refused")
    }
    pub(crate) async fn reduce(&self, what: Reduction, value: u64) -> Result<u64, Refused> {
        let slot = self.named(Use::Reduction, 0).await;
        self.run(Operation::Reduce { slot, what, value }).await
    }
    pub(crate) async fn post(&self, to: NodeId) {
        self.run(Operation::Post { to }).await.expect("it is not refused");
    }
    pub(crate) async fn take(&self) {
        self.run(Operation::Take).await.expect("it is not refused");
    }
    pub(crate) fn counted(&self, what: Count) -> u64 {
        self.named_count(&format!("{what:?}"))
    }
    /// Calls that changed what the program may do.
    pub(crate) fn protections(&self) -> u64 {
        self.named_count("Protection")
    }
    fn named_count(&self, what: &str) -> u64 {
        self.node().counts.borrow().get(what).copied().unwrap_or(0)
    }
}

impl Host for Sim {
    fn cluster(&self) -> &Cluster {
        &self.node().cluster
    }
    fn layout(&self) -> &Layout {
        &self.world.layout
    }
    fn thread(&self) -> u16 {
        self.thread
    }
    fn parties(&self, slot: u32, node: NodeId) -> u64 {
        self.world.parties.borrow().iter().find(|p| p.0 == slot).expect("it is known").1[node.index()]
    }
    fn access(&self, place: Place, does: Does) -> u64 {
        let node = self.node();
        does.on(match place {
            Place::Region(at) => &node.region[at],
            Place::Copy(at) => &node.copies[at],
            Place::Table(area, at) => node.tables.word(area, at),
        })
    }
    fn make_twin(&self, page: PageId) {
        for (twin, word) in self.twin(page).iter().zip(self.copy(page)) {
            twin.store(word.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }
    fn changed(&self, page: PageId, from: usize, run: &mut Run) -> bool {
        run.find(self.copy(page), self.twin(page), from)
    }
    fn allow(&self, pages: Range<u32>, access: Access) {
        *self.node().counts.borrow_mut().entry("Protection".to_owned()).or_default() += 1;
        for page in pages {
            self.node().access[page as usize].set(access);
        }
    }

    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        let len = into.len();
        // Words are read one after the other, and others may write between: the first ones first.
        let read = |w: &AtomicU64| w.load(Ordering::SeqCst);
        let half = len / 2;
        let mut found = Vec::new();
        for part in [word..word + half, word + half..word + len] {
            let read = move |_: &Rc<World>, n: &Node| n.region[part].iter().map(read).collect::<Vec<_>>();
            found.extend(self.asked(node, false, hashed(("get", word)), read).await);
        }
        into.copy_from_slice(&found);
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        let values = values.to_vec();
        self.world.deliver((self.me, node), true, hashed(("put", word, &values)), move |world, n| {
            for (to, from) in n.region[word..].iter().zip(values) {
                to.store(from, Ordering::SeqCst);
            }
            world.wake_threads(node, wake);
        });
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.asked(node, true, hashed(("swap", word, old, new)), move |_, n| {
            n.region[word].compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
        })
        .await
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.asked(node, true, hashed(("add", word, add)), move |world, n| {
            world.wake_threads(node, wake);
            n.region[word].fetch_add(add, Ordering::SeqCst)
        })
        .await
    }
    async fn get_pages(&self, node: NodeId, word: usize, stamps: &mut [u64], pages: Range<u32>) {
        self.get(node, word, stamps).await;
        let words = self.node().cluster.page_words;
        // Half a page is older than the other half: a program without races does not see which.
        for (page, half) in pages.flat_map(|page| [(PageId(page), 0..words / 2), (PageId(page), words / 2..words)]) {
            let range = page.index() * words + half.start..page.index() * words + half.end;
            let read = |w: &AtomicU64| w.load(Ordering::SeqCst);
            let read = move |_: &Rc<World>, n: &Node| n.copies[range].iter().map(read).collect::<Vec<_>>();
            let found = self.asked(node, false, hashed(("page", page, half.start)), read);
            for (to, from) in self.copy(page)[half].iter().zip(found.await) {
                to.store(from, Ordering::SeqCst);
            }
        }
    }
    async fn put_page(&self, node: NodeId, page: PageId) {
        let words: Vec<u64> = self.copy(page).iter().map(|w| w.load(Ordering::SeqCst)).collect();
        self.world.deliver((self.me, node), true, hashed(("put page", page, &words)), move |_, n| {
            let first = page.index() * words.len();
            for (to, from) in n.copies[first..].iter().zip(words) {
                to.store(from, Ordering::SeqCst);
            }
        });
    }
    async fn put_run(&self, node: NodeId, page: PageId, first_word: usize, run: &[(u64, u64)]) {
        let (run, words) = (run.to_vec(), self.node().cluster.page_words);
        self.world.deliver((self.me, node), true, hashed(("run", page, first_word, &run)), move |_, n| {
            for (to, (value, mask)) in n.copies[page.index() * words + first_word..].iter().zip(run) {
                diff::merge(to, value, mask);
            }
        });
    }
    async fn interrupt(&self, node: NodeId, why: Interrupt) {
        self.world.deliver((self.me, node), true, hashed(("interrupt", why as u8)), move |world, n| {
            let name = match why {
                Interrupt::Page => "page",
                Interrupt::Diff => "diff",
                Interrupt::Lock => "lock",
                Interrupt::Notices => "notices",
            };
            *n.interrupts.borrow_mut().entry(name).or_default() += 1;
            let host = Sim { world: world.clone(), me: node, thread: 0 };
            world.spawn(node, async move { host.run(Operation::Serve).await.map(drop).expect("it is not refused") });
            world.ring(node);
        });
    }

    fn bell(&self) -> u64 {
        self.node().bell.get()
    }
    fn ring(&self) {
        self.world.ring(self.me);
    }
    async fn until_rung(&self, seen: u64) {
        self.until_bell(seen, false).await;
    }
    async fn a_moment(&self, seen: u64) {
        self.until_bell(seen, !self.world.is_explored).await;
    }
    fn expects(&self, begins: bool) {
        let expecting = &self.node().expecting;
        expecting.set(if begins { expecting.get() + 1 } else { expecting.get() - 1 });
    }

    async fn serve(&self) {
        serve::serve(self).await;
    }
    async fn scan(&self) {
        serve::scan(self).await;
    }

    fn count_at(&self, _: PageId, what: Count, times: u64) {
        self.count(what, times);
    }
    fn diffing(&self, _: bool) {}
    fn count(&self, what: Count, times: u64) {
        *self.node().counts.borrow_mut().entry(format!("{what:?}")).or_default() += times;
    }
}

impl Sim {
    /// Waits until the node's bell is another one than `seen`; for a while only, if that is asked for.
    async fn until_bell(&self, seen: u64, is_limited: bool) {
        if self.bell() != seen {
            return;
        }
        let task = self.world.current.get();
        self.node().waiting.borrow_mut().push(task);
        let is_over = Rc::new(Cell::new(false));
        if is_limited {
            let (limit, over) = (20 * self.world.delay + self.world.below(self.world.delay), is_over.clone());
            let act = move |world: &Rc<World>| {
                if !over.get() {
                    world.ready.borrow_mut().push(task);
                }
            };
            self.world.after(limit, 0, Box::new(act));
        }
        // Ready at the next poll, whoever asks for it.
        let mut is_polled = false;
        std::future::poll_fn(move |_| {
            is_over.set(is_polled);
            if std::mem::replace(&mut is_polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl World {
    fn first_thread(self: &Rc<World>, me: NodeId) -> Sim {
        Sim { world: Rc::clone(self), me, thread: 0 }
    }

    /// All that is known of each node, for tests that fail.
    pub(crate) fn describe(self: &Rc<World>) -> String {
        use std::fmt::Write;
        let (mut text, l) = (String::new(), &self.layout);
        for node in &self.nodes {
            let n = self.nodes.len();
            let words = |at: usize, len: usize| {
                node.region[at..at + len].iter().map(|w| w.load(Ordering::SeqCst)).collect::<Vec<_>>()
            };
            let sim = self.first_thread(node.cluster.me);
            let t = state::of(&sim);
            let zero = NodeId(0);
            let _ = writeln!(
                text,
                "node {}: lock free {}, deferred {}",
                node.cluster.me,
                t.is_free(),
                t.deferred().load(Ordering::SeqCst)
            );
            let _ = writeln!(
                text,
                " applied {:?} tails {:?} replies {:?}",
                words(l.applied(zero), n),
                words(l.tail(zero), n),
                words(l.reply(0), usize::from(node.cluster.threads))
            );
            for to in node.cluster.others() {
                let _ = writeln!(
                    text,
                    " {to}: sent {} freed {:?} taken {}",
                    t.sent(to).load(Ordering::SeqCst),
                    words(l.freed(to), 1),
                    t.taken(to).load(Ordering::SeqCst)
                );
            }
            for page in (0..node.cluster.pages).map(PageId) {
                let _ = writeln!(
                    text,
                    " {page:?} {:?} needed {:?} stamps {:?}",
                    t.page(page, |s| *s),
                    Vector::of(t.needed(page)).words(),
                    words(l.stamps(page), n)
                );
            }
            for slot in (0..node.cluster.slots).filter(|s| words(l.key(*s), 1) != [0]) {
                let _ = writeln!(
                    text,
                    " slot {slot}: key, queue, token, grant, local, arrived, released, gathered {:?}",
                    words(l.key(slot), 8)
                );
            }
        }
        text
    }

    /// The home of a page as the nodes know it that have touched it.
    pub(crate) fn homes(self: &Rc<World>, page: PageId) -> Vec<NodeId> {
        let known = |node: &Node| state::of(&self.first_thread(node.cluster.me)).page(page, |s| s.home);
        self.nodes.iter().filter_map(known).collect()
    }

    /// Looks whether each node's structures are consistent when nothing goes on.
    pub(crate) fn check(self: &Rc<World>) {
        for node in &self.nodes {
            for at in 0..node.access.len() {
                let state = state::of(&self.first_thread(node.cluster.me)).page(PageId(at as u32), |s| *s);
                assert!(!state.busy);
                assert_eq!(state.access, node.access[at].get(), "page {at}");
            }
        }
    }
}
