//! Any bytes as what describes a machine: lists and masks of the kernel, XML of hwloc, machine files. Whatever is accepted
//! is sound and written back to an equal one; nothing panics or takes memory for what is merely claimed.
#![no_main]
use homenode_machine::topology::Ranges;
use homenode_machine::{Machine, Topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match which % 4 {
        0 => {
            if let Ok(set) = Ranges::parse_list(&text) {
                assert_eq!(Ranges::parse_list(&set.to_string()), Ok(set));
            }
        }
        1 => {
            if let Ok(set) = Ranges::parse_mask(&text) {
                assert_eq!(set.and(&set), set);
            }
        }
        2 => {
            if let Ok(topology) = Topology::from_hwloc_xml(&text)
                && let Ok(this) = topology.machine(None)
            {
                assert_eq!(this.machine.validate(), Ok(()));
            }
        }
        _ => {
            if let Ok(machine) = Machine::from_toml(&text) {
                assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
            }
        }
    }
});
