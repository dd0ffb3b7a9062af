//! Homes that move: a page that one node alone writes, and whose home is another, goes to its writer, which then sends no diffs of it any more.
//!
//! The writer says so in the page's notice before a barrier, and all nodes follow behind that barrier, before any of their threads goes on: so at any time
//! all agree on a page's home. All but the writer give their copies up, and whoever wants the page then finds that the new home's stamps cover it, or
//! waits until they do.
//!
//! Who has left a barrier may be before the next one when another node still follows behind the first. So notices say which of two
//! barriers in turn they are before, and a node notes pages by that.
use crate::cluster::{Cluster, PageId};
use crate::host::{Access, Count, Host, Wake};
use crate::memory::region;
use crate::rules::{Rule, holds};
use crate::stamps;
use crate::state::{self, PageState};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Diffs of one node in a row, without a notice of another between them, after which it asks for the page.
const DIFFS_LEAST: u8 = 3;
/// In a notice, above the page: it moves to the writer, behind an even or an odd barrier.
const MOVES: u64 = 1 << 32;
const ODD: u64 = 1 << 33;

pub(crate) fn is_on(cluster: &Cluster) -> bool {
    cluster.migrate && !cluster.alone
}

/// What the notice of a page, whose diff was just sent before a barrier, says beside the page.
pub(crate) fn ask<H: Host>(host: &H, page: PageId, s: &mut PageState) -> u64 {
    let cluster = host.cluster();
    if !is_on(cluster) || s.home == Some(cluster.me) || s.diffs < DIFFS_LEAST {
        return 0;
    }
    let is_odd = state::of(host).barriers().load(Ordering::Relaxed) % 2 == 1;
    let notice = MOVES | if is_odd { ODD } else { 0 };
    note(host, page, s, cluster.me, notice);
    notice
}

/// Notes that a page moves, if the notice says so: of several writers to the first one.
pub(crate) fn note<H: Host>(host: &H, page: PageId, s: &mut PageState, writer: NodeId, notice: u64) {
    if notice & MOVES == 0 || !is_on(host.cluster()) {
        return;
    }
    let turn = usize::from(notice & ODD != 0);
    let known = s.mover[turn];
    if known.is_none() {
        state::of(host).note_moving(turn, page);
    }
    s.mover[turn] = Some(known.map_or(writer, |known| known.min(writer)));
}

/// Behind a barrier, under the node's lock, when all notices from before it are applied: follows the pages that move.
pub(crate) async fn follow<H: Host>(host: &H) {
    if !is_on(host.cluster()) {
        return;
    }
    let turn = (state::of(host).barriers().fetch_add(1, Ordering::Relaxed) % 2) as usize;
    let pages = state::of(host).take_moving(turn);
    for page in (0..pages.len()).map(|at| pages.take(at)) {
        let found = state::of(host).page(page, |s| s.mover[turn].take().map(|writer| (writer, s.home, s.access)));
        let Some((writer, home, access)) = found else { continue };
        let me = host.cluster().me;
        if writer == me {
            complete(host, page, home.unwrap_or(me), access).await;
        }
        state::of(host).page(page, |s| {
            (s.home, s.diffs) = (Some(writer), 0);
            if writer != me {
                give_up(host, page, s, home == Some(me));
            }
        });
    }
}

/// A copy at another node than the new home is given up: whoever changes it from now on changes what the new home has made complete. What the old home
/// wrote before the barrier is noted, but for a page that was exclusive until the writer copied it, which was behind the barrier for that home: so whoever
/// has a copy has that, too.
fn give_up<H: Host>(host: &H, page: PageId, s: &mut PageState, was_home: bool) {
    s.dirty &= !was_home;
    s.ahead = 0;
    s.read_by_home |= was_home;
    if s.access != Access::None {
        s.access = Access::None;
        host.allow(page.0..page.0 + 1, s.access);
        host.count_at(page, Count::Invalidation, 1);
    }
}

/// Makes this node's copy of a page that of its home. If another node wrote it, too, the changes are on their way to the old one.
async fn complete<H: Host>(host: &H, page: PageId, old: NodeId, access: Access) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let needed = stamps::needed(host, page);
    if access == Access::None && old != cluster.me && holds(Rule::NewHomeComplete) {
        // Also where pages are asked for elsewhere: under the node's lock nobody waits for a host.
        stamps::read(host, page, old, &needed).await;
    }
    for writer in cluster.all() {
        let stamp = region(host, layout.stamps(page) + writer.index());
        stamp.fetch_max(needed.get(writer), Ordering::AcqRel);
    }
    // Who has followed already may have asked: whoever takes messages answers.
    host.scan().await;
    host.ring();
    host.count_at(page, Count::Migration, 1);
    // For who asks later where the page lives.
    let home = u64::from(cluster.me.0) + 1;
    host.put(cluster.directory(page), layout.home(page), &[home], Wake::Nobody).await;
}
