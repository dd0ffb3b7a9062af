//! What `homenode svm report` says of programs whose answer is known by construction.
mod support;

use homenode_command::Class;
use homenode_svmrun::{About, SvmDoc, SvmReport, SvmRequest, report};
use std::fs;
use std::path::{Path, PathBuf};
use support::{cluster, compile, compile_recorded, on, over};

/// Runs a way of `crates/svmrun/tests/c/placed.c` and reports on it; `compare`: beside another way. What was counted is what happened; how long it took is not
/// this test's to say, so every thread gets these seconds: computing, for data (a fourth of it for diffs), for locks, at barriers.
fn reported(way: &str, compare: Option<&str>, seconds: [f64; 4]) -> SvmReport {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/placed.c", folder.path(), &["-g"]);
    let document = |way: &str, [compute, data, lock, barrier]: [f64; 4]| -> PathBuf {
        let mut doc = on(&cluster(2, 1, "genima"), &program, &[way]).expect("it runs");
        assert_eq!(doc.exit_status, 0, "{way}");
        doc.processors = 2;
        for thread in doc.nodes.iter_mut().flat_map(|n| &mut n.threads) {
            (thread.compute_seconds, thread.data_seconds, thread.diff_seconds) = (compute, data, data / 4.0);
            (thread.lock_seconds, thread.barrier_seconds) = (lock, barrier);
            thread.seconds = compute + data + lock + barrier;
        }
        doc.lock_groups.iter_mut().for_each(|g| g.seconds = 2.0 * lock);
        let file = folder.path().join(way);
        fs::write(&file, doc.to_json()).expect("written");
        file
    };
    let other = compare.map(|way| document(way, [1.0, 0.0, 0.0, 0.0]));
    let said = report(&document(way, seconds), other.as_deref()).expect("it can be read");
    println!("{}", said.to_text());
    said
}

fn first(said: &SvmReport) -> (About, &str) {
    let first = said.advice.first().expect("there is something to say");
    (first.about, &first.text)
}

#[test]
fn words_of_several_nodes_in_one_page_are_named_and_parts_of_their_own_are_not() {
    let said = reported("mixed", Some("apart"), [1.0, 0.8, 0.0, 0.2]);
    let (about, text) = first(&said);
    assert!(
        about == About::SharedWrites && text.contains("placed.c") && text.contains("several nodes write"),
        "{text}"
    );
    // All waiting for data, and all diffs, are that object's.
    assert!((said.advice[0].seconds - 1.0).abs() < 1e-9, "{:?}", said.advice);
    let compared = said.compared.as_ref().expect("two runs");
    assert_eq!(compared.speedup, Some(2.0));
    assert_eq!(compared.saved_most.as_ref().map(|(class, _)| class.as_str()), Some("data"));
    let object = &said.run.objects[0];
    assert!(object.traffic.fetches_of_shared_writes > 50, "{object:?}");
    assert!(said.run.pages[0].traffic.writes.iter().all(|n| *n >= 40), "{:?}", said.run.pages[0]);
    let apart = &compared.run.objects[0].traffic;
    assert_eq!((apart.fetches_of_shared_writes, apart.fetches_of_remote_writes), (0, 0), "{apart:?}");
    assert!(said.run.phases.iter().any(|p| p.name == "work" && p.threads.len() == 2), "{:?}", said.run.phases);
}

