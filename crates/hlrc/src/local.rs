//! A lock among the threads of a node: hardware shares memory among them, so a word is enough. Two kinds (Bilas and Singh, section 1.5.1): who
//! finds the word free takes it (*test and set*), or threads draw numbers and have the lock in their order (*ticket*).
use crate::host::Host;
use crate::memory::{Word, region};
use crate::wait;
use std::sync::atomic::Ordering;

/// Above the thread that has it, + 1: of test and set, threads that wait; of tickets, the number that has its turn, and above that the next one to be drawn.
const ABOVE: u64 = 1 << 16;
const TURN_SHIFT: u32 = 16;
const NEXT_SHIFT: u32 = 40;
/// Numbers that there are.
const NUMBERS: u64 = 1 << (NEXT_SHIFT - TURN_SHIFT);

fn word<H: Host>(host: &H, slot: u32) -> Word<'_, H> {
    region(host, host.layout().local(slot))
}
fn turn(local: u64) -> u64 {
    local >> TURN_SHIFT & (NUMBERS - 1)
}
fn mine<H: Host>(host: &H) -> u64 {
    u64::from(host.thread()) + 1
}

/// Whether the calling thread has it.
pub(crate) fn is_held<H: Host>(host: &H, slot: u32) -> bool {
    word(host, slot).load(Ordering::Acquire) % ABOVE == mine(host)
}

/// Whether a thread of this node waits for the calling one to give it up.
pub(crate) fn is_wanted<H: Host>(host: &H, slot: u32) -> bool {
    let local = word(host, slot).load(Ordering::Acquire);
    match host.cluster().tickets {
        false => local >= ABOVE,
        true => is_drawn(local),
    }
}

/// Whether a number is drawn behind the one that has its turn.
fn is_drawn(local: u64) -> bool {
    (turn(local) + 1) % NUMBERS != local >> NEXT_SHIFT
}

/// Takes it.
pub(crate) async fn take<H: Host>(host: &H, slot: u32) {
    let local = word(host, slot);
    if host.cluster().tickets {
        let number = local.fetch_add(1 << NEXT_SHIFT, Ordering::AcqRel) >> NEXT_SHIFT;
        wait::until(host, || turn(local.load(Ordering::Acquire)) == number).await;
        local.fetch_add(mine(host), Ordering::AcqRel);
        return;
    }
    let try_take = || {
        let seen = local.load(Ordering::Acquire);
        seen.is_multiple_of(ABOVE) && local.replace(seen, seen + mine(host))
    };
    if try_take() {
        return;
    }
    local.fetch_add(ABOVE, Ordering::AcqRel);
    while !try_take() {
        wait::until(host, || local.load(Ordering::Acquire).is_multiple_of(ABOVE)).await;
    }
    local.fetch_sub(ABOVE, Ordering::AcqRel);
}

/// Gives it up, and wakes who waits.
pub(crate) fn give<H: Host>(host: &H, slot: u32) {
    let local = word(host, slot);
    let is_wanted = match host.cluster().tickets {
        false => local.fetch_sub(mine(host), Ordering::AcqRel) >= ABOVE,
        true => loop {
            // Others draw numbers meanwhile; the turn's own bits begin again at 0.
            let seen = local.load(Ordering::Acquire);
            let next_turn = (turn(seen) + 1) % NUMBERS;
            if local.replace(seen, seen >> NEXT_SHIFT << NEXT_SHIFT | next_turn << TURN_SHIFT) {
                break is_drawn(seen);
            }
        },
    };
    if is_wanted {
        host.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_again_behind_the_last_one() {
        let last = NUMBERS - 1;
        assert!(!is_drawn(last << TURN_SHIFT), "the next one to be drawn is 0");
        assert!(is_drawn(1 << NEXT_SHIFT | last << TURN_SHIFT));
        assert_eq!(turn(7 | last << TURN_SHIFT | 5 << NEXT_SHIFT), last);
        assert_eq!((last << NEXT_SHIFT).wrapping_add(1 << NEXT_SHIFT), 0);
    }
}
