//! One function a command: arguments in, a call into the toolkit, text out.
mod act;
mod dask;
mod machine;
mod report;
mod study;
mod svm;

use crate::args::{
    Cli, Command, Compact, Compile, Export, Import, List, Model, Order, Reading, Record, Reproduce, Sim, SweepWorker,
    names,
};
use crate::progress::Bar;
use clap::CommandFactory;
use homenode_command::output::Results;
use homenode_command::{Class, Failure};
use homenode_toolkit as toolkit;
use homenode_trace::order::OrderKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Exit status.
type Done = Result<u8, Failure>;

pub(crate) fn run(cli: Cli, itself: Vec<OsString>) -> Done {
    let quiet = cli.quiet;
    match cli.command {
        Command::Record(a) => record(a, quiet),
        Command::Cc(a) => compile(toolkit::Language::C, a),
        Command::Cxx(a) => compile(toolkit::Language::Cxx, a),
        Command::Import(a) => import(&a, quiet),
        Command::Reproduce(a) => reproduce(&a, quiet, &itself),
        Command::Info(a) => info(a, quiet),
        Command::Check(a) => check(a),
        Command::Recover(a) => recover(a, quiet),
        Command::Compact(a) => compact(a),
        Command::Export(a) => export(a, quiet),
        Command::Report(a) => report::report(&a, quiet),
        Command::Sweep(a) => study::sweep(a, quiet, itself),
        Command::Sim(Sim::Memory(a)) => study::sim_memory(a, quiet),
        Command::Sim(Sim::Cluster(a)) => study::sim_cluster(a, quiet),
        Command::Place(a) => act::place(a, quiet),
        Command::Run(a) => act::run(a, quiet),
        Command::Migrate(a) => act::migrate(a, quiet),
        Command::Svm(a) => svm::svm(a, quiet),
        Command::Doctor(a) => machine::doctor(&a),
        Command::Topo(a) => machine::topo(a, quiet),
        Command::List(a) => list(a),
        Command::Completions { shell } => completions(shell),
        Command::Man { directory } => man(&directory),
    }
}

/// As a worker of a sweep.
pub(crate) fn worker(a: &SweepWorker) -> Done {
    study::worker(a)
}

/// Prints a result; a closed pipe (`| head`) is not an error.
fn print(text: &str) -> Done {
    Results::default().print(text).map(|()| 0)
}

fn warn(quiet: bool, lines: &[String]) {
    if !quiet {
        lines.iter().for_each(|l| eprintln!("homenode: warning: {}", Failure::work(l)));
    }
}

/// Settings of the whole machine are never changed in silence, whatever else is quiet.
fn tuning(allowed: bool) {
    if allowed {
        eprintln!("homenode: {}", homenode_live::kernel_settings());
    }
}

fn record(a: Record, quiet: bool) -> Done {
    let default = || toolkit::default_output(&a.command);
    let options = toolkit::RecordOptions {
        out: a.output.clone().unwrap_or_else(default),
        force: a.force,
        backend: a.backend,
        limit_refs: a.limit_refs,
        roi: a.roi,
        pages: a.sample.map(|one_in| toolkit::drawn(one_in, a.sample_page)).transpose()?,
        count_only: a.count_only,
        pid: a.pid,
        duration: a.duration,
        overhead_permille: a.overhead,
        calibrate: a.calibrate.map(|program| toolkit::Calibrate { program, runs: a.calibrate_runs }),
        tune_kernel: a.tune_kernel,
        command: a.command,
    };
    tuning(options.tune_kernel);
    let mut results = Results::new(a.json)?;
    let doc = toolkit::record(&options, &mut Bar::new(quiet))?;
    warn(quiet, &doc.warnings);
    if a.json {
        results.print(&doc.to_json())?;
    } else if !quiet {
        // The program owns stdout; what we have to say goes beside it.
        eprint!("{}", doc.to_text());
    }
    Ok(u8::from(doc.failed()))
}

fn compile(language: toolkit::Language, a: Compile) -> Done {
    toolkit::compile(language, &a.args)
}

