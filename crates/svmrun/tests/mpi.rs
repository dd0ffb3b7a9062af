//! Nodes that an mpirun starts: programs under every mpirun that is to be here, the library between, what is refused, how they end.
mod support;

use homenode_svmrun::SvmDoc;
use homenode_sys::process::{alive, signal};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use support::{compile, is_slow, processes};

/// Says that tests may run where an MPI is missing.
const NO_MPI: &str = "HOMENODE_NO_MPI";
const MPIRUNS: [&str; 2] = ["mpirun.openmpi", "mpirun.mpich"];
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// The mpiruns of this machine.
fn mpiruns() -> Vec<&'static str> {
    let is_here = |name: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    let (here, missing): (Vec<_>, Vec<_>) = MPIRUNS.into_iter().partition(is_here);
    if !missing.is_empty() {
        let may = std::env::var_os(NO_MPI).is_some();
        assert!(may, "no {}: `./bootstrap test` installs both MPIs; {NO_MPI}=1 goes on without", missing.join(", "));
        eprintln!("not tested under {}", missing.join(", "));
    }
    here
}

/// An mpirun, with a variable for its MPI, and the transport that comes of it if that is known.
type Way = (&'static str, [&'static str; 2], Option<&'static str>);

/// The mpiruns of this machine, and how their MPIs reach memory.
fn ways() -> Vec<Way> {
    let all = [
        // Memory of processes on the same host, if the system lets one read another's.
        (MPIRUNS[0], ["OMPI_MCA_osc", "rdma"], None),
        // By messages, with the target's help.
        (MPIRUNS[0], ["OMPI_MCA_osc", "pt2pt"], Some("tcp")),
        (MPIRUNS[1], ["MPICH_ASYNC_PROGRESS", "0"], Some("tcp")),
        // By messages that a thread of the MPI serves, if it has a processor in time.
        (MPIRUNS[1], ["MPICH_ASYNC_PROGRESS", "1"], None),
    ];
    let here = mpiruns();
    all.into_iter().filter(|(mpirun, ..)| here.contains(mpirun)).collect()
}

/// So many ranks of what `homenode svm run --transport mpi` is, with these words.
fn ranks(mpirun: &str, ranks: u16, words: &[&str]) -> Command {
    let own = std::env::current_exe().expect("known");
    let example = own.parent().and_then(Path::parent).expect("a target folder").join("examples/ranks");
    assert!(example.exists(), "no {}: `cargo test` without --test builds examples, too", example.display());
    let mut command = Command::new(mpirun);
    if mpirun == MPIRUNS[0] {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.arg("-n").arg(ranks.to_string()).arg(example).args(words).stdin(Stdio::null());
    command
}

/// What is said on standard error by `homenode` itself, in one line.
fn one_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("homenode: ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].to_owned()
}

/// A program of the workloads or beside this file.
fn program(name: &str) -> &'static str {
    static BUILT: OnceLock<(tempfile::TempDir, [PathBuf; 3])> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().expect("a folder");
        let sources = ["workloads/lu.c", "crates/svmrun/tests/c/shared.c", "crates/svmrun/tests/c/hosts.c"];
        let built = sources.map(|source| compile(source, folder.path(), &["-g"]));
        (folder, built)
    };
    let all = &BUILT.get_or_init(build).1;
    all.iter().find(|p| p.ends_with(name)).and_then(|p| p.to_str()).expect("one of them")
}

