//! Samples between two looks, gathered into uses of pages by nodes.
use homenode_base::NodeId;
use homenode_machine::Topology;
use homenode_migrate::{PAGE_BYTES, Units};
use homenode_placement::live::{PageId, Use};
use homenode_sampling::RawSample;
use homenode_trace::Op;
use std::collections::BTreeMap;

/// First address that no program has.
const KERNEL: u64 = 1 << 56;
/// Least counts that are added up before they are asked for.
const COUNTS_MOST: usize = 1 << 20;

/// Uses of one small page by one node.
#[derive(Clone, Copy)]
struct Count {
    pid: u32,
    page: u64,
    node: NodeId,
    reads: u32,
    writes: u32,
}

/// What was sampled since the last look.
pub(crate) struct Evidence {
    node_of_cpu: Vec<Option<NodeId>>,
    counts: Vec<Count>,
    /// Counts held before equal ones are added up, so that a storm of samples of few pages does not fill the memory.
    merge_at: usize,
    /// Processor of a thread whose samples do not say, as last looked up since then.
    cpus: BTreeMap<u32, Option<u32>>,
    /// Samples taken in.
    pub(crate) samples: u64,
    /// Samples that no move could make cheaper (caches) or whose processor is not known.
    pub(crate) unusable: u64,
}

impl Evidence {
    pub(crate) fn new(topology: &Topology) -> Evidence {
        let most = topology.nodes.iter().flat_map(|n| &n.cpus).max().map_or(0, |c| *c as usize + 1);
        let node_of_cpu = (0..most as u32).map(|cpu| topology.node_of_cpu(cpu)).collect();
        let (counts, cpus) = (Vec::new(), BTreeMap::new());
        Evidence { node_of_cpu, counts, merge_at: COUNTS_MOST, cpus, samples: 0, unusable: 0 }
    }

    pub(crate) fn add(&mut self, samples: &[RawSample]) {
        for sample in samples {
            self.samples += 1;
            match self.usable(sample) {
                None => self.unusable += 1,
                Some(node) => {
                    let (reads, writes) = if sample.op == Op::Read { (sample.weight, 0) } else { (0, sample.weight) };
                    let page = sample.addr / PAGE_BYTES;
                    self.counts.push(Count { pid: sample.pid, page, node, reads, writes });
                }
            }
        }
        if self.counts.len() > self.merge_at {
            merge(&mut self.counts);
            self.merge_at = COUNTS_MOST.max(self.counts.len() * 2);
        }
    }

    /// The node from which a sample's access came, if moving its page could make it cheaper.
    pub(crate) fn usable(&mut self, sample: &RawSample) -> Option<NodeId> {
        self.node(sample).filter(|_| sample.source.placement_matters() && sample.addr < KERNEL)
    }
    fn node(&mut self, sample: &RawSample) -> Option<NodeId> {
        let look_up = || homenode_migrate::process::cpu_of(sample.pid, sample.tid);
        let cpu = sample.cpu.or_else(|| *self.cpus.entry(sample.tid).or_insert_with(look_up))?;
        *self.node_of_cpu.get(cpu as usize)?
    }

    /// Nobody wants to know of what was used.
    pub(crate) fn forget(&mut self) -> Vec<Use> {
        self.cpus.clear();
        self.counts.clear();
        Vec::new()
    }

    /// The uses since the last look, huge pages as wholes.
    pub(crate) fn take(&mut self) -> Vec<Use> {
        self.cpus.clear();
        let mut counts = std::mem::take(&mut self.counts);
        merge(&mut counts);
        let mut uses: Vec<Use> = Vec::with_capacity(counts.len());
        for process in counts.chunk_by(|a, b| a.pid == b.pid) {
            let addresses: Vec<u64> = process.iter().map(|c| c.page * PAGE_BYTES).collect();
            // A process that cannot be asked is either gone, which the next step finds out, or has small pages.
            let units = Units::read(process[0].pid, &addresses).unwrap_or_default();
            let begin = uses.len();
            uses.extend(process.iter().map(|c| {
                let (first, bytes) = units.page_of(c.page * PAGE_BYTES);
                let page = PageId { space: c.pid, page: first / PAGE_BYTES };
                Use { page, pages: (bytes / PAGE_BYTES) as u32, node: c.node, reads: c.reads, writes: c.writes }
            }));
            if units.huge_pages() > 0 {
                uses[begin..].sort_unstable_by_key(|u| (u.page, u.node));
            }
        }
        uses.dedup_by(|later, kept| {
            let same = (later.page, later.node) == (kept.page, kept.node);
            if same {
                kept.reads = kept.reads.saturating_add(later.reads);
                kept.writes = kept.writes.saturating_add(later.writes);
            }
            same
        });
        uses
    }
}

/// Sorts by process, page and node, and adds up what is of the same.
fn merge(counts: &mut Vec<Count>) {
    let key = |c: &Count| (c.pid, c.page, c.node);
    counts.sort_unstable_by_key(key);
    counts.dedup_by(|later, kept| {
        let same = key(later) == key(kept);
        if same {
            kept.reads = kept.reads.saturating_add(later.reads);
            kept.writes = kept.writes.saturating_add(later.writes);
        }
        same
    });
}
