//! Steps of the ladder from Base to GeNIMA, one file each: a step says what it does otherwise than the one below it.
//! Source: Bilas and Singh, sections 1.4.1 and 1.4.4.

/// How nodes learn of each other's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notices {
    /// With the lock or the barrier, as messages from whoever hands it over.
    WithLock,
    /// Deposited into the memory of all nodes at each release.
    Pushed,
    /// Read at the acquire out of the memory of those that wrote: a variant of [`Notices::Pushed`] in none of the steps.
    Fetched,
}

/// When intervals end: diffs are made and sent, and notices written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervals {
    /// When another node asks for a lock that was held, and at a barrier.
    Lazy,
    /// At each release, too.
    Released,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name on the command line.
    pub name: &'static str,
    /// Other name, or the same again.
    pub also: &'static str,
    /// One line for lists and reports.
    pub summary: &'static str,
    /// Notices of writes.
    pub notices: Notices,
    /// Ends of intervals.
    pub intervals: Intervals,
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

impl Notices {
    /// Every way.
    pub const ALL: [Notices; 3] = [Notices::WithLock, Notices::Pushed, Notices::Fetched];
    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Notices::WithLock => "with-lock",
            Notices::Pushed => "pushed",
            Notices::Fetched => "fetched",
        }
    }
    /// The way of this name.
    pub fn find(name: &str) -> Option<Notices> {
        Notices::ALL.into_iter().find(|n| n.name() == name)
    }
}

impl Intervals {
    /// Both.
    pub const ALL: [Intervals; 2] = [Intervals::Lazy, Intervals::Released];
    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Intervals::Lazy => "lazy",
            Intervals::Released => "at-release",
        }
    }
    /// The way of this name.
    pub fn find(name: &str) -> Option<Intervals> {
        Intervals::ALL.into_iter().find(|i| i.name() == name)
    }
}

impl Step {
    /// This step with notices that come in another way, or intervals that end otherwise, where that is given. Notices that do not come with
    /// the lock need intervals that end at each release, which are taken then if nothing is given.
    ///
    /// # Errors
    /// These do not go together: why.
    pub fn with(self, notices: Option<Notices>, intervals: Option<Intervals>) -> Result<Step, String> {
        let notices = notices.unwrap_or(self.notices);
        let with_lock = notices == Notices::WithLock;
        if with_lock && self.locks == Locks::Queued {
            return Err(format!(
                "notices with the lock: no host hands over the locks of {}; dd's are handed over",
                self.name
            ));
        }
        let intervals = match intervals {
            Some(Intervals::Lazy) if !with_lock => {
                return Err(
                    "lazy diffs: somebody must ask for them, and only notices with the lock are asked for".to_owned()
                );
            }
            Some(intervals) => intervals,
            None if with_lock => self.intervals,
            None => Intervals::Released,
        };
        Ok(Step { notices, intervals, ..self })
    }
}

/// The step with this name.
pub fn find(name: &str) -> Option<&'static Step> {
    ALL.iter().copied().find(|s| s.name == name || s.also == name)
}
