//! Locks and barriers of the program.
use crate::block_on::block_on;
use crate::current::here;
use crate::node::Node;
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_hlrc::slots::Use;
use homenode_hlrc::{barrier, lock, slots};

/// Takes the lock that has this address as its name.
///
/// # Errors
/// No name, or too many of them.
pub fn acquire(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let slot = slot(node, "homenode_lock", Use::Lock, name)?;
    block_on(lock::acquire(node, slot));
    Ok(())
}

/// Gives it back.
///
/// # Errors
/// The calling thread does not have it.
pub fn release(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let slot = slot(node, "homenode_unlock", Use::Lock, name)?;
    let not_held = |_| Trouble::of(format!("homenode_unlock: the calling thread does not have the lock {name:#x}"));
    block_on(lock::release(node, slot)).map_err(not_held)
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
    let slot = slot(node, "homenode_barrier", Use::Barrier, name)?;
    block_on(barrier::wait(node, slot));
    Ok(())
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
    block_on(slots::find(node, slots::key(what, name))).map_err(full)
}
