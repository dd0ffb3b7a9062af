//! Sweeps that were stopped half-way and whose folder was not left alone since.
use crate::plan::Plan;
use crate::request::{StudySource, SweepRequest};
use crate::resolved::ResolvedStudy;
use crate::store::{Claim, ResultStore};
use crate::sweep;
use crate::task::{Task, Unit};
use crate::work::{self, Worker};
use homenode_command::{Class, Failure};
use homenode_synthetic::Builder;
use homenode_trace::Sampling;
use homenode_trace::store::Store;
use std::fs;
use std::path::{Path, PathBuf};

const STUDY: &str =
    "traces = ['x.hnt']\nblocks = [64, 4096]\nmachines = ['butterfly']\npolicies = ['first-touch', 'delay']\n";

/// A sampled recording, since that has groups even if it is small.
fn dataset(root: &Path) {
    let mut b = Builder::new(4);
    b.sampled(Sampling::default());
    for i in 0..4_000u64 {
        b.read((i / 5 % 4) as u32, 0x40_0000 + i * 7919 % 400 * 4096);
    }
    let store = b.store();
    for name in store.names().unwrap() {
        let path = root.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, store.get(&name).unwrap().as_slice()).unwrap();
    }
}

struct Stopped {
    dir: tempfile::TempDir,
    request: SweepRequest,
    store: ResultStore,
    digest: String,
}

fn request(dir: &Path, output: &str) -> SweepRequest {
    SweepRequest {
        asked: StudySource::File(dir.join("study.toml")),
        output: Some(dir.join(output)),
        workers: Some(1),
        memory_bytes: 256 << 20,
        csv: false,
        force: false,
        yes: false,
        worker: None,
    }
}

impl Stopped {
    /// A sweep that has cut its trace and answered one unit.
    fn new() -> Stopped {
        let dir = tempfile::tempdir().unwrap();
        dataset(&dir.path().join("x.hnt"));
        fs::write(dir.path().join("study.toml"), STUDY).unwrap();
        let request = request(dir.path(), "out.sweep");
        let resolved = ResolvedStudy::load(&request.asked).unwrap();
        let (store, _) = ResultStore::of(request.output.as_deref(), "x");
        let (store, claim) = store.claim(&resolved.text, &resolved.digest, false).unwrap();
        assert!(matches!(claim, Claim::Work));
        let mut worker = Worker::new(&resolved, &store, request.memory_bytes);
        worker.carry_out(Task::Partition(0), &mut |_| ()).unwrap();
        worker.carry_out(Task::Unit(Unit { replay: 0, group: 0, batch: 0 }), &mut |_| ()).unwrap();
        // Letting go of the lock.
        let store = ResultStore::at(store.path());
        Stopped { request, store, digest: resolved.digest, dir }
    }
    fn partition(&self) -> PathBuf {
        work::path(&self.store, 0)
    }
    fn go_on(&self) -> Result<Vec<u8>, Failure> {
        sweep(&self.request, &mut ()).map(|doc| fs::read(doc.table).unwrap())
    }
    /// The table that nobody interfered with.
    fn right(&self) -> Vec<u8> {
        fs::read(sweep(&request(self.dir.path(), "right.sweep"), &mut ()).unwrap().table).unwrap()
    }
}

#[test]
fn a_damaged_partition_is_said_once_and_cut_again() {
    let stopped = Stopped::new();
    let path = stopped.partition();
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    let last = bytes.len() / 3;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let e = stopped.go_on().expect_err("damaged");
    assert!(e.class == Class::Work && e.message.contains("x.hnt") && e.message.contains("cuts it again"), "{e}");
    assert_eq!(stopped.go_on().unwrap(), stopped.right());
    // One that ends early, and one that is gone.
    for cut in [true, false] {
        let stopped = Stopped::new();
        let path = stopped.partition();
        let bytes = fs::read(&path).unwrap();
        match cut {
            true => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
            false => fs::remove_file(&path).unwrap(),
        }
        let table = stopped.go_on().or_else(|_| stopped.go_on()).unwrap();
        assert_eq!(table, stopped.right());
    }
}

#[test]
fn a_plan_with_groups_left_out_is_not_believed() {
    let stopped = Stopped::new();
    let path = stopped.store.work("plan-0.json");
    let text = fs::read_to_string(&path).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(body).unwrap();
    let groups = plan["groups"].as_array_mut().unwrap();
    assert!(groups.len() > 10);
    groups.truncate(3);
    let body = homenode_command::json_line(&plan);
    // With the old checksum it counts as not there.
    fs::write(&path, text.replacen(text.split_once('\n').unwrap().1, &body, 1)).unwrap();
    assert_eq!(stopped.go_on().unwrap(), stopped.right());
    // With a right one it does not fit its partition.
    let stopped = Stopped::new();
    fs::write(stopped.store.work("plan-0.json"), format!("{}\n{body}", crate::digest::bytes(body.as_bytes()))).unwrap();
    assert!(Plan::read(&stopped.store, &stopped.digest, 0).is_none_or(|p| p.groups.len() == 3));
    let table = stopped.go_on().or_else(|_| stopped.go_on());
    assert!(table.is_ok_and(|t| t == stopped.right()));
}

#[test]
fn workers_answer_what_was_asked_and_not_what_the_folder_was_made_to_say() {
    let stopped = Stopped::new();
    let asked = stopped.store.path().join("study.toml");
    fs::write(&asked, STUDY.replace("butterfly", "ace")).unwrap();
    stopped.go_on().unwrap();
    assert_eq!(fs::read_to_string(&asked).unwrap(), STUDY);
}

#[test]
fn a_folder_and_its_traces_may_move_between_two_calls() {
    let stopped = Stopped::new();
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["x.hnt", "study.toml", "out.sweep"] {
        fs::rename(stopped.dir.path().join(name), elsewhere.path().join(name)).unwrap();
    }
    sweep(&request(elsewhere.path(), "out.sweep"), &mut ()).unwrap();
    let (text, _) = ResultStore::at(&elsewhere.path().join("out.sweep")).study().unwrap();
    assert_eq!(text.base, elsewhere.path().canonicalize().unwrap());
}