fn import(a: &Import, quiet: bool) -> Done {
    let doc = toolkit::import(&a.files, &a.output, a.force)?;
    warn(quiet, &doc.warnings);
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn reproduce(a: &Reproduce, quiet: bool, itself: &[OsString]) -> Done {
    let request = homenode_papers::ReproduceRequest {
        what: a.what.clone(),
        only: a.experiment.clone(),
        programs: a.only.clone(),
        size: a.size.clone(),
        out: a.output.clone(),
    };
    let mut results = Results::new(a.json)?;
    let progress = &mut Bar::new(quiet);
    let doc = match &a.dask {
        None => homenode_papers::reproduce(&request, progress)?,
        Some(address) => {
            homenode_papers::reproduce_elsewhere(&request, &dask::Cluster::reached(address, itself)?, progress)?
        }
    };
    results.print(&if a.json { doc.to_json() } else { doc.to_text() })?;
    Ok(0)
}

fn info(a: Reading, quiet: bool) -> Done {
    let doc = toolkit::info(&a.dataset, &mut Bar::new(quiet))?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn check(a: Reading) -> Done {
    let doc = toolkit::check(&a.dataset)?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })?;
    Ok(if doc.ok { 0 } else { Class::Input.exit_status() })
}

fn recover(a: Reading, quiet: bool) -> Done {
    let doc = toolkit::recover(&a.dataset)?;
    warn(quiet, &doc.warnings);
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn compact(a: Compact) -> Done {
    let doc = toolkit::compact(&a.dataset, a.output.as_deref(), a.force)?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn order(order: Order, seed: u64) -> OrderKind {
    match order {
        Order::Model => OrderKind::Model,
        Order::Recorded => OrderKind::Recorded { seed },
    }
}

fn model(model: Model) -> toolkit::MissModel {
    match model {
        Model::Latency => toolkit::MissModel::Latency,
        Model::Overlap => toolkit::MissModel::Overlap,
    }
}

fn export(a: Export, quiet: bool) -> Done {
    let viewers = [("perfetto", a.perfetto), ("firefox", a.firefox)];
    for (name, to) in viewers {
        if let Some(to) = to {
            return timeline((name, to), (a.dataset, a.machine, a.block, a.map), (a.force, quiet));
        }
    }
    let rows = homenode_export::RowsRequest {
        dataset: a.dataset,
        order: order(a.order, a.seed),
        after_caches: a.after_caches,
        machine: a.machine,
        block: a.block,
        map: a.map,
        realign: a.realign,
    };
    // One of the files is required.
    let to = a.output.unwrap_or_default();
    let request = homenode_export::ExportRequest { to, force: a.force, rows };
    let rows = homenode_export::export(&request, &mut Bar::new(quiet))?;
    if !quiet {
        eprintln!("{rows} rows in {}", request.to.display());
    }
    Ok(0)
}

/// What happens over time, for a viewer.
fn timeline(
    (name, to): (&str, PathBuf),
    (dataset, machine, block, map): (PathBuf, String, Option<u64>, Option<String>),
    (force, quiet): (bool, bool),
) -> Done {
    let viewer = homenode_timeline::Viewer::find(name).expect("options are those of the family");
    let request = homenode_timeline::TimelineRequest { dataset, machine, block, map, viewer, to, force };
    let said = homenode_timeline::write(&request, &mut Bar::new(quiet))?;
    if !quiet {
        eprintln!("{said}");
    }
    Ok(0)
}

fn list(a: List) -> Done {
    let doc = toolkit::families::list(a.family.as_deref())?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

fn completions(shell: clap_complete::Shell) -> Done {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "homenode", &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if shell == clap_complete::Shell::Fish {
        text += &names::fish_arguments(&Cli::command());
    }
    print(&text)
}

fn man(directory: &Path) -> Done {
    let failed = |e| Failure::work(format!("cannot write man pages to {}: {e}", directory.display()));
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(names::shown(Cli::command()), directory).map_err(failed)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
