//! The picture of the crates in ARCHITECTURE.md: drawn from what cargo says, compared by tidy.
use crate::arrows;
use crate::tree::{Tree, root};
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};

const FILE: &str = "ARCHITECTURE.md";
/// Stands before the picture.
const MARK: &str = "<!-- cargo run -p xtask -- picture -->\n```text\n";
const END: &str = "```\n";

/// Says whether the picture is that of the crates.
pub(crate) fn check(tree: &Tree) -> anyhow::Result<Vec<String>> {
    let text = tree.files.iter().find(|f| f.path == FILE).context("there is no ARCHITECTURE.md")?;
    let drawn = draw(&arrows::shipped()?);
    Ok(if parts(&text.text)?.1 == drawn {
        Vec::new()
    } else {
        vec![format!("{FILE}: the picture of the crates is not that of the crates; cargo run -p xtask -- picture")]
    })
}

/// Draws it anew.
pub(crate) fn run() -> anyhow::Result<()> {
    let path = root().join(FILE);
    let text = std::fs::read_to_string(&path)?;
    let (before, _, after) = parts(&text)?;
    std::fs::write(&path, format!("{before}{}{after}", draw(&arrows::shipped()?)))?;
    Ok(())
}

/// What stands before the picture, the picture, and what follows.
fn parts(text: &str) -> anyhow::Result<(&str, &str, &str)> {
    let begin = text.find(MARK).with_context(|| format!("{FILE} has no line {MARK:?}"))? + MARK.len();
    let length = text[begin..].find(END).with_context(|| format!("the picture in {FILE} has no end"))?;
    Ok((&text[..begin], &text[begin..begin + length], &text[begin + length..]))
}

/// A line for each crate, those above before those below, with the crates it stands on; what these stand on themselves is
/// left out.
fn draw(uses: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    while order.len() < uses.len() {
        let ready = |name: &&String| {
            !below.contains_key(name.as_str()) && uses[*name].iter().all(|u| below.contains_key(u.as_str()))
        };
        // Cargo refuses circles, so there is always one.
        let Some(next) = uses.keys().find(ready) else { break };
        let mut all: BTreeSet<&str> = uses[next].iter().map(String::as_str).collect();
        uses[next].iter().for_each(|u| all.extend(below[u.as_str()].iter().copied()));
        below.insert(next, all);
        order.push(next);
    }
    let width = order.iter().map(|n| n.len()).max().unwrap_or(0);
    let line = |name: &&str| {
        let direct = &uses[*name];
        let needed = |u: &&String| !direct.iter().any(|other| below[other.as_str()].contains(u.as_str()));
        let on: Vec<&str> = direct.iter().filter(needed).map(String::as_str).collect();
        format!("{name:width$}  {} {}", if on.is_empty() { " " } else { "→" }, on.join(" ")).trim_end().to_owned()
            + "\n"
    };
    order.iter().rev().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_under_a_direct_neighbour_is_left_out() {
        let of = |name: &str, uses: &[&str]| (name.to_owned(), uses.iter().map(|u| (*u).to_owned()).collect());
        let uses = [of("base", &[]), of("top", &["base", "mid"]), of("mid", &["base"]), of("side", &["base"])];
        assert_eq!(draw(&uses.into_iter().collect()), "top   → mid\nside  → base\nmid   → base\nbase\n");
    }

    #[test]
    fn the_picture_is_found_between_its_mark_and_its_end() {
        let text = format!("a\n{MARK}x → y\n{END}b\n");
        assert_eq!(parts(&text).unwrap().1, "x → y\n");
        assert!(parts("no picture").is_err());
    }
}
