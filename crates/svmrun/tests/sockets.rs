//! Nodes that have only sockets between them: what they keep of each other, what they do with garbage, how they die.
mod support;

use homenode_svmrun::SvmRequest;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use support::{cluster, compile, is_slow, kill_one, on, over, processes};

/// Held alone by the test that looks at descriptors: a launcher's are inherited by the programs of other launchers of this process.
static RUNS: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    RUNS.read().unwrap_or_else(PoisonError::into_inner)
}

/// One of the C programs beside this file.
fn program(name: &'static str) -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, [PathBuf; 2])> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().expect("a folder");
        let built = ["shared", "sockets"].map(|n| compile(&format!("crates/svmrun/tests/c/{n}.c"), folder.path(), &[]));
        (folder, built)
    };
    let [shared, sockets] = &BUILT.get_or_init(build).1;
    if name == "shared" { shared } else { sockets }
}

#[test]
fn promises_hold_over_sockets() {
    let _others = beside_others();
    let few: &[(&str, u16, u16)] = &[("base", 2, 1), ("rf", 3, 1), ("genima", 4, 1), ("genima", 2, 2)];
    let all: Vec<(&str, u16, u16)> = ["base", "dw", "rf", "dd", "genima"]
        .into_iter()
        .flat_map(|step| {
            [(2, 1), (3, 1), (4, 1), (2, 2), (8, 1), (3, 3)].map(|(nodes, threads)| (step, nodes, threads))
        })
        .collect();
    let shapes = if is_slow() { &all[..] } else { few };
    let commands = ["count", "phases", "sharing", "busy", "memory", "children"];
    for command in commands.into_iter().chain(["conditions", "flags", "atomics", "reductions"]) {
        for (step, nodes, threads) in shapes {
            let doc = on(&over("tcp", cluster(*nodes, *threads, step)), program("shared"), &[command]);
            let doc = doc.unwrap_or_else(|e| panic!("{command}: {step}, {nodes} x {threads}: {e}"));
            assert_eq!(doc.exit_status, 0, "{command}: {step}, {nodes} x {threads}");
            assert_eq!(doc.transport, "tcp");
        }
    }
}

#[test]
fn large_pages_and_other_homes_do_over_sockets() {
    let _others = beside_others();
    for homes in ["round-robin", "block"] {
        for page_bytes in [4096, 1 << 20] {
            let homes = homes.to_owned();
            let request = SvmRequest { homes, page_bytes, ..over("tcp", cluster(3, 1, "genima")) };
            let doc = on(&request, program("shared"), &["sharing"]).expect("it runs");
            assert_eq!(doc.exit_status, 0, "{}, {page_bytes}", request.homes);
        }
    }
}

#[test]
fn a_thread_that_computes_is_interrupted_over_sockets_in_base_only() {
    let _others = beside_others();
    for step in ["base", "genima"] {
        let doc = on(&over("tcp", cluster(2, 1, step)), program("shared"), &["busy"]).expect("it runs");
        let signals: u64 = doc.nodes.iter().map(|n| n.signals).sum();
        assert_eq!((doc.exit_status, signals > 0), (0, step == "base"), "{step}: {signals} signals");
    }
}

#[test]
fn the_status_is_the_programs_over_sockets() {
    let _others = beside_others();
    for (command, status) in [("status", 5), ("leave", 9)] {
        let doc = on(&over("tcp", cluster(2, 1, "genima")), program("shared"), &[command]).expect("it runs");
        assert_eq!(doc.exit_status, status, "{command}");
    }
}

#[test]
fn what_was_done_before_there_were_nodes_is_theirs() {
    let _others = beside_others();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("before");
    let path = file.to_str().expect("a name");
    for homes in ["first-touch", "round-robin", "block"] {
        for step in ["base", "genima"] {
            let request = SvmRequest { homes: homes.to_owned(), ..over("tcp", cluster(3, 1, step)) };
            let doc = on(&request, program("sockets"), &["before", path]).expect("it runs");
            assert_eq!((doc.exit_status, doc.nodes.len()), (0, 3), "{homes}, {step}");
        }
    }
}

