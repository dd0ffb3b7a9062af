//! A Rust file nobody declares is never compiled; a document nobody names is never read.
use crate::tree::{File, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let sources = tree.ending(".rs").filter(|f| f.path.contains("/src/") && !is_entry(&f.path));
    let mut problems: Vec<String> = sources
        .filter(|f| !declared(tree, f))
        .map(|f| format!("{}: dead file: no `mod` line and no registry names it", f.path))
        .collect();
    let documents = tree.ending(".md").filter(|f| f.path.contains('/') && !f.path.contains("/vendor/"));
    problems.extend(
        documents.filter(|f| !named_elsewhere(tree, f)).map(|f| format!("{}: dead file: nothing names it", f.path)),
    );
    problems
}

fn is_entry(path: &str) -> bool {
    ["/main.rs", "/lib.rs"].iter().any(|e| path.ends_with(e)) || path.contains("/src/bin/")
}

/// Whether a file of the parent module mentions the module's name in a `mod` line or in a registry.
fn declared(tree: &Tree, file: &File) -> bool {
    let stem = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
    let (parent, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let candidates =
        [format!("{parent}/lib.rs"), format!("{parent}/main.rs"), format!("{parent}/mod.rs"), format!("{parent}.rs")];
    tree.files.iter().filter(|f| candidates.contains(&f.path)).any(|f| {
        let in_registry = f.text.contains("registry!") && contains_word(&f.text, name);
        in_registry || f.text.contains(&format!("mod {name};"))
    }) || included(tree, file)
}

/// Whether a file of the same folder names it in a `path` attribute.
fn included(tree: &Tree, file: &File) -> bool {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let attribute = format!("path = \"{name}\"");
    tree.ending(".rs").any(|f| f.path.starts_with(folder) && f.text.contains(&attribute))
}

fn contains_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

fn named_elsewhere(tree: &Tree, file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    tree.files.iter().any(|f| f.path != file.path && f.text.contains(name))
}
