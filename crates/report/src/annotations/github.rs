//! Commands that a job of GitHub Actions prints to have lines of a change annotated:
//! <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>.
use super::{Annotation, title};
use std::fmt::Write;

/// How much an annotation matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Shown beside the others.
    Warning,
    /// What a job fails for.
    Error,
}

/// A command a finding, a line each.
pub fn github(annotations: &[Annotation]) -> String {
    let mut out = String::new();
    for a in annotations {
        let at = a.lines.first().filter(|l| l.is_inside);
        let at = at.map(|l| format!("file={},line={},", property(&l.path), l.line)).unwrap_or_default();
        let _ = writeln!(out, "::warning {at}title={}::{}", property(title(a.kind)), escaped(&a.message));
    }
    out
}

/// A command for a sentence about the whole job.
pub fn message(level: Level, sentence: &str) -> String {
    let level = match level {
        Level::Warning => "warning",
        Level::Error => "error",
    };
    format!("::{level} title=homenode::{}\n", escaped(sentence))
}

/// A message as commands carry it: on one line.
pub fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which ends at a comma or a colon.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
