//! Any bytes as a machine file. What is accepted is sound, reads back as it is written, and can be asked what its memories serve; what is refused says why.
#![no_main]
use homenode_base::NodeId;
use homenode_machine::{Machine, ReadWrite};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match Machine::from_toml(&String::from_utf8_lossy(data)) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(machine) => {
            assert_eq!(machine.validate(), Ok(()));
            assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine.clone()));
            let Some(bandwidth) = machine.bandwidth() else { return };
            let bytes = ReadWrite { read: u64::MAX, write: u64::MAX };
            for home in [0, machine.nodes() - 1].map(|i| NodeId(i as u16)) {
                let served = [bandwidth.node(home, machine.nodes()), bandwidth.path(NodeId(0), home)];
                served.into_iter().flatten().for_each(|rates| assert!(bytes.picoseconds(rates) > 0));
            }
        }
    }
});
