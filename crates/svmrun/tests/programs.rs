//! What `include/homenode.h` promises to programs, on real nodes.
mod support;

use homenode_svmrun::SvmRequest;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use support::{cluster, compile, compile_recorded, kill_one, on, over};

/// Every step of the ladder.
const STEPS: [&str; 5] = ["base", "dw", "rf", "dd", "genima"];

fn program() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compile("crates/svmrun/tests/c/shared.c", folder.path(), &[]);
        (folder, program)
    };
    &BUILT.get_or_init(build).1
}

fn shared(request: &SvmRequest, arguments: &[&str]) -> i32 {
    let doc = on(request, program(), arguments).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
    doc.exit_status
}

/// A command of the program holds on clusters of 2 and 4 nodes, with each step.
fn holds(command: &str) {
    for step in STEPS {
        for (nodes, threads) in [(2, 1), (4, 1), (2, 2)] {
            for exclusive in [false, true] {
                // All that is optional, or nothing of it.
                let prefetch = if exclusive && !["base", "dw"].contains(&step) { 3 } else { 0 };
                let request = SvmRequest {
                    exclusive,
                    prefetch,
                    migrate: exclusive,
                    sorted: exclusive,
                    node_locks: if exclusive { "ticket" } else { "test-and-set" }.to_owned(),
                    pin: exclusive,
                    notices: exclusive.then(|| "fetched".to_owned()),
                    interrupts: if exclusive { "polled" } else { "first" }.to_owned(),
                    ..cluster(nodes, threads, step)
                };
                let what = format!("{command}: {step}, {nodes} x {threads}, {exclusive}");
                assert_eq!(shared(&request, &[command]), 0, "{what}");
            }
        }
    }
}

#[test]
fn counters_under_a_lock_lose_nothing_and_threads_are_created_again() {
    holds("count");
}

#[test]
fn what_was_written_before_a_barrier_is_seen_after_it() {
    holds("phases");
}

#[test]
fn bytes_and_words_of_one_page_can_be_written_by_all_nodes() {
    holds("sharing");
}

#[test]
fn condition_variables_lose_no_signal() {
    holds("conditions");
}

#[test]
fn flags_hand_over_what_was_written() {
    holds("flags");
}

#[test]
fn words_are_changed_at_once_and_synchronise() {
    holds("atomics");
}

#[test]
fn reductions_are_the_same_everywhere() {
    holds("reductions");
}

#[test]
fn threads_are_bound_and_heaps_placed_if_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/pinned.c", folder.path(), &[]);
    for (transport, nodes, threads) in [("shm", 2, 1), ("tcp", 2, 2)] {
        let request = over(transport, cluster(nodes, threads, "genima"));
        let status = |request| on(&request, &program, &[]).expect("it runs").exit_status;
        assert_eq!(status(SvmRequest { pin: true, ..request.clone() }), 0, "{transport} {nodes} x {threads}");
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(processors == 1 || status(request) != 0, "{transport}: bound unasked");
    }
}

#[test]
fn nothing_that_waits_interrupts_a_host_in_genima() {
    for command in ["conditions", "flags", "atomics", "reductions"] {
        let doc = on(&cluster(2, 1, "genima"), program(), &[command]).expect("it runs");
        assert_eq!(doc.exit_status, 0, "{command}");
        for node in &doc.nodes {
            assert!(
                node.interrupts.iter().all(|i| i.times == 0) && node.signals == 0,
                "{command}: {:?}",
                node.interrupts
            );
        }
    }
}

#[test]
fn pthreads_of_a_nodes_own_are_left_alone() {
    assert_eq!(shared(&cluster(2, 1, "genima"), &["own-pthreads"]), 0);
}

