//! From what a real machine says of itself to a cost model.
//!
//! Measured latencies are used where there are some. Elsewhere the firmware's tables are, and those give no prices: what
//! is assumed stands here and goes into [`Machine::sources`].
use crate::costs::{CopyCost, Costs, Distances, Matrix};
use crate::limits::{BLOCK_BYTES_MAX, COST_MAX, MachineError, reject};
use crate::model::{Machine, Unit};
use crate::repair::{Change, repair};
use crate::sections::{CacheGeometry, Caches, Hits, Measured, Misses, Sections};
use crate::shape::Shape;
use crate::topology::{CpuCaches, MemoryNode, Topology};
use homenode_base::{Cost, NodeId};

/// A firmware distance (ACPI SLIT, local = 10) is no time. Assumed: local memory takes 80 ns and time is proportional to
/// distance, so 8 ns a unit.
const DISTANCE_UNIT_PS: i64 = 8_000;
/// Where the firmware gives no distances: another node is as far as on two-socket servers, 1.75 times local.
const DISTANCE_OTHER: i64 = 17;
const DISTANCE_OWN: i64 = 10;
/// Bandwidth of a node where nobody says: that of the two-socket machine of the registry, MB/s.
const BANDWIDTH_MBS: i64 = 45_000;
const LINE_BYTES: i64 = 64;
/// Cost of moving 4 KiB as on the two-socket machine of the registry: fixed part, and per word of 8 bytes.
const COPY: CopyCost = CopyCost::linear(Cost(1_200_000), Cost(800));

/// The machine, with what had to be repaired to make it sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisMachine {
    /// Named `this`; node i is node i of the topology. Nodes without processors have no cores: their rows are never
    /// charged and hold what the best placed processors pay.
    pub machine: Machine,
    /// Load latencies before the repair, picoseconds.
    pub raw_read: Matrix,
    /// What the repair did to them.
    pub changes: Vec<Change>,
}

impl Topology {
    /// A machine model of this machine, from measurements where there are some, which it keeps, and from firmware tables
    /// elsewhere.
    ///
    /// # Errors
    /// A topology no machine can have: no node, no processor, too many of them.
    pub fn machine(&self, measured: Option<&Measured>) -> Result<ThisMachine, MachineError> {
        let view = View::new(self, measured);
        let raw_read = view.matrix(|q, j| view.read(q, j))?;
        let (read, changes) = repair(&raw_read);
        let (write, _) = repair(&view.matrix(|q, j| view.write(q, j))?);
        let (write_back, _) = repair(&view.matrix(|q, j| view.write_back(q, j))?);
        let (caches, misses) = (view.caches(&read), view.misses(&read)?);
        let sources = view.sources(&changes, caches.as_ref());
        let hits = measured.and_then(Measured::hits).map(|shared| Hits { shared });
        let sections = Sections { caches, misses, hits, measured: measured.cloned(), ..Sections::default() };
        let machine = Machine {
            name: "this".into(),
            title: self.title(measured.is_some()),
            sources,
            unit: Unit::Picoseconds,
            shape: Shape {
                cores: self.nodes.iter().map(|n| u16::try_from(n.cpus.len()).unwrap_or(u16::MAX)).collect(),
                word_bytes: 8,
                page_bytes: if self.page_bytes == 0 { 4096 } else { self.page_bytes },
            },
            cost: Costs { read, write, write_back, remote_access: true, copy: COPY, global: None },
            sections,
        };
        machine.validate()?;
        Ok(ThisMachine { machine, raw_read, changes })
    }

    fn title(&self, measured: bool) -> String {
        let cpus: usize = self.nodes.iter().map(|n| n.cpus.len()).sum();
        let how = if measured { "measured" } else { "estimated from firmware tables" };
        format!("This machine, {} nodes, {cpus} processors, {how}", self.nodes.len())
    }
}

/// A topology and its measurements.
struct View<'a> {
    topology: &'a Topology,
    measured: Option<&'a Measured>,
    /// Measured over estimated latency, as a fraction, for the pairs that were not measured.
    scale: (i64, i64),
}

