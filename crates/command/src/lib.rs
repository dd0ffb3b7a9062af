//! # homenode-command: what every command is made with
//!
//! How a command fails, says how far it is, opens what it is given (a dataset by its path, a machine by its name) and hands
//! over what it made (a file, a document, standard output).
//!
//! **Invariant:** every failure is one line that says whose fault it is and what to do, and an output file is whole or not
//! there. What only some commands need belongs to them and not here.
//!
//! Reading order: [`Failure`], [`Progress`], [`dataset`], [`machine`], [`instructions`], [`gaps`], [`output`].
//!
//! ```
//! use homenode_command::{Class, dataset, machine, output};
//!
//! assert_eq!(machine::named("two-socket")?.nodes(), 2);
//! assert_eq!(machine::named("cray").unwrap_err().class, Class::Usage);
//!
//! let file = std::env::temp_dir().join(format!("homenode-example-{}.txt", std::process::id()));
//! output::refuse_existing(&file, false)?;
//! output::write(&file, b"whole")?;
//! let failure = dataset::open(&file).err().expect("a text is no dataset");
//! assert_eq!(failure.class.exit_status(), 3);
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

pub mod dataset;
mod failure;
pub mod gaps;
pub mod instructions;
pub mod machine;
pub mod output;

pub use failure::{Class, Failure};

/// Is told how long work gets on.
pub trait Progress {
    /// `done` of `total` in the stage of this name; no total where it is not known. Where work has several stages and their
    /// number is known, both count over all of them, so that the time left is that of the whole; a stage that turns out
    /// not to be needed is passed over.
    fn at(&mut self, stage: &str, done: u64, total: Option<u64>);
    /// Whether somebody sits there and reads [`Progress::say`].
    fn is_watched(&self) -> bool {
        false
    }
    /// Whether the work is to stop. `None` where nobody says so, and signals of the process are to be looked for.
    fn is_stopped(&self) -> Option<bool> {
        None
    }
    /// Says what is known before the work is done.
    fn say(&mut self, _sentence: &str) {}
}

/// Says nothing.
impl Progress for () {
    fn at(&mut self, _: &str, _: u64, _: Option<u64>) {}
}

/// Progress of a recording: how many references it has.
pub struct Recording<'a>(pub &'a mut dyn Progress);

impl homenode_capture::Progress for Recording<'_> {
    fn update(&mut self, now: &homenode_capture::Snapshot) {
        self.0.at("recording", now.refs, None);
    }
}

/// A document on one line with a newline at the end.
///
/// # Panics
/// The value does not serialise, which plain structs with string keys always do.
pub fn json_line<T: serde::Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).expect("plain structs with string keys always serialise");
    text.push('\n');
    text
}
