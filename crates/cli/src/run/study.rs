//! Commands that ask many questions at once.
use super::{Done, dask, print};
use crate::args::{SimCluster, SimMemory, Sweep, SweepWorker};
use crate::progress::Bar;
use homenode_command::{Failure, output};
use homenode_sweep::{Inline, StudySource, SweepRequest};
use std::ffi::OsString;
use std::path::PathBuf;

/// `itself` starts another process of this command.
pub(super) fn sweep(a: Sweep, quiet: bool, mut itself: Vec<OsString>) -> Done {
    itself.push(SweepWorker::NAME.into());
    let request = SweepRequest {
        output: a.output.clone(),
        workers: a.workers.map(|n| n as usize),
        memory_bytes: a.memory,
        csv: a.csv,
        force: a.force,
        yes: a.yes,
        worker: Some(itself),
        asked: asked(&a)?,
    };
    if let Some(address) = &a.dask {
        let itself = request.worker.as_deref().unwrap_or_default();
        return dask::sweep(address, &request, itself, a.json);
    }
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
    let (tiers, nodes) = (tier_options(&a), node_options(&a));
    if homenode_toolkit::has_tiers(&a.machine)? {
        refuse(
            &nodes,
            &a.machine,
            "DRAM in front of slower memory and no page caches of nodes; machine 'ascoma' has them",
        )?;
        return sim_tiers(a, quiet);
    }
    refuse(&tiers, &a.machine, "no node without processors, so no tiers of memory; machine 'dram-cxl' has them")?;
    let request = homenode_toolkit::SimMemoryRequest {
        dataset: a.dataset,
        architectures: a.architecture,
        pressures: if a.pressure.is_empty() { vec!["10..90".to_owned()] } else { a.pressure },
        machine: a.machine,
        map: a.map,
        phase: a.phase,
        gaps: a.gaps.unwrap_or(1.0),
        open: a.open,
    };
    let doc = homenode_toolkit::sim_memory(&request, &mut Bar::new(quiet))?;
    shown((a.json, a.csv), [&|| doc.to_json(), &|| doc.to_csv(), &|| doc.to_text()])
}

pub(super) fn sim_cluster(a: SimCluster, quiet: bool) -> Done {
    if let Some(path) = &a.output {
        output::refuse_kind(path, &["html", "htm", "json", "csv"])?;
        output::refuse_existing(path, a.force)?;
    }
    let request = homenode_toolkit::SimClusterRequest {
        dataset: a.dataset,
        protocols: a.protocol,
        nodes: a.nodes,
        machine: a.machine,
        page: a.page,
        what_ifs: a.what_if,
        compare: a.compare,
        checks: a.check,
        faults: a.faults,
        journals: a.journal,
        map: a.map,
        phase: a.phase,
        gaps: a.gaps,
    };
    let doc = homenode_toolkit::sim_cluster(&request, &mut Bar::new(quiet))?;
    if let Some(path) = &a.output {
        let written = match path.extension().and_then(|e| e.to_str()) {
            Some("json") => doc.to_json(),
            Some("csv") => doc.to_csv(),
            _ => doc.to_html(),
        };
        output::write(path, written.as_bytes())?;
    }
    shown((a.json, a.csv), [&|| doc.to_json(), &|| doc.to_csv(), &|| doc.to_text()])
}

fn sim_tiers(a: SimMemory, quiet: bool) -> Done {
    let request = homenode_toolkit::SimTiersRequest {
        dataset: a.dataset,
        policies: a.policy,
        dram: a.dram,
        machine: a.machine,
        map: a.map,
        page_bytes: a.page,
        tick: a.tick,
    };
    let doc = homenode_toolkit::sim_tiers(&request, &mut Bar::new(quiet))?;
    shown((a.json, a.csv), [&|| doc.to_json(), &|| doc.to_csv(), &|| doc.to_text()])
}

/// Prints as JSON, as CSV or as text.
fn shown((json, csv): (bool, bool), [as_json, as_csv, as_text]: [&dyn Fn() -> String; 3]) -> Done {
    print(&match (json, csv) {
        (true, _) => as_json(),
        (_, true) => as_csv(),
        _ => as_text(),
    })
}

/// An option and whether it was given.
type Given = (&'static str, bool);

/// What only machines with tiers understand.
fn tier_options(a: &SimMemory) -> [Given; 4] {
    let (dram, policy) = (!a.dram.is_empty(), !a.policy.is_empty());
    [("--dram", dram), ("--policy", policy), ("--page", a.page.is_some()), ("--tick", a.tick.is_some())]
}

/// What only machines with page caches in virtual time understand.
fn node_options(a: &SimMemory) -> [Given; 5] {
    [
        ("--architecture", !a.architecture.is_empty()),
        ("--pressure", !a.pressure.is_empty()),
        ("--phase", a.phase.is_some()),
        ("--gaps", a.gaps.is_some()),
        ("--open", !a.open.is_empty()),
    ]
}

fn refuse(options: &[Given], machine: &str, why: &str) -> Result<(), Failure> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!("{option}: machine '{machine}' has {why}"))),
        None => Ok(()),
    }
}

pub(super) fn worker(a: &SweepWorker) -> Done {
    homenode_sweep::serve(&a.folder, a.memory, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(0)
}
