//! What tests of whole recordings share: programs, with the hooks or without, and the dataset, checked.
#![allow(dead_code, reason = "each test binary uses a part")]
use homenode_capture::DirStore;
use homenode_hooks::{Mode, compile, install};
use homenode_trace::DatasetReader;
use homenode_trace::check::check;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Builds a C program at `program` by gcc, with the hooks or as everybody does.
pub(crate) fn build(program: PathBuf, source: &Path, hooks: bool, flags: &[&str]) -> PathBuf {
    let mut args: Vec<OsString> = flags.iter().map(OsString::from).collect();
    args.extend(["-g", "-std=gnu11", "-pthread", "-o"].map(OsString::from));
    args.extend([program.clone().into(), source.into(), "-lm".into()]);
    let mut command = Command::new("gcc");
    if hooks {
        args.insert(0, "--compiler=gcc".into());
        let archive = install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        command = compile::plan(Mode::Cc, &args, &archive).unwrap().command();
    } else {
        command.args(args);
    }
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// Says why a test cannot run, past the capture of what tests print.
pub(crate) fn skipped(why: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes()).unwrap();
}

/// A file below this crate.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Opens a dataset in which nothing contradicts anything.
pub(crate) fn open(out: &Path) -> DatasetReader {
    let reader = DatasetReader::open(Arc::new(DirStore::open(out).unwrap())).unwrap();
    let report = check(&reader);
    assert!(report.ok(), "{:?}", report.problems);
    reader
}
