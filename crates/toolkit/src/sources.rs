//! Reads the source lines that a report's page shows. The paths come from a dataset, so from a stranger: only regular files
//! are read whose names are those of source code, no more than a bounded part of them, and nothing but the lines asked for
//! is kept.
use homenode_report::ReportDoc;
use homenode_report::source::{AROUND, SourceFile, Sources, file_and_line, places};
use homenode_sys::dir::Dir;
use homenode_trace::symbols::Symbols;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// Bytes of a file that are looked at; generated sources may be longer.
const BYTES_MAX: u64 = 4 << 20;
/// Files that are read.
const FILES_MAX: usize = 32;
/// Characters of a line that are shown.
const COLUMNS_MAX: usize = 200;

/// Ends of the names of source files.
const KINDS: [&str; 30] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp", "tcc", "tpp", "cu", "cuh",
    "m", "mm", "s", "f", "for", "f77", "f90", "f95", "f03", "f08", "rs", "go", "d",
];

/// The lines that the findings of this report are about, of files that can be read here. `recorded`: when the recording
/// ended.
pub(crate) fn read(doc: &ReportDoc, symbols: &Symbols, recorded: Option<SystemTime>) -> Sources {
    let mut wanted: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for e in &doc.evaluations {
        for (file, line) in e.findings.iter().flat_map(|f| places(e, f)) {
            wanted.entry(file).or_default().insert(line);
        }
    }
    let short = homenode_sim::names::short_names(symbols);
    let paths: HashMap<&str, &str> = short.iter().map(|(path, name)| (name.as_str(), *path)).collect();
    let mut sources = Sources::new();
    for (name, lines) in wanted.into_iter().take(FILES_MAX) {
        let Some(&path) = paths.get(name.as_str()) else { continue };
        if let Some(file) = source_file(Path::new(path), &lines, compiled(symbols, path), recorded) {
            sources.insert(name, file);
        }
    }
    sources
}

/// Paths of the files that findings name, by these names. Of a file that is here, the one without links.
pub(crate) fn paths(doc: &ReportDoc, symbols: &Symbols) -> BTreeMap<String, String> {
    let short = homenode_sim::names::short_names(symbols);
    let found = doc.evaluations.iter().flat_map(|e| &e.findings).flat_map(|f| &f.places);
    let named: BTreeSet<&str> = found.filter_map(|p| file_and_line(p)).map(|(file, _)| file).collect();
    let real =
        |path: &str| Path::new(path).canonicalize().map_or(path.to_owned(), |p| p.to_string_lossy().into_owned());
    let paths = short.iter().filter(|(_, name)| named.contains(name.as_str()));
    paths.map(|(path, name)| (name.clone(), real(path))).collect()
}

/// When the module was linked that has code of this source file.
fn compiled(symbols: &Symbols, path: &str) -> Option<SystemTime> {
    let of = |s: &&homenode_trace::symbols::Site| s.file == path || s.callers.iter().any(|c| c.file == path);
    let module = symbols.sites.iter().find(of)?.module.as_str();
    std::fs::metadata(module).ok()?.modified().ok()
}

fn source_file(
    path: &Path,
    lines: &BTreeSet<u32>,
    compiled: Option<SystemTime>,
    recorded: Option<SystemTime>,
) -> Option<SourceFile> {
    let kind = path.extension()?.to_str()?.to_ascii_lowercase();
    if !path.is_absolute() || !KINDS.contains(&kind.as_str()) {
        return None;
    }
    let file = open_regular(path)?;
    let modified = file.metadata().ok()?.modified().ok();
    let after = |then: Option<SystemTime>| then.zip(modified).is_some_and(|(then, modified)| modified > then);
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let near =
        |number: u32| lines.range(number.saturating_sub(AROUND)..=number.saturating_add(AROUND)).next().is_some();
    let text =
        |bytes: &[u8]| -> String { String::from_utf8_lossy(bytes).trim_end().chars().take(COLUMNS_MAX).collect() };
    let numbered = (1u32..).zip(bytes.split(|b| *b == b'\n'));
    let lines = numbered.filter(|(number, _)| near(*number)).map(|(number, line)| (number, text(line))).collect();
    Some(SourceFile { changed: after(compiled) || after(recorded), lines })
}

/// A regular file, not by a link as its last part, without waiting for anything.
fn open_regular(path: &Path) -> Option<File> {
    Dir::open(path.parent()?).ok()?.read(path.file_name()?.to_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(path: &Path, line: u32) -> Option<SourceFile> {
        source_file(path, &BTreeSet::from([line]), None, None)
    }

    #[test]
    fn only_lines_around_those_asked_for_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        let text: String = (1..=9).map(|n| format!("line {n}\t\r\n")).collect();
        std::fs::write(&path, text).unwrap();
        let file = lines_of(&path, 4).unwrap();
        let got: Vec<(u32, &str)> = file.lines.iter().map(|(n, t)| (*n, t.as_str())).collect();
        assert_eq!(got, [(2, "line 2"), (3, "line 3"), (4, "line 4"), (5, "line 5"), (6, "line 6")]);
        assert!(!file.changed && lines_of(&path, u32::MAX).unwrap().lines.is_empty());
        let early = Some(SystemTime::UNIX_EPOCH);
        assert!(source_file(&path, &BTreeSet::from([1]), early, None).unwrap().changed);
        assert!(source_file(&path, &BTreeSet::from([1]), None, early).unwrap().changed);
    }

    #[test]
    fn what_is_no_source_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "key").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("link.c")).unwrap();
        std::fs::create_dir(folder.path().join("folder.c")).unwrap();
        for name in ["secret", "link.c", "folder.c", "absent.c"] {
            assert_eq!(lines_of(&folder.path().join(name), 1), None, "{name}");
        }
        for path in ["/dev/zero", "/etc/passwd", "relative.c", "", "/"] {
            assert_eq!(lines_of(Path::new(path), 1), None, "{path}");
        }
        let fifo = folder.path().join("fifo.c");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success() && lines_of(&fifo, 1).is_none(), "a pipe is not waited for");
    }
}
