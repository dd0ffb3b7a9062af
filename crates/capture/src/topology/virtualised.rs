//! Whether the machine is one: hypervisors and emulators, and what that means for latencies.
use super::tree::Tree;
use std::path::Path;

/// A hypervisor or emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Virtual {
    /// Its name, in words.
    pub name: String,
    /// Whether latencies are those of an emulator, and so mean nothing.
    pub emulated: bool,
}

/// What the machine below this root runs under, from the firmware's names and processor flags; `None` for real hardware.
pub fn virtual_machine(root: &Path) -> Option<Virtual> {
    read(&Tree::new(root))
}

const VENDORS: [&str; 9] =
    ["QEMU", "VMware", "innotek", "Xen", "Microsoft Corporation", "Amazon EC2", "Google", "Parallels", "Red Hat"];

pub(super) fn read(tree: &Tree) -> Option<Virtual> {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let line = |key: &str| info.lines().find(|l| l.starts_with(key)).unwrap_or("").to_owned();
    let flag = line("flags").split_whitespace().any(|f| f == "hypervisor");
    let vendor = tree.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let known = VENDORS.iter().find(|v| vendor.starts_with(**v));
    // QEMU's own processor models exist under emulation; under KVM the default is the host's.
    let emulated = line("model name").contains("QEMU TCG")
        || (known == Some(&"QEMU") && line("model name").contains("QEMU Virtual CPU"));
    let emulated = emulated || tree.text("sys/hypervisor/type").is_some_and(|t| t == "tcg");
    match known {
        Some(v) => Some(Virtual { name: (*v).to_owned(), emulated }),
        None if flag || emulated => Some(Virtual { name: "a hypervisor".to_owned(), emulated }),
        None => None,
    }
}
