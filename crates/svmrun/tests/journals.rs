//! Journals of programs on real nodes: carried out again, the protocol asks for the same; what was changed in them is found.
mod support;

use homenode_base::Rng;
use homenode_svmrun::{SvmReplay, SvmRequest, replay};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use support::{cluster, compile, is_slow, on, over};

/// Every step of the ladder.
const STEPS: [&str; 5] = ["base", "dw", "rf", "dd", "genima"];
/// Commands of the program, which use all that threads wait with.
const COMMANDS: [&str; 6] = ["count", "sharing", "conditions", "flags", "atomics", "reductions"];

fn noted(request: &SvmRequest, folder: &Path) -> SvmRequest {
    SvmRequest { journals: Some(folder.to_owned()), ..request.clone() }
}

fn replayed(folder: &Path) -> SvmReplay {
    replay(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}

#[test]
fn what_nodes_noted_is_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/shared.c", folder.path(), &[]);
    let mut runs = 0;
    for (at, command) in COMMANDS.into_iter().enumerate() {
        for (step, transport) in STEPS.iter().enumerate().flat_map(|s| [(s, "shm"), (s, "tcp")]) {
            // In the slow tier all, else each command and each step with each transport some times.
            if !is_slow() && (at + step.0) % 3 != 0 {
                continue;
            }
            let (nodes, threads) = [(2, 1), (3, 1), (2, 2)][(at + step.0) % 3];
            let exclusive = at % 2 == 0;
            let journals = folder.path().join(format!("{command}-{}-{transport}", step.1));
            let prefetch = if exclusive && step.0 > 1 { 4 } else { 0 };
            let request = over(transport, cluster(nodes, threads, step.1));
            let request = SvmRequest { exclusive, prefetch, migrate: exclusive, sorted: exclusive, ..request };
            let doc = on(&noted(&request, &journals), &program, &[command]).expect("it runs");
            let what = format!("{command}: {} over {transport}, {nodes} x {threads}", step.1);
            assert_eq!(doc.exit_status, 0, "{what}");
            let found = replayed(&journals);
            assert!(found.is_equal(), "{what}: {}", found.to_text());
            assert_eq!(found.journals.len(), usize::from(nodes), "{what}");
            for journal in &found.journals {
                assert!(journal.operations > 5 && journal.compared > 50 && journal.given > 50, "{what}: {journal:?}");
                // A thread may serve others when the program ends.
                assert!(!journal.cut && journal.unfinished <= u64::from(threads) + 1, "{what}: {journal:?}");
            }
            runs += 1;
        }
    }
    assert!(runs >= 20, "{runs}");
}

#[test]
fn what_was_changed_in_a_journal_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/shared.c", folder.path(), &[]);
    let journals = folder.path().join("journals");
    let request = noted(&cluster(2, 1, "base"), &journals);
    assert_eq!(on(&request, &program, &["count"]).expect("it runs").exit_status, 0);
    let mode = fs::metadata(&journals).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "what was written to memory is in it");
    assert!(replayed(&journals).is_equal());
    let file = journals.join("node-1.journal");
    let whole = fs::read(&file).expect("a journal");
    let (mut rng, mut found) = (Rng::new(3), 0);
    for _ in 0..100 {
        let at = 4096 + rng.below(whole.len() as u64 - 4096);
        let mut bytes = whole.clone();
        bytes[at as usize] ^= 1 << rng.below(8);
        fs::write(&file, &bytes).expect("written");
        let replayed = replayed(&journals);
        assert_eq!(replayed.journals[0].difference, None);
        if let Some(difference) = &replayed.journals[1].difference {
            assert!(difference.contains("the journal has '"), "{difference}");
            found += 1;
        }
    }
    // What the host gave may have been something else, too, and the protocol does the same.
    assert!(found >= 50, "{found}");
    let damaged = OpenOptions::new().write(true).open(&file).expect("a journal");
    damaged.write_all_at(&[9; 8], 0).expect("written");
    assert!(replay(&journals).expect_err("it is none").message.contains("node-1.journal: it is no journal"));
    damaged.set_len(100).expect("shortened");
    assert!(replay(&journals).expect_err("it is none").message.contains("shorter than a journal's header"));
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("node-0.journal", &file).expect("a link");
    assert!(replay(&journals).is_err(), "a link is no journal");
}

#[test]
fn folders_that_are_none_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |journals: &Path| {
        let request = SvmRequest { command: vec!["true".into()], ..noted(&cluster(2, 1, "nil"), journals) };
        homenode_svmrun::run(&request).expect_err("it cannot be").message
    };
    fs::write(folder.path().join("file"), "").expect("written");
    assert!(refused(folder.path()).contains("is not empty"));
    assert!(refused(&folder.path().join("file")).contains("cannot make journals"));
    assert!(refused(&folder.path().join("a/b")).contains("cannot make journals"));
    assert!(replay(folder.path()).expect_err("none").message.contains("svm run --journal"));
    assert!(replay(&folder.path().join("a")).is_err());
}
