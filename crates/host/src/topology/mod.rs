//! What the machine is, read from sysfs and procfs below a root.
//!
//! A damaged or missing file never stops the reading: it is noted, and what follows from the others is used. Whatever
//! claims more than a machine can have (`0-4294967295`) is kept as a range and cut to the processors that are online.
//!
//! Reading order: [`read()`], `processors` (which run), `nodes` (processors and memory of each node), `distance`, `attributes` (HMAT,
//! tiers, memory-side caches), `limits` (affinity) with `groups` (cpusets), `caches`, `virtualised`; [`measure`].
mod attributes;
mod caches;
mod distance;
mod groups;
mod limits;
pub mod measure;
mod nodes;
mod processors;
mod tree;
mod virtualised;

use homenode_machine::Topology;
use std::path::{Path, PathBuf};
use tree::Tree;
pub use virtualised::{Virtual, virtual_machine};

/// No topology could be read.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// Neither sysfs nor procfs names a processor.
    #[error("{0} describes no processor: is it the root of a file system with sysfs and procfs, or a snapshot of one?")]
    NoProcessor(PathBuf),
}

/// Reads the topology of the machine whose root is `root`: `/`, or a folder with a copy of `sys` and `proc`.
///
/// # Errors
/// If no processor is described there.
pub fn read(root: &Path) -> Result<Topology, TopologyError> {
    let mut tree = Tree::new(root);
    let mut found = nodes::read(&mut tree);
    if found.nodes.iter().all(|n| n.cpus.is_empty()) {
        return Err(TopologyError::NoProcessor(root.to_owned()));
    }
    let distances = distance::read(&mut tree, &found);
    for node in found.nodes.iter_mut() {
        attributes::read(&mut tree, node);
    }
    attributes::tiers(&mut tree, &mut found.nodes);
    let (forbidden_cpus, limits) = limits::apply(&mut tree, &mut found.nodes);
    let caches = caches::read(&mut tree, &found.nodes);
    let page_bytes = limits::page_bytes(&tree);
    let virtual_machine = virtualised::read(&tree).map(|v| v.name);
    Ok(Topology {
        nodes: found.nodes,
        distances,
        forbidden_cpus,
        offline_cpus: found.offline_cpus,
        limits,
        caches,
        page_bytes,
        virtual_machine,
        notes: tree.notes,
    })
}
