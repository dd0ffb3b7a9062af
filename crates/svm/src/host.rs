//! What the protocol stands on, on a real node.
use crate::node::Node;
use crate::shared::{Across, BELL, Class, EXPECTING, Kind};
use crate::transports::Transport;
use crate::{bell, me};
use homenode_base::NodeId;
use homenode_hlrc::access::{Does, Place};
use homenode_hlrc::cluster::{Cluster, Layout, PageId};
use homenode_hlrc::diff::Run;
use homenode_hlrc::host::{Access, Count, Host, Interrupt, Wake};
use homenode_hlrc::serve;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

/// How long a thread sleeps that will be woken: whoever has something for it rings the bell.
const SLEEP: Duration = Duration::from_millis(100);

impl Node {
    fn first_word(&self, page: PageId) -> usize {
        page.index() * self.together.page_words
    }
    fn copy(&self, page: PageId) -> &[AtomicU64] {
        &self.heap.words()[self.first_word(page)..][..self.together.page_words]
    }
    fn twin(&self, page: PageId) -> &[AtomicU64] {
        &self.twins[self.first_word(page)..][..self.together.page_words]
    }
    /// Counts a message unless it is to this node itself.
    fn message(&self, to: NodeId, kind: Kind, words: usize) {
        if to != self.me() {
            self.sent(kind, 8 * words);
        }
    }
}

impl Host for Node {
    fn cluster(&self) -> &Cluster {
        if self.has_begun() { &self.together } else { &self.alone }
    }
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn thread(&self) -> u16 {
        me::number().unwrap_or(0)
    }

    #[inline(always)]
    fn access(&self, place: Place, does: Does) -> u64 {
        does.on(match place {
            Place::Region(at) => &self.region[at],
            Place::Copy(at) => &self.heap.words()[at],
            Place::Table(area, at) => self.tables.word(area, at),
        })
    }
    fn make_twin(&self, page: PageId) {
        for (twin, word) in self.twin(page).iter().zip(self.copy(page)) {
            twin.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
    fn changed(&self, page: PageId, from: usize, run: &mut Run) -> bool {
        run.find(self.copy(page), self.twin(page), from)
    }
    fn allow(&self, pages: Range<u32>, access: Access) {
        self.allow_pages(pages, access);
    }

    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        self.message(node, Kind::Get, into.len());
        self.wire().get(node, word, into).await;
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        self.message(node, Kind::Put, values.len());
        self.wire().put(node, word, values, wake).await;
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.message(node, Kind::Atomic, 1);
        self.wire().compare_swap(node, word, old, new).await
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.message(node, Kind::Atomic, 1);
        self.wire().fetch_add(node, word, add, wake).await
    }
    async fn get_pages(&self, node: NodeId, word: usize, words: &mut [u64], pages: Range<u32>) {
        let (first, len) = (self.first_word(PageId(pages.start)), pages.len() * self.together.page_words);
        self.message(node, Kind::GetPage, words.len() + len);
        self.wire().get_page(node, (word, words), (first, &self.heap.words()[first..][..len])).await;
    }
    async fn put_page(&self, node: NodeId, page: PageId) {
        self.message(node, Kind::PutPage, self.together.page_words);
        self.wire().put_page(node, self.first_word(page), self.copy(page)).await;
    }
    async fn put_run(&self, node: NodeId, page: PageId, first_word: usize, run: &[(u64, u64)]) {
        self.message(node, Kind::PutRun, run.len());
        self.wire().put_run(node, self.first_word(page) + first_word, run).await;
    }
    async fn interrupt(&self, node: NodeId, why: Interrupt) {
        self.shared().interrupts(why).fetch_add(1, Ordering::Relaxed);
        self.wire().interrupt(node).await;
    }

    fn bell(&self) -> u64 {
        self.shared().word(BELL).load(Ordering::Acquire)
    }
    fn ring(&self) {
        bell::ring(self.shared());
    }
    async fn until_rung(&self, seen: u64) {
        self.wire().flush();
        bell::wait(self.shared(), seen, self.turns, SLEEP);
    }
    async fn a_moment(&self, seen: u64) {
        self.wire().flush();
        let rung = bell::wait(self.shared(), seen, self.turns, me::sleep());
        me::slept(!rung);
    }
    fn expects(&self, begins: bool) {
        let change = if begins { 1 } else { u64::MAX };
        self.shared().word(EXPECTING).fetch_add(change, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }
    async fn serve(&self) {
        serve::serve(self).await;
    }
    async fn scan(&self) {
        serve::scan(self).await;
    }

    fn count(&self, what: Count, times: u64) {
        self.shared().count(what).fetch_add(times, Ordering::Relaxed);
        if what == Count::LockRemote {
            me::lock_came();
        }
    }
    fn count_at(&self, page: PageId, what: Count, times: u64) {
        self.count(what, times);
        self.profile().count_at(page, what, times);
        if let (Count::Fetch, Some(number)) = (what, me::number()) {
            let of = self.shared().thread(number);
            let spent = |class| of.time(class).load(Ordering::Relaxed);
            let synchronised = [Class::Lock, Class::Barrier, Class::Other].map(spent).iter().sum();
            self.profile().fetched(number, page, synchronised);
        }
    }
    fn diffing(&self, begins: bool) {
        if let Some(since) = me::diffing(begins) {
            self.spent(Across::Diff, since);
        }
    }
}
