//! A plan made from a recording with hooks, carried out on the plain build of the same source: nothing of the build is the
//! same but names, sizes and the order of allocations. On one node every home is node 0; which entries the program meets
//! is told by the preloaded library all the same.
#[path = "../../place/tests/support/mod.rs"]
mod support;

use homenode_live::{ActDoc, LiveOptions, RunRequest, run};
use homenode_place::{Match, PlaceRequest, place};
use homenode_placement::plan::{ObjectKey, Plan};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::{build, plain, recorded, request, write_plan};

fn asked(program: &Path, plan: &Path, matching: Match, dry_run: bool) -> RunRequest {
    asked_with(program, &["-s", "XS", "-p", "4"], plan, matching, dry_run)
}

fn asked_with(program: &Path, words: &[&str], plan: &Path, matching: Match, dry_run: bool) -> RunRequest {
    let command = [program.as_os_str()].into_iter().chain(words.iter().map(AsRef::as_ref));
    RunRequest {
        command: command.map(Into::into).collect(),
        plan: Some(plan.to_owned()),
        matching,
        options: LiveOptions { dry_run, ..LiveOptions::default() },
        ..RunRequest::default()
    }
}

/// The plan for this machine, of which every node exists here.
fn planned(dir: &Path, hooked: &Path) -> (Plan, PathBuf) {
    let dataset = recorded(dir, hooked, &["-s", "XS", "-p", "4"]);
    let wanted = PlaceRequest { capacity: Some(vec![u64::MAX / 2; nodes()]), ..request(&dataset, "this") };
    let doc = place(&wanted, &mut ()).expect("a plan");
    (doc.plan.clone(), write_plan(dir, &doc))
}

fn nodes() -> usize {
    homenode_command::machine::topology().expect("every machine has one").nodes.len()
}

/// Pages of the two grids that the plan names: the data worth placing.
fn grids(plan: &Plan) -> BTreeSet<(u64, u64)> {
    let big = |e: &homenode_placement::plan::Entry| match e.object {
        ObjectKey::Heap { size, size_ordinal, .. } if size > 1 << 20 => Some((size, size_ordinal)),
        _ => None,
    };
    plan.entries.iter().filter_map(big).collect()
}

#[test]
fn a_plan_of_a_hooked_build_fits_the_plain_build_by_size() {
    let dir = tempfile::tempdir().expect("a folder");
    let (hooked, unhooked) = (build(dir.path(), "stencil"), plain(dir.path(), "stencil"));
    let (plan, file) = planned(dir.path(), &hooked);
    assert_eq!(grids(&plan).len(), 2, "both grids are in the plan: {plan:?}");

    let refused = run(&asked(&unhooked, &file, Match::Build, true), &mut ()).expect_err("another build");
    assert!(refused.message.contains("--match size"), "{refused}");

    let dry = run(&asked(&unhooked, &file, Match::Size, true), &mut ()).expect("shown");
    let by_size =
        |(size, ordinal): &(u64, u64)| format!("mbind(allocation {ordinal} of {size} bytes by thread - at stack *");
    for grid in grids(&plan) {
        assert!(dry.calls.iter().any(|c| c.starts_with(&by_size(&grid))), "{:?}", dry.calls);
    }

    let doc = run(&asked(&unhooked, &file, Match::Size, false), &mut ()).expect("it ran");
    assert_eq!(doc.exit_status, Some(0));
    all_met(&doc, &plan);
    // The hooked build itself, by build: its stacks are not those that the library unwinds.
    let own = run(&asked(&hooked, &file, Match::Build, false), &mut ()).expect("it ran");
    all_met(&own, &plan);
}

/// The library met every entry, the grids among them.
fn all_met(doc: &ActDoc, plan: &Plan) {
    let outcome = doc.plan.as_ref().expect("under a plan");
    let [said] = &outcome.library[..] else { panic!("{doc:?}") };
    let entries = outcome.entries;
    assert!(said.contains(&format!("{entries} of {entries} entries met")), "{said}");
    let bytes: u64 =
        said.split(" met, ").nth(1).and_then(|s| s.split(' ').next()).expect("bytes").parse().expect("bytes");
    assert!(bytes >= grids(plan).iter().map(|(size, _)| size).sum(), "{said}");
}

