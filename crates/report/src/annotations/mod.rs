//! Findings as remarks on lines of source files, for tools that show them there: SARIF and GitHub.
mod github;
mod sarif;

pub use github::{Level, escaped, github, message};
pub use sarif::sarif;

use crate::doc::ReportDoc;
use crate::source::file_and_line;
use homenode_sim::evaluation::{Finding, FindingKind};

/// A finding where it is to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Kind.
    pub kind: FindingKind,
    /// Data object.
    pub object: String,
    /// What is wrong, what to do and what it is worth, in sentences.
    pub message: String,
    /// Share of the first-touch total that it saves.
    pub saving_share: f64,
    /// Lines that it is about, the one to show it at first; none if the program was compiled without debug information.
    pub lines: Vec<Line>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Path: below the root of the sources with `/` between its parts, or else absolute.
    pub path: String,
    /// Whether it is below the root.
    pub is_inside: bool,
    /// Line, from 1.
    pub line: u32,
}

/// The findings of a report, each once, those that save most first. `root`: absolute path of the folder of the sources.
pub fn annotations(doc: &ReportDoc, root: &str) -> Vec<Annotation> {
    let mut out: Vec<Annotation> = Vec::new();
    for f in doc.evaluations.iter().flat_map(|e| &e.findings) {
        let one = annotation(doc, f, root);
        // Evaluations of other block sizes mostly find the same.
        if !out.iter().any(|o| (o.kind, &o.object, &o.lines) == (one.kind, &one.object, &one.lines)) {
            out.push(one);
        }
    }
    out.sort_by(|a, b| b.saving_share.total_cmp(&a.saving_share));
    out
}

fn annotation(doc: &ReportDoc, f: &Finding, root: &str) -> Annotation {
    let places = f.places.iter().filter_map(|p| file_and_line(p));
    let mut lines: Vec<Line> = places.map(|(file, line)| located(doc, file, line, root)).collect();
    // What lies elsewhere, as in a library's header, cannot be shown in the project.
    lines.sort_by_key(|l| !l.is_inside);
    let worth = crate::sampling::share_with_interval(f.saving_share, f.saving_interval);
    let [wrong, advice] = [&f.sentence, &f.advice].map(|s| s.trim().trim_end_matches('.'));
    let machine = doc.evaluations.first().map_or("", |e| e.machine.as_str());
    let message = format!("{wrong}. {advice}. Worth {worth} of the memory cost on {machine}.");
    Annotation { kind: f.kind, object: f.object.clone(), message, saving_share: f.saving_share, lines }
}

fn located(doc: &ReportDoc, file: &str, line: u32, root: &str) -> Line {
    let path = normal(doc.paths.get(file).map_or(file, String::as_str));
    let root = normal(root);
    let inside = path.strip_prefix(&root).and_then(|p| if root == "/" { Some(p) } else { p.strip_prefix('/') });
    match inside.filter(|p| !p.is_empty()) {
        Some(inside) => Line { path: inside.to_owned(), is_inside: true, line },
        // A name that is not absolute is what the compiler was told to write, relative to the project.
        None => Line { is_inside: !path.starts_with('/') && !path.starts_with(".."), path, line },
    }
}

/// A path without `.`, `..` and doubled slashes, as far as that can be said of a text.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." && parts.last().is_some_and(|p| *p != "..") {
            parts.pop();
        } else if part != ".." || !path.starts_with('/') {
            parts.push(part);
        }
    }
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, parts.join("/"))
}

/// The name of a kind in documents and as the identifier of a rule.
pub(crate) fn rule(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::FirstTouch => "first-touch",
        FindingKind::FalseSharing => "false-sharing",
        FindingKind::ReadShared => "read-shared",
        FindingKind::SharedUpdates => "shared-updates",
        FindingKind::Layout => "layout",
        FindingKind::OwnersChange => "owners-change",
    }
}

/// What a kind of finding is, in a few words.
pub(crate) fn title(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::FirstTouch => "Memory touched first by a thread that is not its user",
        FindingKind::FalseSharing => "False sharing: words of different threads in one cache line",
        FindingKind::ReadShared => "Data that all read and one node holds",
        FindingKind::SharedUpdates => "Many threads add to the same words",
        FindingKind::Layout => "Work divided across the layout of the data",
        FindingKind::OwnersChange => "Data used by one node for long, then by another",
    }
}
