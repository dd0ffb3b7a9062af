//! Nodes that would be asked for more than their memory serves: whether there are any, and what goes elsewhere.
//!
//! The demand is bytes over time. Sampled misses have both: they were taken while the program ran at its own speed. For
//! other evidence the time is modelled: processors wait for every access and share the work of their node evenly. That
//! asks for no more than any program does, so what exceeds a bandwidth by it does so in earnest; programs that overlap
//! accesses ask for more. References that were sampled in front of caches, and windows, say nothing of bytes.
use crate::chooser::HomeChooser;
use crate::unit::{Unit, held};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{
    AccessClass, Bandwidth as Said, Location, Measured, ReadWrite, ThreadMap, Topology, Unit as CostUnit,
};
use homenode_placement::assign::{Assigned, Class, Limits, spread};
use homenode_placement::counts::ClassCounts;
use homenode_placement::plan::{Bandwidth, NodeDemand};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::sample::SampleUnit;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a line where the machine has no caches but the evidence is misses.
const LINE_BYTES: u64 = 64;
/// No page asks for more than this in one run: sums of hostile weights stay within range.
const DEMAND_MAX: u64 = 1 << 40;
/// Picoseconds and bytes to MB/s (10^6 bytes): bytes / ps x 10^6.
const MBS: u128 = 1_000_000;

/// What the memory of each node serves, MB/s of lines read and of lines written back; `None` where nobody says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidths {
    /// In words.
    source: &'static str,
    nodes: Vec<Option<ReadWrite>>,
}

impl Bandwidths {
    fn new(source: &'static str, nodes: Vec<Option<ReadWrite>>) -> Option<Bandwidths> {
        nodes.iter().any(Option::is_some).then_some(Bandwidths { source, nodes })
    }
    /// The best that any node's processors measured on each memory; `os_ids` are the nodes of the machine.
    pub fn measured(m: &Measured, os_ids: &[u32]) -> Option<Bandwidths> {
        let best = |table: &[Vec<i64>], j: usize| table.iter().filter_map(|row| row.get(j)).max().copied();
        let node = |id: &u32| {
            let j = m.memory_nodes.iter().position(|n| n == id)?;
            let both = pair(best(&m.read_mbs.mean, j)?, best(&m.write_mbs.mean, j)?)?;
            Some(ReadWrite::of_stores(both.read, both.write))
        };
        Bandwidths::new("measured", os_ids.iter().map(node).collect())
    }
    /// What a machine of so many nodes says; `source` in words.
    pub fn said(source: &'static str, bandwidth: &Said, nodes: usize) -> Option<Bandwidths> {
        let node = |i: usize| bandwidth.node(NodeId(i as u16), nodes);
        Bandwidths::new(source, (0..nodes).map(node).collect())
    }
    /// What the firmware says of access from the nearest processors.
    pub fn firmware(topology: &Topology) -> Option<Bandwidths> {
        let node = |a: &homenode_machine::topology::Access| {
            let (read, write) = (i64::from(a.read_bandwidth_mbs), i64::from(a.write_bandwidth_mbs));
            pair(read.max(if read == 0 { write } else { 0 }), if write == 0 { read } else { write })
        };
        let nodes = topology.nodes.iter().map(|n| n.best_access.as_ref().and_then(node));
        Bandwidths::new("as the firmware says (ACPI HMAT)", nodes.collect())
    }
    /// What a node serves of a mixture of reads and writes.
    fn mixed(&self, node: usize, (reads, writes): (u64, u64)) -> Option<u64> {
        let ReadWrite { read, write } = (*self.nodes.get(node)?)?;
        let (reads, writes) = (u128::from(reads), u128::from(writes));
        let (bytes, time) = (reads + writes, reads * u128::from(write) + writes * u128::from(read));
        u64::try_from((bytes * u128::from(read) * u128::from(write)).checked_div(time)?).ok()
    }
}

fn pair(read: i64, write: i64) -> Option<ReadWrite> {
    let positive = |v: i64| u64::try_from(v).ok().filter(|v| *v > 0);
    Some(ReadWrite { read: positive(read)?, write: positive(write)? })
}

/// What is needed to tell demand from counts.
pub(crate) struct Traffic<'a> {
    pub(crate) chooser: &'a HomeChooser<'a>,
    pub(crate) known: &'a Bandwidths,
    pub(crate) reader: &'a DatasetReader,
    pub(crate) map: &'a ThreadMap,
}

