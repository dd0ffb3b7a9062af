//! Answers to nodes that asked this one for pages.
use crate::cluster::PageId;
use crate::host::{Host, Wake};
use crate::vector::Vector;
use crate::{stamps, state};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Answers page requests that can be answered: one thread's, or all.
pub(crate) async fn pages<H: Host>(host: &H, only: Option<usize>) {
    let threads = usize::from(host.cluster().threads);
    let all = only.map_or(0..host.cluster().all_threads() as usize, |one| one..one + 1);
    for requester in all {
        let request = state::of(host).page_request(requester);
        let wanted = request.at(0).load(Ordering::Acquire);
        let Some(page) = wanted.checked_sub(1).map(|p| PageId(p as u32)) else { continue };
        if !stamps::of(host, page).covers(&Vector::of(request.from(1))) {
            continue;
        }
        if !request.at(0).replace(wanted, 0) {
            continue;
        }
        let (node, thread) = (NodeId((requester / threads) as u16), (requester % threads) as u16);
        host.put_page(node, page).await;
        host.put(node, host.layout().reply(thread), &[1], Wake::All).await;
    }
}
