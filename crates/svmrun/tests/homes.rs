//! Homes by a plan, on programs of which it is known how many diffs and fetches each choice of homes costs.
mod support;

use homenode_command::{Class, Failure};
use homenode_placement::plan::{Entry, Home, ModuleBuild, ObjectKey, Plan, SourceLine, StackHash, ThreadPin, Worth};
use homenode_svmrun::doc::PageRunDoc;
use homenode_svmrun::{Replanned, SvmDoc, SvmRequest, replan};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use support::{cluster, compile, on, on_hosts, over};

const SOURCE: &str = "crates/svmrun/tests/c/homes.c";
const PAGE: u64 = 4096;
/// Pages a thread, and rounds in which each writes all of its own.
const PAGES: u64 = 16;
const ROUNDS: u64 = 5;

fn program() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compile(SOURCE, folder.path(), &["-g"]);
        (folder, program)
    };
    &BUILT.get_or_init(build).1
}

/// The line of the program with this comment.
fn line(comment: &str) -> u32 {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SOURCE)).expect("a file");
    1 + text.lines().position(|l| l.contains(comment)).expect("the line is there") as u32
}

/// What a thread takes at a line.
fn object(path: &[u32], comment: &str, size: u64) -> ObjectKey {
    ObjectKey::Heap {
        build_id: "00ff".into(),
        stack: StackHash(0),
        thread_path: path.to_vec(),
        ordinal: 0,
        size,
        size_ordinal: 0,
        site: None,
        source: Some(SourceLine { file: "elsewhere/homes.c".into(), line: line(comment), ordinal: 0 }),
    }
}

/// A plan for as many nodes as there are homes, a thread each: equal parts of the object live at these.
fn plan(object: &ObjectKey, size: u64, homes: &[Home]) -> Plan {
    let bytes = size / homes.len() as u64;
    let entry = |(at, home): (u64, &Home)| Entry {
        object: object.clone(),
        offset: at * bytes,
        bytes,
        home: home.clone(),
        name: "parts".into(),
        worth: Worth::default(),
    };
    let pin = |t: u32| ThreadPin { thread: t, path: t.checked_sub(1).into_iter().collect(), cpu: t as u16 };
    Plan {
        cores: vec![1; homes.len()],
        modules: vec![ModuleBuild { build_id: "00ff".into(), path: "/bin/recorded".into() }],
        threads: (0..homes.len() as u32).map(pin).collect(),
        entries: (0..).zip(homes).map(entry).collect(),
        ..Plan::new("cluster")
    }
}

/// The plan in which each thread's part of `data` lives with it.
fn own_parts(nodes: u16) -> Plan {
    let size = u64::from(nodes) * PAGES * PAGE;
    plan(&object(&[], "/* taken */", size), size, &(0..nodes).map(Home::Node).collect::<Vec<_>>())
}

fn run(request: &SvmRequest, homes: &str, way: &str) -> Result<SvmDoc, Failure> {
    let threads = (request.nodes.expect("a number") * request.threads).to_string();
    let request = SvmRequest { homes: homes.to_owned(), ..request.clone() };
    on(&request, program(), &[&threads, &PAGES.to_string(), &ROUNDS.to_string(), way])
}

/// Runs the program with homes by a plan.
fn planned(request: &SvmRequest, plan: &Plan, way: &str) -> Result<SvmDoc, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.json");
    fs::write(&file, plan.to_json()).expect("written");
    let doc = run(request, file.to_str().expect("a text"), way)?;
    assert_eq!(doc.exit_status, 0, "{way}");
    Ok(doc)
}

/// How often each node did this.
fn counts(doc: &SvmDoc, what: &str) -> Vec<u64> {
    let of = |counts: &[homenode_svmrun::doc::Counted]| counts.iter().find(|c| c.what == what).expect("counted").times;
    doc.nodes.iter().map(|node| of(&node.counts)).collect()
}

