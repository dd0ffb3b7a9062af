//! Sampling by the kernel's performance events.
//!
//! Reading order: [`records`] and [`source_bits`] (what the bytes say), [`notices`], [`decode`] (bytes to samples), [`plan`]
//! (what the kernel is asked for), [`pmu`], `pebs`, `ibs` and [`event`] (which event a machine offers), [`control`] (how often), [`PerfSource`] (live sampling),
//! [`effective`] (addresses from registers and instructions where none were recorded; `code` for samples of the clock), [`spe`] (packets of ARM, for
//! imports).
mod code;
pub mod control;
pub mod decode;
pub mod effective;
pub mod event;
mod ibs;
pub mod notices;
mod open;
mod pebs;
pub mod plan;
pub mod pmu;
pub mod records;
mod source;
pub mod source_bits;
pub mod spe;
mod target;
#[cfg(test)]
mod tests;
pub mod wire;

pub use decode::{Counts, Decoder, EventFacts};
pub use event::EventChoice;
pub use open::{permitted, why_refused};
pub use plan::EventPlan;
pub use source::{PerfOptions, PerfSource};
pub use target::Target;
