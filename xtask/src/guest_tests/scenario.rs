//! What a scenario says about itself in the comment lines at its beginning:
//!
//! ```text
//! # guest: --nodes 4 --topology ring      options of `xtask guest`
//! # programs: where owners homenode       compiled by the harness; `homenode` is the command under test
//! # files: golden/topo-4.json             further files of the same folder
//! # tier: slow                            not in the default run
//! # expect: fails NAME, NAME              or: time-out, or: broken WORD; by default every check passes
//! ```
use super::programs;
use super::verdict::Expect;
use crate::guest::options::Vm;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use std::path::{Path, PathBuf};

/// What every scenario sources; itself none.
const LIBRARY: &str = "check.sh";

/// One script and what its head says.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// File name of the script without `.sh`.
    pub(crate) name: String,
    /// The script.
    pub(crate) path: PathBuf,
    /// The functions that it sources.
    pub(crate) library: PathBuf,
    /// The guest that it wants.
    pub(crate) vm: Vm,
    /// Programs that it wants, see [`super::programs`].
    pub(crate) programs: Vec<String>,
    /// Further files that it wants.
    pub(crate) files: Vec<PathBuf>,
    /// Whether it only runs with `--slow`.
    pub(crate) slow: bool,
    /// How it should end.
    pub(crate) expect: Expect,
}

#[derive(Parser)]
#[command(no_binary_name = true)]
struct GuestLine {
    #[command(flatten)]
    vm: Vm,
}

/// All scenarios of a folder, by name.
///
/// # Errors
/// A head that cannot be understood.
pub(crate) fn read_all(folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        if let Some(stem) = name.strip_suffix(".sh").filter(|_| name != LIBRARY) {
            let text = std::fs::read_to_string(&path)?;
            found.push(parse(stem, &path, &text).with_context(|| format!("{}", path.display()))?);
        }
    }
    ensure!(!found.is_empty(), "{} holds no scenario", folder.display());
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn parse(name: &str, path: &Path, text: &str) -> anyhow::Result<Scenario> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let nothing: [&str; 0] = [];
    let mut s = Scenario {
        name: name.to_owned(),
        path: path.to_owned(),
        library: folder.join(LIBRARY),
        vm: GuestLine::try_parse_from(nothing)?.vm,
        programs: Vec::new(),
        files: Vec::new(),
        slow: false,
        expect: Expect::Pass,
    };
    let head = text.lines().skip_while(|l| l.starts_with("#!")).take_while(|l| l.starts_with('#'));
    for (key, value) in head.filter_map(|l| l.strip_prefix("# ")?.split_once(": ")) {
        let words = || value.split_whitespace();
        match key {
            "guest" => s.vm = GuestLine::try_parse_from(words())?.vm,
            "programs" => s.programs.extend(words().map(str::to_owned)),
            "files" => s.files.extend(words().map(|w| folder.join(w))),
            "tier" if value == "slow" => s.slow = true,
            "expect" => s.expect = Expect::parse(value)?,
            // Prose may contain a colon, but no single word in front of it.
            _ if !key.contains(' ') => bail!("`{key}: {value}` is no known line"),
            _ => {}
        }
    }
    let unknown = s.programs.iter().find(|p| !programs::is_known(p));
    ensure!(unknown.is_none(), "there is no program {}", unknown.map_or("", |p| p));
    s.vm.validate()?;
    Ok(s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Scenario> {
        parse("a", Path::new("dir/a.sh"), text)
    }

    #[test]
    fn heads_are_understood() {
        let s = read(
            "#!/bin/sh\n# Prose with several words: not a line of the head.\n# guest: --nodes 4 --hmat\n\
             # programs: where owners\n# tier: slow\n# files: golden/x.json\n# expect: fails one, two\n\n# guest: ignored\n",
        )
        .unwrap();
        assert_eq!((s.vm.nodes, s.vm.hmat, s.slow), (4, true, true));
        assert_eq!(s.programs, ["where", "owners"]);
        assert_eq!(s.files, [Path::new("dir/golden/x.json")]);
        assert_eq!(s.expect, Expect::Fails(vec!["one".into(), "two".into()]));
        let plain = read("echo\n").unwrap();
        assert_eq!((plain.vm.nodes, plain.slow, plain.expect), (2, false, Expect::Pass));
    }

    #[test]
    fn mistakes_in_heads_are_errors() {
        for wrong in [
            "# guest: --nodes 99\n",
            "# guest: --node 2\n",
            "# tier: later\n",
            "# program: x\n",
            "# programs: x\n",
            "# expect: joy\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_scenario_of_the_tree_is_well_formed() {
        let all = read_all(&crate::tree::root().join("tests/guest")).unwrap();
        for s in &all {
            s.files.iter().for_each(|f| assert!(f.is_file(), "{}: {}", s.name, f.display()));
        }
    }
}