impl<'a> View<'a> {
    fn new(topology: &'a Topology, measured: Option<&'a Measured>) -> View<'a> {
        let mut view = View { topology, measured, scale: (1, 1) };
        let n = topology.nodes.len();
        let pairs = (0..n).flat_map(|q| (0..n).map(move |j| (q, j)));
        let known = pairs.filter_map(|(q, j)| Some((view.measured_idle(q, j)?, view.estimate(q, j))));
        let sums = known.fold((0i64, 0i64), |s, (m, e)| (s.0.saturating_add(m), s.1.saturating_add(e)));
        if sums.0 > 0 && sums.1 > 0 {
            view.scale = sums;
        }
        view
    }
    fn node(&self, i: usize) -> &'a MemoryNode {
        &self.topology.nodes[i]
    }
    fn index_of(&self, os_id: u32) -> Option<usize> {
        self.topology.nodes.iter().position(|n| n.os_id == os_id)
    }
    fn distance(&self, q: usize, j: usize) -> i64 {
        let given = self.topology.distances.get(q).and_then(|row| row.get(j)).map(|d| i64::from(*d));
        let assumed = if q == j { DISTANCE_OWN } else { DISTANCE_OTHER };
        given.filter(|d| *d > 0).unwrap_or(assumed)
    }
    fn measured_idle(&self, q: usize, j: usize) -> Option<i64> {
        self.measured?.idle(self.node(q).os_id, self.node(j).os_id)
    }

    /// Latency by the firmware's word. HMAT names the best initiators of node j, and its latency from them where it knows one (else
    /// their distance counts); other processors pay the way to those on top, or in proportion to the distances, whichever is more.
    fn estimate(&self, q: usize, j: usize) -> i64 {
        let by_distance = |q: usize| self.distance(q, j) * DISTANCE_UNIT_PS;
        let Some(access) = self.node(j).best_access.as_ref() else { return by_distance(q) };
        let known = Some(i64::from(access.read_latency_ns).min(COST_MAX / 1000) * 1000).filter(|ps| *ps > 0);
        let initiators: Vec<usize> = access.initiators.iter().filter_map(|&i| self.index_of(i)).collect();
        if initiators.is_empty() || initiators.contains(&q) {
            return known.unwrap_or_else(|| by_distance(q));
        }
        let from = |i: usize| {
            let best = known.unwrap_or_else(|| by_distance(i));
            let way = (self.distance(q, i) - self.distance(i, i)).max(0) * DISTANCE_UNIT_PS;
            (best + way).max(best.saturating_mul(self.distance(q, j)) / self.distance(i, j))
        };
        initiators.into_iter().map(from).min().unwrap_or_else(|| by_distance(q))
    }
    fn read(&self, q: usize, j: usize) -> i64 {
        let scaled = || i128::from(self.estimate(q, j)) * i128::from(self.scale.0) / i128::from(self.scale.1);
        self.measured_idle(q, j).unwrap_or_else(|| i64::try_from(scaled()).unwrap_or(COST_MAX))
    }
    /// A store misses like a load (it reads the line for ownership); HMAT's ratio of the two is honoured.
    fn write(&self, q: usize, j: usize) -> i64 {
        let ratio = self.node(j).best_access.as_ref().map(|a| (a.write_latency_ns, a.read_latency_ns));
        match ratio {
            Some((w, r)) if w > 0 && r > 0 => {
                let cost = i128::from(self.read(q, j)) * i128::from(w) / i128::from(r);
                i64::try_from(cost).unwrap_or(COST_MAX)
            }
            _ => self.read(q, j),
        }
    }
    /// What a write-back takes is bandwidth, and so time from the cores that share the memory: line / bandwidth x cores.
    fn write_back(&self, q: usize, j: usize) -> i64 {
        let given = self.node(j).best_access.as_ref().map(|a| i64::from(a.write_bandwidth_mbs)).filter(|b| *b > 0);
        let cores = (self.node(q).cpus.len() as i64).max(1);
        let picoseconds = |mbs: i64| LINE_BYTES * 1_000_000 * cores / mbs.max(1);
        match self.measured.and_then(|m| m.write(self.node(q).os_id, self.node(j).os_id)) {
            Some(mbs) => picoseconds(mbs),
            None => picoseconds(given.unwrap_or(BANDWIDTH_MBS)) * self.distance(q, j) / self.distance(q, q),
        }
    }

    /// The square form: rows of nodes with processors as given. The others, which are never charged, hold the least of
    /// each column, that is what the best placed processors pay, but nothing below the node's own memory.
    fn matrix(&self, cost: impl Fn(usize, usize) -> i64) -> Result<Matrix, MachineError> {
        let n = self.topology.nodes.len();
        let with_cpus: Vec<usize> = (0..n).filter(|&q| !self.node(q).cpus.is_empty()).collect();
        let least = |j: usize| with_cpus.iter().map(|&q| cost(q, j)).min().unwrap_or(0);
        let clamp = |c: i64| Cost(c.clamp(1, COST_MAX));
        let row = |q: usize| -> Vec<Cost> {
            let accessor = with_cpus.contains(&q);
            (0..n).map(|j| clamp(if accessor { cost(q, j) } else { least(j).max(least(q)) })).collect()
        };
        let rows: Vec<Vec<Cost>> = (0..n).map(row).collect();
        Matrix::from_rows(&rows).ok_or_else(|| reject("nodes", n, "at least one"))
    }

    /// What misses cost that are not waited for, where that was measured: of pairs that were not, the mean share of the latency; never more
    /// than the latency.
    fn misses(&self, read: &Matrix) -> Result<Option<Misses>, MachineError> {
        let n = self.topology.nodes.len();
        let pair = |q: usize, j: usize| self.measured?.misses(self.node(q).os_id, self.node(j).os_id);
        let latency = |q: usize, j: usize| read.at(NodeId(q as u16), NodeId(j as u16)).0;
        let known =
            (0..n).flat_map(|q| (0..n).map(move |j| (q, j))).filter_map(|(q, j)| Some((pair(q, j)?, latency(q, j))));
        let add = |a: [i64; 3], b: [i64; 3]| std::array::from_fn(|i| a[i].saturating_add(b[i]));
        let [streamed, overlapped, whole] = known.fold([0; 3], |sum, ([s, o], l)| add(sum, [s, o, l]));
        if whole == 0 {
            return Ok(None);
        }
        let cost = |which: usize, sum: i64| {
            let share = |l: i64| (i128::from(l) * i128::from(sum) / i128::from(whole)) as i64;
            let cell =
                |q: usize, j: usize| pair(q, j).map_or_else(|| share(latency(q, j)), |p| p[which]).min(latency(q, j));
            let (least, _) = repair(&self.matrix(cell)?);
            Ok(Distances::of(&least))
        };
        Ok(Some(Misses { streamed: cost(0, streamed)?, overlapped: cost(1, overlapped)? }))
    }

    /// Caches as the firmware describes them. Transfers between caches are assumed to stand to memory as on the
    /// two-socket machine of the registry: 0.62 of a local load within a node, 0.99 of a mean remote load between two.
    fn caches(&self, read: &Matrix) -> Option<Caches> {
        let given = self.topology.caches?;
        let sound = |c: CacheGeometry| {
            let set = u64::from(c.ways) * u64::from(given.line_bytes);
            let bytes = c.bytes.min(BLOCK_BYTES_MAX);
            (set > 0 && bytes >= set).then(|| CacheGeometry { bytes: bytes - bytes % set, ..c })
        };
        let rows = read.rows();
        let with_cpus: Vec<usize> = (0..rows.len()).filter(|&q| !self.node(q).cpus.is_empty()).collect();
        let mean = |cells: Vec<i64>| cells.iter().sum::<i64>() / (cells.len() as i64).max(1);
        let near = mean(with_cpus.iter().map(|&q| rows[q][q].0).collect()) * 62 / 100;
        let pairs = with_cpus.iter().flat_map(|&q| with_cpus.iter().filter(move |&&j| j != q).map(move |&j| (q, j)));
        let far = mean(pairs.map(|(q, j)| rows[q][j].0).collect()) * 99 / 100;
        Some(Caches {
            line_bytes: given.line_bytes,
            private: sound(given.private)?,
            shared: self.found(sound(given.shared)?),
            transfer_near: Cost(near),
            transfer_far: Cost(far.max(near)),
        })
    }

    /// What one processor finds its lines in of a last level: as many ways of each set.
    fn found(&self, level: CacheGeometry) -> CacheGeometry {
        let Some(part) = self.measured.and_then(Measured::level_part) else { return level };
        let ways = ((f64::from(level.ways) * part).round() as u32).clamp(1, level.ways);
        CacheGeometry { bytes: level.bytes / u64::from(level.ways) * u64::from(ways), ways }
    }

    fn sources(&self, changes: &[Change], caches: Option<&Caches>) -> Vec<String> {
        let mut sources: Vec<String> = match self.measured {
            Some(m) => {
                let mut lines = vec![format!("latencies and write bandwidths measured {}: {}", m.when, m.how)];
                lines.extend((!m.caution.is_empty()).then(|| format!("caution: {}", m.caution)));
                lines
            }
            None => vec![
                "latencies estimated, not measured: ACPI HMAT where it names some, else ACPI SLIT distances under the \
                 assumption that local memory takes 80 ns and time is proportional to distance (they are no \
                 nanoseconds); `homenode topo --measure` measures"
                    .to_owned(),
            ],
        };
        sources.push(
            "page copy and cache-to-cache transfers assumed as on the machine two-socket, in proportion to latency"
                .to_owned(),
        );
        let part = self.measured.and_then(Measured::level_part);
        if let (Some(part), Some(CpuCaches { shared: has, .. }), Some(found)) = (part, self.topology.caches, caches) {
            let found = found.shared;
            sources.push(format!(
                "last level: of loads at random in as much memory as it is large {:.0} % were no misses, so {} of its {} ways \
                 ({} of {} KiB) are taken for its size; others use the rest, or it does not keep what was used last",
                part * 100.0,
                found.ways,
                has.ways,
                found.bytes >> 10,
                has.bytes >> 10
            ));
        }
        let repaired = changes.iter().map(|c| format!("repaired: load latency {c}"));
        sources.extend(repaired);
        let no_memory = self.topology.nodes.iter().filter(|n| n.memory_bytes == 0);
        sources.extend(no_memory.map(|n| format!("node {} has no memory: pages placed there end elsewhere", n.os_id)));
        sources.extend(self.topology.notes.iter().cloned());
        sources
    }
}