#[test]
fn by_first_touch_each_change_of_another_nodes_part_is_a_diff_and_by_plan_none_is() {
    for (transport, step) in [("shm", "genima"), ("tcp", "genima"), ("shm", "base")] {
        for nodes in [2, 4] {
            let request = over(transport, cluster(nodes, 1, step));
            let others = usize::from(nodes) - 1;
            let by_touch = run(&request, "first-touch", "filled").expect("it runs");
            let beside = |first: u64, other: u64| [vec![first], vec![other; others]].concat();
            assert_eq!(counts(&by_touch, "pages fetched"), beside(0, PAGES), "{transport} {step} {nodes}");
            assert_eq!(counts(&by_touch, "diffs"), beside(0, PAGES * ROUNDS), "{transport} {step} {nodes}");

            // What thread 0 fills in goes home once, before the other nodes begin.
            let doc = planned(&request, &own_parts(nodes), "filled").expect("it runs");
            assert_eq!(counts(&doc, "pages fetched"), beside(PAGES * others as u64, 0), "{transport} {step} {nodes}");
            assert_eq!(counts(&doc, "diffs"), beside(PAGES * others as u64, 0), "{transport} {step} {nodes}");
            let planned = doc.planned.as_ref().expect("there is a plan");
            let pages = u64::from(nodes) * PAGES;
            assert_eq!((planned.objects, planned.met, planned.placed_pages), (1, 1, pages));
            assert!(planned.unmet.is_empty() && planned.resized.is_empty(), "{planned:?}");
            assert!(
                doc.to_text().contains(&format!("1 of its 1 allocations found, {pages} pages")),
                "{}",
                doc.to_text()
            );
            assert!(doc.pages.iter().all(|p| u64::from(p.page) / PAGES == u64::from(p.home.expect("known"))));

            // Equal parts of the piece are the same homes here.
            let block = run(&request, "block", "filled").expect("it runs");
            assert_eq!(counts(&block, "diffs"), counts(&doc, "diffs"));
        }
    }
}

#[test]
fn homes_move_to_who_alone_writes_and_stay_where_they_are() {
    for (transport, step) in [("shm", "genima"), ("tcp", "genima"), ("shm", "rf"), ("shm", "base"), ("tcp", "base")] {
        for nodes in [2, 4] {
            let request = SvmRequest { migrate: true, ..over(transport, cluster(nodes, 1, step)) };
            let others = usize::from(nodes) - 1;
            let beside = |first: u64, other: u64| [vec![first], vec![other; others]].concat();
            let what = format!("{transport} {step} {nodes}");
            let moved = run(&request, "first-touch", "filled").expect("it runs");
            assert_eq!(moved.exit_status, 0, "{what}");
            // The third diff asks for the page; the rest of five rounds are writes of a home.
            assert_eq!(counts(&moved, "diffs"), beside(0, 3 * PAGES), "{what}");
            assert_eq!(counts(&moved, "homes moved here"), beside(0, PAGES), "{what}");
            assert_eq!(counts(&moved, "home writes"), beside(ROUNDS * PAGES, (ROUNDS - 3) * PAGES), "{what}");
            assert_eq!(counts(&moved, "pages fetched"), beside(0, PAGES), "{what}");
            assert!(
                moved.pages.iter().all(|p| u64::from(p.page) / PAGES == u64::from(p.home.expect("known"))),
                "{what}"
            );
            let own = run(&request, "first-touch", "own").expect("it runs");
            assert_eq!(counts(&own, "homes moved here"), beside(0, 0), "{what}");
        }
    }
}

#[test]
fn a_plan_of_the_homes_that_pages_have_anyway_changes_nothing() {
    let request = cluster(2, 1, "genima");
    let (by_touch, by_plan) = (
        run(&request, "first-touch", "own").expect("it runs"),
        planned(&request, &own_parts(2), "own").expect("it runs"),
    );
    for what in ["pages fetched", "diffs", "home writes", "invalidations"] {
        assert_eq!(counts(&by_touch, what), counts(&by_plan, what), "{what}");
    }
    assert_eq!(counts(&by_plan, "diffs"), [0, 0]);
}

#[test]
fn nodes_of_the_plan_are_those_of_the_run_that_have_the_same_threads() {
    // The plan has thread 0 on its node 1, and thread 1 on its node 0.
    let request = cluster(2, 1, "genima");
    let mut plan = own_parts(2);
    plan.threads.iter_mut().for_each(|pin| pin.cpu = 1 - pin.cpu);
    plan.entries.iter_mut().zip([1, 0]).for_each(|(entry, node)| entry.home = Home::Node(node));
    assert_eq!(counts(&planned(&request, &plan, "filled").expect("it runs"), "diffs"), [PAGES, 0]);
    // Homes may be named by threads, and pages may have several nodes in turn.
    plan.entries.iter_mut().zip([0, 1]).for_each(|(entry, thread)| entry.home = Home::Thread(thread));
    assert_eq!(counts(&planned(&request, &plan, "filled").expect("it runs"), "diffs"), [PAGES, 0]);
    plan.entries.iter_mut().for_each(|entry| entry.home = Home::Interleave(vec![0, 1]));
    let doc = planned(&request, &plan, "filled").expect("it runs");
    assert_eq!(counts(&doc, "diffs"), [PAGES + PAGES / 2 * ROUNDS, PAGES / 2 * ROUNDS]);
    // Two threads a node.
    let mut plan = own_parts(4);
    plan.cores = vec![2, 2];
    plan.entries.iter_mut().zip([0, 0, 1, 1]).for_each(|(entry, node)| entry.home = Home::Node(node));
    let doc = planned(&cluster(2, 2, "genima"), &plan, "filled").expect("it runs");
    assert_eq!(counts(&doc, "diffs"), [2 * PAGES, 0]);
}

