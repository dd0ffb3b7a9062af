//! Flags: set or not, and threads wait until one is set. The slot of a flag is a lock, too, under which it is looked at and changed: who
//! finds it set has its vector with the lock.
use crate::host::Host;
use crate::{lock, park};

/// Sets a flag: who finds it set then, or waits for it now, sees what this thread has seen.
pub async fn set<H: Host>(host: &H, slot: u32) {
    lock::acquire(host, slot).await;
    change(host, slot, 1).await;
    park::wake_all(host, slot).await;
    lock::give_back(host, slot).await;
}

/// Takes a flag back.
pub async fn clear<H: Host>(host: &H, slot: u32) {
    lock::acquire(host, slot).await;
    change(host, slot, 0).await;
    lock::give_back(host, slot).await;
}

/// Whether a flag is set.
pub async fn is_set<H: Host>(host: &H, slot: u32) -> bool {
    lock::acquire(host, slot).await;
    let is_set = look(host, slot).await;
    lock::give_back(host, slot).await;
    is_set
}

/// Waits until a flag is set; whoever waits when it is, goes on, also if it is taken back at once.
pub async fn wait<H: Host>(host: &H, slot: u32) {
    lock::acquire(host, slot).await;
    if look(host, slot).await {
        return lock::give_back(host, slot).await;
    }
    let parked = park::enter(host, slot).await;
    lock::give_back(host, slot).await;
    parked.until_woken(host).await;
}

/// Changes the state; when this ends, the next one under the lock sees it.
async fn change<H: Host>(host: &H, slot: u32, to: u64) {
    host.compare_swap(host.cluster().manager(slot), host.layout().state(slot), 1 - to, to).await;
}

async fn look<H: Host>(host: &H, slot: u32) -> bool {
    let mut state = [0];
    host.get(host.cluster().manager(slot), host.layout().state(slot), &mut state).await;
    state[0] != 0
}