impl Traffic<'_> {
    /// Gives pages other homes where nodes would be asked for too much; `None` where the evidence shows no demand.
    pub(crate) fn relieve(&self, units: &mut [Unit]) -> Option<Bandwidth> {
        let nodes = self.chooser.machine.nodes();
        let (interval_ps, basis) = self.interval(units)?;
        let mixture = self.mixture(units);
        let serves: Vec<Option<u64>> = (0..nodes).map(|k| self.known.mixed(k, mixture)).collect();
        let bytes_in = |mbs: u64| u64::try_from(u128::from(mbs) * interval_ps / MBS).unwrap_or(u64::MAX);
        let (fixed_bytes, fixed_pages) = self.fixed(units);
        let less = |all: u64, taken: &u64| all.saturating_sub(*taken);
        let room = |k: usize| self.chooser.capacity.as_ref().map_or(u64::MAX, |c| c.get(k).copied().unwrap_or(0));
        let limits = Limits {
            capacity: (0..nodes).map(|k| less(room(k), &fixed_pages[k])).collect(),
            served: (0..nodes).map(|k| less(serves[k].map_or(u64::MAX, bytes_in), &fixed_bytes[k])).collect(),
        };
        let kinds = self.kinds(units);
        let (before, pages, cost, after, excess) = rebind(&self.prices(&kinds, units), &kinds, &limits, units);
        let mbs = |bytes: u64| u64::try_from(u128::from(bytes) * MBS / interval_ps).unwrap_or(u64::MAX);
        let node = |k: usize| {
            let demand = |asked: &[u64]| mbs(asked[k].saturating_add(fixed_bytes[k]));
            let (asked_mbs, planned_mbs) = (demand(&before), demand(&after));
            Some(NodeDemand { node: k as u16, serves_mbs: serves[k]?, asked_mbs, planned_mbs })
        };
        let nodes = (0..nodes).filter_map(node).collect();
        Some(Bandwidth { source: self.known.source.into(), basis, nodes, pages, cost, excess_mbs: mbs(excess) })
    }

    /// Picoseconds in which the counted accesses happen, and how that is known.
    fn interval(&self, units: &[Unit]) -> Option<(u128, String)> {
        let sampling = self.reader.manifest().sampling.as_ref();
        match sampling {
            Some(s) if s.unit != SampleUnit::Miss => None,
            Some(s) if s.elapsed_ns > 0 => {
                let seconds = s.elapsed_ns as f64 * 1e-9;
                Some((
                    u128::from(s.elapsed_ns) * 1000,
                    format!("misses sampled in {seconds:.2} s of the program's run"),
                ))
            }
            _ if self.chooser.machine.unit != CostUnit::Picoseconds => None,
            _ => {
                let words = "modelled time: processors wait for each access; overlapped accesses ask for more";
                Some((self.modelled(units), words.into()))
            }
        }
        .filter(|(ps, _)| *ps > 0)
    }

    /// Time of the node that waits longest, its accesses shared among its busy processors.
    fn modelled(&self, units: &[Unit]) -> u128 {
        let machine = self.chooser.machine;
        let mut busy: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); machine.nodes()];
        for (binding, _) in self.map.bindings().iter().zip(0..).filter(|(_, t)| self.reader.refs(*t) > 0) {
            busy[binding.node.index()].insert(binding.cpu.0);
        }
        let mut waits = vec![0u128; machine.nodes()];
        let wait = |class: AccessClass, from: usize, home: NodeId, n: u64| {
            let each = machine.access(class, NodeId(from as u16), Location::Node(home)).0;
            u128::from(each.unsigned_abs()) * u128::from(n)
        };
        for (home, uses) in units.iter().flat_map(placed) {
            for (q, counts) in uses.iter().enumerate() {
                let both = wait(AccessClass::Read, q, home, counts[0]) + wait(AccessClass::Write, q, home, counts[1]);
                waits[q] = waits[q].saturating_add(both);
            }
        }
        waits.iter().zip(&busy).map(|(wait, cpus)| wait / cpus.len().max(1) as u128).max().unwrap_or(0)
    }

    /// Accesses that read a line (stores fetch theirs too) and that write one back.
    fn mixture(&self, units: &[Unit]) -> (u64, u64) {
        let all = units.iter().flat_map(|u| &u.uses);
        all.fold((0, 0), |(r, w), c| (c[0].saturating_add(c[1]).saturating_add(r), c[2].saturating_add(w)))
    }

    fn bytes(&self, uses: &[ClassCounts]) -> u64 {
        let machine = self.chooser.machine;
        let sampled = self.reader.manifest().sampling.is_some();
        let plain = if sampled { LINE_BYTES } else { u64::from(machine.shape.word_bytes) };
        let each = machine.sections.caches.as_ref().map_or(plain, |c| u64::from(c.line_bytes));
        let n = uses.iter().flatten().fold(0u64, |a, b| a.saturating_add(*b));
        n.saturating_mul(each).min(DEMAND_MAX)
    }

    /// Bytes and pages at each node that are not to be moved: stacks, whole huge pages, and what has no key.
    fn fixed(&self, units: &[Unit]) -> (Vec<u64>, Vec<u64>) {
        let nodes = self.chooser.machine.nodes();
        let (mut bytes, mut pages) = (vec![0u64; nodes], vec![0u64; nodes]);
        for unit in units.iter().filter(|u| single_home(u, nodes).is_none()) {
            for (home, uses) in placed(unit).into_iter().filter(|(home, _)| home.index() < nodes) {
                bytes[home.index()] = bytes[home.index()].saturating_add(self.bytes(uses));
            }
            held(unit).iter().filter(|(home, _)| home.index() < nodes).for_each(|(home, n)| pages[home.index()] += n);
        }
        (bytes, pages)
    }

    /// Single pages that are alike in what they cost, ask for and where they are, in the order of the first of each.
    fn kinds(&self, units: &[Unit]) -> Vec<Kind> {
        let mut found: BTreeMap<(Vec<TotalCost>, u64, usize), Vec<usize>> = BTreeMap::new();
        for (i, unit) in units.iter().enumerate() {
            if let Some(home) = single_home(unit, self.chooser.machine.nodes()) {
                let key = (self.chooser.distances.costs(&unit.uses), self.bytes(&unit.uses), home);
                found.entry(key).or_default().push(i);
            }
        }
        let kind = |((_, bytes, home), members)| Kind { bytes, home, members };
        let mut kinds: Vec<Kind> = found.into_iter().map(kind).collect();
        kinds.sort_by_key(|k| k.members[0]);
        kinds
    }

    fn prices(&self, kinds: &[Kind], units: &[Unit]) -> Vec<Class> {
        let prices = |k: &Kind| self.chooser.distances.costs(&units[k.members[0]].uses);
        kinds.iter().map(|k| Class { prices: prices(k), pages: k.members.len() as u64 }).collect()
    }
}

