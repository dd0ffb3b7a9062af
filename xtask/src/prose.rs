//! Prose drifts: every relative link and every path of this tree named in a document or a comment must exist.
use crate::tree::{File, Tree, root};

/// First components that mark a back-quoted word as a path of this tree.
const TOP: &[&str] =
    &["crates/", "docs/", "workloads/", "xtask/", "bench/", "tests/", "testdata/", "fuzz/", "include/", "examples/"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let documents = tree.files.iter().filter(|f| !f.path.contains("/vendor/") && !f.path.starts_with("xtask/"));
    documents.flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<String> {
    let markdown = file.path.ends_with(".md");
    let commented = [".rs", ".c", ".h", ".py", ".sh", ".toml"].iter().any(|e| file.path.ends_with(e));
    let mut problems = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        let mut missing = Vec::new();
        if markdown {
            missing.extend(links(line).filter(|l| !link_exists(file, l)));
        }
        if markdown || (commented && ["//", "#", "*", "/*"].iter().any(|c| line.trim_start().starts_with(c))) {
            missing.extend(quoted(line).filter(|p| TOP.iter().any(|t| p.starts_with(t)) && !path_exists(p)));
        }
        problems.extend(missing.iter().map(|m| format!("{}:{}: `{m}` does not exist", file.path, i + 1)));
    }
    problems
}

/// Targets of `[text](target)` and `src="target"` that are relative paths.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let images = line.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    inline.chain(images).map(|t| t.split('#').next().unwrap_or(t)).filter(|t| !t.is_empty() && !t.contains("://"))
}

fn link_exists(file: &File, link: &str) -> bool {
    let folder = file.path.rsplit_once('/').map_or("", |(d, _)| d);
    root().join(folder).join(link).exists()
}

/// Words between back quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Placeholders such as `crates/NAME/src` or globs are not paths.
fn path_exists(path: &str) -> bool {
    let bare = path.split([':', ' ', ',']).next().unwrap_or(path);
    let placeholder = |c: &str| {
        let stem = c.split('.').next().unwrap_or(c);
        stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase())
    };
    let pattern = bare.contains(['*', '<', '{', '$', '…']) || bare.split('/').any(placeholder);
    pattern || root().join(bare).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        in_file(&File { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn missing_links_and_paths_are_found_and_existing_ones_are_not() {
        assert_eq!(problems("a.md", "see [x](Cargo.toml), `crates/base` and `crates/NAME/src`"), 0);
        assert_eq!(problems("a.md", "see [x](nowhere.md) and `crates/nowhere`"), 2);
        assert_eq!(problems("crates/base/src/a.rs", "// see `docs/nowhere.md`\nlet code = \"`docs/nowhere.md`\";"), 1);
    }
}
