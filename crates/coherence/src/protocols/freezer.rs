//! Freezing: a page that was invalidated not long ago is referenced from afar instead of being copied again.
//!
//! Neither how long that is nor how long pages stay frozen is printed. Both are parameters, in shared references of the
//! whole machine; frozen pages all thaw together, at multiples of `defrost`.
use super::Param;

pub(super) static RECENT: Param = Param {
    name: "recent",
    summary: "shared references of the machine for which an invalidation counts as recent",
    default: 100_000,
    min: 0,
    max: u32::MAX,
    variant: true,
};
pub(super) static DEFROST: Param = Param {
    name: "defrost",
    summary: "shared references of the machine after which all pages thaw",
    default: 1_000_000,
    min: 1,
    max: u32::MAX,
    variant: true,
};

/// The two lengths, in shared references of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// An invalidation counts as recent for so many.
    pub recent: u64,
    /// All pages thaw every so many; at least 1.
    pub defrost: u64,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Freezer {
    /// When a write last took a copy from another processor.
    invalidated: Option<u64>,
    /// At what time the page thaws, or has thawed.
    thaws: u64,
}

impl Freezer {
    /// A write took away a copy of another processor.
    pub(super) fn invalidation(&mut self, now: u64) {
        self.invalidated = Some(now);
    }
    /// Whether the page is frozen, or would be by a read that would copy it.
    #[inline]
    pub(super) fn freezes(&self, windows: Windows, now: u64) -> bool {
        self.frozen_until(now) || self.invalidated.is_some_and(|then| now.saturating_sub(then) <= windows.recent)
    }
    /// Whether the page is frozen from the last access to this time.
    #[inline]
    pub(super) fn frozen_until(&self, time: u64) -> bool {
        time < self.thaws
    }
    /// Freezes the page until the next thaw.
    pub(super) fn freeze(&mut self, windows: Windows, now: u64) {
        if !self.frozen_until(now) {
            self.thaws = (now / windows.defrost + 1).saturating_mul(windows.defrost);
        }
    }
}
