//! Virtual time: a recording run again on processors and servers that take time.
//!
//! Each thread is an in-order processor with one outstanding miss. It pulls its references under its own clock
//! ([`homenode_trace::order::Feeds`]); a [`Memory`] says which of them hit, and on which way through which servers a miss goes.
//! Servers are taken in order of arrival. Mutexes, reader-writer locks and barriers are granted anew, in virtual time;
//! everything else that synchronises keeps its recorded causes.
//!
//! **Invariant:** events happen in the order (time, threads before messages, number), whatever is computed in advance: a run of
//! hits is one event, which is cut where another processor takes a line of it away, and gives what single steps give.
//!
//! Reading order: [`Memory`] and `path` (what a memory system is asked), `events`, `queue`, `thread` (runs), `grants` (locks and barriers),
//! `messages`, `calls` (memory systems that go on by themselves), `phases`, [`simulate`].
mod calls;
mod error;
mod events;
mod grants;
mod memory;
mod messages;
mod path;
mod phases;
mod queue;
mod simulate;
mod thread;

pub use error::TimedError;
pub use grants::{Deed, Object};
pub use memory::{Access, Call, Effects, Gaps, Kernel, Memory, NoGaps};
pub use messages::Waits;
pub use path::{Path, Stage};
pub use phases::Phase;
pub use simulate::{Options, Simulated, simulate};
pub use thread::Times;
