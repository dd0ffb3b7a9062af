//! A machine by its name; this machine.
pub mod saved;

use crate::Failure;
use homenode_host::topology::read;
use homenode_machine::{Machine, Topology, models};
use std::path::Path;

/// A machine of the registry, `this` one, or the one in a TOML file.
///
/// # Errors
/// There is no such machine, or the file describes none.
pub fn named(name: &str) -> Result<Machine, Failure> {
    if name == "this" {
        return this();
    }
    if let Some(machine) = models::find(name) {
        return Ok(machine);
    }
    let known: Vec<&str> = models::ALL.iter().map(|s| s.name).collect();
    let unknown = || format!("--machine: there is no machine '{name}' ({}, this) and no such file", known.join(", "));
    let text = std::fs::read_to_string(name).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(unknown()),
        _ => Failure::input(format!("--machine: cannot read {name}: {e}")),
    })?;
    Machine::from_toml(&text).map_err(|e| Failure::input(format!("--machine: {name}: {e}")))
}

/// The topology of the machine this runs on.
///
/// # Errors
/// If neither sysfs nor procfs describes a processor.
pub fn topology() -> Result<Topology, Failure> {
    read(Path::new("/")).map_err(Failure::work)
}

/// The machine this runs on as a cost model: measured by `homenode topo --measure` if that was done, else estimated from
/// firmware tables ([`Machine::sources`] say which). Node i is node i of [`topology`].
///
/// # Errors
/// As [`topology`]; a saved measurement that cannot be read or is of another machine.
pub fn this() -> Result<Machine, Failure> {
    let topology = topology()?;
    match saved::load(&topology)? {
        // What the user saved is used as it is: the file may have been edited.
        Some((machine, _)) => Ok(machine),
        None => Ok(topology.machine(None).map_err(Failure::work)?.machine),
    }
}
