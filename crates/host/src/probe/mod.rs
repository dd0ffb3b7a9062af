//! What this machine can and cannot do, and what to do about it. Used by `homenode doctor`, and by backends to say why
//! they cannot work here.
//!
//! Everything is asked through [`Host`], so that tests can be a container, a distribution with perf_event_paranoid 4 or a
//! machine without debugfs.
//!
//! Reading order: [`Host`], [`Check`], [`checks`]; then one file a subject: `nodes`, `events`, `faults`, `moving`.
mod events;
mod faults;
mod host;
mod moving;
mod nodes;
#[cfg(test)]
mod tests;

use homenode_machine::Topology;
pub use host::{Attempt, Host, ThisHost};

pub use events::perf_permission;
pub use faults::hinting_faults;

/// Whether something can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Possible in full.
    Yes,
    /// In part, or only for some.
    Limited,
    /// Not possible.
    No,
}

impl State {
    /// `yes`, `limited`, `no`.
    pub fn name(self) -> &'static str {
        match self {
            State::Yes => "yes",
            State::Limited => "limited",
            State::No => "no",
        }
    }
}

/// One line of the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What this is about.
    pub what: &'static str,
    /// Whether it works.
    pub state: State,
    /// What was found.
    pub why: String,
    /// What to do; empty if nothing needs doing or nothing can be done.
    pub todo: String,
}

impl Check {
    /// A line about `what`.
    pub fn new(what: &'static str, state: State, why: impl Into<String>, todo: impl Into<String>) -> Check {
        Check { what, state, why: why.into(), todo: todo.into() }
    }
}

/// Every check, in the order in which a user meets the things.
pub fn checks(host: &dyn Host, topology: &Topology) -> Vec<Check> {
    [nodes::checks(topology), events::checks(host), faults::checks(host, topology), moving::checks(host)].concat()
}
