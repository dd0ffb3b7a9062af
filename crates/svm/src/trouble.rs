//! Why the program cannot go on under shared virtual memory.
use std::fmt;

/// What is wrong and what to do, in one line that follows the name of the library or of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble(String);

impl Trouble {
    /// Something that the system refused.
    pub fn new(what: &str, why: impl fmt::Display) -> Trouble {
        Trouble(format!("{what}: {why}"))
    }
    /// Something that the program did.
    pub(crate) fn of(what: impl Into<String>) -> Trouble {
        Trouble(what.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
