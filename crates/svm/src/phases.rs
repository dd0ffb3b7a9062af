//! Phases of a thread, and what it spends in each: the innermost one that is open has all of it.
use crate::current::node;
use crate::me;
use crate::node::Node;
use crate::profile::{Totals, totals};
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Phases that may be open in a thread at a time; deeper ones belong to the one around them.
const DEPTH: usize = 16;

/// Where a thread is.
struct Open {
    /// Open phases, the innermost one last; 0 is outside.
    phases: [u8; DEPTH],
    depth: usize,
    /// What it had spent when it came to where it is, and when that was.
    before: Totals,
    since: Option<Instant>,
}

impl Open {
    fn now(&self) -> usize {
        self.depth.min(DEPTH).checked_sub(1).map_or(0, |last| self.phases[last].into())
    }
}

thread_local! {
    static OPEN: RefCell<Open> =
        const { RefCell::new(Open { phases: [0; DEPTH], depth: 0, before: [0; crate::profile::TOTALS], since: None }) };
}

/// Names are noted by one thread at a time.
static NAMING: Mutex<()> = Mutex::new(());

/// A phase of this name begins in the calling thread.
pub fn begin_phase(name: &[u8]) {
    let Some(node) = node().filter(|_| me::number().is_some() && !name.is_empty()) else { return };
    let phase = {
        let _naming = NAMING.lock().unwrap_or_else(PoisonError::into_inner);
        node.profile().phase(name)
    };
    OPEN.with_borrow_mut(|open| {
        account(node, open);
        let phase = phase.unwrap_or_else(|| open.now());
        if let Some(place) = open.phases.get_mut(open.depth) {
            *place = phase as u8;
        }
        open.depth += 1;
        node.profile().phase_of(me::number().unwrap_or(0), open.now())[0].fetch_add(1, Ordering::Relaxed);
    });
}

/// The innermost phase of the calling thread ends.
pub fn end_phase() {
    let Some(node) = node().filter(|_| me::number().is_some()) else { return };
    OPEN.with_borrow_mut(|open| {
        account(node, open);
        open.depth = open.depth.saturating_sub(1);
    });
}

/// The calling thread begins, outside of all phases.
pub(crate) fn begin_thread(node: &Node) {
    OPEN.with_borrow_mut(|open| {
        *open = Open { phases: [0; DEPTH], depth: 0, before: totals(node.thread_words()), since: Some(Instant::now()) };
    });
}

/// The calling thread is over.
pub(crate) fn end_thread(node: &Node) {
    OPEN.with_borrow_mut(|open| account(node, open));
}

/// Adds what was spent since the last time to the phase that is open.
fn account(node: &Node, open: &mut Open) {
    let (spent, now) = (totals(node.thread_words()), Instant::now());
    let words = node.profile().phase_of(me::number().unwrap_or(0), open.now());
    let wall = open.since.map_or(0, |since| u64::try_from(now.duration_since(since).as_nanos()).unwrap_or(u64::MAX));
    words[1].fetch_add(wall, Ordering::Relaxed);
    for ((word, after), before) in words[2..].iter().zip(spent).zip(open.before) {
        word.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
    }
    open.before = spent;
    open.since = Some(now);
}
