//! `homenode topo`: what this machine is and what its memory costs; and `--machine this`.
mod doc;
mod saved;
mod text;

use crate::place::Bandwidths;
use crate::{Failure, Progress};
pub use doc::{MachineDoc, MeasuredDoc, TopoDoc};
use homenode_host::topology::measure::{MeasureOptions, measure};
use homenode_host::topology::read;
use homenode_machine::{Machine, ThisMachine, Topology};
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
        (None, false) => saved::load(&topology)?.map_or((None, None), |(m, path)| (m, Some(path))),
        (Some(_), false) => (None, None),
    };
    let this = topology.machine(measured.as_ref()).map_err(Failure::input)?;
    let target = request.output.clone().map(Ok).or_else(|| request.measure.then(saved::path)).transpose()?;
    if let Some(target) = &target {
        saved::save(target, &this.machine, measured.as_ref())?;
    }
    Ok(doc::make(request, topology, this, measured, target, saved_at))
}

/// The topology of the machine this runs on.
///
/// # Errors
/// If neither sysfs nor procfs describes a processor.
pub fn this_topology() -> Result<Topology, Failure> {
    read(Path::new("/")).map_err(Failure::work)
}

/// The machine this runs on as a cost model: measured by `homenode topo --measure` if that was done, else estimated from
/// firmware tables ([`Machine::sources`] say which). Node i is node i of [`this_topology`].
///
/// # Errors
/// As [`this_topology`]; a saved measurement that cannot be read or is of another machine.
pub fn this_machine() -> Result<Machine, Failure> {
    let topology = this_topology()?;
    let ThisMachine { machine, .. } = match saved::load(&topology)? {
        // What the user saved is used as it is: the file may have been edited.
        Some((_, path)) => return saved::machine(&path).map(|(m, _)| m),
        None => topology.machine(None).map_err(Failure::work)?,
    };
    Ok(machine)
}

/// What the memory of this machine serves, measured or as its firmware says; node i is node i of [`this_topology`].
pub(crate) fn this_bandwidths() -> Result<Option<Bandwidths>, Failure> {
    let topology = this_topology()?;
    let ids: Vec<u32> = topology.nodes.iter().map(|n| n.os_id).collect();
    let measured = saved::load(&topology)?.and_then(|(measured, _)| Bandwidths::measured(&measured?, &ids));
    Ok(measured.or_else(|| Bandwidths::firmware(&topology)))
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
