//! Lines of the program's source that findings are about, as far as they can be read where the report is made.
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, LineRow};
use std::collections::BTreeMap;

/// Lines shown before and after one that a finding is about.
pub const AROUND: u32 = 2;
/// Lines that one finding is about, at most; the dearest of its object are among them.
const PLACES_MAX: usize = 4;

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Whether it was changed after it was compiled or recorded, so that lines may have moved.
    pub changed: bool,
    /// Some of its lines, by number.
    pub lines: BTreeMap<u32, String>,
}

/// Source files by the names that places in the report have.
pub type Sources = BTreeMap<String, SourceFile>;

/// The places of which a finding shows the source: the dearest lines of its object, and the places that it names.
pub fn places(e: &Evaluation, f: &Finding) -> Vec<(String, u32)> {
    let dearest = e.lines.iter().filter(|l| l.object == f.object).take(PLACES_MAX / 2).map(|l| &l.place);
    let mut out: Vec<(String, u32)> = Vec::new();
    for (file, line) in f.places.iter().take(PLACES_MAX / 2).chain(dearest).filter_map(|p| file_and_line(p)) {
        if !out.iter().any(|(f, l)| (f.as_str(), *l) == (file, line)) {
            out.push((file.to_owned(), line));
        }
    }
    out
}

/// `a/util.c:12` as a file and a line.
pub fn file_and_line(place: &str) -> Option<(&str, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok().filter(|n| *n > 0)?))
}

/// What this line costs under first touch, over all objects; nothing if it is not in the report.
pub(crate) fn rows_of<'e>(e: &'e Evaluation, file: &str, line: u32) -> impl Iterator<Item = &'e LineRow> {
    let place = format!("{file}:{line}");
    e.lines.iter().filter(move |l| l.place == place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_file_and_a_line() {
        assert_eq!(file_and_line("a:b/util.c:12"), Some(("a:b/util.c", 12)));
        assert_eq!(file_and_line("util.c:0"), None);
        assert_eq!(file_and_line("libc.so.6+0x12"), None);
    }
}
