//! What `homenode svm report` says of programs whose answer is known by construction.
mod support;

use homenode_command::Class;
use homenode_svmrun::{About, Advice, SvmReport, report};
use std::fs;
use std::path::{Path, PathBuf};
use support::{cluster, compile, on};

/// Runs a way of `tests/c/placed.c` and reports on it; `compare`: beside another way.
fn reported(way: &str, compare: Option<&str>) -> SvmReport {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/placed.c", folder.path(), &["-g"]);
    let document = |way: &str| -> PathBuf {
        let doc = on(&cluster(2, 1, "genima"), &program, &[way]).expect("it runs");
        assert_eq!(doc.exit_status, 0, "{way}");
        let file = folder.path().join(way);
        fs::write(&file, doc.to_json()).expect("written");
        file
    };
    let other = compare.map(document);
    report(&document(way), other.as_deref()).expect("it can be read")
}

#[test]
fn words_of_several_nodes_in_one_page_are_named_and_parts_of_their_own_are_not() {
    let said = reported("mixed", Some("apart"));
    println!("{}", said.to_text());
    let is_named = |a: &Advice| a.text.contains("placed.c") && a.text.contains("several nodes write");
    assert!(said.advice.iter().any(is_named), "{:?}", said.advice);
    let compared = said.compared.as_ref().expect("two runs");
    assert!(compared.speedup.expect("both ended") > 1.0);
    let object = &said.run.objects[0];
    assert!(object.traffic.fetches_of_shared_writes > 50, "{object:?}");
    assert!(said.run.pages[0].traffic.writes.iter().all(|n| *n >= 40), "{:?}", said.run.pages[0]);
    let apart = &compared.run.objects[0].traffic;
    assert_eq!((apart.fetches_of_shared_writes, apart.fetches_of_remote_writes), (0, 0), "{apart:?}");
    assert!(said.run.phases.iter().any(|p| p.name == "work" && p.threads.len() == 2), "{:?}", said.run.phases);
}

#[test]
fn pages_at_home_elsewhere_are_named() {
    let said = reported("remote", None);
    println!("{}", said.to_text());
    let object = &said.run.objects[0].traffic;
    assert!(object.fetches_of_remote_writes >= 50 && object.fetches_of_shared_writes == 0, "{object:?}");
    assert_eq!(said.run.pages[0].home, Some(0));
    assert_eq!(said.run.pages[0].traffic.writes, [1, 40]);
}

#[test]
fn a_lock_that_all_take_is_named() {
    let said = reported("locked", None);
    println!("{}", said.to_text());
    let lock = said.run.locks.iter().max_by_key(|l| l.taken).expect("one");
    assert!(lock.taken == 2000 && lock.remote > 0 && lock.remote <= 2000, "{lock:?}");
    assert_eq!(lock.object, Some(0));
    let group = said.run.lock_groups.iter().find(|g| g.object == Some(0)).expect("that of the object");
    assert_eq!((group.locks, group.taken), (1, 2000));
}

#[test]
fn a_program_that_shares_nothing_has_no_advice() {
    let said = reported("alone", None);
    println!("{}", said.to_text());
    // Whatever else runs on this machine, one thread may wait for the other.
    assert!(said.advice.iter().all(|a| a.about == About::Imbalance), "{:?}", said.advice);
    assert!(said.without_advice.is_none_or(|why| why.contains("nothing stands out")));
    let said = reported("short", None);
    assert!(said.without_advice.expect("it says so").contains("cannot tell"));
}

#[test]
fn what_is_no_document_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |bytes: &[u8]| {
        let file = folder.path().join("x.svm");
        fs::write(&file, bytes).expect("written");
        let failure = report(&file, None).expect_err("refused");
        assert_eq!(failure.class, Class::Input);
        assert!(!failure.message.contains('\n') && failure.message.contains("x.svm"), "{}", failure.message);
    };
    refused(b"");
    refused(b"{}");
    refused(b"[1, 2");
    let doc = on(&cluster(1, 1, "genima"), Path::new("/bin/true"), &[]).expect("it runs").to_json();
    refused(&doc.as_bytes()[..doc.len() / 2]);
    refused(doc.replace("svm-run-1", "svm-run-0").as_bytes());
    refused(doc.replace("\"notes\"", "\"note\\n\"").as_bytes());
    // Documents may say anything: indices that lead nowhere, numbers without end.
    let file = folder.path().join("wild.svm");
    let page = "\"pages\":[{\"page\":1,\"object\":7,\"offset\":18446744073709551615,\"home\":9,\"traffic\":\
                {\"fetches\":[18446744073709551615,18446744073709551615],\"writes\":[],\"runs\":1,\"invalidations\":1,\
                \"fetches_of_shared_writes\":9,\"fetches_of_remote_writes\":18446744073709551615}}]";
    fs::write(&file, doc.replace("\"pages\":[]", page)).expect("written");
    let said = report(&file, Some(&file)).expect("it can be read").to_text();
    assert!(said.contains("cannot tell"), "{said}");
    assert!(report(Path::new("/no/such.svm"), None).expect_err("nothing").message.contains("/no/such.svm"));
}
