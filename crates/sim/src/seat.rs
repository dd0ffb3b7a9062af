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

/// Bits of an address that processes use; what an address space adds stands above them.
const USER_BITS: u32 = 47;

/// What distinguishes the addresses of this space: exclusive-or of an address with it gives the *flat* address, in which
/// different memory of different processes has different addresses. Space 0 stays as it is. Distinct for up to 2^17
/// spaces where addresses are below 2^47, as they are in programs; elsewhere (hostile traces) two addresses may meet.
#[inline]
pub const fn salt(space: u32) -> u64 {
    (space as u64).reverse_bits()
}

/// The (space, address) of a flat address, where it comes from an address below 2^47.
#[inline]
pub(crate) const fn unflatten(flat: u64) -> (u32, u64) {
    let user = (1 << USER_BITS) - 1;
    ((flat & !user).reverse_bits() as u32, flat & user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_addresses_of_different_spaces_differ_and_go_back() {
        let mut seen = std::collections::BTreeSet::new();
        for space in [0, 1, 2, 3, 64, 1000, (1 << 17) - 1] {
            for addr in [0u64, 1, 0x5555_5555_0000, (1 << 47) - 1] {
                assert!(seen.insert(addr ^ salt(space)));
                assert_eq!(unflatten(addr ^ salt(space)), (space, addr));
            }
        }
        assert_eq!(salt(0), 0);
    }
}
