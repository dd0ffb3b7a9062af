//! Commands of shared virtual memory.
use super::Done;
use crate::args::{Svm, SvmReplayArgs, SvmReportArgs, SvmRun};
use homenode_command::output::{self, Results};
use homenode_svmrun::{Joined, Ranks, SvmRequest};

pub(super) fn svm(what: Svm, quiet: bool) -> Done {
    match what {
        Svm::Run(a) => run(*a, quiet),
        Svm::Report(a) => report(&a),
        Svm::Replay(a) => replay(&a),
        Svm::Agent => homenode_svmrun::agent(),
    }
}

fn report(a: &SvmReportArgs) -> Done {
    if let Some(file) = &a.plan {
        output::refuse_existing(file, a.force)?;
    }
    let report = homenode_svmrun::report(&a.run, a.compare.as_deref())?;
    let mut said = if a.json { report.to_json() } else { report.to_text() };
    if let Some(file) = &a.plan {
        let replanned = homenode_svmrun::replan(&report.run, &a.run.display().to_string())?;
        output::write(file, (replanned.plan.to_json() + "\n").as_bytes())?;
        if !a.json {
            said += &replanned.to_text();
        }
    }
    Results::new(a.json)?.print(&said)?;
    Ok(0)
}

fn replay(a: &SvmReplayArgs) -> Done {
    let replayed = homenode_svmrun::replay(&a.folder)?;
    Results::new(a.json)?.print(&if a.json { replayed.to_json() } else { replayed.to_text() })?;
    Ok(u8::from(!replayed.is_equal()))
}

fn run(a: SvmRun, quiet: bool) -> Done {
    let request = SvmRequest {
        command: a.command,
        nodes: a.nodes,
        threads: a.threads,
        protocol: a.protocol,
        transport: a.transport,
        hosts: a.hosts,
        agent: a.agent,
        mpicc: a.mpicc,
        private_pointers: a.private_pointers,
        homenode: None,
        homes: a.homes,
        exclusive: a.exclusive,
        prefetch: a.prefetch,
        migrate: a.migrate,
        sorted: a.sorted,
        tree: a.tree,
        node_locks: a.node_locks,
        pin: a.pin,
        journals: a.journal,
        heap_bytes: a.heap,
        page_bytes: a.page,
        interrupts: a.interrupts,
        notices: a.notices,
        diffs: a.diffs,
    };
    let ranks = match Ranks::join(&request)? {
        Joined::Alone => None,
        Joined::First(ranks) => Some(ranks),
        Joined::Other(ranks) => return ranks.serve(),
        Joined::Silent(status) => return Ok(status),
    };
    if let Some(file) = &a.output {
        output::refuse_existing(file, a.force)?;
    }
    let mut results = Results::new(a.json)?;
    let doc = match ranks {
        Some(ranks) => homenode_svmrun::run_on(&request, ranks),
        None => homenode_svmrun::run(&request),
    }?;
    if let Some(file) = &a.output {
        output::write(file, doc.to_json().as_bytes())?;
    }
    if a.json {
        results.print(&doc.to_json())?;
    } else if !quiet {
        // The program owns stdout; what we have to say goes beside it.
        eprint!("{}", doc.to_text());
    }
    Ok(doc.status())
}
