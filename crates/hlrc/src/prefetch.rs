//! Prefetch: with a page that must be fetched the next ones come from the same home, in one operation (Bilas and Singh, section 1.5.1).
//!
//! All of them but the last are opened for reading at once. The last one stays closed, as the *marker*: a trap there says that the program goes on
//! in this direction, and costs no fetch. If the marker is given up before, because another node wrote the page, the prefetch was in vain, and the next time
//! that the program comes to where it began, there is none; until it touches the page that was the marker.
use crate::cluster::PageId;
use crate::host::{Access, Count, Host};
use crate::rules::{Rule, holds};
use crate::state::{self, PageState};
use crate::steps::Pages;
use crate::vector::{self, MAX_LIVE_NODES, Vector};
use crate::{exclusive, stamps};
use homenode_base::NodeId;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Most pages that come with one.
pub const MOST: u8 = 15;

/// Words of the stamps of all pages of an operation.
type Stamps = SmallVec<[u64; MAX_LIVE_NODES * (MOST as usize + 1)]>;

/// Claims the pages behind one that this thread fetches from a home: they are busy then. How many.
pub(crate) async fn claim<H: Host>(host: &H, page: PageId, home: NodeId) -> u32 {
    let cluster = host.cluster();
    if cluster.prefetch == 0 || cluster.step.pages != Pages::Fetched {
        return 0;
    }
    let behind = cluster.pages - 1 - page.0;
    let ahead = |distance: u32| PageId(page.0 + distance);
    let most = u32::from(cluster.prefetch.min(MOST)).min(behind);
    let was_in_vain = |distance: u32| state::of(host).page(ahead(distance), |s| u32::from(s.lapsed) == distance);
    if (1..=most).any(was_in_vain) {
        return 0;
    }
    for distance in 1..=most {
        if !claim_one(host, ahead(distance), home).await {
            return distance - 1;
        }
    }
    most
}

async fn claim_one<H: Host>(host: &H, page: PageId, home: NodeId) -> bool {
    let cluster = host.cluster();
    let claimed = state::of(host).page(page, |s| {
        let is_there = s.access != Access::None || s.ahead > 0;
        let is_anothers = s.home.is_some_and(|known| known != home);
        if s.busy || s.dirty || s.stale || s.read_by_home || is_there || is_anothers {
            return None;
        }
        s.busy = true;
        Some(s.home)
    });
    match claimed {
        None => false,
        Some(Some(_)) => true,
        Some(None) => {
            let mut found = [0];
            let known = match cluster.fixed_home(page) {
                Some(fixed) => Some(fixed),
                None => {
                    host.get(cluster.directory(page), host.layout().home(page), &mut found).await;
                    stamps::home_of(host, found[0])
                }
            };
            let is_same = known == Some(home);
            state::of(host).page(page, |s| {
                s.home = known;
                s.busy = is_same;
            });
            if !is_same {
                host.ring();
            }
            is_same
        }
    }
}

/// Fetches a page, which this thread has claimed, and `ahead` more behind it, in one operation, and opens the latter as far as they are new enough.
/// Whether the page itself is as new as `wanted`.
pub(crate) async fn fetch<H: Host>(host: &H, page: PageId, home: NodeId, ahead: u32, wanted: &Vector) -> bool {
    let nodes = usize::from(host.cluster().nodes);
    let pages = page.0..page.0 + 1 + ahead;
    stamps::let_read(host, page, home, wanted).await;
    // Notices that come from now on may have taken back what is announced.
    let mut before = [0; MOST as usize + 1];
    before.iter_mut().zip(pages.clone()).for_each(|(sum, page)| *sum = notices_of(&stamps::needed(host, PageId(page))));
    for page in pages.clone() {
        exclusive::announce(host, PageId(page), home).await;
    }
    let mut stamps: Stamps = smallvec![0; nodes * pages.len()];
    vector::count(host, home, pages.len() as u64);
    host.get_pages(home, host.layout().stamps(page), &mut stamps, pages.clone()).await;
    let (own, others) = stamps.split_at(nodes);
    open(host, page.0 + 1..pages.end, others.chunks(nodes).zip(&before[1..]));
    host.ring();
    own.iter().zip(wanted.words()).all(|(found, wanted)| found >= wanted)
}

/// Notices of a page together: as none is taken back, there are as many as before only if none has come.
fn notices_of(needed: &Vector) -> u64 {
    needed.words().iter().sum()
}

/// Opens pages that were fetched ahead, but for the marker, if they are new enough and no notice has come meanwhile: how many of each there were before goes
/// with its stamps.
fn open<'s, H: Host>(host: &H, pages: Range<u32>, found: impl Iterator<Item = (&'s [u64], &'s u64)>) {
    let guard = state::of(host).run(pages.clone());
    let mut opened = pages.start..pages.start;
    let allow = |opened: &Range<u32>| {
        if !opened.is_empty() {
            host.allow(opened.clone(), Access::Read);
        }
    };
    for (page, (found, before)) in pages.clone().zip(found) {
        let mut s = guard.get(PageId(page));
        s.busy = false;
        let needed = stamps::needed(host, PageId(page));
        let is_new = found.iter().zip(needed.words()).all(|(found, needed)| found >= needed);
        if is_new && notices_of(&needed) == *before || !holds(Rule::AheadNewEnough) {
            host.count_at(PageId(page), Count::Prefetch, 1);
            if page + 1 == pages.end {
                // Distances are below 16.
                s.ahead = (pages.end - pages.start) as u8;
            } else {
                s.access = Access::Read;
                s.lapsed = 0;
                if opened.end != page {
                    allow(&opened);
                    opened = page..page;
                }
                opened.end += 1;
            }
        }
        guard.set(PageId(page), s);
    }
    allow(&opened);
}

/// A notice of a page that was fetched ahead and has not been touched: it is given up.
pub(crate) fn lapse<H: Host>(host: &H, page: PageId, s: &mut PageState) {
    if s.ahead > 0 && holds(Rule::AheadGivenUp) {
        s.lapsed = std::mem::take(&mut s.ahead);
        host.count_at(page, Count::PrefetchInVain, 1);
    }
}
