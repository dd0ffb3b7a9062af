//! What the controller of the live loop hears and says. All of it can be written down and read back: see [`journal`](super::journal).
use homenode_base::NodeId;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A page of a process: a small page, or a huge one named by its first small page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageId {
    /// Address space (the process id).
    pub space: u32,
    /// Number of its first small page: address / 4096.
    pub page: u64,
}

/// How a node used a page since the last such report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The page.
    pub page: PageId,
    /// Small pages in it, at least 1.
    pub pages: u32,
    /// Node on which the threads ran.
    pub node: NodeId,
    /// Weight of the reads, in units of the evidence.
    pub reads: u32,
    /// Weight of the writes.
    pub writes: u32,
}

/// What the controller is told. Times are nanoseconds of one steady clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Evidence.
    Used {
        /// Page and node may repeat; counts add up.
        uses: Vec<Use>,
    },
    /// Time has passed; a window that is over by now is decided.
    Tick,
    /// The window ends here, however long it was (a phase of the program).
    Marker,
    /// Answer to [`Effect::Locate`]: where pages are; no node = not in memory.
    Located {
        /// In any order.
        at: Vec<(PageId, Option<NodeId>)>,
    },
    /// Free room, in small pages.
    Free {
        /// Nodes not named keep what was known; a node never named has none.
        pages: Vec<(NodeId, u64)>,
    },
    /// Answer to [`Effect::Move`].
    Moved {
        /// One for each candidate, in any order; a candidate without one counts as not attempted.
        verdicts: Vec<Verdict>,
        /// Nanoseconds that moving took.
        took_ns: u64,
    },
    /// Processor time taken by looking and deciding since the last such report, in nanoseconds.
    Spent {
        /// Nanoseconds.
        deciding_ns: u64,
    },
    /// A process ended.
    Ended {
        /// Address space of the process.
        space: u32,
    },
    /// The off switch: nothing moves any more until [`Event::On`].
    Off,
    /// On again.
    On,
}

/// One move asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationCandidate {
    /// The page.
    pub page: PageId,
    /// Small pages in it.
    pub pages: u32,
    /// Where it is.
    pub from: NodeId,
    /// Where it is to go.
    pub to: NodeId,
    /// What a window is expected to cost less, in units of the machine.
    pub gain: i64,
}

impl MigrationCandidate {
    /// Order of candidates: the greatest gain a small page comes first.
    pub(super) fn by_gain_a_page(&self, other: &MigrationCandidate) -> Ordering {
        let per_page =
            i128::from(other.gain) * i128::from(self.pages) - i128::from(self.gain) * i128::from(other.pages);
        per_page.cmp(&0).then(self.page.cmp(&other.page))
    }
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The page.
    pub page: PageId,
    /// Move status of the page.
    #[serde(alias = "fate")]
    pub status: MoveStatus,
}

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveStatus {
    /// The page is where it was to go, confirmed.
    Moved,
    /// The page is not where it was to go.
    Refused(MoveRefusal),
}

impl MoveStatus {
    /// Whether the move was attempted at all.
    pub(super) fn was_attempted(&self) -> bool {
        *self != MoveStatus::Refused(MoveRefusal::OutOfTime)
    }
}

/// Reason why a page was not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveRefusal {
    /// Shared with other processes.
    Shared,
    /// Busy in the kernel.
    Busy,
    /// No room.
    NodeFull,
    /// The process may not have memory there.
    NodeForbidden,
    /// Nothing there any more.
    Absent,
    /// The process ended.
    Gone,
    /// The user may not move pages of the process.
    NotPermitted,
    /// Not attempted for lack of time.
    OutOfTime,
    /// Anything else.
    Other,
}

/// What the controller wants done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Say where these pages are: [`Event::Located`].
    Locate {
        /// Ascending.
        pages: Vec<PageId>,
    },
    /// Move these, most urgent first, and say what became of them: [`Event::Moved`].
    Move {
        /// Not empty, no page twice.
        #[serde(alias = "wishes")]
        candidates: Vec<MigrationCandidate>,
        /// Begin nothing new after this many nanoseconds.
        limit_ns: u64,
    },
    /// Look less or more often: this many per mille of the rate that the user wanted.
    Rate {
        /// 1 to 1000.
        per_mille: u32,
    },
}
