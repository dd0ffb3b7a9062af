//! Nodes of several hosts, each an address of this one: what programs find there, what is refused, how they end.
mod support;

use homenode_command::{Class, Failure};
use homenode_svmrun::{SvmDoc, SvmRequest};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use support::{cluster, compile, is_slow, on, on_hosts, processes};

/// One of the C programs beside this file.
fn program(name: &str) -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, [PathBuf; 3])> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().expect("a folder");
        let built = ["shared", "sockets", "hosts"]
            .map(|n| compile(&format!("crates/svmrun/tests/c/{n}.c"), folder.path(), &["-g"]));
        (folder, built)
    };
    BUILT.get_or_init(build).1.iter().find(|p| p.ends_with(name)).expect("one of them")
}

fn hosts(hosts: usize, nodes: u16, threads: u16, words: &[&str]) -> Result<SvmDoc, Failure> {
    on(&on_hosts(hosts, cluster(nodes, threads, "genima")), program("hosts"), words)
}

#[test]
fn promises_hold_on_hosts() {
    let few: &[(&str, usize, u16, u16)] = &[("base", 2, 2, 1), ("genima", 2, 3, 1), ("dd", 3, 4, 2)];
    let all: Vec<_> = ["base", "dw", "rf", "dd", "genima"]
        .into_iter()
        .flat_map(|step| [(2, 2, 1), (2, 4, 2), (3, 8, 1), (4, 4, 1)].map(|(h, n, t)| (step, h, n, t)))
        .collect();
    for command in
        ["count", "phases", "sharing", "busy", "memory", "children", "conditions", "flags", "atomics", "reductions"]
    {
        for (step, hosts, nodes, threads) in if is_slow() { &all[..] } else { few } {
            let doc = on(&on_hosts(*hosts, cluster(*nodes, *threads, step)), program("shared"), &[command]);
            let doc = doc.unwrap_or_else(|e| panic!("{command}: {step}, {nodes} on {hosts}: {e}"));
            assert_eq!(doc.exit_status, 0, "{command}: {step}, {nodes} on {hosts}");
            assert_eq!(doc.transport, "tcp");
            // Some need no other nodes.
            if let [_, .., last] = &doc.nodes[..] {
                assert_eq!(doc.nodes.len(), usize::from(*nodes));
                assert_eq!(last.host.as_deref(), Some(format!("127.0.0.{hosts}").as_str()));
                assert!(last.threads.iter().all(|t| t.seconds > 0.0), "{command}: what it counted came back");
            }
        }
    }
}

#[test]
fn variables_and_what_node_0_did_alone_are_everywhere() {
    for (hosts, nodes, threads) in [(2, 2, 1), (1, 3, 1), (2, 5, 2)] {
        for homes in ["first-touch", "round-robin", "block"] {
            let request = SvmRequest { homes: homes.to_owned(), ..on_hosts(hosts, cluster(nodes, threads, "genima")) };
            for (program, word) in [(program("hosts"), "variables"), (program("sockets"), "before")] {
                let doc =
                    SvmRequest { command: vec![program.into(), word.into(), "/dev/null".into()], ..request.clone() };
                let doc = homenode_svmrun::run(&doc).unwrap_or_else(|e| panic!("{word}, {nodes} on {hosts}: {e}"));
                assert_eq!(doc.exit_status, 0, "{word}, {nodes} on {hosts}, {homes}");
            }
        }
    }
}

#[test]
fn pointers_to_private_memory_are_refused_by_name() {
    let why = hosts(2, 2, 1, &["pointer"]).expect_err("private").message;
    assert!(why.contains("private") && why.contains("arguments") && why.contains("homenode_shared_alloc"), "{why}");
    let null = SvmRequest { private_pointers: "null".to_owned(), ..on_hosts(2, cluster(2, 1, "genima")) };
    let doc = on(&null, program("hosts"), &["pointer"]).expect("it runs");
    assert!(
        doc.exit_status == 2 && doc.notes.iter().any(|n| n.contains("private") && n.contains("null")),
        "{:?}",
        doc.notes
    );
    // On one host they are as good as ever.
    assert_eq!(on(&cluster(2, 1, "genima"), program("hosts"), &["pointer"]).expect("it runs").exit_status, 2);
    let doc = hosts(2, 2, 1, &["argument"]).expect("it ends itself");
    assert_eq!(doc.exit_status, 1);
}

