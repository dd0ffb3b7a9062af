//! Failures as the command line sees them.
use std::fmt;

/// Whose fault it is; decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The work could not be done or failed.
    Work,
    /// The command was used wrongly.
    Usage,
    /// What was given to work on is not usable.
    Input,
}

impl Class {
    /// Exit status of the process.
    pub const fn exit_status(self) -> u8 {
        match self {
            Class::Work => 1,
            Class::Usage => 2,
            Class::Input => 3,
        }
    }
}

/// A failure: one clear line, saying what, where and what to do.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Whose fault.
    pub class: Class,
    /// The line.
    pub message: String,
}

impl Failure {
    /// A failure of the work itself.
    pub fn work(message: impl fmt::Display) -> Failure {
        Failure { class: Class::Work, message: message.to_string() }
    }
    /// Wrong usage.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure { class: Class::Usage, message: message.to_string() }
    }
    /// Bad input.
    pub fn input(message: impl fmt::Display) -> Failure {
        Failure { class: Class::Input, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Messages may quote names from outside: control characters must not reach the terminal, nor break the line.
        self.message
            .chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl std::error::Error for Failure {}

impl From<homenode_trace::TraceError> for Failure {
    fn from(e: homenode_trace::TraceError) -> Failure {
        Failure::input(e)
    }
}
