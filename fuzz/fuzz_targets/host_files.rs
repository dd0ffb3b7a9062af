//! Any contents in the files of sysfs and procfs: the machine is described or refused, events of a performance unit are made or
//! refused, and a DAMON monitor is read; nothing panics or takes memory for what is merely claimed.
#![no_main]
use homenode_fuzz::host::Tree;
use homenode_host::balancing::{Knobs, Moves, Status};
use homenode_host::topology::{read, virtual_machine};
use homenode_sampling::damon::{Damon, DamonOptions};
use homenode_sampling::leftovers::clean_up;
use homenode_sampling::perf::pmu::Pmu;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

fuzz_target!(|data: &[u8]| {
    TREE.fill(data);
    let root = TREE.root();
    if let Ok(topology) = read(root) {
        assert!(topology.nodes.iter().any(|n| !n.cpus.is_empty()));
        if let Ok(this) = topology.machine(None) {
            assert_eq!(this.machine.validate(), Ok(()));
        }
    }
    let _ = (virtual_machine(root), Status::read(root), Knobs::read(root), Moves::read(root));
    for name in ["cpu", "ibs_op"] {
        let Some(pmu) = Pmu::open(&root.join("sys"), name) else { continue };
        let _ = (pmu.max_precise(), pmu.event("mem-loads", &[("ldlat", 30)]));
    }
    let options = DamonOptions::default();
    if let Ok(damon) = Damon::start(root, u32::MAX, &options) {
        let regions = damon.regions().unwrap_or_default();
        assert!(regions.iter().all(|r| r.start < r.end && r.accesses <= options.looks()));
    }
    let _ = clean_up(root);
});