#[test]
fn memory_that_another_node_takes_when_all_are_there_is_placed_too() {
    for transport in ["shm", "tcp"] {
        let request = over(transport, cluster(2, 1, "genima"));
        let size = 2 * PAGES * PAGE;
        let mut plan = plan(&object(&[0], "/* taken late */", size), size, &[Home::Node(0), Home::Node(1)]);
        let doc = planned(&request, &plan, "late").expect("it runs");
        assert_eq!((counts(&doc, "diffs"), counts(&doc, "pages fetched")), (vec![0, 0], vec![1, 0]), "{transport}");
        // The other way round every part is elsewhere.
        plan.entries.iter_mut().zip([1, 0]).for_each(|(entry, node)| entry.home = Home::Node(node));
        let doc = planned(&request, &plan, "late").expect("it runs");
        assert_eq!(counts(&doc, "diffs"), [PAGES * ROUNDS, PAGES * ROUNDS], "{transport}");
        assert_eq!(counts(&doc, "pages fetched"), [PAGES + 1, PAGES], "{transport}");
    }
}

#[test]
fn a_plan_holds_on_several_hosts() {
    for (nodes, step) in [(2, "genima"), (2, "base"), (4, "genima")] {
        let request = on_hosts(2, cluster(nodes, 1, step));
        let others = usize::from(nodes) - 1;
        let beside = |first: u64, other: u64| [vec![first], vec![other; others]].concat();
        let by_touch = run(&request, "first-touch", "filled").expect("it runs");
        assert_eq!(counts(&by_touch, "diffs"), beside(0, PAGES * ROUNDS), "{step} {nodes}");
        let doc = planned(&request, &own_parts(nodes), "filled").expect("it runs");
        assert!(doc.nodes.last().is_some_and(|n| n.host.as_deref() == Some("127.0.0.2")), "{step} {nodes}");
        // Changes of parts that are at home are no diffs; what thread 0 filled in went home before.
        assert_eq!(counts(&doc, "diffs"), beside(PAGES * others as u64, 0), "{step} {nodes}");
        assert_eq!(counts(&doc, "pages fetched"), beside(PAGES * others as u64, 0), "{step} {nodes}");
        assert_eq!(doc.planned.as_ref().map(|p| p.placed_pages), Some(u64::from(nodes) * PAGES));
        assert!(doc.pages.iter().all(|p| u64::from(p.page) / PAGES == u64::from(p.home.expect("known"))));
    }
    // The node on the other host takes the memory, by the list of its own host; and parts that are elsewhere make diffs.
    let request = on_hosts(2, cluster(2, 1, "genima"));
    let size = 2 * PAGES * PAGE;
    let mut plan = plan(&object(&[0], "/* taken late */", size), size, &[Home::Node(0), Home::Node(1)]);
    let doc = planned(&request, &plan, "late").expect("it runs");
    assert_eq!((counts(&doc, "diffs"), counts(&doc, "pages fetched")), (vec![0, 0], vec![1, 0]));
    plan.entries.iter_mut().zip([1, 0]).for_each(|(entry, node)| entry.home = Home::Node(node));
    let doc = planned(&request, &plan, "late").expect("it runs");
    assert_eq!(counts(&doc, "diffs"), [PAGES * ROUNDS, PAGES * ROUNDS]);
}

