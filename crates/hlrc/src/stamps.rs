//! What copies of a page have, and what they need: stamps, notices, and a page read out of its home's memory.
use crate::cluster::PageId;
use crate::host::{Count, Host};
use crate::rules::{Rule, holds};
use crate::vector::{self, Vector};
use crate::{state, wait};
use homenode_base::NodeId;

/// The home that a page's directory says.
pub(crate) fn home_of<H: Host>(host: &H, found: u64) -> Option<NodeId> {
    // What a peer says is checked: a home that does not exist would be an index out of range.
    let home = found.checked_sub(1)?;
    Some(NodeId(u16::try_from(home).unwrap_or(0).min(host.cluster().nodes - 1)))
}

/// Before a page is fetched: if this node was its home, waits until the new one has read what is here.
pub(crate) async fn let_read<H: Host>(host: &H, page: PageId, home: NodeId, wanted: &Vector) {
    if !state::of(host).page(page, |s| std::mem::take(&mut s.read_by_home)) || !holds(Rule::OldHomeKept) {
        return;
    }
    while !Vector::at(host, home, host.layout().stamps(page)).await.covers(wanted) {
        host.count(Count::FetchRetry, 1);
        wait::a_moment(host).await;
    }
}

/// Reads stamps, then the page: data is deposited before its stamp, so the page is at least as new as they say.
pub(crate) async fn read<H: Host>(host: &H, page: PageId, home: NodeId, wanted: &Vector) {
    let (mut found, stamps) = (Vector::zero(host.cluster().nodes), host.layout().stamps(page));
    let_read(host, page, home, wanted).await;
    loop {
        vector::count(host, home, 1);
        host.get_pages(home, stamps, found.words_mut(), page.0..page.0 + 1).await;
        if !holds(Rule::StampBeforeData) {
            host.get(home, stamps, found.words_mut()).await;
        }
        if found.covers(wanted) || !holds(Rule::OldCopyFetchedAgain) {
            return;
        }
        host.count(Count::FetchRetry, 1);
        wait::a_moment(host).await;
    }
}

/// Up to where this node's copy, if it is the home, has everybody's changes.
pub(crate) fn of<H: Host>(host: &H, page: PageId) -> Vector {
    Vector::here(host, host.layout().stamps(page))
}

/// Up to where a copy must have everybody's changes before the program may see it.
pub(crate) fn needed<H: Host>(host: &H, page: PageId) -> Vector {
    Vector::of(state::of(host).needed(page))
}

/// Whether the home's copy may be seen by its own program.
pub(crate) fn is_current<H: Host>(host: &H, page: PageId) -> bool {
    of(host, page).covers(&needed(host, page)) || !holds(Rule::HomeWaits)
}
