//! `homenode topo`: what this machine is and what its memory costs; and `--machine this`.
mod doc;
mod text;

pub use doc::{MachineDoc, MeasuredDoc, TopoDoc};
use homenode_command::machine::{saved, topology as this_topology};
use homenode_command::{Failure, Progress};
use homenode_host::topology::measure::{MeasureOptions, measure};
use homenode_host::topology::read;
use homenode_machine::Topology;
use std::path::{Path, PathBuf};

/// What `homenode topo` is asked.
#[derive(Clone, Debug, Default)]
pub struct TopoRequest {
    /// Another machine: a folder with a copy of its `sys` and `proc`, or an XML file of hwloc. `None` = this machine.
    pub from: Option<PathBuf>,
    /// Measure latencies and bandwidths.
    pub measure: bool,
    /// Measure in a fifth of the time.
    pub quick: bool,
    /// Where the machine file goes; an older one is replaced. `None`: with `measure` where `--machine this` looks, else nowhere.
    pub output: Option<PathBuf>,
}

/// Reads, and if asked measures, a machine. A measured one is saved.
///
/// # Errors
/// A machine that cannot be read, measured or saved.
pub fn topo(request: &TopoRequest, progress: &mut dyn Progress) -> Result<TopoDoc, Failure> {
    if request.measure && request.from.is_some() {
        return Err(Failure::usage("--measure: only this machine can be measured, not the one in a file"));
    }
    let topology = request.from.as_deref().map_or_else(this_topology, topology_of)?;
    let (measured, saved_at) = match (&request.from, request.measure) {
        (_, true) => {
            let options = MeasureOptions { quick: request.quick };
            let mut told = |done, total| progress.at("measuring", done, Some(total));
            (Some(measure(&topology, &options, &mut told).map_err(Failure::work)?), None)
        }
        (None, false) => saved::load(&topology)?.map_or((None, None), |(m, path)| (m.sections.measured, Some(path))),
        (Some(_), false) => (None, None),
    };
    let this = topology.machine(measured.as_ref()).map_err(Failure::input)?;
    let target = request.output.clone().map(Ok).or_else(|| request.measure.then(saved::path)).transpose()?;
    if let Some(target) = &target {
        saved::save(target, &this.machine)?;
    }
    Ok(doc::make(request, topology, this, measured, target, saved_at))
}

/// The topology in a folder or an XML file.
fn topology_of(path: &Path) -> Result<Topology, Failure> {
    let named = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", path.display()));
    if path.is_dir() {
        return read(path).map_err(Failure::input);
    }
    let text = std::fs::read_to_string(path).map_err(|e| named(&e))?;
    Topology::from_hwloc_xml(&text).map_err(|e| named(&e))
}
