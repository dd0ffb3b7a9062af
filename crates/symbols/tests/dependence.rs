//! Loops whose dependences are known by construction, as compilers make them.
use homenode_hooks::{Mode, compile, install};
use homenode_symbols::{Dependence, dependence, image};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPILERS: [&str; 2] = ["gcc", "clang"];
const FLAGS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

fn source() -> PathBuf {
    tests().join("loops.c")
}
fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Program with hooks; `None` where there is no such compiler.
fn build(folder: &Path, source: &Path, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    Command::new(compiler).arg("--version").output().ok()?;
    let program = folder.join(format!("{compiler}{}", flags.concat()));
    let mut args: Vec<OsString> = vec![format!("--compiler={compiler}").into()];
    args.extend(flags.iter().map(OsString::from));
    args.extend(["-g", "-std=gnu11", "-pthread", "-o"].map(OsString::from));
    args.extend([program.clone().into(), source.into()]);
    let archive = install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let done = compile::plan(Mode::Cc, &args, &archive).unwrap().command().output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// By line of the source: answers for its sites.
fn answers(program: &Path) -> BTreeMap<u32, BTreeSet<Dependence>> {
    by_line(program, "loops.c", &dependence::dependences(program, &homenode_hooks::ARCHIVE).unwrap())
}

/// By line of the source: what is known of its sites.
fn by_line<T: Copy + Ord>(program: &Path, source: &str, found: &BTreeMap<u64, T>) -> BTreeMap<u32, BTreeSet<T>> {
    let sites: Vec<u64> = found.keys().copied().collect();
    // The instruction before a call of five bytes: clang gives some of its calls of hooks no line.
    let before: Vec<u64> = sites.iter().map(|s| s - 5).collect();
    let places = |of: &[u64]| image::resolve(program, of, &[], None).unwrap().places;
    let mut lines: BTreeMap<u32, BTreeSet<T>> = BTreeMap::new();
    for ((site, place), before) in sites.iter().zip(places(&sites)).zip(places(&before)) {
        let place = if place.line > 0 { place } else { before };
        if place.file.ends_with(source) {
            lines.entry(place.line).or_default().insert(found[site]);
        }
    }
    lines
}

/// A line of the source with sites: its number, what it is, and what is right.
struct Line {
    number: u32,
    what: String,
    right: Option<Dependence>,
}

fn lines() -> Vec<Line> {
    let text = std::fs::read_to_string(source()).unwrap();
    let line = |(number, text): (u32, &str)| {
        let (what, right) = text.split_once("// ")?.1.rsplit_once(": ")?;
        let right = match right {
            "carried" => Some(Dependence::Carried),
            "independent" => Some(Dependence::Independent),
            "unknown" => Some(Dependence::Unknown),
            "any" => None,
            other => panic!("line {number}: {other}?"),
        };
        Some(Line { number, what: what.to_owned(), right })
    };
    (1..).zip(text.lines()).filter_map(line).collect()
}

#[test]
fn loops_of_compilers_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let (mut table, mut wrong) = (Vec::new(), Vec::new());
    let variants: Vec<(&str, &str)> = COMPILERS.iter().flat_map(|c| FLAGS.iter().map(move |f| (*c, *f))).collect();
    let built: Vec<Option<BTreeMap<u32, BTreeSet<Dependence>>>> =
        variants.iter().map(|(c, f)| build(folder.path(), &source(), c, &[f]).map(|p| answers(&p))).collect();
    for line in lines() {
        let mut row = format!("| {:<44} ", line.what);
        for ((compiler, flag), answers) in variants.iter().zip(&built) {
            let Some(answers) = answers else { continue };
            let found = answers.get(&line.number).cloned().unwrap_or_default();
            let words: Vec<String> = found.iter().map(Dependence::to_string).collect();
            row += &format!("| {:<11} ", if words.is_empty() { "-".to_owned() } else { words.join(", ") });
            // What remains of a loop that was unrolled, outside of it, is unknown.
            let others = |right: Dependence| found.iter().any(|f| ![right, Dependence::Unknown].contains(f));
            if line.right.is_some_and(|right| others(right) || !found.is_empty() && !found.contains(&right)) {
                wrong.push(format!("{} by {compiler} {flag}: {}", line.what, words.join(", ")));
            }
        }
        table.push(row + "|");
    }
    let heads = variants.iter().zip(&built).filter(|(_, b)| b.is_some());
    let heads: String = heads.map(|((c, f), _)| format!("| {:<11} ", format!("{c} {f}"))).collect();
    println!("| {:<44} {heads}|", "");
    table.iter().for_each(|row| println!("{row}"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn chains_that_begin_anew_in_each_round_are_told_from_those_that_go_on() {
    let (folder, source) = (tempfile::tempdir().unwrap(), tests().join("chains.c"));
    let text = std::fs::read_to_string(&source).unwrap();
    let known = (1..).zip(text.lines()).filter_map(|(n, l)| Some((n, l.split_once("// ")?.1.rsplit_once(": ")?)));
    let known: Vec<(u32, (&str, &str))> = known.collect();
    assert_eq!(known.len(), 7);
    let mut anew = 0;
    for compiler in COMPILERS {
        for flag in FLAGS {
            let Some(program) = build(folder.path(), &source, compiler, &[flag]) else { continue };
            let found = dependence::site_loops(&program, &homenode_hooks::ARCHIVE).unwrap();
            let found = found.into_iter().map(|(site, loops)| (site, loops.anew > 0)).collect();
            let lines = by_line(&program, "chains.c", &found);
            for (n, (what, right)) in &known {
                let said = lines.get(n).is_some_and(|found| found.contains(&true));
                assert!(!said || *right == "anew", "{what} by {compiler} {flag}");
                anew += usize::from(said);
                println!("{what:28} {compiler} {flag}: {}", if said { "anew" } else { "kept" });
            }
        }
    }
    assert!(anew >= 12, "{anew}");
}
