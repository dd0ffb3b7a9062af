//! Faults: what happens when the program touches a page that it may not touch.
use crate::cluster::PageId;
use crate::host::{Access, Count, Host, Interrupt};
use crate::memory::region;
use crate::rules::{Rule, holds};
use crate::state::PageState;
use crate::steps::Pages;
use crate::vector::{self, Vector};
use crate::{exclusive, inbox, prefetch, stamps, state, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// What a fault has to do next.
enum Next {
    /// The program may do it now.
    Done,
    /// Another thread is at it.
    Wait,
    /// Ask who the home is.
    Locate,
    /// Bring the page from its home.
    Fetch(NodeId),
    /// This is the home, and changes that must be seen are still on their way.
    Catch,
}

/// Resolves a trapped access: at the end the program may do it, unless another thread has taken the page away again.
pub async fn fault<H: Host>(host: &H, page: PageId, write: bool) {
    loop {
        match enter(host, page, write) {
            Next::Done => return,
            Next::Wait => wait::until(host, || !state::of(host).page(page, |s| s.busy)).await,
            Next::Locate => {
                let home = locate(host, page).await;
                state::of(host).page(page, |s| {
                    s.home = Some(home);
                    s.busy = false;
                });
                host.ring();
            }
            Next::Fetch(home) => {
                fetch(host, page, home, write).await;
                host.ring();
            }
            Next::Catch => {
                let caught_up = wait::until(host, || stamps::of(host, page).covers(&stamps::needed(host, page)));
                wait::expecting(host, caught_up).await;
                state::of(host).page(page, |s| s.busy = false);
                host.ring();
            }
        }
    }
}

fn enter<H: Host>(host: &H, page: PageId, write: bool) -> Next {
    let me = host.cluster().me;
    let wanted = if write { Access::Write } else { Access::Read };
    state::of(host).page(page, |s| {
        if s.busy && holds(Rule::OneFetches) {
            return Next::Wait;
        }
        if s.access >= wanted {
            return Next::Done;
        }
        let next = match s.home {
            None => Next::Locate,
            Some(home) if home == me && s.access == Access::None && !stamps::is_current(host, page) => Next::Catch,
            Some(_) if s.ahead > 0 => {
                // It was fetched ahead, and no notice has come since.
                (s.ahead, s.lapsed) = (0, 0);
                open(host, page, s, write);
                return Next::Done;
            }
            Some(home) if home != me && s.access == Access::None => Next::Fetch(home),
            Some(_) => {
                open(host, page, s, write);
                return Next::Done;
            }
        };
        s.busy = true;
        s.lapsed = 0;
        next
    })
}

/// Lets the program read or write a page whose copy here is good.
fn open<H: Host>(host: &H, page: PageId, s: &mut PageState, write: bool) {
    if write && exclusive::keep(host, page, s) {
        s.access = Access::Write;
        return host.allow(page.0..page.0 + 1, s.access);
    }
    if write {
        if s.home != Some(host.cluster().me) {
            host.make_twin(page);
            host.count_at(page, Count::Twin, 1);
        }
        s.dirty = true;
        if !s.listed {
            s.listed = true;
            state::of(host).note_written(page);
        }
    }
    s.access = if write { Access::Write } else { Access::Read };
    host.allow(page.0..page.0 + 1, s.access);
}

/// Who the home is; this node, if nobody was.
async fn locate<H: Host>(host: &H, page: PageId) -> NodeId {
    let cluster = host.cluster();
    if let Some(home) = cluster.fixed_home(page) {
        return home;
    }
    let mine = u64::from(cluster.me.0) + 1;
    let found = host.compare_swap(cluster.directory(page), host.layout().home(page), 0, mine).await;
    stamps::home_of(host, found).unwrap_or(cluster.me)
}

/// Notes the home of a page that nobody has touched, and that nobody will touch before this has ended. With [`Homes::FirstTouch`] it is
/// the page's home then; a rule that knows the home of every page asks nobody.
///
/// [`Homes::FirstTouch`]: crate::cluster::Homes::FirstTouch
pub async fn give_home<H: Host>(host: &H, page: PageId, home: NodeId) {
    // Not by a put, which may be under way while whoever is told of the page asks another node.
    let word = host.layout().home(page);
    host.compare_swap(host.cluster().directory(page), word, 0, u64::from(home.0) + 1).await;
}

/// Brings a page that nobody here may touch from its home, as new as it must be, and opens it.
async fn fetch<H: Host>(host: &H, page: PageId, home: NodeId, write: bool) {
    let mut ahead = prefetch::claim(host, page, home).await;
    loop {
        let wanted = stamps::needed(host, page);
        let is_here = match std::mem::take(&mut ahead) {
            0 => false,
            ahead => {
                let is_new_enough = prefetch::fetch(host, page, home, ahead, &wanted).await;
                host.count(Count::FetchRetry, u64::from(!is_new_enough));
                is_new_enough
            }
        };
        if !is_here {
            exclusive::announce(host, page, home).await;
            match host.cluster().step.pages {
                Pages::Fetched => stamps::read(host, page, home, &wanted).await,
                Pages::Requested => request(host, page, home, &wanted).await,
            }
        }
        host.count_at(page, Count::Fetch, 1);
        // A notice that came meanwhile asks for more. It is noted under the page's lock.
        let is_good = state::of(host).page(page, |s| {
            let is_good = wanted.covers(&stamps::needed(host, page)) || !holds(Rule::NoticeDuringFetch);
            if is_good {
                s.busy = false;
                open(host, page, s, write);
            }
            is_good
        });
        if is_good {
            return;
        }
    }
}

/// Asks the home's processor, which answers when its copy is new enough.
async fn request<H: Host>(host: &H, page: PageId, home: NodeId, wanted: &Vector) {
    let thread = host.thread();
    let reply = region(host, host.layout().reply(thread));
    reply.store(0, Ordering::Release);
    vector::count(host, home, 1);
    inbox::send(host, home, inbox::Kind::Page, [u64::from(page.0), u64::from(thread)], wanted.words()).await;
    host.interrupt(home, Interrupt::Page).await;
    wait::until(host, || reply.load(Ordering::Acquire) != 0).await;
}
