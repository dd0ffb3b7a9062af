//! What the memory of the nodes serves, on the machine that the user names.
use homenode_command::Failure;
use homenode_command::machine::{saved, topology};
use homenode_machine::Machine;
use homenode_planner::Bandwidths;
use std::collections::BTreeSet;

/// Those of `this` machine, or those in a file with measurements in it.
pub(crate) fn bandwidths(name: &str, machine: &Machine) -> Result<Option<Bandwidths>, Failure> {
    if name == "this" {
        return of_this();
    }
    let Ok(text) = std::fs::read_to_string(name) else { return Ok(None) };
    let measured = Machine::from_toml_measured(&text).ok().and_then(|(_, measured)| measured);
    Ok(measured.and_then(|m| {
        let ids: BTreeSet<u32> = m.cpu_nodes.iter().chain(&m.memory_nodes).copied().collect();
        let ids: Vec<u32> = ids.into_iter().collect();
        Bandwidths::measured(&m, &ids).filter(|_| ids.len() == machine.nodes())
    }))
}

/// Those of this machine, measured or as its firmware says; node i is node i of [`topology`].
fn of_this() -> Result<Option<Bandwidths>, Failure> {
    let here = topology()?;
    let ids: Vec<u32> = here.nodes.iter().map(|n| n.os_id).collect();
    let measured = saved::load(&here)?.and_then(|(measured, _)| Bandwidths::measured(&measured?, &ids));
    Ok(measured.or_else(|| Bandwidths::firmware(&here)))
}
