//! Runs of recordings that others do: the page is the one that is made here, of every paper.
use homenode_command::Failure;
use homenode_papers::{Elsewhere, ReproduceRequest, carry_out, reproduce, reproduce_elsewhere};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does so many runs, the last ones first, and fails then.
struct Others {
    able: usize,
    done: AtomicUsize,
}

impl Others {
    fn able_to_do(able: usize) -> Others {
        Others { able, done: AtomicUsize::new(0) }
    }
}

impl Elsewhere for Others {
    fn answers(
        &self,
        units: &[String],
        each: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (number, unit) in units.iter().enumerate().rev() {
            if self.done.fetch_add(1, Ordering::Relaxed) >= self.able {
                return Err(Failure::work("nobody is there"));
            }
            each(number, carry_out(unit)?)?;
        }
        Ok(())
    }
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let new = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copied(&path, &new),
            false => _ = std::fs::copy(&path, &new).expect("copied"),
        }
    }
}

/// Files of a folder but for the note of what the page cost.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let read = |path: PathBuf| {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("read")).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("Cost of this page")).collect();
        (path, lines.join("\n"))
    };
    let mut all: Vec<(PathBuf, String)> = entries.map(read).collect();
    all.sort();
    all
}

/// Of the same recordings, since two of a program with threads differ: a run that finds nobody leaves them behind.
fn is_the_same(what: &str, programs: &[&str], runs: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, kept) = (folder.path().join("out"), folder.path().join("kept"));
    let request = ReproduceRequest {
        what: what.into(),
        size: "XS".into(),
        programs: programs.iter().map(|p| (*p).to_owned()).collect(),
        out: Some(out.clone()),
        ..ReproduceRequest::default()
    };
    let failure = reproduce_elsewhere(&request, &Others::able_to_do(0), &mut ()).expect_err("nobody");
    assert_eq!(failure.message, "nobody is there");
    copied(&out, &kept);
    let others = Others::able_to_do(usize::MAX);
    reproduce_elsewhere(&request, &others, &mut ()).expect("done");
    assert_eq!(others.done.into_inner(), runs, "{what}");
    let theirs = files(&out);
    std::fs::remove_dir_all(&out).expect("removed");
    copied(&kept, &out);
    reproduce(&request, &mut ()).expect("done");
    let ours = files(&out);
    assert!(ours.len() > 2, "{ours:?}");
    for (a, b) in ours.iter().zip(&theirs) {
        assert_eq!(a, b, "{what}");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}");
}

fn is_slow() -> bool {
    std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1")
}

/// Half a minute of a processor.
#[test]
fn pages_of_thakkar_are_the_same_whoever_looks_at_recordings() {
    if is_slow() {
        is_the_same("thakkar", &[], 10);
    } else {
        eprintln!("SKIPPED: in the slow tier");
    }
}

#[test]
fn pages_of_markatos_are_the_same_whoever_looks_at_recordings() {
    is_the_same("markatos", &[], 4);
}

#[test]
fn pages_of_bolosky_are_the_same_whoever_looks_at_recordings() {
    if is_slow() {
        is_the_same("bolosky", &["gauss", "p-qsort"], 6);
    } else {
        is_the_same("bolosky", &["gauss"], 3);
    }
}