#[test]
fn homes_and_pages_can_be_chosen() {
    for homes in ["round-robin", "block"] {
        for step in ["base", "genima"] {
            let request = SvmRequest { homes: homes.to_owned(), ..cluster(3, 1, step) };
            assert_eq!(shared(&request, &["sharing"]), 0, "{homes}, {step}");
            assert_eq!(
                shared(&SvmRequest { page_bytes: 16384, ..request }, &["sharing"]),
                0,
                "{homes}, {step}, 16 KiB"
            );
        }
    }
}

#[test]
fn a_thread_that_computes_is_interrupted_in_base_only() {
    for (step, which) in [("base", "first"), ("base", "round-robin"), ("genima", "first")] {
        let request = SvmRequest { interrupts: which.to_owned(), ..cluster(2, 1, step) };
        let doc = on(&request, program(), &["busy"]).expect("it runs");
        assert_eq!(doc.exit_status, 0, "{step}");
        let signals: u64 = doc.nodes.iter().map(|n| n.signals).sum();
        assert_eq!(signals > 0, step == "base", "{step}: {signals} signals");
        let page = doc.nodes[0].interrupts.iter().find(|i| i.what == "page").expect("counted");
        assert_eq!(page.times > 0, step == "base");
    }
}

#[test]
fn where_nodes_poll_no_thread_is_stopped_and_threads_that_compute_are_not_waited_for() {
    for (transport, step) in [("shm", "base"), ("tcp", "base"), ("shm", "dd")] {
        let request = over(transport, SvmRequest { interrupts: "polled".to_owned(), ..cluster(2, 1, step) });
        for command in ["busy", "count", "conditions", "leave"] {
            let doc = on(&request, program(), &[command]).expect("it runs");
            let status = if command == "leave" { 9 } else { 0 };
            assert_eq!(doc.exit_status, status, "{transport} {step} {command}");
            assert_eq!(doc.nodes.iter().map(|n| n.signals).sum::<u64>(), 0, "{transport} {step} {command}");
            assert_eq!(doc.options, ["--interrupts polled"]);
            let asked = doc.nodes.iter().flat_map(|n| &n.interrupts).any(|i| i.times > 0);
            assert!(asked || step == "dd" || command == "leave", "{transport} {step} {command}: nobody was asked");
        }
    }
}

#[test]
fn notices_and_diffs_come_as_is_asked_for() {
    let said = |word: &str| Some(word.to_owned());
    for (step, notices, diffs) in [
        ("base", None, said("at-release")),
        ("base", said("fetched"), None),
        ("dd", said("with-lock"), said("lazy")),
        ("dd", said("with-lock"), None),
    ] {
        for transport in ["shm", "tcp"] {
            let request = SvmRequest { notices: notices.clone(), diffs: diffs.clone(), ..cluster(3, 1, step) };
            let request = over(transport, request);
            for command in ["count", "phases", "sharing", "conditions", "flags", "atomics", "reductions"] {
                assert_eq!(shared(&request, &[command]), 0, "{transport} {step} {:?} {command}", request.notices);
            }
        }
    }
}

#[test]
fn memory_is_zeroed_aligned_and_used_again() {
    assert_eq!(shared(&cluster(2, 1, "genima"), &["memory"]), 0);
}

#[test]
fn files_are_read_and_written_at_shared_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("data");
    let bytes: Vec<u8> = (0..4 * 4096).map(|i| (i / 16) as u8).collect();
    fs::write(&file, bytes).expect("written");
    for step in ["base", "genima"] {
        assert_eq!(shared(&cluster(2, 1, step), &["io", file.to_str().expect("a name")]), 0);
        assert_eq!(shared(&cluster(2, 2, step), &["io", file.to_str().expect("a name")]), 0);
    }
}

#[test]
fn the_programs_status_is_the_runs() {
    let doc = on(&cluster(2, 1, "genima"), program(), &["status"]).expect("it runs");
    assert_eq!((doc.exit_status, doc.status(), doc.nodes.len()), (5, 5, 1));
    assert!(doc.notes[0].contains("created no thread"), "{:?}", doc.notes);
    let doc = on(&cluster(1, 1, "base"), program(), &["status"]).expect("it runs");
    assert!(doc.notes[0].contains("no memory of the shared heap"), "{:?}", doc.notes);
    assert_eq!(shared(&cluster(2, 1, "genima"), &["leave"]), 9, "exit in a thread of another node");
    assert_eq!(shared(&cluster(2, 2, "base"), &["leave"]), 9);
}