/// A script that runs a program, and nothing but that.
fn script(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("wrap.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    path
}

#[test]
fn a_plan_serves_another_size_of_the_same_build_through_scripts_and_launchers() {
    let dir = tempfile::tempdir().expect("a folder");
    let hooked = build(dir.path(), "stencil");
    let (plan, file) = planned(dir.path(), &hooked);
    let name = hooked.display().to_string();
    let wrap = script(dir.path(), &format!("nice {name} \"$@\"\nexit $?"));
    let (large, words) =
        (grids(&plan).iter().map(|(size, _)| 2 * size).max().expect("grids"), ["-n", "1152", "-p", "4"]);
    let through_env = [&["A=1", name.as_str()][..], &words].concat();
    for (first, words) in [(&hooked, &words[..]), (&wrap, &words[..]), (&PathBuf::from("env"), &through_env[..])] {
        let doc = run(&asked_with(first, words, &file, Match::Build, false), &mut ()).expect("it ran");
        let outcome = doc.plan.as_ref().expect("under a plan");
        assert_eq!((doc.exit_status, outcome.nothing_placed), (Some(0), false), "{}", doc.to_text());
        let [said] = &outcome.library[..] else { panic!("one process, not the shell: {doc:?}") };
        let ranges: u64 = outcome.scaled.iter().filter(|s| s.came_bytes == large).map(|s| s.ranges).sum();
        let named = |e: &&homenode_placement::plan::Entry| matches!(e.object, ObjectKey::Heap { size, .. } if 2 * size == large);
        assert_eq!(ranges, plan.entries.iter().filter(named).count() as u64, "both grids by shares: {}", doc.to_text());
        assert!(outcome.scaled.iter().all(|s| s.came_bytes != s.planned_bytes), "{said}: {:?}", outcome.scaled);
        assert!(outcome.placed_bytes >= 2 * large, "{said}");
        assert!(doc.to_text().contains("by shares"), "{}", doc.to_text());
    }
}

#[test]
fn what_could_not_be_placed_is_said_and_nothing_at_all_is_a_failure() {
    let dir = tempfile::tempdir().expect("a folder");
    let hooked = build(dir.path(), "stencil");
    let (mut plan, file) = planned(dir.path(), &hooked);
    // The environment is thrown away, and the library and the plan with it.
    let name = hooked.display().to_string();
    let words = ["-i", name.as_str(), "-s", "XS", "-p", "4"];
    let doc = run(&asked_with(Path::new("env"), &words, &file, Match::Build, false), &mut ()).expect("it ran");
    assert!(doc.nothing_placed() && !doc.program_failed(), "{}", doc.to_text());
    assert!(doc.to_text().contains("NOTHING OF THE PLAN COULD BE PLACED"), "{}", doc.to_text());
    // One thread fewer, and an allocation that does not come.
    for entry in &mut plan.entries {
        if let ObjectKey::Heap { size, site, size_ordinal, .. } = &mut entry.object
            && *size > 1 << 20
        {
            (*site, *size_ordinal) = (None, *size_ordinal + 77);
        }
    }
    std::fs::write(&file, plan.to_json()).expect("written");
    let doc = run(&asked_with(&hooked, &["-s", "XS", "-p", "3"], &file, Match::Build, false), &mut ()).expect("it ran");
    let outcome = doc.plan.as_ref().expect("under a plan");
    let why = |words: &str| outcome.unplaced.iter().filter(|u| u.why.contains(words)).map(|u| u.ranges).sum::<u64>();
    assert!(!outcome.nothing_placed && outcome.placed > 0, "{}", doc.to_text());
    let grids = plan.entries.iter().filter(|e| matches!(e.object, ObjectKey::Heap { size_ordinal: 77.., .. }));
    assert_eq!(why("no such allocation came"), grids.count() as u64, "{}", doc.to_text());
    assert!(why("no such thread came") >= 1, "{}", doc.to_text());
    assert_eq!(outcome.placed + outcome.unplaced.iter().map(|u| u.ranges).sum::<u64>(), outcome.entries);
}
