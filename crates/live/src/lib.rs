//! # homenode-live: acting on a program that runs
//!
//! The driver of the live loop (samples in, page moves out) and of plans. What is decided is decided elsewhere: by the
//! governor ([`homenode_placement::live`], pure) or beforehand, in a plan (`homenode_place`). Here are the sensors, the
//! actuator and the journal, and the program's life.
//!
//! **Invariant:** a program is never worse off for being watched: its signals, terminal and exit status are its own, it is
//! waited for whatever fails here, and every setting of the kernel that was changed is put back.
//!
//! Reading order: `options` (what can be set), `watch` (the loop), `source` (which samples), `evidence` (samples to uses of
//! pages), `meter` (where accesses went), `actuator` (the calls), `journal`, `kernel` (the kernel's own balancing), `tuned`
//! (where it is switched on), `child` (a program that is started), [`doc`] and `text` (the report); then [`run`], [`migrate`]
//! and [`replay_journal`].
//!
//! ```
//! use homenode_command::Class;
//! use homenode_live::{LiveOptions, RunRequest, run};
//!
//! let mut request = RunRequest { command: vec!["true".into()], ..RunRequest::default() };
//! request.options = LiveOptions { policy: "nonsense".into(), ..LiveOptions::default() };
//! assert_eq!(run(&request, &mut ()).unwrap_err().class, Class::Usage);
//!
//! request.options = LiveOptions::default();
//! match run(&request, &mut ()) {
//!     Ok(doc) => assert_eq!(doc.exit_status, Some(0)),
//!     // Several memory nodes, and nothing may be sampled here: one line says why.
//!     Err(why) => assert_eq!(why.class, Class::Work),
//! }
//! ```
#![forbid(unsafe_code)]

mod actuator;
mod child;
pub mod doc;
mod evidence;
mod here;
mod journal;
mod kernel;
mod meter;
mod migrate;
mod options;
mod replay;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod tuned;
mod watch;

pub use doc::ActDoc;
pub use migrate::{MigrateRequest, migrate};
pub use options::{LiveOptions, kernel_settings};
pub use replay::{ReplayDoc, replay_journal};
pub use run::{RunRequest, run};
