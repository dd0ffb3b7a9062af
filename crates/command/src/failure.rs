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
    /// The class whose status this is; that of failed work for any other.
    pub const fn of(exit_status: u8) -> Class {
        match exit_status {
            2 => Class::Usage,
            3 => Class::Input,
            _ => Class::Work,
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
        plain(&self.message)
            .chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl std::error::Error for Failure {}

/// Without the numbers that Rust puts behind what the system said: `(os error 2)` tells nobody anything.
fn plain(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(OS_ERROR) {
        let number = &rest[at + OS_ERROR.len()..];
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let known = digits > 0 && number[digits..].starts_with(')');
        out.push_str(&rest[..if known { at } else { at + OS_ERROR.len() }]);
        rest = if known { &number[digits + 1..] } else { number };
    }
    out + rest
}

const OS_ERROR: &str = " (os error ";

impl From<homenode_trace::TraceError> for Failure {
    fn from(e: homenode_trace::TraceError) -> Failure {
        Failure::input(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        let said = |text: &str| Failure::work(text).to_string();
        assert_eq!(said("cannot read a: No such file (os error 2); b"), "cannot read a: No such file; b");
        assert_eq!(said("x (os error 2) (os error 13)"), "x");
        for same in ["x (os error )", "x (os error 2", "x (os error -1)", "(os error 2)", "ä (os error é)"] {
            assert_eq!(said(same), same);
        }
        assert_eq!(said("a\u{1b}\n"), "a\\u{1b}\\n");
    }
}