#[test]
fn what_is_not_there_is_named_and_what_comes_with_another_size_keeps_its_shares() {
    let request = cluster(2, 1, "genima");
    let mut plan = own_parts(2);
    let double = 2 * 2 * PAGES * PAGE;
    for entry in &mut plan.entries {
        (entry.offset, entry.bytes) = (2 * entry.offset, 2 * entry.bytes);
        let ObjectKey::Heap { size, .. } = &mut entry.object else { panic!("{entry:?}") };
        *size = double;
    }
    let also = |object: ObjectKey| Entry {
        object,
        offset: 0,
        bytes: 4096,
        home: Home::Node(1),
        name: "other".into(),
        worth: Worth::default(),
    };
    plan.entries.push(also(object(&[], "/* taken late */", 8192)));
    plan.entries.push(also(object(&[7], "/* taken */", 8192)));
    plan.entries.push(also(object(&[0, 0], "/* taken */", 8192)));
    plan.entries.push(also(object(&[], "#include \"homenode.h\"", 8192)));
    let mut unknown = object(&[], "/* taken */", 5000);
    if let ObjectKey::Heap { source, .. } = &mut unknown {
        *source = None;
    }
    plan.entries.push(also(unknown));
    let symbol = ObjectKey::Symbol { build_id: "00ff".into(), symbol: "data".into(), address: 64, size: 4096 };
    plan.entries.extend([also(symbol), also(ObjectKey::Stack { thread_path: vec![] })]);
    let doc = planned(&request, &plan, "filled").expect("it runs");
    assert_eq!(counts(&doc, "diffs"), [PAGES, 0]);
    let planned = doc.planned.as_ref().expect("there is a plan");
    assert_eq!((planned.objects, planned.own, planned.met, planned.placed_pages), (6, 2, 1, 2 * PAGES));
    let resized: Vec<(u64, u64)> = planned.resized.iter().map(|r| (r.planned_bytes, r.came_bytes)).collect();
    assert_eq!(resized, [(double, double / 2)]);
    for why in ["no such piece", "a thread takes it", "is no code of this program", "knows no line"] {
        assert!(planned.unmet.iter().any(|u| u.why.contains(why) && u.bytes == 4096), "{why}: {planned:?}");
    }
    let text = doc.to_text();
    assert!(text.contains("not found: `other`") && text.contains("2 variables and stacks"), "{text}");
}

/// Runs the program and has a plan made of what was counted; `change`d before that.
fn replanned(request: &SvmRequest, homes: &str, change: &dyn Fn(&mut SvmDoc)) -> Result<Replanned, Failure> {
    let threads = (request.nodes.expect("a number") * request.threads).to_string();
    let request = SvmRequest { homes: homes.to_owned(), ..request.clone() };
    let mut doc = on(&request, program(), &[&threads, &PAGES.to_string(), "20", "filled"]).expect("it runs");
    change(&mut doc);
    replan(&doc, "x.svm")
}

#[test]
fn a_run_tells_the_next_one_where_pages_are_written_and_that_one_has_nothing_to_tell() {
    for (nodes, threads) in [(2, 1), (3, 1), (2, 2)] {
        let request = cluster(nodes, threads, "genima");
        let others = PAGES * u64::from(nodes - 1) * u64::from(threads);
        let first = replanned(&request, "first-touch", &|_| {}).expect("a plan");
        assert_eq!((first.moved_pages, first.saved_diffs), (others, 20 * others), "{}", first.to_text());
        // What is filled in before the other nodes begin is no interval.
        let expected = &first.plan.expected;
        assert_eq!((expected.now.0, expected.planned.0), (i128::from(20 * others), 0));
        let doc = planned(&request, &first.plan, "filled").expect("it runs");
        let met = doc.planned.as_ref().expect("there is a plan");
        assert_eq!((met.met, met.placed_pages), (1, PAGES * u64::from(nodes) * u64::from(threads)));
        let beside = |first: u64| [vec![first], vec![0; usize::from(nodes) - 1]].concat();
        assert_eq!((counts(&doc, "diffs"), counts(&doc, "pages fetched")), (beside(others), beside(others)));

        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plan.json");
        fs::write(&file, first.plan.to_json()).expect("written");
        let second = replanned(&request, file.to_str().expect("a text"), &|_| {}).expect("a plan");
        assert_eq!((second.moved_pages, second.plan.entries.len()), (0, first.plan.entries.len()));
        assert!(second.to_text().contains("already"), "{}", second.to_text());
    }
}

