//! The shared heap: pages at the same address in all nodes. Memory is given out from the front and, once given back, again by its
//! size.
use crate::block_on::block_on;
use crate::current::{here, node};
use crate::homes::{self, Homes};
pub use crate::mapped::ADDRESS;
use crate::me;
use crate::node::Node;
use crate::place;
use crate::profile::PieceTaken;
use crate::shared::{ALLOCATED, Class};
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::cluster::PageId;
use homenode_hlrc::host::Host;
use homenode_hlrc::operation::Operation;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

/// Node whose words count the memory given out.
const KEEPER: NodeId = NodeId(0);

/// A piece of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address.
    pub address: u64,
    /// Bytes, whole pages.
    pub bytes: u64,
    /// Whether it was used before, and is not all zero.
    pub used: bool,
}

/// Addresses of the heap; empty without shared virtual memory.
pub fn range() -> Range<u64> {
    node().map_or(0..0, |node| ADDRESS..ADDRESS + node.job.heap_bytes)
}

/// A number by which nodes of one host tell this cluster's heap from those of others; 0 without shared virtual memory. For one that was
/// not forked from the first node it is the same if the job names peers.
pub fn job() -> u64 {
    let port = |node: &Node| node.job.hosts.as_ref().and_then(|h| h.peers.first()).map(|peer| peer.port().into());
    node().map_or(0, |node| port(node).unwrap_or_else(|| std::process::id().into()))
}

/// Takes a piece of at least so many bytes. `site`: who asks, as an offset in the program's file; 0 if that is not known.
///
/// # Errors
/// The heap is full.
pub fn take(bytes: u64, site: u64) -> Result<Piece, Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Other);
    let (page, asked) = (node.job.page_bytes, bytes);
    let bytes = bytes.max(1).checked_next_multiple_of(page).unwrap_or(u64::MAX);
    let thread = place().filter(|_| me::number().is_some()).map(|p| p.thread);
    let planned = thread.and_then(|thread| node.taken.next(thread, site, asked));
    let again = lists(node).get_mut(&bytes).and_then(Vec::pop);
    if let Some(address) = again {
        return Ok(Piece { address, bytes, used: true });
    }
    let (word, mut before) = (node.word(ALLOCATED), [0]);
    block_on(node.get(KEEPER, word, &mut before));
    let [mut before] = before;
    loop {
        let Some(end) = bytes.checked_add(before).filter(|end| *end <= node.job.heap_bytes) else {
            let (all, left) = (node.job.heap_bytes, node.job.heap_bytes.saturating_sub(before));
            return Err(Trouble::of(format!(
                "the shared heap of {all} bytes has {left} left, and {bytes} are wanted; give a larger --heap"
            )));
        };
        let found = block_on(node.compare_swap(KEEPER, word, before, end));
        if found == before {
            let (address, thread) = (ADDRESS + before, thread.unwrap_or(0));
            let pages = PageId((before / page) as u32)..PageId((end / page) as u32);
            let placed = give_homes(node, pages, asked, planned.map(|(_, piece)| piece));
            let planned = planned.map(|(at, _)| at);
            node.profile().add_piece(PieceTaken { address, bytes, site, asked, thread, planned, placed });
            return Ok(Piece { address: ADDRESS + before, bytes, used: false });
        }
        before = found;
    }
}

/// Notes the homes of pages that were just taken, as the job says; how many got one.
fn give_homes(node: &Node, pages: Range<PageId>, asked: u64, planned: Option<&homes::Piece>) -> u64 {
    let (count, page_bytes) = (u64::from(pages.end.0 - pages.start.0), node.job.page_bytes);
    let homes: Vec<Option<NodeId>> = match (node.job.homes, planned) {
        (Homes::Block, _) => homes::blocks(count, node.job.nodes).collect(),
        (Homes::Plan, Some(piece)) => piece.homes(asked, pages.start, page_bytes),
        _ => Vec::new(),
    };
    let named = (pages.start.0..pages.end.0).zip(homes).filter_map(|(page, home)| Some((PageId(page), home?)));
    named.map(|(page, home)| node.does(Operation::GiveHome { page, home })).count() as u64
}

/// Gives a piece back, which was taken with this size.
///
/// # Errors
/// There is no such piece.
pub fn give_back(address: u64, bytes: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Other);
    let page = node.job.page_bytes;
    let bytes = bytes.max(1).checked_next_multiple_of(page).unwrap_or(u64::MAX);
    let heap = range();
    let is_inside = heap.contains(&address) && address.is_multiple_of(page) && bytes <= heap.end - address;
    if !is_inside {
        return Err(Trouble::of(format!("{bytes} bytes at {address:#x} are no memory of the shared heap")));
    }
    lists(node).entry(bytes).or_default().push(address);
    Ok(())
}

fn lists(node: &Node) -> MutexGuard<'_, BTreeMap<u64, Vec<u64>>> {
    node.freed.0.lock().unwrap_or_else(PoisonError::into_inner)
}
