//! A cluster on several hosts: node 0 is a process of this one; an agent on each host starts the others, and looks after them.
mod agent;
mod digest;
mod frame;
mod links;
mod plan;
mod private;
mod sent;

pub use agent::agent;
pub(crate) use agent::{Out, attend};
pub(crate) use links::{Agents, Came};
pub(crate) use plan::{AGENT, Host, Plan};
