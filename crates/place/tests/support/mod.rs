//! Workloads built with the hooks and recorded.
#![allow(dead_code, reason = "each test binary uses a part")]
use homenode_capture::{RecordOptions, record};
use homenode_hooks::{Mode, compile, install};
use homenode_place::{PlaceDoc, PlaceRequest};
use homenode_trace::store::Store;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A workload of `workloads/` built by the default compiler with the hooks.
pub(crate) fn build(dir: &Path, source: &str) -> PathBuf {
    let archive =
        install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the target directory is writable");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let out = dir.join(source);
    let mut args: Vec<OsString> =
        ["-O2", "-g", "-std=gnu11", "-pthread", "-Wl,--build-id"].iter().map(OsString::from).collect();
    args.push("-o".into());
    args.push(out.clone().into());
    args.push(folder.join(format!("{source}.c")).into());
    args.push("-lm".into());
    let plan = compile::plan(Mode::Cc, &args, &archive).expect("a compiler");
    let done = plan.command().output().expect("the compiler starts");
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

/// A workload of `workloads/` as everybody builds it, without the hooks.
pub(crate) fn plain(dir: &Path, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let out = dir.join(format!("{source}-plain"));
    let flags = ["-O2", "-g", "-std=gnu11", "-pthread", "-Wl,--build-id", "-o"];
    let mut gcc = Command::new("gcc");
    let done = gcc.args(flags).arg(&out).arg(folder.join(format!("{source}.c"))).arg("-lm").output();
    let done = done.expect("the compiler starts");
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

/// Writes a plan; returns its file.
pub(crate) fn write_plan(dir: &Path, doc: &PlaceDoc) -> PathBuf {
    let file = dir.join("plan.json");
    std::fs::write(&file, doc.to_json()).expect("written");
    file
}

/// Records a program with four threads at the smallest size; returns the dataset.
pub(crate) fn recorded(dir: &Path, program: &Path, args: &[&str]) -> PathBuf {
    let out = dir.join(format!("{}.hnt", program.file_name().expect("a name").to_string_lossy()));
    let mut command = vec![program.as_os_str().to_owned()];
    command.extend(args.iter().map(OsString::from));
    let options =
        RecordOptions { command, out: out.clone(), backend: "hooks".into(), force: true, ..RecordOptions::default() };
    let doc = record(&options, &mut ()).expect("recorded");
    assert_eq!(doc.exit_status, Some(0));
    out
}

/// Writes a dataset in memory to a folder.
pub(crate) fn write(store: &dyn Store, to: &Path) {
    for name in store.names().expect("names") {
        let path = to.join(&name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        let file = store.open(&name).expect("a file it named");
        let mut bytes = vec![0; file.len().expect("length") as usize];
        assert_eq!(file.read_at(0, &mut bytes).expect("bytes"), bytes.len());
        std::fs::write(path, bytes).expect("written");
    }
}

pub(crate) fn request(dataset: &Path, machine: &str) -> PlaceRequest {
    PlaceRequest {
        dataset: dataset.to_owned(),
        machine: machine.to_owned(),
        rule: None,
        map: None,
        move_threads: false,
        capacity: None,
        page_bytes: None,
    }
}
