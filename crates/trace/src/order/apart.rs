//! Waits that only the recording makes necessary, and the threads that it put apart.

/// A wait of so many references is long enough to hide what two threads share, and so are as many made after it.
pub(super) const LONG: u64 = 1_000;
/// One wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    pub(super) waiter: u32,
    pub(super) first: u32,
    /// In references of virtual time.
    pub(super) wait: u64,
    /// References of the waiter before it.
    pub(super) refs: u64,
}

/// Threads that never ran together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The pair with the longest wait: who waited, and for whom.
    pub waiter: u32,
    /// Whom the recording put first.
    pub first: u32,
    /// How long, in references of virtual time.
    pub wait: u64,
    /// Pairs of threads in all.
    pub pairs: u32,
}
