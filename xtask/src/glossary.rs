//! docs/glossary.md: what it says carries a word is there, and words that were given up name nothing.
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

const PATH: &str = "docs/glossary.md";
/// What declares a name.
const DECLARES: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "mod", "const", "static"];
/// Keywords that declare a type.
const TYPES: [&str; 4] = ["struct", "enum", "trait", "type"];

/// One row of the table.
struct Row<'a> {
    term: &'a str,
    code: Vec<&'a str>,
    not: Vec<&'a str>,
}

/// Names that Rust source declares, with the kind and the file of each.
type Declared = BTreeMap<String, BTreeSet<(&'static str, String)>>;

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let Some(file) = tree.files.iter().find(|f| f.path == PATH) else { return vec![format!("{PATH} is missing")] };
    let rows: Vec<Row<'_>> = file.text.lines().filter_map(row).collect();
    let declared = declared(tree);
    let mut problems = Vec::new();
    if rows.is_empty() {
        problems.push(format!("{PATH}: no table"));
    }
    for pair in rows.windows(2).filter(|p| sorting(p[0].term) >= sorting(p[1].term)) {
        problems.push(format!("{PATH}: '{}' does not come after '{}'", pair[1].term, pair[0].term));
    }
    for row in &rows {
        let missing = row.code.iter().filter(|name| !declared.contains_key(**name));
        problems.extend(missing.map(|name| format!("{PATH}: '{}': no `{name}` is declared", row.term)));
        problems.extend(row.not.iter().flat_map(|word| uses(&declared, word, row.term)));
    }
    problems
}

/// Letters as a reader sorts them.
fn sorting(term: &str) -> String {
    term.to_lowercase()
}

/// The row that a line of the table is; heads and rules are none.
fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [term, _, code, not] = cells[..] else { return None };
    if term == "term" || term.starts_with('-') {
        return None;
    }
    Some(Row { term, code: quoted(code), not: quoted(not) })
}

/// What stands between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Problems where something is named by a word that was given up.
fn uses(declared: &Declared, word: &str, term: &str) -> Vec<String> {
    let whole = word.starts_with(char::is_uppercase);
    let hits =
        declared.iter().filter(|(name, _)| if whole { *name == word } else { words(name).iter().any(|w| w == word) });
    let places = hits.flat_map(|(name, places)| places.iter().map(move |(kind, path)| (name, kind, path)));
    places
        .filter(|(_, kind, _)| !whole || TYPES.contains(kind))
        .map(|(name, kind, path)| format!("{path}: {kind} `{name}`: the word is '{term}' ({PATH})"))
        .collect()
}

/// The words of a name in snake or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for c in name.chars() {
        if c == '_' {
            begins = true;
            continue;
        }
        if begins || c.is_uppercase() {
            words.push(String::new());
        }
        begins = false;
        words.last_mut().into_iter().for_each(|w| w.extend(c.to_lowercase()));
    }
    words
}

/// All names that Rust files declare by a keyword; words of strings and comments count where they look the same.
fn declared(tree: &Tree) -> Declared {
    let mut declared = Declared::new();
    for file in tree.ending(".rs") {
        let code = file.text.lines().map(|l| l.split("//").next().unwrap_or(""));
        for tokens in code.map(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_').collect::<Vec<&str>>()) {
            for pair in tokens.windows(2).filter(|p| !p[1].is_empty()) {
                if let Some(kind) = DECLARES.iter().find(|k| **k == pair[0]) {
                    declared.entry(pair[1].to_owned()).or_default().insert((kind, file.path.clone()));
                }
            }
        }
        for word in file.text.lines().map(str::trim).filter_map(variant) {
            declared.entry(word.to_owned()).or_default().insert(("variant", file.path.clone()));
        }
    }
    declared
}

/// The variant that a line of an enum declares.
fn variant(line: &str) -> Option<&str> {
    let name = line.split(['(', '{', ',', ' ']).next()?;
    let plain = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
    (plain && line.ends_with([',', '{'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    fn problems(glossary: &str, code: &str) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        check(&Tree { files: vec![file("crates/a/src/b.rs", code), file(PATH, glossary)] })
    }

    const HEAD: &str = "| term | what | in the code | not |\n|---|---|---|---|\n";

    #[test]
    fn names_are_there_and_words_given_up_are_not() {
        let glossary =
            format!("{HEAD}| CPU binding | where | `CpuBinding` | `seat`, `Found` |\n| home | where | | |\n");
        assert_eq!(problems(&glossary, "struct CpuBinding;\nfn sea() {} // fn seat"), Vec::<String>::new());
        assert_eq!(
            problems(&glossary, "enum Other {}"),
            ["docs/glossary.md: 'CPU binding': no `CpuBinding` is declared"]
        );
        let bad =
            problems(&glossary, "struct CpuBinding;\nfn best_seat() {}\nstruct SeatMap;\nstruct Found;\nfn found() {}");
        assert_eq!(bad.len(), 3, "{bad:?}");
        assert!(bad.iter().any(|b| b.contains("fn `best_seat`: the word is 'CPU binding'")), "{bad:?}");
    }

    #[test]
    fn terms_are_in_order_and_there_is_a_table() {
        assert_eq!(problems("# Glossary\n", ""), ["docs/glossary.md: no table"]);
        let glossary = format!("{HEAD}| b | | | |\n| a | | | |\n");
        assert_eq!(problems(&glossary, ""), ["docs/glossary.md: 'a' does not come after 'b'"]);
    }
}