#[test]
fn programs_run_on_ranks() {
    let (folder, host) = (tempfile::tempdir().expect("a folder"), fs::read_to_string("/proc/sys/kernel/hostname"));
    let (file, host) = (folder.path().join("doc"), host.expect("known"));
    for (mpirun, [name, value], transport) in ways() {
        let counts: &[u16] = if is_slow() { &[1, 2, 3] } else { &[1, 3] };
        for &nodes in counts {
            let (count, said) = (nodes.to_string(), file.to_str().expect("a name"));
            let words = ["-n", &count, "-o", said, "--", program("lu"), "-p", &count];
            let done = ranks(mpirun, nodes, &words).env(name, value).output().expect("it starts");
            let text = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success(), "{mpirun} -n {nodes}: {}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(text.matches("verified OK").count(), 1, "{mpirun} -n {nodes}: {text}");
            let doc: SvmDoc = serde_json::from_slice(&fs::read(&file).expect("written")).expect("a document");
            assert_eq!(doc.nodes.len(), usize::from(nodes), "{mpirun}, {value}");
            assert!(transport.is_none_or(|t| t == doc.transport), "{mpirun}, {value}: {}", doc.transport);
            let wanted = match (nodes, doc.transport.as_str()) {
                (1, "tcp") => None,
                (_, "tcp") => Some("mpi: the MPI reads and writes memory of a rank only with that rank's help"),
                (_, "mpi") => Some("mpi: pages go by one-sided operations"),
                (_, other) => panic!("{mpirun}, {value}: {other}"),
            };
            let said = doc.notes.iter().find(|note| note.starts_with("mpi: ")).map(String::as_str);
            assert!(
                said.zip(wanted).is_some_and(|(s, w)| s.starts_with(w)) || (said, wanted) == (None, None),
                "{mpirun}: {said:?}"
            );
            assert!(doc.nodes.iter().all(|node| node.host.as_deref() == Some(host.trim())), "{mpirun}");
        }
        for command in ["count", "phases", "sharing", "memory", "conditions", "flags", "atomics"] {
            let done =
                ranks(mpirun, 3, &["--", program("shared"), command]).env(name, value).output().expect("it starts");
            assert!(done.status.success(), "{mpirun}, {command}: {}", String::from_utf8_lossy(&done.stderr));
        }
        let done = ranks(mpirun, 3, &["--", program("hosts"), "says"]).env(name, value).output().expect("it starts");
        let text = String::from_utf8_lossy(&done.stdout);
        for (thread, line) in [(1, 0), (1, 2999), (2, 0), (2, 2999)] {
            let wanted = format!("thread {thread} says line {line} to whoever reads what it has to say\n");
            assert_eq!(text.matches(&wanted).count(), 1, "{mpirun}: {wanted}");
        }
        for (command, status) in [("alone", 4), ("exits", 7)] {
            let done =
                ranks(mpirun, 2, &["--", program("hosts"), command]).env(name, value).output().expect("it starts");
            assert_eq!(done.status.code(), Some(status), "{mpirun}: {command}");
        }
    }
}

#[test]
fn memory_that_can_be_reached_without_help_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("doc");
    let (said, lu) = (file.to_str().expect("a name"), program("lu"));
    if !mpiruns().contains(&MPIRUNS[1]) {
        return;
    }
    // MPICH's thread may have no processor when it is tried.
    let over = || {
        let mut command = ranks(MPIRUNS[1], 2, &["-o", said, "--", lu, "-p", "2", "-n", "128"]);
        let done = command.env("MPICH_ASYNC_PROGRESS", "1").output().expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice::<SvmDoc>(&fs::read(&file).expect("written")).expect("a document").transport
    };
    assert!((0..20).any(|_| over() == "mpi"), "nothing was one-sided");
}

#[test]
fn the_library_is_made_once_and_where_nobody_else_can_change_it() {
    for mpirun in mpiruns() {
        let (cache, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let run = || {
            let mut command = ranks(mpirun, 2, &["--", program("lu"), "-p", "2"]);
            command.env("XDG_CACHE_HOME", cache.path()).env("XDG_RUNTIME_DIR", other.path());
            let done = command.output().expect("it starts");
            assert!(done.status.success(), "{mpirun}: {}", String::from_utf8_lossy(&done.stderr));
        };
        let made = |base: &Path| {
            let folders = fs::read_dir(base.join("homenode")).into_iter().flatten();
            let folders = folders.map(|entry| entry.expect("an entry").path());
            let mut found =
                folders.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("mpi-")));
            (found.next(), found.next())
        };
        run();
        let (Some(folder), None) = made(cache.path()) else { panic!("{mpirun}: one folder") };
        assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o777, 0o700);
        let files: Vec<_> = fs::read_dir(&folder).expect("it opens").collect();
        assert_eq!(files.len(), 1, "{mpirun}: nothing is left but the library: {files:?}");
        let library = folder.join("libhomenode_mpi.so");
        let inode = || fs::metadata(&library).expect("there").ino();
        let first = inode();
        run();
        assert_eq!(inode(), first, "{mpirun}: it was made again");
        // What others may have put there is not loaded.
        fs::write(&library, "#!/bin/false\n").expect("written");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("open to all");
        run();
        let (Some(folder), None) = made(other.path()) else { panic!("{mpirun}: another folder") };
        assert!(folder.join("libhomenode_mpi.so").is_file());
    }
}

