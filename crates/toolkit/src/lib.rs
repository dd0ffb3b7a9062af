//! # homenode-toolkit: the only composition root
//!
//! Puts capture, trace, machines, policies, simulation and reports together into what a user can ask for. The command
//! line is a thin skin over this; other doors will be too.
//!
//! **Invariant:** no logic of its own beyond putting parts together; every failure is a [`Failure`](homenode_command::Failure)
//! that says whose fault it is and what to do.
//!
//! Reading order: [`families`], `record`, `info`, `report`, `export`, [`topo`](mod@topo), [`doctor`](mod@doctor).
#![forbid(unsafe_code)]

pub mod doctor;
mod export;
pub mod families;
mod import;
mod info;
pub mod live;
mod maintain;
mod migrate;
mod record;
mod report;
mod run;
mod sources;
pub mod topo;

pub use doctor::{DoctorDoc, doctor};
pub use export::{ExportRequest, export};
pub use homenode_capture::RecordOptions;
pub use import::{ImportDoc, import};
pub use info::info;
pub use live::doc::ActDoc;
pub use live::{LiveOptions, kernel_settings};
pub use maintain::{CompactDoc, Language, RecoverDoc, check, compact, compile, recover};
pub use migrate::{MigrateRequest, ReplayDoc, migrate, replay_journal};
pub use record::{RecordDoc, default_output, record};
pub use report::{ReportRequest, html, report, text};
pub use run::{RunRequest, run};
pub use topo::{TopoDoc, TopoRequest, topo};

/// Prepares the process that this library works in: what it cannot write is an error that is told, and does not kill it.
pub fn prepare() {
    // Where that cannot be had, the signal is what it always was.
    let _ = homenode_sys::signals::fail_beyond_file_limit();
}

/// The order in which references of different threads are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderChoice {
    /// Virtual time constrained by synchronisation.
    Model,
    /// Time stamps; `seed` chooses among the legal merges.
    Recorded {
        /// Seed.
        seed: u64,
    },
}

impl OrderChoice {
    pub(crate) fn kind(self) -> homenode_trace::order::OrderKind {
        match self {
            OrderChoice::Model => homenode_trace::order::OrderKind::Model,
            OrderChoice::Recorded { seed } => homenode_trace::order::OrderKind::Recorded { seed },
        }
    }
}
