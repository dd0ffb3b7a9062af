//! Commands that decide and act.
use super::{Done, print};
use crate::args::{Live, Migrate, Place, Run};
use crate::progress::Bar;
use homenode_command::{Failure, output};

pub(super) fn place(a: Place, quiet: bool) -> Done {
    let request = homenode_place::PlaceRequest {
        dataset: a.dataset,
        machine: a.machine,
        rule: a.rule,
        map: a.map,
        move_threads: a.move_threads,
        capacity: a.capacity,
        page_bytes: a.page,
    };
    if let Some(path) = &a.output {
        output::refuse_existing(path, a.force)?;
    }
    let doc = homenode_place::place(&request, &mut Bar::new(quiet))?;
    for warning in &doc.plan.evidence.warnings {
        eprintln!("homenode: warning: {warning}");
    }
    if let Some(path) = &a.output {
        output::write(path, doc.to_json().as_bytes())?;
    }
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn live(a: Live) -> homenode_live::LiveOptions {
    let default = homenode_live::LiveOptions::default();
    homenode_live::LiveOptions {
        policy: a.policy.unwrap_or(default.policy),
        move_permille: a.budget.unwrap_or(default.move_permille),
        decide_permille: a.decide.unwrap_or(default.decide_permille),
        window: a.window.unwrap_or(default.window),
        duration: a.duration,
        dry_run: a.dry_run,
        tune_kernel: a.tune_kernel,
        journal: a.journal,
        record: a.record,
        force: a.force,
    }
}

pub(super) fn run(a: Run, quiet: bool) -> Done {
    let request = homenode_live::RunRequest {
        command: a.command,
        plan: a.plan,
        matching: homenode_place::Match::parse(&a.matching)?,
        compare: a.compare,
        options: live(a.live),
    };
    super::tuning(request.options.tune_kernel);
    let mut results = output::Results::new(a.json)?;
    let doc = homenode_live::run(&request, &mut Bar::new(quiet))?;
    if a.json {
        results.print(&doc.to_json())?;
    } else if !quiet {
        // The program owns stdout; what we have to say goes beside it.
        eprint!("{}", doc.to_text());
    }
    Ok(u8::from(doc.program_failed() || doc.nothing_placed()))
}

pub(super) fn migrate(a: Migrate, quiet: bool) -> Done {
    if let Some(journal) = &a.replay {
        let doc = homenode_live::replay_journal(journal, a.live.policy.as_deref())?;
        print(&if a.json { doc.to_json() } else { doc.to_text() })?;
        // Another policy is meant to differ.
        return Ok(u8::from(!doc.same && a.live.policy.is_none()));
    }
    let pid = a.pid.ok_or_else(|| Failure::usage("--pid or --replay is needed"))?;
    super::tuning(a.live.tune_kernel);
    let doc =
        homenode_live::migrate(&homenode_live::MigrateRequest { pid, options: live(a.live) }, &mut Bar::new(quiet))?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}