#[test]
fn what_cannot_be_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let failing = folder.path().join("mpicc");
    let script = "#!/bin/sh\n[ \"$1\" = -show ] && exit 0\necho 'ranks.c:1: error: mpi.h is not there' >&2\nexit 1\n";
    fs::write(&failing, script).expect("written");
    fs::set_permissions(&failing, Permissions::from_mode(0o755)).expect("executable");
    let failing = failing.to_str().expect("a name");
    let here = mpiruns();
    for mpirun in &here {
        let refused = |words: &[&str], status: i32, why: &str| {
            let all = [words, &["--", program("lu"), "-p", "2"]].concat();
            let done = ranks(mpirun, 2, &all).output().expect("it starts");
            let said = one_line(&done);
            assert!(said.contains(why), "{mpirun} {words:?}: {said}");
            assert_eq!(done.status.code(), Some(status), "{mpirun} {words:?}: {said}");
        };
        refused(&["-n", "3"], 2, "-n 3: mpirun started 2 ranks");
        refused(&["--mpicc", "/no/such"], 2, "--mpicc: cannot start /no/such");
        refused(&["--mpicc", "false"], 1, "is no compiler of an MPI");
        refused(&["--mpicc", failing], 1, "ranks.c:1: error: mpi.h is not there");
        for other in here.iter().filter(|other| *other != mpirun) {
            let (own, other) = (mpirun.replace("run", "cc"), other.replace("run", "cc"));
            refused(
                &["--mpicc", &other],
                2,
                &format!("another MPI than mpirun's; name the one of mpirun's with --mpicc, as --mpicc {own}"),
            );
        }
        // Only the ranks see no compiler: the mpirun needs its own parts.
        let mut command = ranks(mpirun, 2, &[]);
        let words: Vec<OsString> = command.get_args().map(Into::into).collect();
        let (example, before) = words.split_last().expect("the example");
        command = Command::new(mpirun);
        command.args(before).args(["/usr/bin/env", "PATH=/nowhere"]).arg(example).args([
            "--",
            program("lu"),
            "-p",
            "2",
        ]);
        let said = one_line(&command.output().expect("it starts"));
        assert!(said.contains("there is no mpicc"), "{mpirun}: {said}");
    }
    let own = std::env::current_exe().expect("known");
    let example = own.parent().and_then(Path::parent).expect("a target folder").join("examples/ranks");
    let done = Command::new(example).args(["-n", "4", "--", "./lu", "-p", "4"]).output().expect("it starts");
    let said = one_line(&done);
    assert!(said.contains("mpirun -n 4 homenode svm run --transport mpi -- ./lu -p 4"), "{said}");
    assert_eq!(done.status.code(), Some(2));
}

/// Who is killed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Node(usize),
    Rank(usize),
    Mpirun(i32),
}

fn parent(process: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
    stat.rsplit(')').next().and_then(|s| s.split_whitespace().nth(1)?.parse().ok()).expect("a parent")
}

#[test]
fn whoever_dies_the_run_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (of_nodes, of_ranks): (&[usize], &[usize]) = if is_slow() { (&[0, 1, 2], &[0, 1, 2]) } else { (&[1], &[0]) };
    let victims =
        of_nodes.iter().map(|node| Victim::Node(*node)).chain(of_ranks.iter().map(|rank| Victim::Rank(*rank)));
    let victims: Vec<Victim> = victims.chain([SIGTERM, SIGKILL].map(Victim::Mpirun)).collect();
    let ways = ways().into_iter().filter(|(.., transport)| transport.is_none());
    for ((mpirun, [name, value], _), victim) in ways.flat_map(|way| victims.iter().map(move |v| (way, *v))) {
        let file = folder.path().join(format!("{mpirun}-{victim:?}"));
        let words = ["--", program("hosts"), "forever", file.to_str().expect("a name")];
        let mut command = ranks(mpirun, 3, &words);
        command.env(name, value);
        // Open MPI's own files, which it leaves if the mpirun is killed.
        for variable in ["OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_orte_tmpdir_base"] {
            command.env(variable, folder.path());
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let nodes = processes(&file, 3);
        let ranks: Vec<u32> = nodes.iter().map(|node| parent(*node)).collect();
        let killed = Instant::now();
        match victim {
            Victim::Node(node) => signal(nodes[node], SIGKILL),
            Victim::Rank(rank) => signal(ranks[rank], SIGKILL),
            Victim::Mpirun(how) => signal(child.id(), how),
        };
        let output = child.wait_with_output().expect("it ends");
        assert!(!output.status.success(), "{mpirun}, {victim:?}");
        if let Victim::Node(node) = victim {
            let said = one_line(&output);
            assert!(said.contains(&format!("node {node} (process {})", nodes[node])), "{mpirun}, {victim:?}: {said}");
        }
        while nodes.iter().chain(&ranks).any(|process| alive(*process)) {
            assert!(killed.elapsed() < Duration::from_secs(5), "{mpirun}, {victim:?}: {nodes:?}, {ranks:?} live on");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(killed.elapsed() < Duration::from_secs(5), "{mpirun}, {victim:?}: {:?}", killed.elapsed());
    }
}
