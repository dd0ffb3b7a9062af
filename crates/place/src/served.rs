//! What the memory of the nodes serves, on the machine that the user names.
use homenode_command::Failure;
use homenode_command::machine::{saved, topology};
use homenode_machine::Machine;
use homenode_planner::Bandwidths;

/// Bandwidths of `this` machine, or of one that says them or has measurements in its file.
pub(crate) fn bandwidths(name: &str, machine: &Machine) -> Result<Option<Bandwidths>, Failure> {
    if name == "this" {
        return of_this();
    }
    let source = if machine.sections.bandwidth.is_some() { "as the machine says" } else { "measured" };
    Ok(machine.bandwidth().and_then(|said| Bandwidths::said(source, &said, machine.nodes())))
}

/// Bandwidths of this machine, measured or as its firmware says; node i is node i of [`topology`].
fn of_this() -> Result<Option<Bandwidths>, Failure> {
    let here = topology()?;
    let ids: Vec<u32> = here.nodes.iter().map(|n| n.os_id).collect();
    let measured = saved::load(&here)?.and_then(|(m, _)| Bandwidths::measured(m.sections.measured.as_ref()?, &ids));
    Ok(measured.or_else(|| Bandwidths::firmware(&here)))
}