/// What a process has mapped and open that is named so.
fn has(process: u32, name: &str) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("it lives");
    let open = fs::read_dir(format!("/proc/{process}/fd")).expect("it lives").flatten();
    let open = open.filter_map(|entry| fs::read_link(entry.path()).ok()).map(|to| to.to_string_lossy().into_owned());
    maps.lines().map(str::to_owned).chain(open).filter(|line| line.contains(name)).collect()
}

#[test]
fn a_node_has_its_own_memory_and_nothing_of_the_others() {
    let _alone = RUNS.write().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("processes");
    let path = file.to_str().expect("a name").to_owned();
    let looker = std::thread::spawn(move || {
        let all = processes(&file, 3);
        let found: Vec<Vec<String>> = all.iter().map(|process| has(*process, "homenode ")).collect();
        homenode_sys::process::signal(all[0], 9);
        found
    });
    let said = on(&over("tcp", cluster(3, 1, "genima")), program("sockets"), &["forever", &path]).expect_err("killed");
    assert!(said.to_string().contains("node 0"), "{said}");
    for (node, found) in looker.join().expect("it found them").into_iter().enumerate() {
        let own = |line: &&String| {
            line.contains(&format!("homenode heap {node}")) || line.contains(&format!("homenode region {node}"))
        };
        let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(own);
        assert!(own.len() >= 3, "two views of the heap and the region: {own:?}");
        assert!(others.is_empty(), "node {node}: {others:?}");
    }
}

#[test]
fn garbage_of_a_node_ends_the_run_with_its_name() {
    let _others = beside_others();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("said");
    let path = file.to_str().expect("a name");
    let doc = on(&over("tcp", cluster(3, 1, "genima")), program("sockets"), &["garbage", path]).expect("one ends it");
    assert_eq!(doc.exit_status, 1);
    let said = fs::read_to_string(&file).expect("what was said");
    assert!(said.contains("homenode: shared memory: node 1 sent operation 255, which does not exist"), "{said}");
    assert!(!said.contains("lost"), "{said}");
}

#[test]
fn a_node_that_cannot_be_reached_any_more_is_named() {
    let _others = beside_others();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("said");
    let path = file.to_str().expect("a name");
    let doc = on(&over("tcp", cluster(2, 1, "genima")), program("sockets"), &["closed", path]).expect("one ends it");
    assert_eq!(doc.exit_status, 1);
    let said = fs::read_to_string(&file).expect("what was said");
    // Both see it at about the same time.
    let lines = ["node 0", "node 1"].map(|node| format!("homenode: shared memory: the connection to {node} was lost"));
    assert!(said.lines().count() > 0 && said.lines().all(|line| lines.iter().any(|l| l == line)), "{said}");
}

#[test]
fn a_killed_node_is_named_and_no_other_says_anything_before() {
    let _others = beside_others();
    let times = if is_slow() { 20 } else { 1 };
    for victim in (0..3).cycle().take(3 * times) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("processes");
        let path = file.to_str().expect("a name").to_owned();
        let others = folder.path().join("processes.said");
        let killer = std::thread::spawn(move || kill_one(&file, 3, victim));
        let said = on(&over("tcp", cluster(3, 1, "base")), program("sockets"), &["forever", &path]).expect_err("lost");
        let (processes, killed) = killer.join().expect("it found them");
        assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
        let name = format!("node {victim} (process {})", processes[victim]);
        assert!(said.to_string().contains(&name), "{victim} of {processes:?}: {said}");
        assert!(!processes.iter().any(|p| homenode_sys::process::alive(*p)), "{processes:?}");
        assert_eq!(fs::read_to_string(others).expect("what the nodes said"), "");
    }
}
