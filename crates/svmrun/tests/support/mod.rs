//! Programs for tests, compiled once a test binary, and run on clusters.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
use homenode_command::Failure;
use homenode_hooks::{Mode, compile as hooks, install};
use homenode_svmrun::{SvmDoc, SvmRequest, run};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Compiles a C file of the repository, named by its path in it.
pub fn compile(source: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    compile_all(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source)], folder, flags)
}

/// Compiles C files to a program that is named after the first one.
pub fn compile_all(sources: &[PathBuf], folder: &Path, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = folder.join(sources[0].file_stem().expect("a file"));
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-std=gnu11", "-Wall", "-pthread", "-I"])
        .arg(root.join("include"))
        .arg("-I")
        .arg(root.join("workloads"));
    let done = cc.args(flags).arg("-o").arg(&out).args(sources).arg("-lm").output().expect("a C compiler");
    assert!(done.status.success(), "{sources:?}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

/// As [`compile`], by a compiler of `homenode cc`.
pub fn compile_recorded(compiler: &str, source: &str, folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = folder.join(format!("recorded-{compiler}"));
    let mut words = vec![OsString::from(format!("--compiler={compiler}"))];
    words.extend(["-O2", "-std=gnu11", "-pthread", "-I"].map(OsString::from));
    words.extend([
        root.join("include").into(),
        "-I".into(),
        root.join("workloads").into(),
        "-o".into(),
        out.clone().into(),
    ]);
    words.extend([root.join(source).into(), "-lm".into()]);
    let archive = install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the target folder is writable");
    let plan = hooks::plan(Mode::Cc, &words, &archive).expect("a plan");
    let done = plan.command().output().expect("the compiler starts");
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

/// A cluster of `nodes` of `threads` with a step of the ladder.
pub fn cluster(nodes: u16, threads: u16, protocol: &str) -> SvmRequest {
    SvmRequest {
        nodes: Some(nodes),
        threads,
        protocol: protocol.to_owned(),
        heap_bytes: 1 << 30,
        ..SvmRequest::default()
    }
}

/// The same with another transport.
pub fn over(transport: &str, request: SvmRequest) -> SvmRequest {
    SvmRequest { transport: Some(transport.to_owned()), ..request }
}

/// The same on so many hosts, which are addresses of this one.
pub fn on_hosts(hosts: usize, request: SvmRequest) -> SvmRequest {
    let own = std::env::current_exe().expect("known");
    let agent = own.parent().and_then(Path::parent).expect("a target folder").join("examples/agent");
    assert!(agent.exists(), "no {}: `cargo test` without --test builds examples, too", agent.display());
    SvmRequest {
        hosts: (1..=hosts).map(|host| format!("127.0.0.{host}")).collect(),
        agent: Some("env HN_HOST={host}".to_owned()),
        homenode: Some(agent),
        ..request
    }
}

/// Whether the tests are run that take long.
pub fn is_slow() -> bool {
    std::env::var_os("HOMENODE_SLOW").is_some()
}

/// Runs a program with these arguments.
pub fn on(request: &SvmRequest, program: &Path, arguments: &[&str]) -> Result<SvmDoc, Failure> {
    let words = arguments.iter().map(OsString::from);
    run(&SvmRequest { command: [program.into()].into_iter().chain(words).collect(), ..request.clone() })
}

/// Waits until a program has written so many processes to a file, a line each.
pub fn processes(file: &Path, nodes: usize) -> Vec<u32> {
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < Duration::from_secs(60), "the program has not begun");
        std::thread::sleep(Duration::from_millis(5));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.lines().count() == nodes && text.ends_with('\n') {
            return text.lines().map(|l| l.parse().expect("a number")).collect();
        }
    }
}

/// Waits for the nodes' processes, and kills one of them; when that was.
pub fn kill_one(file: &Path, nodes: usize, victim: usize) -> (Vec<u32>, Instant) {
    let processes = processes(file, nodes);
    let killed = Instant::now();
    homenode_sys::process::signal(processes[victim], 9);
    (processes, killed)
}