#[test]
fn runs_that_say_too_little_or_what_cannot_be_give_no_plan() {
    let request = cluster(2, 1, "genima");
    let refused = |change: &dyn Fn(&mut SvmDoc), why: &str| {
        let failure = replanned(&request, "first-touch", change).expect_err(why);
        assert!(failure.message.contains(why) && failure.class == Class::Input, "{}", failure.message);
    };
    refused(&|d| d.nodes.truncate(1), "no run on several nodes");
    refused(&|d| d.objects.clear(), "does not say which pages lived where");
    refused(&|d| d.objects[0].pages.clear(), "does not say which pages lived where");
    refused(&|d| d.objects[0].asked_bytes = 0, "older version");
    refused(&|d| d.objects[0].pages[0].home = Some(2), "nodes that the run did not have");
    refused(&|d| d.objects[0].source.as_mut().expect("known").line = 0, "names no line");
    refused(&|d| d.objects.push(d.objects[0].clone()), "overlaps");
    let wild = |d: &mut SvmDoc| {
        let run = d.objects[0].pages[0].clone();
        d.objects[0].pages =
            vec![PageRunDoc { pages: u64::MAX, writes: u64::MAX, of_home: u64::MAX, of_writer: u64::MAX, ..run }; 3];
    };
    assert_eq!(replanned(&request, "first-touch", &wild).expect("a plan").plan.entries.len(), 1);
    // Three writes a page are too few to move it for.
    let few = |n: u64| move |d: &mut SvmDoc| d.objects[0].pages.iter_mut().for_each(|r| r.of_writer = n * r.pages);
    for (writes, moved) in [(3, 0), (4, PAGES)] {
        assert_eq!(replanned(&request, "first-touch", &few(writes)).expect("a plan").moved_pages, moved);
    }
    // Without a line nothing can be named.
    let bare = replanned(&request, "first-touch", &|d| d.objects[0].source = None).expect("a plan");
    assert_eq!((bare.plan.entries.len(), bare.unnamed_pages), (0, 2 * PAGES));
    assert!(bare.to_text().contains("compile with -g"), "{}", bare.to_text());
}

#[test]
fn plans_that_do_not_fit_are_refused_in_one_line_before_the_program_starts() {
    let request = cluster(2, 1, "genima");
    let refused = |change: &dyn Fn(&mut Plan), why: &str| {
        let mut plan = own_parts(2);
        change(&mut plan);
        let failure = planned(&request, &plan, "filled").expect_err(why);
        assert_eq!(failure.class, Class::Input, "{}", failure.message);
        assert!(failure.message.contains(why) && failure.message.contains("plan.json"), "{why}: {}", failure.message);
        assert!(!failure.message.contains('\n'), "{}", failure.message);
    };
    refused(&|p| p.cores = vec![1; 3], "is for 3 nodes (cluster), and the run has 2");
    refused(&|p| p.cores.clear(), "make it anew");
    refused(&|p| p.entries[1].home = Home::Node(2), "names node 2");
    refused(&|p| p.entries[1].home = Home::Thread(9), "its thread 9");
    refused(&|p| p.threads[1].cpu = 2, "names processor 2");
    refused(&|p| p.cores = vec![2, 0], "threads 0 and 1 are on one node");
    refused(&|p| p.schema = "plan-9".into(), "plan-9");
    refused(&|p| p.schema = "a\n\u{1b}[31mb".into(), "its schema is 'a");
    refused(&|p| p.entries[0].bytes = u64::MAX, "entries[0]");
    refused(&|p| p.entries.clear(), "no memory by the line");
    let elsewhere = |p: &mut Plan| {
        p.entries.truncate(1);
        p.entries[0].object = object(&[], "#include \"homenode.h\"", 1 << 20);
    };
    refused(&elsewhere, "is for another program");
    let threads = cluster(1, 2, "genima");
    let mut plan = own_parts(2);
    plan.cores = vec![2];
    plan.entries.iter_mut().for_each(|e| e.home = Home::Node(0));
    assert_eq!(counts(&planned(&threads, &plan, "filled").expect("it runs"), "diffs"), [0]);

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.json");
    let with = |bytes: &[u8], program: &Path| {
        fs::write(&file, bytes).expect("written");
        let request = SvmRequest { homes: file.display().to_string(), ..request.clone() };
        on(&request, program, &["2", "1", "1", "filled"]).expect_err("refused").message
    };
    let text = own_parts(2).to_json();
    assert!(with(b"", program()).contains("line 1"));
    assert!(with(&text.as_bytes()[..text.len() / 2], program()).contains("plan.json: plan, line"));
    assert!(with(&[0xff, 0xfe], program()).contains("no text"));
    let bare = compile(SOURCE, folder.path(), &[]);
    assert!(with(text.as_bytes(), &bare).contains("compile it with -g"));
    assert!(run(&request, "/no/such.json", "filled").expect_err("no file").message.contains("the file of a plan"));
}
