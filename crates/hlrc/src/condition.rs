//! Condition variables: threads wait, without a lock that they had, until another one signals.
use crate::host::Host;
use crate::lock::{self, NotHeld};
use crate::park;
use crate::rules::{Rule, holds};

/// Gives the lock up, waits for a signal, and takes the lock again. A signal that comes after the lock was given up is not lost, and
/// nobody is woken without one.
///
/// # Errors
/// [`NotHeld`] if this thread does not have the lock; then nothing has happened.
pub async fn wait<H: Host>(host: &H, slot: u32, lock: u32) -> Result<(), NotHeld> {
    if !lock::is_held(host, lock) {
        return Err(NotHeld);
    }
    let is_late = !holds(Rule::ParkedBeforeRelease);
    if is_late {
        lock::give_back(host, lock).await;
    }
    let parked = park::enter(host, slot).await;
    if !is_late {
        lock::give_back(host, lock).await;
    }
    parked.until_woken(host).await;
    lock::acquire(host, lock).await;
    Ok(())
}

/// Wakes one thread that waits, if there is one; it sees what the calling thread has seen.
pub async fn signal<H: Host>(host: &H, slot: u32) {
    park::wake_one(host, slot).await;
}

/// Wakes all threads that wait.
pub async fn broadcast<H: Host>(host: &H, slot: u32) {
    park::wake_all(host, slot).await;
}
