//! The measured machine file of this machine.
use crate::{Failure, output};
use homenode_machine::{Machine, Topology};
use std::path::{Path, PathBuf};

/// `$XDG_CONFIG_HOME/homenode/machine.toml`, or below `~/.config`.
///
/// # Errors
/// The environment names neither folder.
pub fn path() -> Result<PathBuf, Failure> {
    default_path().ok_or_else(|| Failure::usage("neither XDG_CONFIG_HOME nor HOME is set: name the file with -o"))
}

fn default_path() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("homenode/machine.toml"))
}

/// Reads a machine file.
///
/// # Errors
/// It cannot be read, or describes no machine.
fn machine(path: &Path) -> Result<Machine, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::input(format!("cannot read {}: {e}; remove it or repair it", path.display())))?;
    Machine::from_toml(&text).map_err(|e| Failure::input(format!("{}: {e}", path.display())))
}

/// This machine as it was saved, if it was, with where; refused if the file is of another machine.
///
/// # Errors
/// It cannot be read, or is of another machine.
pub fn load(topology: &Topology) -> Result<Option<(Machine, PathBuf)>, Failure> {
    let Some(path) = default_path().filter(|p| p.exists()) else { return Ok(None) };
    let machine = machine(&path)?;
    if let Some(why) = differs(&machine, topology) {
        return Err(Failure::input(format!(
            "{} is of another machine ({why}): measure again with `homenode topo --measure`, or remove it",
            path.display()
        )));
    }
    Ok(Some((machine, path)))
}

/// Why the file cannot be of this machine.
fn differs(machine: &Machine, topology: &Topology) -> Option<String> {
    let here = topology.nodes.len();
    if machine.nodes() != here {
        return Some(format!("it has {} nodes, this one {here}", machine.nodes()));
    }
    let with_cpus = |os_id: u32| topology.nodes.iter().any(|n| n.os_id == os_id && !n.cpus.is_empty());
    let odd = machine.sections.measured.as_ref()?.cpu_nodes.iter().find(|n| !with_cpus(**n))?;
    Some(format!("its node {odd} has processors, here it has none"))
}

/// Writes the file, making its folder.
///
/// # Errors
/// It cannot be written.
pub fn save(path: &Path, machine: &Machine) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| Failure::work(format!("cannot make {}: {e}", folder.display())))?;
    }
    output::write(path, machine.to_toml().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::Measured;
    use homenode_machine::topology::MemoryNode;

    #[test]
    fn a_file_of_another_machine_is_refused_with_the_difference() {
        let node = |os_id: u32, cpus: Vec<u32>| MemoryNode { os_id, cpus, memory_bytes: 1, ..MemoryNode::default() };
        let one = Topology { nodes: vec![node(0, vec![0])], ..Topology::default() };
        let two = Topology { nodes: vec![node(0, vec![0]), node(3, vec![])], ..Topology::default() };
        let mut machine = two.machine(None).unwrap().machine;
        assert_eq!(differs(&machine, &two), None);
        assert_eq!(differs(&machine, &one).unwrap(), "it has 2 nodes, this one 1");
        machine.sections.measured = Some(Measured { cpu_nodes: vec![0, 3], ..Measured::default() });
        assert_eq!(differs(&machine, &two).unwrap(), "its node 3 has processors, here it has none");
    }

    #[test]
    fn what_is_saved_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/machine.toml");
        let node = MemoryNode { cpus: vec![0, 1], memory_bytes: 1, ..MemoryNode::default() };
        let this = Topology { nodes: vec![node], ..Topology::default() }.machine(None).unwrap().machine;
        save(&path, &this).unwrap();
        assert_eq!(machine(&path).unwrap(), this);
    }
}
