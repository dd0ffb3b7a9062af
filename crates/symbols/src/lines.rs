//! From lines of the source to code: the other way round.
use crate::answers::BYTES_MAX;
use crate::debug_file;
use crate::image::{Sections, normal, sections};
use addr2line::gimli::EndianSlice;
use homenode_sys::dir;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// Code of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCode {
    /// For each line asked for, in the same order: addresses in the file, ascending; none if no code is of that line, or
    /// if two source files may be meant.
    pub code: Vec<Vec<Range<u64>>>,
    /// Whether the file has line numbers at all.
    pub has_lines: bool,
}

/// Where the code of lines of source files lies in an executable or library. A source file is found by its whole path; else by
/// its name alone, if only one of that name has code of the line.
///
/// # Errors
/// In words, if the file cannot be read or is no object file.
pub fn code_of(path: &Path, lines: &[(&str, u32)]) -> Result<LineCode, String> {
    let bytes = dir::content(path, BYTES_MAX).map_err(|e| e.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|e| e.to_string())?;
    let own_lines = debug_file::has_debug_info(&file);
    let other = if own_lines { None } else { debug_file::separate(path, &file, None) };
    let debug = other.as_ref().and_then(|b| object::File::parse(&**b).ok());
    let has_lines = own_lines || debug.is_some();
    let found = sections(debug.as_ref().unwrap_or(&file)).map(|s| rows(&s, lines)).unwrap_or_default();
    let code = lines.iter().map(|(file, line)| of_line(&found, file, *line)).collect();
    Ok(LineCode { code, has_lines })
}

/// Code of lines, by source file and line.
type Rows = BTreeMap<(String, u32), Vec<Range<u64>>>;

/// All code of files and lines that may be meant: names of files and numbers of lines are among those that are asked for.
fn rows((sections, endian): &Sections<'_>, lines: &[(&str, u32)]) -> Rows {
    let mut found = Rows::new();
    let wanted: BTreeSet<(&str, u32)> = lines.iter().map(|(file, line)| (name(file), *line)).collect();
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, *endian));
    let Ok(context) = addr2line::Context::from_dwarf(dwarf) else { return found };
    let Ok(all) = context.find_location_range(0, u64::MAX) else { return found };
    for (address, bytes, location) in all {
        let (Some(file), Some(line), Some(end)) = (location.file, location.line, address.checked_add(bytes)) else {
            continue;
        };
        if wanted.contains(&(name(file), line)) {
            found.entry((normal(file), line)).or_default().push(address..end);
        }
    }
    found
}

fn of_line(found: &Rows, file: &str, line: u32) -> Vec<Range<u64>> {
    let mut named = found.iter().filter(|((f, l), _)| *l == line && name(f) == name(file)).map(|(_, code)| code);
    let code = match (found.get(&(file.to_owned(), line)), named.next(), named.next()) {
        (Some(exactly), ..) => exactly,
        (None, Some(only), None) => only,
        _ => return Vec::new(),
    };
    let mut code = code.clone();
    code.sort_by_key(|r| r.start);
    code
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_path_or_by_its_name_if_that_is_one() {
        let all: Rows = [("/a/x.c", 7), ("/b/x.c", 7), ("/b/x.c", 8), ("/c/xx.c", 9)]
            .iter()
            .enumerate()
            .map(|(i, (f, l))| (((*f).to_owned(), *l), std::iter::once(i as u64..i as u64 + 1).collect()))
            .collect();
        let found = |file: &str, line: u32| of_line(&all, file, line).first().map(|r| r.start);
        assert_eq!(found("/b/x.c", 7), Some(1));
        assert_eq!(found("/z/x.c", 7), None);
        assert_eq!(found("/z/x.c", 8), Some(2));
        assert_eq!(found("x.c", 9), None);
        assert_eq!(found("xx.c", 9), Some(3));
    }

    #[test]
    fn code_of_this_very_test_is_found() {
        let (here, line) = (std::env::current_exe().expect("it runs"), line!());
        let found = code_of(&here, &[(file!(), line), ("no_such.c", 1)]).expect("a program");
        assert!(found.has_lines, "tests are built with line numbers");
        assert!(!found.code[0].is_empty() && found.code[1].is_empty(), "{found:?}");
        assert!(code_of(Path::new("/etc/passwd"), &[]).is_err());
    }
}
