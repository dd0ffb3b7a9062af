//! Whether the machine is one: hypervisors and emulators, and what that means for latencies.
use super::tree::Tree;
use std::path::Path;

/// A hypervisor or emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Virtual {
    /// Name of the hypervisor or emulator, in words.
    pub name: String,
    /// Whether latencies are those of an emulator, and so mean nothing.
    pub emulated: bool,
}

/// What the machine below this root runs under, from the firmware's names and processor flags; `None` for real hardware.
pub fn virtual_machine(root: &Path) -> Option<Virtual> {
    read(&Tree::new(root))
}

const VENDORS: [&str; 8] =
    ["QEMU", "VMware", "innotek", "Xen", "Microsoft Corporation", "Amazon EC2", "Google", "Parallels"];
/// Names of emulators.
const EMULATORS: [&str; 2] = ["QEMU without KVM", "an emulator"];
/// Signatures in the processor's identification, which repeat themselves, and names for people.
const SIGNATURES: [(&str, &str); 4] =
    [("TCGTCGTCGTCG", EMULATORS[0]), ("KVMKVMKVM", "KVM"), ("VMwareVMware", "VMware"), ("XenVMMXenVMM", "Xen")];

fn in_words(signature: String) -> String {
    SIGNATURES.iter().find(|(s, _)| *s == signature).map_or(signature, |(_, name)| (*name).to_owned())
}

pub(super) fn read(tree: &Tree) -> Option<Virtual> {
    // Only the processor itself knows for certain, and it can only be asked about this machine.
    let signature = if tree.path("") == Path::new("/") { homenode_sys::cpu::hypervisor() } else { None };
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let line = |key: &str| info.lines().find(|l| l.starts_with(key)).unwrap_or("").to_owned();
    let flag = line("flags").split_whitespace().any(|f| f == "hypervisor");
    let vendor = tree.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let known = VENDORS.iter().find(|v| vendor.starts_with(**v)).map(|v| (*v).to_owned());
    // QEMU's own processor models are those of its emulation; under KVM the default is the host's.
    let own_model = line("model name").contains("QEMU");
    let name = match (signature.filter(|s| !s.is_empty()), own_model) {
        (Some(s), _) => in_words(s),
        (None, true) => EMULATORS[1].to_owned(),
        (None, false) => known.or_else(|| flag.then(|| "a hypervisor".to_owned()))?,
    };
    let emulated = EMULATORS.contains(&name.as_str());
    Some(Virtual { name, emulated })
}

/// Why latencies measured under this hypervisor or emulator should not be believed; empty on real hardware.
pub(super) fn caution(name: Option<&str>) -> String {
    match name {
        None => String::new(),
        Some(name) if EMULATORS.contains(&name) => {
            format!("measured under emulation ({name}): latencies there mean nothing, and no node is really remote")
        }
        Some(name) => {
            format!("measured in a virtual machine ({name}): its host decides where memory really is, and shares it")
        }
    }
}
