//! A plan made from a recording with hooks, carried out on the plain build of the same source: nothing of the build is the
//! same but names, sizes and the order of allocations. On one node every home is node 0; which entries the program meets
//! is told by the preloaded library all the same.
mod support;

use homenode_placement::plan::{ObjectKey, Plan};
use homenode_toolkit::{ActDoc, LiveOptions, Match, PlaceRequest, RunRequest, place, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::{build, plain, recorded, request, write_plan};

fn asked(program: &Path, plan: &Path, matching: Match, dry_run: bool) -> RunRequest {
    let command = [program.as_os_str()].into_iter().chain(["-s", "XS", "-p", "4"].map(AsRef::as_ref));
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
    homenode_toolkit::this_topology().expect("every machine has one").nodes.len()
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
