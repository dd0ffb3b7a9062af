//! Waking and sleeping across processes: a node's bell for whoever waits in the protocol, and calls for its first thread.
use crate::shared::{BELL, CALLS, SLEEPERS, Shared};
use homenode_sys::futex::{wait_low, wake_all_low};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a thread sleeps that waits for calls, if nobody calls.
const ATTEND: Duration = Duration::from_millis(100);

/// Wakes the threads of a node that wait in the protocol.
pub(crate) fn ring(of: Shared<'_>) {
    let bell = of.word(BELL);
    bell.fetch_add(1, Ordering::SeqCst);
    // Who goes to sleep says so before it looks at the bell.
    if of.word(SLEEPERS).load(Ordering::SeqCst) > 0 {
        wake_all_low(bell);
    }
}

/// Calls the first thread of a node.
pub(crate) fn call(of: Shared<'_>) {
    let calls = of.word(CALLS);
    calls.fetch_add(1, Ordering::SeqCst);
    wake_all_low(calls);
}

/// Waits until the bell is another one than `seen`: turning for a while, then sleeping for so long at most. False if it was not
/// rung.
pub(crate) fn wait(of: Shared<'_>, seen: u64, turns: u32, most: Duration) -> bool {
    let bell = of.word(BELL);
    if turned(bell, seen, turns) {
        return true;
    }
    let sleepers = of.word(SLEEPERS);
    sleepers.fetch_add(1, Ordering::SeqCst);
    if bell.load(Ordering::SeqCst) == seen {
        wait_low(bell, seen as u32, most);
    }
    sleepers.fetch_sub(1, Ordering::SeqCst);
    bell.load(Ordering::Acquire) != seen
}

fn turned(bell: &AtomicU64, seen: u64, turns: u32) -> bool {
    for _ in 0..turns {
        if bell.load(Ordering::Acquire) != seen {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

/// Waits until the first thread of the node is called again after `seen`: turning for a while, then sleeping for [`ATTEND`]
/// at most.
pub(crate) fn await_call(of: Shared<'_>, seen: u64, turns: u32) {
    let calls = of.word(CALLS);
    if !turned(calls, seen, turns) && calls.load(Ordering::SeqCst) == seen {
        wait_low(calls, seen as u32, ATTEND);
    }
}
