//! # homenode-sampling: samples of the memory accesses of running programs
//!
//! Who touched which address, when and from where: by the processor's own sampling (`perf`), by page faults that the kernel
//! makes for automatic NUMA balancing (`hinting`), and how much memory is used at all (`damon`). Every source delivers the same
//! [`RawSample`]; what becomes of samples is the business of crates above.
//!
//! **Invariant:** bytes of the kernel are checked before they are believed; sampling costs a program no more than
//! was allowed; and whatever is switched on in the kernel is switched off again, by the next start if need be.
//!
//! Each first touch of a page is a sample (where the kernel permits events):
//! ```
//! use homenode_sampling::perf::{EventChoice, PerfOptions, PerfSource, Target};
//! use homenode_sampling::SampleSource;
//! use std::time::Duration;
//!
//! let myself = Target::Running(std::process::id());
//! let mut source = match PerfSource::open(myself, EventChoice::PageFaults, &PerfOptions::default()) {
//!     Ok(source) => source,
//!     Err(refused) => return println!("SKIPPED: {refused}"),
//! };
//! let memory = std::hint::black_box(vec![1u8; 64 << 20]);
//! let (mut samples, mut notices) = (Vec::new(), Vec::new());
//! source.poll(Duration::from_millis(100), &mut samples, &mut notices).unwrap();
//! let first = memory.as_ptr() as u64;
//! assert!(samples.iter().any(|s| (first..first + memory.len() as u64).contains(&s.addr)));
//! ```
//!
//! Reading order: [`samples`] (what every source delivers), [`perf`], [`hinting`], `thin` (a lower rate than the kernel's),
//! [`damon`] and [`heat`] (how hot memory is), [`huge`] (what is in huge pages), [`leftovers`] (what a killed recorder left behind).
#![forbid(unsafe_code)]

pub mod damon;
mod error;
pub mod heat;
pub mod hinting;
pub mod huge;
pub mod leftovers;
pub mod perf;
pub mod samples;
mod thin;

pub use error::SamplingError;
pub use samples::{Notice, RawSample, SampleSource};
