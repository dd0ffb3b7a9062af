//! Commands of shared virtual memory.
use super::Done;
use crate::args::{Svm, SvmRun};
use homenode_command::output::Results;
use homenode_svmrun::SvmRequest;

pub(super) fn svm(what: Svm, quiet: bool) -> Done {
    match what {
        Svm::Run(a) => run(a, quiet),
    }
}

fn run(a: SvmRun, quiet: bool) -> Done {
    let request = SvmRequest {
        command: a.command,
        nodes: a.nodes,
        threads: a.threads,
        protocol: a.protocol,
        transport: a.transport,
        homes: a.homes,
        heap_bytes: a.heap,
        page_bytes: a.page,
        interrupts: a.interrupts,
    };
    let mut results = Results::new(a.json)?;
    let doc = homenode_svmrun::run(&request)?;
    if a.json {
        results.print(&doc.to_json())?;
    } else if !quiet {
        // The program owns stdout; what we have to say goes beside it.
        eprint!("{}", doc.to_text());
    }
    Ok(doc.status())
}
