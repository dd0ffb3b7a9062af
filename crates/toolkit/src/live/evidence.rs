//! Samples of a window, gathered into uses of pages by nodes.
use homenode_base::NodeId;
use homenode_capture::RawSample;
use homenode_machine::Topology;
use homenode_migrate::{PAGE_BYTES, Units};
use homenode_placement::live::{PageId, Use};
use homenode_trace::Op;
use std::collections::BTreeMap;

/// First address that no program has.
const KERNEL: u64 = 1 << 56;

#[derive(Clone, Copy, Default)]
struct Count {
    reads: u32,
    writes: u32,
}

/// What was sampled since the last window.
pub(super) struct Evidence {
    node_of_cpu: Vec<Option<NodeId>>,
    /// By process, small page and node.
    counts: BTreeMap<(u32, u64, NodeId), Count>,
    /// Processor of a thread whose samples do not say, as last looked up in this window.
    cpus: BTreeMap<u32, Option<u32>>,
    /// Samples taken in.
    pub(super) samples: u64,
    /// Samples that no move could make cheaper (caches) or whose processor is not known.
    pub(super) unusable: u64,
}

impl Evidence {
    pub(super) fn new(topology: &Topology) -> Evidence {
        let most = topology.nodes.iter().flat_map(|n| &n.cpus).max().map_or(0, |c| *c as usize + 1);
        let node_of_cpu = (0..most as u32).map(|cpu| topology.node_of_cpu(cpu)).collect();
        let (counts, cpus) = (BTreeMap::new(), BTreeMap::new());
        Evidence { node_of_cpu, counts, cpus, samples: 0, unusable: 0 }
    }

    pub(super) fn add(&mut self, samples: &[RawSample]) {
        for sample in samples {
            self.samples += 1;
            match self.node(sample).filter(|_| sample.source.placement_matters() && sample.addr < KERNEL) {
                None => self.unusable += 1,
                Some(node) => {
                    let count = self.counts.entry((sample.pid, sample.addr / PAGE_BYTES, node)).or_default();
                    let part = if sample.op == Op::Read { &mut count.reads } else { &mut count.writes };
                    *part = part.saturating_add(sample.weight);
                }
            }
        }
    }

    fn node(&mut self, sample: &RawSample) -> Option<NodeId> {
        let look_up = || homenode_migrate::process::cpu_of(sample.pid, sample.tid);
        let cpu = sample.cpu.or_else(|| *self.cpus.entry(sample.tid).or_insert_with(look_up))?;
        *self.node_of_cpu.get(cpu as usize)?
    }

    /// The window's uses, huge pages as wholes.
    pub(super) fn take(&mut self) -> Vec<Use> {
        self.cpus.clear();
        let counts = std::mem::take(&mut self.counts);
        let mut addresses: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (pid, page, _) in counts.keys() {
            addresses.entry(*pid).or_default().push(page * PAGE_BYTES);
        }
        // A process that cannot be asked is either gone, which the next step finds out, or has small pages.
        let units: BTreeMap<u32, Units> =
            addresses.iter().map(|(pid, a)| (*pid, Units::read(*pid, a).unwrap_or_default())).collect();
        let mut uses: BTreeMap<(PageId, NodeId), Use> = BTreeMap::new();
        for ((space, page, node), count) in counts {
            let (first, bytes) = units[&space].page_of(page * PAGE_BYTES);
            let page = PageId { space, page: first / PAGE_BYTES };
            let pages = (bytes / PAGE_BYTES) as u32;
            let used = uses.entry((page, node)).or_insert(Use { page, pages, node, reads: 0, writes: 0 });
            used.reads = used.reads.saturating_add(count.reads);
            used.writes = used.writes.saturating_add(count.writes);
        }
        uses.into_values().collect()
    }
}
