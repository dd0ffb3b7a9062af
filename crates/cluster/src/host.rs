//! A processor as the protocol's host: its node's own words at once, other nodes' by messages that take time.
use crate::fabric::REQUEST_BYTES;
use crate::world::{Lost, Node, Task, World};
use homenode_base::NodeId;
use homenode_hlrc::access::{Does, Place};
use homenode_hlrc::cluster::{Cluster, Layout, PageId};
use homenode_hlrc::diff::{RUN_WORDS, Run};
use homenode_hlrc::host::{Access, Count, Host, Interrupt, Wake};
use homenode_hlrc::journal;
use homenode_hlrc::operation::{self, Operation};
use homenode_hlrc::serve;
use homenode_hlrc::steps::{Locks, Notices};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// Bytes of a word of the protocol.
const WORD_BYTES: u64 = 8;
/// Words of 4 bytes in one of the protocol's.
const HALVES: u64 = 2;

/// A thread of a node in the protocol.
pub(crate) struct Thread {
    world: Rc<World>,
    me: NodeId,
    thread: u16,
    /// The lock that it takes.
    slot: Option<u32>,
}

/// What an operation at another node came to.
struct Answer<T>(Rc<RefCell<Option<T>>>);

impl<T> Future for Answer<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        self.0.borrow_mut().take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Over when the task is polled again.
async fn again() {
    let mut is_polled = false;
    std::future::poll_fn(move |_| match std::mem::replace(&mut is_polled, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// An operation of the protocol as a task of a processor.
pub(crate) fn task(world: &Rc<World>, processor: u32, operation: Operation) -> Task {
    let host = Thread::new(world.clone(), processor, operation);
    Box::pin(async move {
        // Refusals are of programs that give up what they do not hold.
        let _ = operation::run(&host, operation, &mut |value| value).await;
    })
}

/// As [`task`], with what it does noted.
pub(crate) fn noted_task(world: &Rc<World>, processor: u32, operation: Operation) -> Task {
    let host = Thread::new(world.clone(), processor, operation);
    Box::pin(async move {
        let tape = host.world.tapes.tape(processor, operation);
        let _ = journal::run(&host, &tape, operation, &mut |value| value).await;
    })
}

impl Thread {
    fn new(world: Rc<World>, processor: u32, operation: Operation) -> Thread {
        let me = world.node_of(processor);
        let thread = (processor % u32::from(world.nodes[0].cluster.threads)) as u16;
        let slot = if let Operation::Acquire { slot } = operation { Some(slot) } else { None };
        Thread { world, me, thread, slot }
    }
    fn node(&self) -> &Node {
        &self.world.nodes[self.me.index()]
    }
    fn work(&self, cycles: u64, into: impl FnOnce(&mut crate::row::Work) -> &mut u64) {
        let cycles = self.world.compute(cycles);
        *into(&mut self.node().work.borrow_mut()) += cycles;
    }
    /// Lines of a page.
    fn lines(&self) -> u64 {
        self.node().cluster.page_words as u64 * WORD_BYTES / self.world.net.line_bytes
    }

    /// An answer of `bytes` by the network interface of a node that finds it by looking at its words; or, `is_ordered`, by changing them after all
    /// that was sent before.
    async fn asked<T: 'static>(
        &self,
        to: NodeId,
        (bytes, is_ordered): (u64, bool),
        look: impl FnOnce(&Rc<World>, &Node) -> T + 'static,
    ) -> T {
        if to == self.me {
            return look(&self.world, self.node());
        }
        self.room(to).await;
        let slot = Rc::new(RefCell::new(None));
        let (answer, task) = (Answer(slot.clone()), self.world.current.get());
        self.world.ask((self.me, to), (REQUEST_BYTES, is_ordered), move |world| {
            let found = look(world, &world.nodes[to.index()]);
            let come = move |world: &Rc<World>| {
                *slot.borrow_mut() = Some(found);
                world.wake(task);
            };
            (bytes, Box::new(come))
        });
        answer.await
    }

    /// Changes words of a node: at once here, elsewhere when they have come there.
    fn change(&self, to: NodeId, bytes: u64, is_joined: bool, act: impl FnOnce(&Rc<World>, &Node) + 'static) {
        if to == self.me {
            return act(&self.world, self.node());
        }
        let act = Box::new(move |world: &Rc<World>| act(world, &world.nodes[to.index()]));
        match is_joined {
            true => self.world.join(self.me, to, bytes, act),
            false => self.world.deposit(self.me, to, bytes, act),
        }
    }

    /// Waits until the queue of this node's interface has room for a message to another one.
    async fn room(&self, to: NodeId) {
        while to != self.me && self.world.is_full(self.me) {
            again().await;
        }
    }

    /// Whether words are part of a message to a host, which has an end of its own: those of inboxes; all where hosts alone look at them.
    fn is_of_message(&self, word: usize) -> bool {
        let (cluster, layout) = (&self.node().cluster, &self.world.layout);
        let first = layout.inbox(self.me, 0);
        cluster.step.notices == Notices::WithLock || (first..first + cluster.inbox as usize).contains(&word)
    }

    /// Waits for the bell, or a round trip.
    async fn until_bell(&self, seen: u64, is_limited: bool) {
        if self.node().bell.get() != seen {
            return;
        }
        let task = self.world.current.get();
        self.world.flush();
        self.node().waiting.borrow_mut().push((task, self.world.moment()));
        let is_over = Rc::new(Cell::new(false));
        if is_limited && self.world.may_look() {
            let (over, me) = (is_over.clone(), self.me);
            let time = self.world.moment() + self.world.fabric.round_trip().max(1);
            let act = move |world: &Rc<World>| {
                if !over.get() {
                    world.nodes[me.index()].waiting.borrow_mut().retain(|w| w.0 != task);
                    world.wake(task);
                }
            };
            self.world.after(time, Box::new(act));
        }
        let mut is_polled = false;
        std::future::poll_fn(move |_| {
            is_over.set(is_polled);
            if std::mem::replace(&mut is_polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl Host for Thread {
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
        self.world.locks_and_barriers.parties(slot, node.index()).into()
    }

    fn access(&self, place: Place, does: Does) -> u64 {
        match place {
            Place::Region(at) => self.node().region.does(at, does),
            Place::Table(area, at) => self.node().tables.area(area).does(at, does),
            Place::Copy(at) => {
                // Pages have no contents here; what is written to them takes time, and the caches lose it.
                if let Does::Merge(_, mask) = does {
                    let halves = u64::from(mask & 0xffff_ffff != 0) + u64::from(mask >> 32 != 0);
                    self.work(self.world.net.handlers.diff[1] * halves, |w| &mut w.diffs);
                    let words = self.node().cluster.page_words;
                    let line = (at % words) as u64 * WORD_BYTES / self.world.net.line_bytes;
                    let (node, page) = (self.me.0, (at / words) as u32);
                    self.world.out.borrow_mut().lost.push(Lost { node, page, lines: line..line + 1, whole: true });
                }
                self.world.contents.as_ref().map_or(0, |c| does.on(c.word(self.me.index(), at)))
            }
        }
    }
    fn make_twin(&self, page: PageId) {
        let words = self.node().cluster.page_words as u64 * HALVES;
        let first = self.node().memory(page.0, true, self.world.net.handlers.first);
        self.work(self.world.net.handlers.twin * words + first, |w| &mut w.twins);
        self.node().written.borrow_mut()[page.index()] = None;
    }
    fn changed(&self, page: PageId, from: usize, run: &mut Run) -> bool {
        let written = self.node().written.borrow();
        let Some(masks) = &written[page.index()] else { return false };
        let per_line = (self.world.net.line_bytes / WORD_BYTES) as usize;
        let mask = |word: usize| match masks[word / per_line] >> (HALVES as usize * (word % per_line)) & 3 {
            0 => 0,
            1 => 0xffff_ffff,
            2 => 0xffff_ffff << 32,
            _ => u64::MAX,
        };
        let end = self.node().cluster.page_words;
        let Some(first) = (from..end).find(|w| mask(*w) != 0) else { return false };
        let words = (first..end.min(first + RUN_WORDS)).take_while(|w| mask(*w) != 0).count();
        let (mut at, mut halves) = (first, 0);
        let contents = self.world.contents.as_ref();
        run.fill(first, words, |_, _| {
            let (mask, place) = (mask(at), page.index() * end + at);
            at += 1;
            halves += u64::from(mask.count_ones() / 32);
            let value = contents.map_or(0, |c| c.word(self.me.index(), place).load(Ordering::Relaxed));
            (value, mask)
        });
        self.world.run_words.set(halves);
        true
    }
    fn allow(&self, pages: Range<u32>, access: Access) {
        let (h, node) = (&self.world.net.handlers, self.node());
        let others = u64::from(node.cluster.threads) - 1;
        let alone = h.protect[0] + h.protect[1] * u64::from(pages.end - pages.start) + h.shootdown * others;
        let memory =
            pages.clone().filter(|_| access > Access::None).map(|page| node.memory(page, false, h.first)).sum::<u64>();
        let cycles = memory + alone + alone * h.concurrent * node.protects(self.world.moment(), alone) / 100;
        self.work(cycles, |w| &mut w.protection);
        node.counts.borrow_mut().protections += 1;
        for page in pages {
            let before = node.access[page as usize].replace(access);
            if access < before {
                let (lines, whole) = (0..self.lines(), access == Access::None);
                self.world.out.borrow_mut().lost.push(Lost { node: self.me.0, page, lines, whole });
            }
        }
    }

    async fn protected(&self) {
        self.world.goes_on_after_losses();
        again().await;
    }

    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        let len = into.len();
        let look = move |_: &Rc<World>, n: &Node| n.region.read(word, len);
        into.copy_from_slice(&self.asked(node, (WORD_BYTES * into.len() as u64, false), look).await);
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        self.room(node).await;
        let (values, bytes) = (values.to_vec(), WORD_BYTES * values.len() as u64);
        let is_joined = wake == Wake::Nobody && self.is_of_message(word);
        self.change(node, bytes, is_joined, move |world, n| {
            n.region.write(word, &values);
            world.wake_threads(n.cluster.me, wake);
        });
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        let swap = move |_: &Rc<World>, n: &Node| n.region.does(word, Does::CompareSwap(old, new));
        let homes = self.world.layout.home(PageId(0))..self.world.layout.home(PageId(self.node().cluster.pages));
        if homes.contains(&word) {
            // Who the home is, is known without asking (O16 of the model).
            return swap(&self.world, &self.world.nodes[node.index()]);
        }
        // Queues of locks are the network interface's own.
        let is_ordered = self.node().cluster.step.locks != Locks::Queued;
        self.asked(node, (WORD_BYTES, is_ordered), swap).await
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        let add = move |world: &Rc<World>, n: &Node| {
            let before = n.region.does(word, Does::Add(add, Ordering::SeqCst));
            world.wake_threads(n.cluster.me, wake);
            before
        };
        self.asked(node, (WORD_BYTES, true), add).await
    }
    async fn get_pages(&self, node: NodeId, word: usize, words: &mut [u64], pages: Range<u32>) {
        let (count, stamps) = (u64::from(pages.end - pages.start), words.len());
        let page_bytes = self.node().cluster.page_words as u64 * WORD_BYTES;
        let wanted = pages.clone();
        let look = move |world: &Rc<World>, n: &Node| {
            let stamps = n.region.read(word, stamps);
            let page = |p: u32| world.contents.as_ref().map(|c| c.page(n.cluster.me.index(), PageId(p)));
            (stamps, wanted.filter_map(page).collect::<Vec<_>>())
        };
        let bytes = WORD_BYTES * stamps as u64 + count * page_bytes;
        let (found, contents) = match self.world.local_faults {
            true => look(&self.world, &self.world.nodes[node.index()]),
            false => self.asked(node, (bytes, false), look).await,
        };
        words.copy_from_slice(&found);
        for (page, words) in pages.zip(contents) {
            self.world.contents.iter().for_each(|c| c.put_page(self.me.index(), PageId(page), &words));
        }
    }
    async fn put_page(&self, node: NodeId, page: PageId) {
        self.room(node).await;
        let bytes = self.node().cluster.page_words as u64 * WORD_BYTES;
        let contents = self.world.contents.as_ref().map(|c| c.page(self.me.index(), page));
        self.change(node, bytes, true, move |world, n| {
            if let (Some(c), Some(words)) = (&world.contents, contents) {
                c.put_page(n.cluster.me.index(), page, &words);
            }
        });
    }
    async fn put_run(&self, node: NodeId, page: PageId, first_word: usize, run: &[(u64, u64)]) {
        self.room(node).await;
        let bytes = run.iter().map(|(_, mask)| u64::from(mask.count_ones() / 8)).sum();
        let first = first_word as u64 * WORD_BYTES / self.world.net.line_bytes;
        let last = (first_word + run.len() - 1) as u64 * WORD_BYTES / self.world.net.line_bytes;
        let contents = self.world.contents.is_some().then(|| run.to_vec());
        self.change(node, bytes, false, move |world, n| {
            if let (Some(c), Some(run)) = (&world.contents, contents) {
                c.put_run(n.cluster.me.index(), page, first_word, &run);
            }
            let lost = Lost { node: n.cluster.me.0, page: page.0, lines: first..last + 1, whole: true };
            world.out.borrow_mut().lost.push(lost);
        });
    }
    async fn interrupt(&self, node: NodeId, why: Interrupt) {
        self.room(node).await;
        let interrupt = move |world: &Rc<World>, _: &Node| world.interrupt(node, why);
        self.change(node, 0, false, interrupt);
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
        self.until_bell(seen, true).await;
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

    fn count(&self, what: Count, times: u64) {
        let h = &self.world.net.handlers;
        match what {
            Count::Served => self.work(h.request * times, |w| &mut w.requests),
            Count::NoticeMessage => self.work(h.notices[0] * times, |w| &mut w.notices),
            Count::Notice | Count::Invalidation => self.work(h.notices[1] * times, |w| &mut w.notices),
            Count::LockRemote => self.slot.iter().for_each(|s| self.world.remote.borrow_mut()[*s as usize] += times),
            Count::DiffRun => self.work(h.diff[1] * self.world.run_words.get(), |w| &mut w.diffs),
            _ => {}
        }
        self.node().counts.borrow_mut().add(what, times);
    }
    fn count_at(&self, page: PageId, what: Count, times: u64) {
        let mut pages = self.node().of_pages.borrow_mut();
        let at = pages.entry(page.0).or_default();
        at.add(what, times);
        if what == Count::Fetch {
            let processor = u32::from(self.me.0) * u32::from(self.node().cluster.threads) + u32::from(self.thread);
            let before = self.world.fetched[processor as usize].replace(Some(page.0));
            at.in_order += u64::from(before.is_some_and(|b| b + 1 == page.0));
        }
        drop(pages);
        self.count(what, times);
    }
    fn diffing(&self, begins: bool) {
        if begins {
            let words = self.node().cluster.page_words as u64 * HALVES;
            self.work(self.world.net.handlers.diff[0] * words, |w| &mut w.diffs);
        }
    }
}