#[test]
fn ends_are_those_of_the_program() {
    assert_eq!(hosts(2, 2, 1, &["alone"]).expect("it runs").exit_status, 4);
    assert_eq!(hosts(2, 3, 1, &["exits"]).expect("it runs").exit_status, 7);
    let why = hosts(2, 3, 1, &["crashes"]).expect_err("a crash").message;
    assert!(why.contains("node 2 (process ") && why.contains("on host 127.0.0.2"), "{why}");
}

#[test]
fn what_nodes_say_is_said() {
    // Output of the launcher goes where that of the tests does, so another process is looked at.
    let own = std::env::current_exe().expect("known");
    let child = Command::new(own).args(["--exact", "says", "--ignored", "--nocapture"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&child.stdout);
    for thread in 1..4 {
        for line in 0..3000 {
            let wanted = format!("thread {thread} says line {line} to whoever reads what it has to say\n");
            assert_eq!(text.matches(&wanted).count(), 1, "{wanted}");
        }
    }
}

#[test]
#[ignore = "what_nodes_say_is_said runs it"]
fn says() {
    assert_eq!(hosts(2, 4, 1, &["says"]).expect("it runs").exit_status, 0);
}

/// A command that does something on its host before it goes on.
fn agent_that(folder: &Path, does: &str) -> String {
    let script = folder.join("agent.sh");
    fs::write(&script, format!("#!/bin/sh\nhost=$1\nshift\n{does}\nexec \"$@\"\n")).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    format!("{} {{host}}", script.display())
}

#[test]
fn hosts_that_cannot_take_part_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("hosts");
    let failed = |does: &str| {
        fs::copy(program("hosts"), &copy).expect("copied");
        let agent = Some(agent_that(folder.path(), does));
        let request = SvmRequest { agent, ..on_hosts(2, cluster(2, 1, "genima")) };
        on(&request, &copy, &["variables"]).expect_err(does).message
    };
    let why = failed("exit 3");
    assert!(why.contains("host 127.0.0.2: its agent ended") && why.contains("agent.sh 127.0.0.2"), "{why}");
    let why = failed("echo hello; exec sleep 100");
    assert!(why.contains("host 127.0.0.2: its agent"), "{why}");
    // Another build lies where the program does.
    let (other, here) = (program("shared").display(), copy.display());
    let why = failed(&format!("cp {other} {here}.new; mv {here}.new {here}"));
    assert!(why.contains("another build than on node 0's host"), "{why}");
    let why = failed(&format!("rm {}", copy.display()));
    assert!(why.contains("cannot read") && why.contains("No such file"), "{why}");
    // Another limit moves the libraries.
    let why = failed("ulimit -s unlimited");
    assert!(why.contains("127.0.0.2"), "{why}");

    let first_elsewhere =
        SvmRequest { hosts: vec!["a=192.0.2.1".into(), "b=192.0.2.2".into()], ..on_hosts(2, cluster(2, 1, "nil")) };
    let failure = on(&first_elsewhere, program("hosts"), &["variables"]).expect_err("elsewhere");
    assert!(failure.class == Class::Usage && failure.message.contains("must be this machine"), "{failure}");
}

#[test]
fn whoever_dies_the_run_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    for victim in 0..4 {
        let file = folder.path().join(format!("processes-{victim}"));
        let words = ["forever", file.to_str().expect("a name")];
        let (ended, all, killed) = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                let all = processes(&file, 3);
                let killed = Instant::now();
                // The last one is the agent of the second host, whose child is node 2.
                let parent = |pid: u32| {
                    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
                    stat.rsplit(')').next().and_then(|s| s.split_whitespace().nth(1)?.parse().ok()).expect("a parent")
                };
                homenode_sys::process::signal(all.get(victim).copied().unwrap_or_else(|| parent(all[2])), 9);
                (all, killed)
            });
            let ended = hosts(2, 3, 1, &words);
            let (all, killed) = killer.join().expect("it killed one");
            (ended, all, killed)
        });
        assert!(killed.elapsed() < Duration::from_secs(5), "{victim}: {:?}", killed.elapsed());
        let why = ended.expect_err("lost").message;
        let named = match victim {
            0 => format!("node 0 (process {})", all[0]),
            1 | 2 => format!("node {victim} (process {}) on host 127.0.0.2", all[victim]),
            _ => "host 127.0.0.2: its agent ended".to_owned(),
        };
        assert!(why.contains(&named), "{victim}: {why}");
        let since = Instant::now();
        while all.iter().any(|pid| homenode_sys::process::alive(*pid)) {
            assert!(since.elapsed() < Duration::from_secs(5), "{victim}: {all:?} live on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
