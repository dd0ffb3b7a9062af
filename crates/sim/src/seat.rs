//! Where threads sit, and one flat address space for all processes.
use homenode_base::NodeId;
use homenode_machine::{Crew, Machine, MapError, MapRule, ThreadMap};
use homenode_trace::DatasetReader;

/// Where a thread of the dataset runs and which address space it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Processor, numbered node by node.
    pub cpu: u16,
    /// Node of that processor.
    pub node: NodeId,
    /// Address-space id of the thread's process.
    pub space: u32,
}

/// The seats of a thread map; `space(thread)` is the address space of that thread's process.
pub fn seats(map: &ThreadMap, space: impl Fn(u32) -> u32) -> Vec<Seat> {
    let seat = |(thread, s): (u32, &homenode_machine::Seat)| Seat { cpu: s.cpu.0, node: s.node, space: space(thread) };
    (0..).zip(map.seats()).map(seat).collect()
}

/// The threads of a recording as [`ThreadMap`] seats them.
pub fn crew(data: &DatasetReader) -> Crew {
    let refs: Vec<u64> = (0..data.threads()).map(|t| data.refs(t)).collect();
    let host_cpus = data.manifest().host_cpus;
    Crew::new(&refs, crate::lives(data)).told(crate::pinned(data), host_cpus)
}

/// Seats the threads of a recording by `--map`, or by default.
pub fn thread_map(data: &DatasetReader, machine: &Machine, rule: Option<&MapRule>) -> Result<ThreadMap, MapError> {
    ThreadMap::new(machine, rule, &crew(data))
}
