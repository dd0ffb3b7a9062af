//! The controller of the live loop: what was used goes in, what to move comes out, and no clock is read and no call made here.
//!
//! A registered policy decides, the same that the simulator evaluates. Live moves come in batches and may fail, so each
//! window is decided in two passes: [`BlockEngine::probe`](crate::BlockEngine::probe) says what the policy would do with
//! each page; guards (hysteresis, limits, freezing), the gain, the budget and the room on the nodes choose among these
//! candidates; the chosen ones are carried out in one batch; then the policy takes its real step and is told of each action
//! what became of it.
//!
//! `docs/design/live.md` has the rules and the reasons.
//!
//! Reading order: [`event`] (what goes in and out), [`config`], [`governor`], `pages` (what is known of a page), `guard`,
//! `spread` (what samples say of pages beside them), `pace` (how long windows are), `attention` and `budget` (what may be spent), `backoff`, [`journal`] (recording and replay).
mod attention;
mod backoff;
mod budget;
pub mod config;
pub mod event;
pub mod governor;
mod guard;
pub mod journal;
mod pace;
mod pages;
mod spread;
mod stats;

pub use config::Config;
pub use event::{Effect, Event, MigrationCandidate, MoveRefusal, MoveStatus, PageId, Use, Verdict};
pub use governor::Governor;
pub use journal::{Header, JournalError, Line, Replayed, replay};
pub use stats::{Locality, RejectedCandidates, Stats};
