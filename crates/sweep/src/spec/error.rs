//! What is wrong with a study, where, and what may have been meant.
use std::fmt;

/// A study that cannot be carried out: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Line of the file, from 1; absent where there is no file or the line is not known.
    pub line: Option<usize>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl SpecError {
    /// An error without a line.
    pub fn new(message: impl Into<String>) -> SpecError {
        SpecError { line: None, message: message.into() }
    }
    /// The error with a line, unless it has one.
    #[must_use]
    pub fn at(mut self, line: usize) -> SpecError {
        self.line.get_or_insert(line);
        self
    }
    /// A name that nobody knows, with those that are known and the nearest of them.
    pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> SpecError {
        let known: Vec<&str> = known.into_iter().collect();
        let meant = nearest(given, known.iter().copied()).map_or(String::new(), |n| format!("; did you mean '{n}'?"));
        SpecError::new(format!("there is no {what} '{given}'{meant} (known: {})", known.join(", ")))
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for SpecError {}

/// The known name with the least edit distance, if it is near enough to have been meant: at most a third of the letters
/// differ, and at least one edit is always allowed. Letter case decides between equals (`r` and `R` are two names).
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let scored = known.into_iter().map(|name| {
        let distance = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
        ((distance, strsim::damerau_levenshtein(given, name)), name)
    });
    let allowed = (given.chars().count() / 3).max(1);
    scored.min_by_key(|(score, _)| *score).filter(|((d, _), _)| *d <= allowed).map(|(_, name)| name)
}

/// Errors of the TOML reader, with the nearest key where an unknown one is named.
pub(super) fn from_toml(text: &str, e: &toml::de::Error) -> SpecError {
    let line = e.span().map(|s| line_of(text, s.start));
    let message = e.message().replace('\n', " ");
    if message.contains("value was too large") || message.contains("as i128") {
        let most = homenode_machine::limits::COST_MAX;
        return SpecError { line, message: format!("a number is too large ({message}): costs are at most {most}") };
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let meant = match quoted.next() {
        Some(given) if message.starts_with("unknown field") => nearest(given, quoted),
        _ => None,
    };
    let meant = meant.map_or(String::new(), |n| format!("; did you mean '{n}'?"));
    SpecError { line, message: format!("{message}{meant}") }
}

/// Line, from 1, of a byte of the text.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_nothing_far_away() {
        let known = ["first-touch", "ace", "delay", "platinum"];
        assert_eq!(nearest("firsttouch", known), Some("first-touch"));
        assert_eq!(nearest("platnium", known), Some("platinum"));
        assert_eq!(nearest("aec", known), Some("ace"));
        assert_eq!(nearest("random", known), None);
        assert_eq!(nearest("R", ["r", "R"]), Some("R"));
    }
}
