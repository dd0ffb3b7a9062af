//! Modules of a crate use each other in one direction only, as crates do.
use crate::tree::{File, Tree};
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// A crate's source has at most so many lines, tests aside.
const CRATE_LINES_MAX: usize = 10_000;

/// Where a module is in its crate: the names on the way to it.
type Path = Vec<String>;

pub(crate) fn check(tree: &Tree) -> anyhow::Result<Vec<String>> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in tree.ending(".rs") {
        if let Some((name, _)) = file.path.strip_prefix("crates/").and_then(|p| p.split_once("/src/")) {
            crates.entry(name).or_default().push(file);
        }
    }
    let mut problems = Vec::new();
    for (name, files) in &crates {
        let lines: usize = files.iter().filter(|f| !f.path.contains("test")).map(|f| lines(&f.text)).sum();
        if lines > CRATE_LINES_MAX {
            problems.push(format!("crates/{name}/src: {lines} lines, at most {CRATE_LINES_MAX}"));
        }
        for (parent, circle) in circles(&modules(name, files)?) {
            problems.push(format!(
                "crates/{name}/src: in module '{}' these use each other in a circle: {}",
                parent.join("::"),
                circle.join(", ")
            ));
        }
    }
    Ok(problems)
}

/// Lines of a file before the tests at its end.
fn lines(text: &str) -> usize {
    text.lines().position(|line| line == "mod tests {").unwrap_or_else(|| text.lines().count())
}

/// Modules of a crate and the paths that each names, tests aside.
fn modules(name: &str, files: &[&File]) -> anyhow::Result<BTreeMap<Path, Vec<Path>>> {
    let mut modules = BTreeMap::new();
    for file in files.iter().filter(|f| !f.path.contains("test")) {
        let inside = file.path.trim_start_matches("crates/").trim_start_matches(name).trim_start_matches("/src/");
        let mut path: Path = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            path.pop();
        }
        let parsed = syn::parse_file(&file.text).with_context(|| format!("parsing {}", file.path))?;
        let mut names = Names { module: path.clone(), found: Vec::new() };
        names.visit_file(&parsed);
        modules.insert(path, names.found);
    }
    Ok(modules)
}

/// Paths into the crate that a module names.
struct Names {
    module: Path,
    found: Vec<Path>,
}

impl Names {
    fn add(&mut self, words: &[String]) {
        let ups = words.iter().take_while(|w| *w == "super").count();
        let base = match words.first().map(String::as_str) {
            Some("crate") => return self.found.push(words[1..].to_vec()),
            Some("super") if ups <= self.module.len() => &self.module[..self.module.len() - ups],
            Some("self") => &self.module[..],
            _ => return,
        };
        self.found.push([base, &words[ups.max(1)..]].concat());
    }

    fn imports(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(p) => self.imports(&with(&p.ident), &p.tree),
            syn::UseTree::Name(n) => self.add(&with(&n.ident)),
            syn::UseTree::Rename(r) => self.add(&with(&r.ident)),
            syn::UseTree::Glob(_) => self.add(before),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.imports(before, t)),
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let tests = module.attrs.iter().any(|a| a.path().is_ident("cfg"));
        if !tests {
            syn::visit::visit_item_mod(self, module);
        }
    }
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.imports(&[], &item.tree);
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if words.len() > 1 {
            self.add(&words);
        }
        syn::visit::visit_path(self, path);
    }
}

/// Among the modules in each module, those that use each other in a circle, in order of name.
fn circles(modules: &BTreeMap<Path, Vec<Path>>) -> Vec<(Path, Vec<String>)> {
    let mut uses: BTreeMap<Path, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (user, named) in modules {
        for path in named {
            let Some(used) = (0..=path.len()).rev().find_map(|n| modules.get_key_value(&path[..n])).map(|(k, _)| k)
            else {
                continue;
            };
            let common = user.iter().zip(used).take_while(|(a, b)| a == b).count();
            if common < user.len() && common < used.len() {
                let inside = uses.entry(user[..common].to_vec()).or_default();
                inside.entry(&user[common]).or_default().insert(&used[common]);
            }
        }
    }
    let mut found = Vec::new();
    for (parent, uses) in &uses {
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses.keys().map(|m| (*m, reach(uses, m))).collect();
        let mut seen = BTreeSet::new();
        for module in uses.keys().filter(|m| reached[*m].contains(*m)) {
            let back = |other: &&&str| reached.get(**other).is_some_and(|r| r.contains(module));
            let circle: Vec<String> = reached[module].iter().filter(back).map(|m| (*m).to_owned()).collect();
            if seen.insert(circle.clone()) {
                found.push((parent.clone(), circle));
            }
        }
    }
    found
}

/// What can be come to from a module along uses.
fn reach<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in uses.get(module).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(Path, Vec<String>)> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: format!("crates/x/src/{path}"), text: (*text).to_owned() })
            .collect();
        circles(&modules("x", &files.iter().collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn circles_are_found_through_every_kind_of_path() {
        let two = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::{self, c};"),
            ("b.rs", "fn f() { super::a::g() }"),
        ]);
        assert_eq!(two, [(vec![], vec!["a".to_owned(), "b".to_owned()])]);
        let deep = [
            ("m/mod.rs", ""),
            ("m/a.rs", "use super::b::B;"),
            ("m/b.rs", "use crate::m::c;"),
            ("m/c/mod.rs", ""),
            ("m/c/d.rs", "use super::super::a::A;"),
        ];
        assert_eq!(found(&deep), [(vec!["m".to_owned()], ["a", "b", "c"].map(str::to_owned).to_vec())]);
    }

    #[test]
    fn parents_tests_and_one_way_uses_are_no_circles() {
        let tests = "use crate::b; #[cfg(test)] mod tests { use crate::c; }";
        assert!(
            found(&[("a.rs", tests), ("b.rs", ""), ("c.rs", "use crate::a;"), ("b_tests.rs", "use crate::a;")])
                .is_empty()
        );
        assert!(found(&[("m/mod.rs", "pub use a::A;"), ("m/a.rs", "use super::Shared;")]).is_empty());
    }
}
