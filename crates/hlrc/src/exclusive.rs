//! Exclusive pages: a home's own pages of which no other node has a copy. Its program goes on writing them without faults and notices,
//! interval after interval.
//!
//! Who gets a copy says so first, at the home (*announces* it), and so has in it what the home wrote until then. When an interval ends after
//! that, the home notes the page as written. At a barrier copies of a page that got a notice before it are given up, and the page is
//! exclusive again when the home writes it next.
use crate::access::Does;
use crate::cluster::{Cluster, PageId};
use crate::host::{Access, Host, Wake};
use crate::memory::{Word, region};
use crate::rules::{Rule, holds};
use crate::state;
use crate::state::PageState;
use homenode_base::NodeId;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// States of a page's word, [`copied`](crate::cluster::Layout::copied), above which it counts how often the page became exclusive again: what
/// was begun before is not ended after.
const NO_COPY: u64 = 0;
const BEING_ANNOUNCED: u64 = 1;
const STATES: u64 = 4;

fn is_on(cluster: &Cluster) -> bool {
    cluster.exclusive && !cluster.alone
}

fn copied<H: Host>(host: &H, page: PageId) -> Word<'_, H> {
    region(host, host.layout().copied(page))
}

/// Whether another node may have a copy of a page of this home.
fn is_copied<H: Host>(host: &H, page: PageId) -> bool {
    copied(host, page).load(Ordering::SeqCst) % STATES != NO_COPY
}

/// Says at the home of a page that there will be a copy here, before one is made.
pub(crate) async fn announce<H: Host>(host: &H, page: PageId, home: NodeId) {
    if !is_on(host.cluster()) || !holds(Rule::CopyAnnounced) {
        return;
    }
    let (word, copies) = (host.layout().copied(page), host.layout().copies());
    let mut seen = 0;
    loop {
        match seen % STATES {
            NO_COPY => {
                let found = host.compare_swap(home, word, seen, seen + BEING_ANNOUNCED).await;
                seen = if found == seen { seen + BEING_ANNOUNCED } else { found };
            }
            BEING_ANNOUNCED => {
                // Whoever began it may not have come to this yet. The home looks for copies when this has changed.
                host.fetch_add(home, copies, 1, Wake::Nobody).await;
                host.compare_swap(home, word, seen, seen + 1).await;
                return;
            }
            _ => return,
        }
    }
}

/// Whether the program may write a page that is opened, and that is noted nowhere.
pub(crate) fn keep<H: Host>(host: &H, page: PageId, s: &mut PageState) -> bool {
    let cluster = host.cluster();
    if !is_on(cluster) || s.home != Some(cluster.me) || s.dirty || is_copied(host, page) {
        return false;
    }
    if !s.kept {
        s.kept = true;
        state::of(host).note_exclusive(page);
    }
    // Who announces a copy after this finds the page in the list.
    !is_copied(host, page)
}

/// Notes a page of this home as written, if it may have been and that is noted nowhere.
pub(crate) fn note<H: Host>(host: &H, page: PageId, s: &mut PageState) {
    if s.access == Access::Write && !s.dirty {
        s.dirty = true;
        if !std::mem::replace(&mut s.listed, true) {
            state::of(host).note_written(page);
        }
    }
}

/// Notes as written those exclusive pages of which there are copies. At the end of an interval, under the node's lock.
pub(crate) fn note_copied<H: Host>(host: &H) {
    if !is_on(host.cluster()) {
        return;
    }
    // What this node wrote until now comes before the look at who has copies.
    fence(Ordering::SeqCst);
    let (tables, copies) = (state::of(host), region(host, host.layout().copies()).load(Ordering::SeqCst));
    if tables.copies_seen().swap(copies, Ordering::Relaxed) == copies || !holds(Rule::CopiedPagesNoted) {
        return;
    }
    let pages = tables.take_exclusive();
    for page in (0..pages.len()).map(|at| pages.take(at)) {
        let is_copied = is_copied(host, page);
        tables.page(page, |s| {
            if is_copied {
                s.kept = false;
                note(host, page, s);
            } else {
                tables.note_exclusive(page);
            }
        });
    }
}

/// Pages that are about to get a notice, which nobody has heard of, before a barrier: copies that there are now are given up there. Who gets
/// one from now on announces it, if it has applied that notice; if not, it gives that up, too.
pub(crate) fn forget_copies<H: Host>(host: &H, pages: Range<u32>) {
    let cluster = host.cluster();
    for page in pages.filter(|_| is_on(cluster)).map(PageId) {
        if state::of(host).page(page, |s| s.home == Some(cluster.me) && s.dirty) {
            let word = copied(host, page);
            let mut seen = word.load(Ordering::SeqCst);
            loop {
                match word.does(Does::CompareSwap(seen, (seen / STATES + 1) * STATES)) {
                    found if found == seen => break,
                    found => seen = found,
                }
            }
        }
    }
}