#[test]
fn pages_at_home_elsewhere_are_named() {
    let said = reported("remote", None, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(first(&said).0, About::RemoteWrites);
    let object = &said.run.objects[0].traffic;
    assert!(object.fetches_of_remote_writes >= 50 && object.fetches_of_shared_writes == 0, "{object:?}");
    assert_eq!(said.run.pages[0].home, Some(0));
    assert_eq!(said.run.pages[0].traffic.writes, [1, 40]);
}

/// How often all nodes together did this.
fn counted(doc: &SvmDoc, what: &str) -> u64 {
    doc.nodes.iter().flat_map(|n| &n.counts).filter(|c| c.what == what).map(|c| c.times).sum()
}

/// Runs a way of the program on a request, as it is.
fn counts(way: &str, request: &SvmRequest) -> SvmDoc {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("crates/svmrun/tests/c/placed.c", folder.path(), &["-g"]);
    on(request, &program, &[way]).expect("it runs")
}

#[test]
fn pages_that_are_fetched_in_order_are_named_and_as_many_fetches_are_saved_as_it_says() {
    let said = reported("ordered", None, [1.0, 1.0, 0.0, 0.0]);
    let named = |said: &SvmReport| said.advice.iter().find(|a| a.about == About::FetchesInOrder).cloned();
    let advice = named(&said).expect("named");
    // 40 rounds of 64 pages: one of seven is fetched with 6 pages ahead, and that saves nine tenths of what 15 do.
    let traffic = &said.run.objects[0].traffic;
    assert_eq!((traffic.fetches.clone(), traffic.fetches_in_order), (vec![0, 64 * 40], 63 * 40));
    let saved: Vec<(u8, u64)> = said.run.objects[0].ahead.iter().map(|a| (a.ahead, a.saved_fetches)).collect();
    let each = [(1, 32), (2, 42), (3, 48), (4, 51), (6, 54), (8, 56), (11, 58), (15, 60)];
    assert_eq!(saved, each.map(|(ahead, saved)| (ahead, 40 * saved)));
    assert!(advice.text.contains("2520 of 2560") && advice.text.contains("--prefetch 6"), "{}", advice.text);
    assert!(advice.text.contains("about 2160 fetches fewer"), "{}", advice.text);
    assert!((advice.seconds - 54.0 / 64.0).abs() < 1e-9, "{advice:?}");
    for transport in ["shm", "tcp"] {
        for (ahead, saved) in &saved {
            let request = SvmRequest { prefetch: *ahead, ..over(transport, cluster(2, 1, "genima")) };
            let doc = counts("ordered", &request);
            assert_eq!(counted(&doc, "pages fetched"), 64 * 40 - saved, "{transport}: {ahead}");
        }
    }
    // What comes with another page already is not named again.
    let doc = counts("ordered", &SvmRequest { prefetch: 8, ..cluster(2, 1, "genima") });
    assert_eq!(doc.objects[0].traffic.fetches_in_order, 0);
    // Four pages, and those behind them are the reader's neighbours: what reaches beyond the four is in vain.
    let said = reported("fours", None, [1.0, 1.0, 0.0, 0.0]);
    let advice = named(&said).expect("named");
    assert!(advice.text.contains("--prefetch 3") && advice.text.contains("about 960 fetches fewer"), "{}", advice.text);
    let fetched = |ahead: u8| {
        counted(&counts("fours", &SvmRequest { prefetch: ahead, ..cluster(2, 1, "genima") }), "pages fetched")
    };
    assert_eq!([1, 2, 3].map(fetched), [40 * 16, 40 * 16, 40 * 8]);
    assert!(fetched(4) > 2 * fetched(3));
    for (way, is_named) in [("sparse", false), ("stepped", false), ("apart", false), ("remote", true)] {
        let said = reported(way, None, [1.0, 1.0, 0.0, 0.0]);
        assert_eq!(named(&said).is_some(), is_named, "{way}: {:?}", said.advice);
    }
    // Pages that a thread writes come in order once, too.
    let doc = counts("remote", &SvmRequest { prefetch: 8, ..cluster(2, 1, "genima") });
    assert_eq!(counted(&doc, "pages fetched"), 64 - 56);
}

#[test]
fn homes_that_would_move_are_named_and_as_many_diffs_are_saved_as_it_says() {
    let said = reported("remote", None, [1.0, 1.0, 0.0, 0.0]);
    let (about, text) = first(&said);
    assert_eq!(about, About::RemoteWrites);
    // The third of 40 diffs moves a page.
    assert!(text.contains("--migrate") && text.contains("about 2368 of their 2560 diffs"), "{text}");
    assert_eq!(counted(&said.run, "diffs"), 2560);
    let doc = counts("remote", &SvmRequest { migrate: true, ..cluster(2, 1, "genima") });
    assert_eq!((counted(&doc, "homes moved here"), counted(&doc, "diffs")), (64, 2560 - 2368));
    // Neither pages that several write, nor those that are at home, nor a run in which they moved.
    for way in ["mixed", "apart", "ordered"] {
        let said = reported(way, None, [1.0, 1.0, 0.0, 0.0]);
        assert!(said.advice.iter().all(|a| !a.text.contains("--migrate")), "{way}: {:?}", said.advice);
    }
}

#[test]
fn a_lock_that_all_take_is_named() {
    let said = reported("locked", None, [1.0, 0.0, 1.0, 0.0]);
    let (about, text) = first(&said);
    assert!(about == About::Lock && text.contains("placed.c") && text.contains("2000 times"), "{text}");
    let lock = said.run.locks.iter().find(|l| l.what == "lock").expect("one");
    assert!(lock.times == 2000 && lock.remote > 0 && lock.remote <= 2000, "{lock:?}");
    assert_eq!(lock.object, Some(0));
    let group = said.run.lock_groups.iter().find(|g| g.object == Some(0)).expect("that of the object");
    assert_eq!((group.locks, group.taken), (1, 2000));
}

#[test]
fn a_program_that_shares_nothing_has_no_advice() {
    let said = reported("alone", None, [1.0, 0.02, 0.02, 0.02]);
    assert!(said.advice.is_empty(), "{:?}", said.advice);
    assert!(said.without_advice.expect("it says so").contains("nothing stands out"));
    let said = reported("alone", None, [0.001, 0.002, 0.0, 0.0]);
    assert!(said.without_advice.expect("it says so").contains("cannot tell"));
}

/// A phase, how often it was entered and by how many threads.
type Phase<'d> = (&'d str, u64, usize);

/// Phases, and places that took memory with its bytes.
fn named(doc: &SvmDoc) -> (Vec<Phase<'_>>, Vec<(&str, u64)>) {
    let mut phases: Vec<_> = doc.phases.iter().map(|p| (p.name.as_str(), p.entered, p.threads.len())).collect();
    phases.sort_unstable();
    (phases, doc.objects.iter().map(|o| (o.site.as_str(), o.bytes)).collect())
}

#[test]
fn programs_that_record_themselves_have_the_same_phases_and_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs: [(&str, &[&str], [&str; 2]); 2] = [
        ("crates/svmrun/tests/c/placed.c", &["locked"], ["touch", "work"]),
        ("workloads/radix.c", &["-p", "2"], ["initialise", "sort"]),
    ];
    for (source, arguments, phases) in programs {
        let run = |program: &Path| on(&cluster(2, 1, "genima"), program, arguments).expect("it runs");
        let plain = run(&compile(source, folder.path(), &["-g"]));
        let file = Path::new(source).file_name().and_then(|f| f.to_str()).expect("a name");
        let (found, places) = named(&plain);
        for phase in phases {
            assert!(found.iter().any(|(name, ..)| *name == phase), "{source}: {found:?}");
        }
        assert!(!places.is_empty() && places.iter().all(|(site, _)| site.contains(file)), "{source}: {places:?}");
        for compiler in ["gcc", "clang"] {
            let recorded = run(&compile_recorded(compiler, source, folder.path()));
            assert_eq!(named(&recorded), named(&plain), "{source}, {compiler}");
        }
    }
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