/// Pages alike.
struct Kind {
    bytes: u64,
    home: usize,
    members: Vec<usize>,
}

/// Where a single page that can be placed is to live now.
fn single_home(unit: &Unit, nodes: usize) -> Option<usize> {
    let [(touched, _)] = &unit.touched[..] else { return None };
    Some(unit.home.unwrap_or(*touched).index()).filter(|k| unit.placeable && *k < nodes)
}

/// Homes of the pages of a unit with the uses of each.
fn placed(unit: &Unit) -> Vec<(NodeId, &Vec<ClassCounts>)> {
    unit.touched.iter().map(|(node, uses)| (unit.home.unwrap_or(*node), uses)).collect()
}

/// Spreads kinds and tells the units; returns demand before, pages moved, what they cost more, demand after, and excess.
fn rebind(
    classes: &[Class],
    kinds: &[Kind],
    limits: &Limits,
    units: &mut [Unit],
) -> (Vec<u64>, u64, TotalCost, Vec<u64>, u64) {
    let homes = limits.capacity.len();
    let at = |k: &Kind| (0..homes).map(|h| if h == k.home { k.members.len() as u64 } else { 0 }).collect();
    let pages: Vec<Vec<u64>> = kinds.iter().map(at).collect();
    let demand: Vec<u64> = kinds.iter().map(|k| k.bytes).collect();
    let mut before = vec![0u64; homes];
    kinds.iter().for_each(|k| before[k.home] = before[k.home].saturating_add(k.bytes * k.members.len() as u64));
    let cost = homenode_placement::assign::cost_of(classes, &pages);
    let found = spread(classes, &demand, Assigned { pages, cost }, limits);
    let mut moved = 0;
    for (kind, at) in kinds.iter().zip(&found.assigned.pages) {
        let elsewhere = at.iter().enumerate().filter(|(h, _)| *h != kind.home);
        let homes = elsewhere.flat_map(|(h, n)| std::iter::repeat_n(NodeId(h as u16), *n as usize));
        // The last ones go: what stays is one stretch.
        for (i, home) in kind.members.iter().rev().zip(homes) {
            units[*i].home = Some(home);
            moved += 1;
        }
    }
    (before, moved, found.assigned.cost - found.bound, found.demand, found.excess)
}
