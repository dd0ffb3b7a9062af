//! What a thread knows of itself. Handlers of signals read it, so nothing here allocates.
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Number of a thread that is none of the cluster.
const NONE: u16 = u16::MAX;
/// First time that a waiting thread sleeps.
const SLEEP_LEAST: Duration = Duration::from_micros(50);
/// Longest time that a waiting thread sleeps: what it waits for may happen without a bell.
const SLEEP_MOST: Duration = Duration::from_millis(2);

struct Me {
    number: Cell<u16>,
    id: Cell<u32>,
    depth: Cell<u32>,
    sleep: Cell<Duration>,
    began: Cell<Option<Instant>>,
    diffing: Cell<Option<Instant>>,
    came: Cell<bool>,
}

thread_local! {
    static ME: Me = const {
        Me {
            number: Cell::new(NONE),
            id: Cell::new(0),
            depth: Cell::new(0),
            sleep: Cell::new(SLEEP_LEAST),
            began: Cell::new(None),
            diffing: Cell::new(None),
            came: Cell::new(false),
        }
    };
}

/// The calling thread becomes this one of its node.
pub(crate) fn become_thread(number: u16, id: u32) {
    ME.with(|me| {
        me.number.set(number);
        me.id.set(id);
        me.depth.set(0);
        me.began.set(Some(Instant::now()));
    });
}

/// The calling thread is none of the cluster any more.
pub(crate) fn leave() {
    ME.with(|me| me.number.set(NONE));
}

/// Number of the calling thread in its node; `None` if it is none of the cluster.
pub(crate) fn number() -> Option<u16> {
    Some(ME.with(|me| me.number.get())).filter(|n| *n != NONE)
}

/// Id of the calling thread in the system.
pub(crate) fn id() -> u32 {
    ME.with(|me| me.id.get())
}

/// How long the calling thread has been one.
pub(crate) fn age() -> Duration {
    ME.with(|me| me.began.get().map_or(Duration::ZERO, |began| began.elapsed()))
}

/// One level deeper into this library; whether it is the first.
pub(crate) fn deeper() -> bool {
    ME.with(|me| {
        let depth = me.depth.get();
        me.depth.set(depth + 1);
        depth == 0
    })
}

/// One level back; whether that was the first.
pub(crate) fn back() -> bool {
    ME.with(|me| {
        let depth = me.depth.get().saturating_sub(1);
        me.depth.set(depth);
        depth == 0
    })
}

/// Whether the calling thread is in this library.
pub(crate) fn is_inside() -> bool {
    ME.with(|me| me.depth.get() > 0)
}

/// How long to sleep next.
pub(crate) fn sleep() -> Duration {
    ME.with(|me| me.sleep.get())
}

/// After a sleep: a longer one next time if nothing happened.
pub(crate) fn slept(in_vain: bool) {
    ME.with(|me| me.sleep.set(if in_vain { (me.sleep.get() * 2).min(SLEEP_MOST) } else { SLEEP_LEAST }));
}

/// The calling thread begins a diff, or ends one: when that began.
pub(crate) fn diffing(begins: bool) -> Option<Instant> {
    ME.with(|me| me.diffing.replace(begins.then(Instant::now)))
}

/// The lock that the calling thread takes came from another node.
pub(crate) fn lock_came() {
    ME.with(|me| me.came.set(true));
}

/// Whether one came since this was asked last.
pub(crate) fn has_lock_come() -> bool {
    ME.with(|me| me.came.replace(false))
}
