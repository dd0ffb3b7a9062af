//! Operations: all that a host asks of the protocol, as values. A journal notes them, and a replay carries them out again.
use crate::barrier::Parties;
use crate::cluster::PageId;
use crate::host::Host;
use crate::reduce::Reduction;
use crate::{barrier, condition, flag, lock, page, reduce, serve, slots, team, word};
use homenode_base::NodeId;

/// What a thread asks of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The program touched a page that it may not touch.
    Fault {
        /// The page.
        page: PageId,
        /// Whether it was to be written.
        write: bool,
    },
    /// The slot of a key; gives it.
    Find {
        /// The key, not 0.
        key: u64,
    },
    /// Takes a lock.
    Acquire {
        /// Slot.
        slot: u32,
    },
    /// Gives a lock up.
    Release {
        /// Slot.
        slot: u32,
    },
    /// Waits at a barrier.
    Barrier {
        /// Slot.
        slot: u32,
    },
    /// Waits at a barrier of the threads that the host says ([`Host::parties`]).
    Meet {
        /// Slot.
        slot: u32,
        /// Whether other threads run meanwhile, and do not come.
        some: bool,
    },
    /// Waits for a signal of a condition.
    Wait {
        /// The condition's slot.
        slot: u32,
        /// The slot of the lock that is given up meanwhile.
        lock: u32,
    },
    /// Wakes one thread that waits for a condition.
    Signal {
        /// The condition's slot.
        slot: u32,
    },
    /// Wakes all threads that wait for a condition.
    Broadcast {
        /// The condition's slot.
        slot: u32,
    },
    /// Sets a flag.
    SetFlag {
        /// Slot.
        slot: u32,
    },
    /// Takes a flag back.
    ClearFlag {
        /// Slot.
        slot: u32,
    },
    /// Whether a flag is set; gives 1 or 0.
    IsFlagSet {
        /// Slot.
        slot: u32,
    },
    /// Waits until a flag is set.
    AwaitFlag {
        /// Slot.
        slot: u32,
    },
    /// Changes a word of the heap at once, to what the program makes of it; gives what it was.
    Change {
        /// The slot of its lock.
        slot: u32,
        /// The word, counted from the beginning of the heap.
        word: usize,
    },
    /// Reads a word of the heap at once, and gives it; the program sees it.
    Read {
        /// The slot of its lock.
        slot: u32,
        /// The word, counted from the beginning of the heap.
        word: usize,
    },
    /// Gives what comes of the values of all threads.
    Reduce {
        /// The slot of reductions.
        slot: u32,
        /// What comes of two values.
        what: Reduction,
        /// This thread's value.
        value: u64,
    },
    /// Makes what this node wrote known to another.
    Post {
        /// The other one.
        to: NodeId,
    },
    /// Applies what was posted to this node.
    Take,
    /// Serves what other nodes have asked for.
    Serve,
    /// Notes the home of a page that nobody has touched.
    GiveHome {
        /// The page.
        page: PageId,
        /// Home.
        home: NodeId,
    },
}

/// Why an operation was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The calling thread does not have the lock.
    NotHeld,
    /// All slots are taken.
    TableFull,
    /// Threads asked for different reductions.
    Mixed,
}

/// Carries an operation out. `program` is asked what a word becomes ([`Operation::Change`]) or shown it ([`Operation::Read`]). Gives a value where
/// the operation says so, else 0.
///
/// # Errors
/// [`Refused`]; then nothing has happened, but for [`Refused::Mixed`].
pub async fn run<H: Host>(
    host: &H,
    operation: Operation,
    program: &mut impl FnMut(u64) -> u64,
) -> Result<u64, Refused> {
    let not_held = |_| Refused::NotHeld;
    match operation {
        Operation::Find { key } => {
            return slots::find(host, key).await.map(u64::from).map_err(|_| Refused::TableFull);
        }
        Operation::Release { slot } => return lock::release(host, slot).await.map(|()| 0).map_err(not_held),
        Operation::Wait { slot, lock } => return condition::wait(host, slot, lock).await.map(|()| 0).map_err(not_held),
        Operation::IsFlagSet { slot } => return Ok(flag::is_set(host, slot).await.into()),
        Operation::Change { slot, word } => return Ok(word::change(host, slot, word, program).await),
        Operation::Read { slot, word } => {
            return Ok(word::read(host, slot, word, |value| {
                program(value);
            })
            .await);
        }
        Operation::Reduce { slot, what, value } => {
            return reduce::all(host, slot, what, value).await.map_err(|_| Refused::Mixed);
        }
        Operation::Fault { page, write } => page::fault(host, page, write).await,
        Operation::Acquire { slot } => lock::acquire(host, slot).await,
        Operation::Barrier { slot } => barrier::wait(host, slot, Parties::All).await,
        Operation::Meet { slot, some } => {
            barrier::wait(host, slot, if some { Parties::Some } else { Parties::Running }).await;
        }
        Operation::Signal { slot } => condition::signal(host, slot).await,
        Operation::Broadcast { slot } => condition::broadcast(host, slot).await,
        Operation::SetFlag { slot } => flag::set(host, slot).await,
        Operation::ClearFlag { slot } => flag::clear(host, slot).await,
        Operation::AwaitFlag { slot } => flag::wait(host, slot).await,
        Operation::Post { to } => team::post(host, to).await,
        Operation::Take => team::take(host).await,
        Operation::Serve => serve::serve(host).await,
        Operation::GiveHome { page, home } => page::give_home(host, page, home).await,
    }
    Ok(0)
}
