//! The machines that come with Homenode, one file each.
use crate::model::Machine;

pub mod family;

/// A machine of the registry.
pub struct Spec {
    /// Name on the command line; equals [`Machine::name`].
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    build: fn() -> Machine,
}

impl Spec {
    /// The machine.
    pub fn build(&self) -> Machine {
        (self.build)()
    }
}

homenode_base::registry!(
    /** Every machine, the default first. */ Spec;
    two_socket, ace, butterfly, cc, cc_plus, numa, dsm, dsm_plus, opteron4, opteron8, markatos, ascoma, dram_cxl,
    sapphire_rapids, genoa, genoa_cxl, svm_achievable, svm_best, svm_ideal, svm_myrinet, svm_origin,
    rdma100, rdma400, cxl3, tcp25
);

/// Load latencies of `opteron8` as printed, in nanoseconds, before its diagonal was repaired.
pub use opteron8::RAW_NS as OPTERON8_RAW_NS;

/// The machine of this name, if there is one.
pub fn find(name: &str) -> Option<Machine> {
    ALL.iter().find(|s| s.name == name).map(|s| s.build())
}
