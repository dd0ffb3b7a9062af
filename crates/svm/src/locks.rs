//! Locks and barriers of the program.
use crate::current::here;
use crate::me;
use crate::node::Node;
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_hlrc::operation::Operation;
use homenode_hlrc::slots;
use homenode_hlrc::slots::Use;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Takes the lock that has this address as its name.
///
/// # Errors
/// No name, or too many of them.
pub fn acquire(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let lock = named(node, "homenode_lock", Use::Lock, name)?;
    me::has_lock_come();
    node.does(Operation::Acquire { slot: lock.slot });
    lock.used(me::has_lock_come());
    Ok(())
}

/// Gives it back.
///
/// # Errors
/// The calling thread does not have it.
pub fn release(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let lock = named(node, "homenode_unlock", Use::Lock, name)?;
    let not_held = |_| Trouble::of(format!("homenode_unlock: the calling thread does not have the lock {name:#x}"));
    node.run(Operation::Release { slot: lock.slot }).map(drop).map_err(not_held)
}

/// Waits at the barrier that has this address as its name for all threads.
///
/// # Errors
/// Not as many threads as the cluster has, or no name, or too many of them.
pub fn wait(name: u64, threads: u32) -> Result<(), Trouble> {
    let node = here()?;
    if u64::from(threads) != node.all_threads() {
        return Err(Trouble::of(format!(
            "homenode_barrier: {threads} threads are to meet where {} nodes of {} threads have {}: all threads must take part",
            node.job.nodes,
            node.job.threads,
            node.all_threads()
        )));
    }
    others_live(node, "homenode_barrier")?;
    let _inside = node.enter(Class::Barrier);
    let barrier = named(node, "homenode_barrier", Use::Barrier, name)?;
    node.does(Operation::Barrier { slot: barrier.slot });
    barrier.used(false);
    Ok(())
}

/// A named thing that the calling thread does something with; how long that takes is counted there when this is dropped.
#[derive(Debug)]
pub(crate) struct Named<'n> {
    node: &'n Node,
    pub(crate) slot: u32,
    since: Instant,
}

impl Named<'_> {
    /// Counts a use. `remote`: what it needed came from another node.
    pub(crate) fn used(&self, remote: bool) {
        let words = self.node.profile().slot(self.slot);
        words[0].fetch_add(1, Ordering::Relaxed);
        words[1].fetch_add(u64::from(remote), Ordering::Relaxed);
    }
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        let elapsed = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.node.profile().slot(self.slot)[2].fetch_add(elapsed, Ordering::Relaxed);
    }
}

/// What has this name. `function` is what the program called.
pub(crate) fn named<'n>(node: &'n Node, function: &str, what: Use, name: u64) -> Result<Named<'n>, Trouble> {
    let since = Instant::now();
    Ok(Named { node, slot: slot(node, function, what, name)?, since })
}

/// Refuses a wait that nobody can end: the other threads do not exist.
pub(crate) fn others_live(node: &Node, function: &str) -> Result<(), Trouble> {
    if node.all_threads() > 1 && !node.has_begun() {
        return Err(Trouble::of(format!("{function}: no thread has been created, so nobody else can come")));
    }
    Ok(())
}

/// The slot of a name. `function` is what the program called.
pub(crate) fn slot(node: &Node, function: &str, what: Use, name: u64) -> Result<u32, Trouble> {
    if name == 0 {
        return Err(Trouble::of(format!("{function}: NULL is no name")));
    }
    let full = |_| {
        let most = node.together.slots;
        Trouble::of(format!("{function}: there are more than {most} locks, barriers, conditions and flags"))
    };
    let slot = node.run(Operation::Find { key: slots::key(what, name) }).map_err(full)?;
    // Slots have numbers of 32 bits.
    Ok(slot as u32)
}