#[test]
fn programs_that_record_themselves_have_their_memory_in_the_shared_heap() {
    let folder = tempfile::tempdir().expect("a folder");
    for compiler in ["gcc", "clang"] {
        let program = compile_recorded(compiler, "crates/svmrun/tests/c/shared.c", folder.path());
        for command in ["count", "sharing", "conditions"] {
            let doc = on(&cluster(2, 1, "genima"), &program, &[command]).expect("it runs");
            assert_eq!((doc.exit_status, &doc.notes[..]), (0, &[][..]), "{compiler} {command}");
            assert!(doc.heap_used_bytes > 4096, "{compiler} {command}: {} bytes", doc.heap_used_bytes);
        }
    }
}

#[test]
fn programs_that_the_program_starts_are_not_affected() {
    assert_eq!(shared(&cluster(2, 1, "genima"), &["children"]), 0);
}

#[test]
fn mistakes_are_said_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |command: &str| {
        let file = folder.path().join(command);
        assert_eq!(shared(&cluster(3, 1, "genima"), &[command, file.to_str().expect("a name")]), 1, "{command}");
        fs::read_to_string(file).expect("what was said")
    };
    assert!(said("few").contains("homenode_barrier: 2 threads are to meet where 3 nodes of 1 threads have 3"));
    assert!(said("many").contains("no room for another thread"));
    assert!(said("unheld").contains("does not have the lock"));
    assert!(said("unheld-wait").contains("homenode_cond_wait: the calling thread does not have the lock"));
    assert!(said("early").contains("homenode_flag_wait: no thread has been created, so nobody else can come"));
    assert!(said("mixed").contains("another thread called another reduction"));
    assert!(
        said("private-word").contains("homenode_fetch_add64: 0x")
            && said("private-word").contains("is no shared memory")
    );
    assert!(said("crooked-word").contains("homenode_load64: the word at 0x200"));
    for (command, called, instead) in [
        ("mutex", "pthread_mutex_lock", "homenode_lock"),
        ("cond", "pthread_cond_wait", "homenode_cond_wait"),
        ("barrier", "pthread_barrier_wait", "homenode_barrier"),
        ("semaphore", "sem_wait", "homenode_cond_wait"),
    ] {
        let said = said(command);
        assert!(
            said.starts_with(&format!("homenode: {called}: ")) && said.contains(&format!("use {instead}")),
            "{said}"
        );
    }
}

#[test]
fn programs_without_the_library_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/shared.c", folder.path(), &["-static"]);
    let said = on(&cluster(2, 1, "genima"), &program, &["status"]).expect_err("static").to_string();
    assert!(said.contains("linked statically") && said.contains("status 6"), "{said}");
    let said = on(&cluster(2, 1, "genima"), Path::new("/no/such"), &[]).expect_err("nothing").to_string();
    assert!(said.contains("no such file"), "{said}");
}

#[test]
fn a_node_that_is_killed_takes_the_others_with_it() {
    for victim in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("processes");
        let path = file.to_str().expect("a name").to_owned();
        let killer = std::thread::spawn(move || kill_one(&file, 3, victim));
        let said = on(&cluster(3, 1, "base"), program(), &["forever", &path]).expect_err("lost").to_string();
        let (processes, killed) = killer.join().expect("it found them");
        assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
        assert!(
            said.contains(&format!("node {victim} (process {})", processes[victim])),
            "{victim} of {processes:?}: {said}"
        );
        assert!(!processes.iter().any(|p| homenode_sys::process::alive(*p)), "{processes:?}");
    }
}
