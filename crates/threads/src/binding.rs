//! Where threads sit, and one flat address space for all processes.
use homenode_base::NodeId;
use homenode_machine::{Machine, MapError, MapRule, ThreadMap, ThreadTable};
use homenode_trace::DatasetReader;

/// Where a thread of the dataset runs and which address space it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadBinding {
    /// Processor, numbered node by node.
    pub cpu: u16,
    /// Node of that processor.
    pub node: NodeId,
    /// Address-space id of the thread's process.
    pub space: u32,
}

/// The bindings of a thread map; `space(thread)` is the address space of that thread's process.
pub fn bindings(map: &ThreadMap, space: impl Fn(u32) -> u32) -> Vec<ThreadBinding> {
    let binding = |(thread, s): (u32, &homenode_machine::CpuBinding)| ThreadBinding {
        cpu: s.cpu.0,
        node: s.node,
        space: space(thread),
    };
    (0..).zip(map.bindings()).map(binding).collect()
}

/// The threads of a recording as [`ThreadMap`] binds them.
pub fn thread_table(data: &DatasetReader) -> ThreadTable {
    let refs: Vec<u64> = (0..data.threads()).map(|t| data.refs(t)).collect();
    let host_cpus = data.manifest().host_cpus;
    ThreadTable::new(&refs, crate::lives(data)).told(crate::pinned(data), host_cpus)
}

/// Binds the threads of a recording by `--map`, or by default.
pub fn thread_map(data: &DatasetReader, machine: &Machine, rule: Option<&MapRule>) -> Result<ThreadMap, MapError> {
    ThreadMap::new(machine, rule, &thread_table(data))
}
