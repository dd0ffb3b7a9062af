//! What is neither a file nor a folder, where a file or a folder should be: nothing is waited for, and it is refused or passed over.
use homenode_import::import;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Longest time that an import of next to nothing may take.
const LONG: Duration = Duration::from_secs(20);

/// Imports in a thread of its own, so that an import that waits for a FIFO fails the test.
fn imported(path: &Path) -> Result<u64, String> {
    let (done, waits) = mpsc::channel();
    let (from, to) = (path.to_owned(), path.with_extension("hnt"));
    std::thread::spawn(move || done.send(import(&from, &to, true).map(|s| s.references).map_err(|e| e.to_string())));
    waits.recv_timeout(LONG).expect("the import waits for something")
}

fn record(kind: u16, size: u16, value: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// A drmemtrace file of one load.
fn trace() -> Vec<u8> {
    let all = [(25, 0, 7), (28, 9, 0x40), (22, 4, 5), (24, 4, 4), (0, 8, 0x1000), (23, 4, 5), (26, 0, 0)];
    all.into_iter().flat_map(|(kind, size, value)| record(kind, size, value)).collect()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Puts something special at a path.
type Put = fn(&Path);

const SPECIAL: [(&str, Put); 5] = [
    ("fifo", fifo),
    ("socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("device", |path| symlink("/dev/zero", path).unwrap()),
    ("loop", |path| symlink(path, path).unwrap()),
    ("nowhere", |path| symlink("nothing", path).unwrap()),
];

#[test]
fn none_of_them_is_imported_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    for (name, put) in SPECIAL {
        let path = dir.path().join(name);
        put(&path);
        assert!(imported(&path).is_err(), "{name}");
    }
    for device in ["/dev/zero", "/dev/null", "/dev/tty"] {
        let out = dir.path().join("x.hnt");
        assert!(import(Path::new(device), &out, false).is_err(), "{device}");
    }
}

#[test]
fn in_a_trace_folder_they_are_refused_as_traces_and_passed_over_as_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    for (i, (name, put)) in SPECIAL.into_iter().enumerate() {
        let folder = |what: &str| -> PathBuf {
            let folder = dir.path().join(format!("{what}{i}"));
            std::fs::create_dir_all(folder.join("raw")).unwrap();
            std::fs::write(folder.join("a.5.1.trace"), trace()).unwrap();
            folder
        };
        let as_trace = folder("trace");
        put(&as_trace.join("b.6.1.trace"));
        let why = imported(&as_trace).unwrap_err();
        assert!(why.contains("b.6.1.trace"), "{name}: {why}");
        let beside = folder("beside");
        ["cpu_schedule.bin.zip", "raw/funclist.log", "raw/modules.log"]
            .iter()
            .for_each(|other| put(&beside.join(other)));
        assert_eq!(imported(&beside), Ok(1), "{name}");
        // In the place of the sub-folder it is none, and the folder itself is looked at.
        let sub = folder("sub");
        put(&sub.join("trace"));
        assert_eq!(imported(&sub), Ok(1), "{name}");
        let window = folder("window");
        put(&window.join("window.0000"));
        assert!(imported(&window).is_err(), "{name}");
    }
}

#[test]
fn in_a_folder_of_perf_they_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (i, (name, put)) in SPECIAL.into_iter().enumerate() {
        let folder = dir.path().join(format!("perf{i}"));
        std::fs::create_dir_all(&folder).unwrap();
        put(&folder.join("data"));
        std::fs::write(folder.join("data.0"), b"").unwrap();
        let why = imported(&folder).unwrap_err();
        assert!(why.contains("the file data in it cannot be read"), "{name}: {why}");
    }
}
