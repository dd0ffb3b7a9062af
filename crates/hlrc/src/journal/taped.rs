//! A host that notes what goes through it, or compares it.
use super::Tape;
use super::record::{self, Kind, Record};
use crate::access::{Does, Place};
use crate::cluster::{Cluster, Layout, PageId};
use crate::diff::Run;
use crate::host::{Access, Count, Host, Interrupt, Wake};
use crate::serve;
use homenode_base::NodeId;
use std::ops::Range;

/// A host and a tape.
pub(super) struct Taped<'t, H, T> {
    pub(super) host: &'t H,
    pub(super) tape: &'t T,
}

impl<H: Host, T: Tape> Taped<'_, H, T> {
    fn asks(&self, kind: Kind, small: u16, large: u64, value: u64) {
        self.tape.asks(Record::new(kind, small, large, value));
    }
    fn given(&self, kind: Kind, value: u64) -> u64 {
        self.tape.given(Record::plain(kind, value))
    }
    /// Words that a peer gave.
    fn got(&self, words: &mut [u64]) {
        words.iter_mut().for_each(|word| *word = self.given(Kind::Got, *word));
    }
}

impl<H: Host, T: Tape> Host for Taped<'_, H, T> {
    fn cluster(&self) -> &Cluster {
        self.host.cluster()
    }
    fn layout(&self) -> &Layout {
        self.host.layout()
    }
    fn thread(&self) -> u16 {
        self.host.thread()
    }

    fn parties(&self, slot: u32, node: NodeId) -> u64 {
        let parties = self.host.parties(slot, node);
        self.tape.given(Record::new(Kind::Parties, node.0, slot.into(), parties))
    }
    fn access(&self, place: Place, does: Does) -> u64 {
        let (record, more, gives) = record::change(place, does);
        if record.kind() == Some(Kind::Load) {
            return self.tape.given(Record { value: self.host.access(place, does), ..record });
        }
        self.tape.asks(record);
        if let Some(more) = more {
            self.tape.asks(more);
        }
        let before = self.host.access(place, does);
        if gives { self.given(Kind::Before, before) } else { before }
    }
    fn make_twin(&self, page: PageId) {
        self.asks(Kind::MakeTwin, 0, page.0.into(), 0);
        self.host.make_twin(page);
    }
    fn changed(&self, page: PageId, from: usize, run: &mut Run) -> bool {
        self.asks(Kind::Changed, 0, page.0.into(), from as u64);
        let is_found = self.host.changed(page, from, run);
        let first = self.given(Kind::First, if is_found { run.first as u64 + 1 } else { 0 });
        let Some(first) = first.checked_sub(1) else { return false };
        let words = self.given(Kind::Words, run.words().len() as u64);
        run.fill(first as usize, words as usize, |value, mask| {
            (self.given(Kind::Value, value), self.given(Kind::Mask, mask))
        });
        true
    }
    fn allow(&self, pages: Range<u32>, access: Access) {
        self.asks(Kind::Allow, access as u16, pages.start.into(), (pages.end - pages.start).into());
        self.host.allow(pages, access);
    }

    async fn protected(&self) {
        self.host.protected().await;
    }

    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        self.asks(Kind::Get, node.0, word as u64, into.len() as u64);
        self.host.get(node, word, into).await;
        self.got(into);
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        self.asks(Kind::Put, node.0, word as u64, values.len() as u64);
        values.iter().for_each(|value| self.asks(Kind::Written, 0, 0, *value));
        self.asks(Kind::Wake, 0, 0, wake as u64);
        self.host.put(node, word, values, wake).await;
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        self.asks(Kind::CompareSwap, node.0, word as u64, new);
        self.asks(Kind::Expected, 0, 0, old);
        self.given(Kind::Before, self.host.compare_swap(node, word, old, new).await)
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        self.asks(Kind::FetchAdd, node.0, word as u64, add);
        self.asks(Kind::Wake, 0, 0, wake as u64);
        self.given(Kind::Before, self.host.fetch_add(node, word, add, wake).await)
    }
    async fn get_pages(&self, node: NodeId, word: usize, words: &mut [u64], pages: Range<u32>) {
        self.asks(Kind::GetPages, node.0, word as u64, words.len() as u64);
        self.asks(Kind::Pages, 0, pages.start.into(), pages.len() as u64);
        self.host.get_pages(node, word, words, pages).await;
        self.got(words);
    }
    async fn put_page(&self, node: NodeId, page: PageId) {
        self.asks(Kind::PutPage, node.0, page.0.into(), 0);
        self.host.put_page(node, page).await;
    }
    async fn put_run(&self, node: NodeId, page: PageId, first_word: usize, run: &[(u64, u64)]) {
        self.asks(Kind::PutRun, node.0, page.0.into(), first_word as u64);
        for (value, mask) in run {
            self.asks(Kind::Written, 0, 0, *value);
            self.asks(Kind::Expected, 0, 0, *mask);
        }
        self.host.put_run(node, page, first_word, run).await;
    }
    async fn interrupt(&self, node: NodeId, why: Interrupt) {
        self.asks(Kind::Interrupt, node.0, why as u64, 0);
        self.host.interrupt(node, why).await;
    }

    fn bell(&self) -> u64 {
        self.given(Kind::Bell, self.host.bell())
    }
    fn ring(&self) {
        self.asks(Kind::Ring, 0, 0, 0);
        self.host.ring();
    }
    async fn until_rung(&self, seen: u64) {
        self.asks(Kind::UntilRung, 0, 0, seen);
        self.host.until_rung(seen).await;
    }
    async fn a_moment(&self, seen: u64) {
        self.asks(Kind::Moment, 0, 0, seen);
        self.host.a_moment(seen).await;
    }
    fn expects(&self, begins: bool) {
        self.asks(Kind::Expects, 0, 0, begins.into());
        self.host.expects(begins);
    }
    // Not the host's: what this thread does for others is noted, too.
    async fn serve(&self) {
        serve::serve(self).await;
    }
    async fn scan(&self) {
        serve::scan(self).await;
    }

    fn count(&self, what: Count, times: u64) {
        self.asks(Kind::Count, what as u16, 0, times);
        self.host.count(what, times);
    }
    fn count_at(&self, page: PageId, what: Count, times: u64) {
        self.asks(Kind::CountAt, what as u16, page.0.into(), times);
        self.host.count_at(page, what, times);
    }
    fn diffing(&self, begins: bool) {
        self.asks(Kind::Diffing, 0, 0, begins.into());
        self.host.diffing(begins);
    }
}
