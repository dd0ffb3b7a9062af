//! Condition variables and flags of the program.
use crate::current::here;
use crate::locks::{named, others_live, slot};
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_hlrc::operation::Operation;
use homenode_hlrc::slots::Use;

/// Gives the lock up, waits for a signal of the condition, and takes the lock again.
///
/// # Errors
/// The calling thread does not have the lock, no other thread exists, or a name is none or one too many.
pub fn wait(name: u64, lock: u64) -> Result<(), Trouble> {
    const CALLED: &str = "homenode_cond_wait";
    let node = here()?;
    others_live(node, CALLED)?;
    let _inside = node.enter(Class::Lock);
    let (condition, held) = (named(node, CALLED, Use::Condition, name)?, slot(node, CALLED, Use::Lock, lock)?);
    let not_held = |_| {
        Trouble::of(format!("{CALLED}: the calling thread does not have the lock {lock:#x}: take it before it waits"))
    };
    condition.used(false);
    node.run(Operation::Wait { slot: condition.slot, lock: held }).map(drop).map_err(not_held)
}

/// Wakes one thread that waits for the condition, if there is one.
///
/// # Errors
/// No name, or too many of them.
pub fn signal(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let it = named(node, "homenode_cond_signal", Use::Condition, name)?;
    it.used(false);
    node.does(Operation::Signal { slot: it.slot });
    Ok(())
}

/// Wakes all threads that wait for the condition.
///
/// # Errors
/// No name, or too many of them.
pub fn broadcast(name: u64) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let it = named(node, "homenode_cond_broadcast", Use::Condition, name)?;
    it.used(false);
    node.does(Operation::Broadcast { slot: it.slot });
    Ok(())
}

/// Sets a flag, or takes it back.
///
/// # Errors
/// No name, or too many of them.
pub fn set(name: u64, to: bool) -> Result<(), Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let function = if to { "homenode_flag_set" } else { "homenode_flag_clear" };
    let it = named(node, function, Use::Flag, name)?;
    it.used(false);
    match to {
        true => node.does(Operation::SetFlag { slot: it.slot }),
        false => node.does(Operation::ClearFlag { slot: it.slot }),
    }
    Ok(())
}

/// Whether a flag is set.
///
/// # Errors
/// No name, or too many of them.
pub fn is_set(name: u64) -> Result<bool, Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let it = named(node, "homenode_flag_is_set", Use::Flag, name)?;
    it.used(false);
    Ok(node.run(Operation::IsFlagSet { slot: it.slot }) == Ok(1))
}

/// Waits until a flag is set.
///
/// # Errors
/// It is not set and no other thread exists; no name, or too many of them.
pub fn until_set(name: u64) -> Result<(), Trouble> {
    const CALLED: &str = "homenode_flag_wait";
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let it = named(node, CALLED, Use::Flag, name)?;
    it.used(false);
    if let Err(nobody) = others_live(node, CALLED) {
        return if node.run(Operation::IsFlagSet { slot: it.slot }) == Ok(1) { Ok(()) } else { Err(nobody) };
    }
    node.does(Operation::AwaitFlag { slot: it.slot });
    Ok(())
}
