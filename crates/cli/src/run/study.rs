//! Commands that ask many questions at once.
use super::{Done, print};
use crate::args::{SimMemory, Sweep, SweepWorker};
use crate::progress::Bar;
use homenode_command::Failure;
use homenode_sweep::{Inline, StudySource, SweepRequest};
use std::path::PathBuf;

pub(super) fn sweep(a: Sweep, quiet: bool) -> Done {
    let program = std::env::current_exe().map_err(|e| Failure::work(format!("where is homenode? {e}")))?;
    let request = SweepRequest {
        output: a.output.clone(),
        workers: a.workers.map(|n| n as usize),
        memory_bytes: a.memory,
        csv: a.csv,
        force: a.force,
        yes: a.yes,
        worker: Some(vec![program.into(), SweepWorker::NAME.into()]),
        asked: asked(&a)?,
    };
    let doc = homenode_sweep::sweep(&request, &mut Bar::new(quiet))?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn asked(a: &Sweep) -> Result<StudySource, Failure> {
    let study = |p: &PathBuf| p.extension().is_some_and(|e| e == "toml");
    if !a.what.iter().any(study) {
        let or = |given: &[String], default: &str| match given {
            [] => vec![default.to_owned()],
            given => given.to_vec(),
        };
        return Ok(StudySource::Inline(Inline {
            traces: a.what.clone(),
            blocks: or(&a.blocks, "4096"),
            machines: or(&a.machines, if a.protocols.is_empty() { "numa" } else { "markatos" }),
            policies: if a.protocols.is_empty() { or(&a.policies, "first-touch") } else { a.policies.clone() },
            protocols: a.protocols.clone(),
            counters: a.counters,
            realign: a.realign.clone(),
            optimum: a.optimum.clone(),
            analyses: a.analyses.clone(),
            perturb: a.perturb,
        }));
    }
    if a.what.len() > 1 {
        return Err(Failure::usage("one study at a time, and no datasets beside it: the study names them"));
    }
    let lists = [&a.blocks, &a.machines, &a.policies, &a.protocols, &a.realign, &a.analyses];
    if lists.iter().any(|l| !l.is_empty()) || a.optimum.is_some() || a.perturb || a.counters {
        let options =
            "--blocks, --machines, --policies, --protocols, --counters, --realign, --analysis, --optimum and --perturb";
        return Err(Failure::usage(format!("{options} belong into the study")));
    }
    Ok(StudySource::File(a.what[0].clone()))
}

pub(super) fn sim_memory(a: SimMemory, quiet: bool) -> Done {
    let request = homenode_toolkit::SimMemoryRequest {
        dataset: a.dataset,
        architectures: a.architecture,
        pressures: a.pressure,
        machine: a.machine,
        map: a.map,
        phase: a.phase,
        gaps: a.gaps,
        open: a.open,
    };
    let doc = homenode_toolkit::sim_memory(&request, &mut Bar::new(quiet))?;
    print(&if a.json {
        doc.to_json()
    } else if a.csv {
        doc.to_csv()
    } else {
        doc.to_text()
    })
}

pub(super) fn worker(a: &SweepWorker) -> Done {
    homenode_sweep::serve(&a.folder, a.memory, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(0)
}
