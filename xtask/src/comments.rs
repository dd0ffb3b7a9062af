//! Doc comments define by noun: who searches for "samples" does not find "Those of this window."
use crate::tree::{File, Tree};

/// Words that point elsewhere instead of saying what is defined.
const POINTERS: [&str; 11] =
    ["Those", "These", "It", "Its", "They", "Their", "Them", "Why not", "Which one", "See the module", "The same"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").filter(|f| is_source(&f.path)).flat_map(in_file).collect()
}

/// Whether a file lies in `crates/NAME/src`.
fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src")
}

/// Problems of a file: only the first line of a comment defines, later ones may refer to it.
fn in_file(file: &File) -> Vec<String> {
    let mut problems = Vec::new();
    let mut continues = false;
    for (i, line) in file.text.lines().enumerate() {
        let comment = doc(line);
        if let Some(pointer) = comment.filter(|_| !continues).and_then(pointer) {
            problems.push(format!("{}:{}: '{pointer}' defines by pronoun: say what it is", file.path, i + 1));
        }
        continues = comment.is_some();
    }
    problems
}

/// Text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    (!text.starts_with('/')).then(|| text.trim_start())
}

/// Pointer with which a comment begins, as a whole word.
fn pointer(comment: &str) -> Option<&'static str> {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    POINTERS.into_iter().find(|p| comment.strip_prefix(p).is_some_and(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&Tree { files: vec![File { path: path.to_owned(), text: text.to_owned() }] })
    }

    const SOURCE: &str = "crates/a/src/b/c.rs";

    #[test]
    fn a_comment_that_begins_with_a_pronoun_is_a_problem() {
        assert_eq!(
            problems(SOURCE, "struct Window {\n    /// Those of this window.\n    pages: u64,\n}\n"),
            ["crates/a/src/b/c.rs:2: 'Those' defines by pronoun: say what it is"]
        );
        for pointer in POINTERS {
            for begin in ["///", "//!", "    ///"] {
                for rest in ["", ".", " of this window.", ", too"] {
                    let text = format!("{begin} {pointer}{rest}\n");
                    assert_eq!(problems(SOURCE, &text).len(), 1, "{text}");
                }
            }
        }
        let text =
            "/// A page.\nstruct Page {\n    /// Its home.\n    home: u16,\n    /// Their cost.\n    cost: u64,\n}\n";
        assert_eq!(problems(SOURCE, text).len(), 2, "each comment by itself");
    }

    #[test]
    fn nouns_later_lines_and_other_files_are_none() {
        for text in [
            "/// Pages of this window.",
            "/// Items of a list.",
            "/// Itself.",
            "/// A page. Its home is\n/// Its node.\n///\n/// # Errors\n/// It cannot be read.",
            "// Those are not documentation.",
            "//// Those neither.",
            "let text = \"/// Those\";",
            "/// There is none.",
        ] {
            assert_eq!(problems(SOURCE, text), Vec::<String>::new(), "{text}");
        }
        for path in ["crates/a/tests/b.rs", "crates/a/build.rs", "xtask/src/a.rs", "crates/a/src/b.md"] {
            assert_eq!(problems(path, "/// Its home."), Vec::<String>::new(), "{path}");
        }
    }
}
