//! Steps of the ladder from Base to GeNIMA, one file each: a step says what it does otherwise than the one below it.
//! Source: Bilas and Singh, sections 1.4.1 and 1.4.4.

/// How nodes learn of each other's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notices {
    /// With the lock or the barrier, from whoever hands it over; intervals end when another node asks.
    Pulled,
    /// Deposited into the memory of all nodes at each release.
    Pushed,
}

/// How a page comes from its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The home's processor is interrupted and sends it.
    Requested,
    /// The requester reads it and its stamps out of the home's memory.
    Fetched,
}

/// How changes come to the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diffs {
    /// One message a page; the home's processor is interrupted and applies it.
    Sent,
    /// One deposit into the home's copy for each run of changed words.
    Deposited,
}

/// Who looks after locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// A manager for each lock; its processor and the last holder's are interrupted.
    Managed,
    /// A queue in words that the requester alone reads and changes; no other processor takes part.
    Queued,
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Name on the command line.
    pub name: &'static str,
    /// Other name, or the same again.
    pub also: &'static str,
    /// One line for lists and reports.
    pub summary: &'static str,
    /// Notices of writes.
    pub notices: Notices,
    /// Pages from their homes.
    pub pages: Pages,
    /// Changes to the homes.
    pub diffs: Diffs,
    /// Locks.
    pub locks: Locks,
}

homenode_base::registry!(
    /** Every step, from the bottom of the ladder upwards. */ Step;
    base, dw, rf, dd, nil
);

/// The step with this name.
pub fn find(name: &str) -> Option<&'static Step> {
    ALL.iter().copied().find(|s| s.name == name || s.also == name)
}
