//! Rules of the protocol, by name. Tests switch one off at a time and see that something fails then; elsewhere all hold.

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Changes are at the home before their stamp is.
    DataBeforeStamp,
    /// Stamps are read before the data that they are about.
    StampBeforeData,
    /// A copy is fetched again if it is older than what must be seen.
    OldCopyFetchedAgain,
    /// A page is fetched again if a notice came while it was fetched.
    NoticeDuringFetch,
    /// The home lets its own program wait for changes that are still on their way.
    HomeWaits,
    /// Whoever takes a lock waits until all notices that go with it have come.
    NoticesBeforeLock,
    /// A page with own changes is sent home before it is given up.
    DiffBeforeGivingUp,
    /// Who fetches a page again sees the own changes that were sent before.
    OwnChangesSeen,
    /// The home's copy gets the bytes that changed and no others.
    ChangedBytesOnly,
    /// An interval ends before its lock can be taken.
    IntervalBeforeLock,
    /// After an interval the next write to a page is noticed again.
    ProtectedAgain,
    /// Who waits for a condition can be found before its lock is given up.
    ParkedBeforeRelease,
    /// Who is woken learns first what the waker has seen.
    PostBeforeWake,
    /// A node with several threads: while one fetches a page, others wait.
    OneFetches,
    /// Who gets a copy of a page that may be exclusive says so before.
    CopyAnnounced,
    /// A home notes exclusive pages of which there are copies.
    CopiedPagesNoted,
    /// Pages that were fetched ahead are opened only if they are new enough.
    AheadNewEnough,
    /// A page that was fetched ahead and not opened is given up if a notice comes.
    AheadGivenUp,
    /// A page that moves is complete at its new home before that says so.
    NewHomeComplete,
    /// What an old home has of a page stays until the new one has it.
    OldHomeKept,
}

#[cfg(not(test))]
pub(crate) const fn holds(_: Rule) -> bool {
    true
}

#[cfg(test)]
pub(crate) use switch::{RULES, holds, without};

#[cfg(test)]
mod switch {
    use super::Rule;
    use std::cell::Cell;

    pub(crate) const RULES: [Rule; 20] = [
        Rule::DataBeforeStamp,
        Rule::StampBeforeData,
        Rule::OldCopyFetchedAgain,
        Rule::NoticeDuringFetch,
        Rule::HomeWaits,
        Rule::NoticesBeforeLock,
        Rule::DiffBeforeGivingUp,
        Rule::OwnChangesSeen,
        Rule::ChangedBytesOnly,
        Rule::IntervalBeforeLock,
        Rule::ProtectedAgain,
        Rule::OneFetches,
        Rule::ParkedBeforeRelease,
        Rule::PostBeforeWake,
        Rule::CopyAnnounced,
        Rule::CopiedPagesNoted,
        Rule::AheadNewEnough,
        Rule::AheadGivenUp,
        Rule::NewHomeComplete,
        Rule::OldHomeKept,
    ];

    thread_local! {
        static OFF: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    pub(crate) fn holds(rule: Rule) -> bool {
        OFF.get() != Some(rule)
    }

    /// What `run` comes to without a rule.
    pub(crate) fn without<R>(rule: Rule, run: impl FnOnce() -> R) -> R {
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                OFF.set(None);
            }
        }
        OFF.set(Some(rule));
        let _again = Again;
        run()
    }
}
