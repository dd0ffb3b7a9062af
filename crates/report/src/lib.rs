//! # homenode-report: results to text, JSON and HTML
//!
//! Takes an [`Evaluation`](homenode_sim::Evaluation) and the facts of the recording, gives strings: one screen of text,
//! a JSON document (schemas under `docs/schema/`), one self-contained HTML file.
//!
//! **Invariant:** every number shown comes from the document; nothing is computed here except shares of totals, units
//! and the comparison of a prediction with what came true. Everything that came from outside (names of objects, files
//! and commands) is escaped on the way out.
//!
//! Reading order: [`doc`], [`provenance`], [`sampling`], [`compare`], [`info`], [`units`], [`quick`], [`headline`], [`source`], [`capacity`], [`memory_time`], [`traffic`], [`text`], [`html`],
//! [`gate`], [`annotations`].
//!
//! ```
//! use homenode_base::TotalCost;
//! use homenode_report::units::{CostUnit, bytes, integer, percent};
//!
//! // What people read. Documents as a whole: see [`text::render`] and [`html`].
//! assert_eq!(integer(1_234_567), "1,234,567");
//! assert_eq!((bytes(4096).as_str(), percent(0.0004).as_str()), ("4 KiB", "<0.1 %"));
//! assert_eq!(CostUnit::of("ps").cost(TotalCost(1_500_000_000_000)), "1.50 s");
//! ```
#![forbid(unsafe_code)]

pub mod annotations;
pub mod capacity;
pub mod compare;
pub mod doc;
pub mod gate;
pub mod headline;
pub mod html;
pub mod info;
pub mod layout;
pub mod memory_time;
pub mod provenance;
pub mod quick;
pub mod sampling;
pub mod source;
pub mod text;
pub mod traffic;
pub mod units;

pub use capacity::CapacityDoc;
pub use compare::Comparison;
pub use doc::ReportDoc;
pub use info::{CheckDoc, InfoDoc};
pub use layout::LayoutDoc;
pub use memory_time::MemoryTime;
pub use provenance::Provenance;
pub use quick::{QuickDoc, QuickFacts};
pub use sampling::SamplingDoc;
