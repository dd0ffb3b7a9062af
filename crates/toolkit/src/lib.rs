//! # homenode-toolkit: the commands about recordings and machines
//!
//! Records, imports, looks after, describes and reports datasets; says what this machine is and can do. Each is one
//! file that puts the crates below together. Commands that are more than that have crates of their own beside this one:
//! `export`, `papers`, `sweep`, `place`, `live`; the command line is a thin skin over all of them.
//!
//! **Invariant:** nothing is computed here that another command needs too; every failure is a
//! [`Failure`](homenode_command::Failure) that says whose fault it is and what to do.
//!
//! Reading order: [`families`], `record`, `import`, `maintain`, `info`, `report`, `quick`, `layout`, `capacity`, `sources`, `sim_memory`, `sim_cluster`, `sim_tiers`,
//! [`topo`](mod@topo), [`doctor`](mod@doctor).
//!
//! ```
//! use homenode_toolkit::{ReportRequest, check, families, report, text};
//! use homenode_synthetic::Builder;
//! use homenode_trace::{order::OrderKind, store::Store};
//!
//! // A page that thread 0 touches first and thread 1 uses.
//! let mut program = Builder::new(2);
//! program.write(0, 0x40_0000);
//! for i in 0..999 {
//!     program.read(1, 0x40_0000 + i % 512 * 8);
//! }
//! let (folder, dataset) = (tempfile::tempdir().unwrap(), program.store());
//! for name in dataset.names().unwrap() {
//!     let file = folder.path().join(&name);
//!     std::fs::create_dir_all(file.parent().unwrap()).unwrap();
//!     std::fs::write(file, dataset.get(&name).unwrap().as_slice()).unwrap();
//! }
//!
//! assert!(check(folder.path())?.ok);
//! let request = ReportRequest {
//!     dataset: folder.path().to_owned(),
//!     compare: None,
//!     machine: "numa".to_owned(),
//!     blocks: Vec::new(),
//!     policies: vec!["first-touch".to_owned()],
//!     map: None,
//!     order: OrderKind::Model,
//!     charge_spins: false,
//!     model: Default::default(),
//!     verify: true,
//!     capacity: Vec::new(),
//!     threshold_percent: 5,
//! };
//! let doc = report(&request, &mut ())?;
//! assert!(text(&doc, 100, false).contains("first-touch"));
//! assert!(families::list(Some("machines"))?.members.iter().any(|m| m.name == "numa"));
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod annotate;
mod capacity;
pub mod doctor;
pub mod families;
mod gate;
mod import;
mod info;
mod layout;
mod maintain;
mod quick;
mod record;
mod report;
mod sim_cluster;
mod sim_memory;
mod sim_tiers;
mod sources;
mod threads;
pub mod topo;
mod waits;

pub use annotate::{Annotated, annotate};
pub use doctor::{DoctorDoc, doctor};
pub use gate::Gate;
pub use homenode_base::pages::ONE_IN_MAX;
pub use homenode_capture::{Calibrate, RecordOptions};
pub use homenode_report::ReportDoc;
pub use homenode_report::annotations::{Level, message as github_message};
pub use homenode_sim::MissModel;
pub use import::{ImportDoc, import};
pub use info::info;
pub use maintain::{CompactDoc, Language, RecoverDoc, check, compact, compile, recover};
pub use quick::{first_answer, has_some_pages, quick, quick_text};
pub use record::{RecordDoc, default_output, drawn, record};
pub use report::{ReportRequest, html, report, report_with, text};
pub use sim_cluster::{SimClusterDoc, SimClusterRequest, faults_help, sim_cluster, sim_cluster_on, what_ifs_help};
pub use sim_memory::{SimMemoryDoc, SimMemoryRequest, sim_memory};
pub use sim_tiers::{SimTiersDoc, SimTiersRequest, has_tiers, sim_tiers};
pub use topo::{TopoDoc, TopoRequest, topo};

/// Prepares the process that this library works in: what it cannot write is an error that is told, and does not kill it.
pub fn prepare() {
    // Where that cannot be had, the signal is what it always was.
    let _ = homenode_sys::signals::fail_beyond_file_limit();
}
