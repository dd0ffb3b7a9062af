//! Measuring what memory costs: latency and bandwidth for every pair of a node with processors and a node with memory.
//!
//! Latency is that of dependent loads along one random cycle through a buffer larger than the last-level cache, one load
//! every 256 bytes (so that fetching neighbouring lines in advance helps nobody). The buffer is bound to its node before it
//! is touched, and the kernel is asked afterwards whether its pages are there. Threads are pinned. Means and deviations
//! are over repeats that visit different lines.
//!
//! Reading order: [`measure`], `memory` (buffers), `latency`, `bandwidth`, `hits` (the last level), `clock`.
mod bandwidth;
mod clock;
mod hits;
mod latency;
mod memory;
mod pinned;

use super::virtualised;
use bandwidth::Direction;
use hits::HitSamples;
use homenode_base::NodeId;
use homenode_machine::{Measured, Table, Topology};
use memory::Memory;
use std::io;
use std::time::Duration;

/// How to measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasureOptions {
    /// A fifth of the time: fewer and shorter repeats, smaller buffers.
    pub quick: bool,
}

/// No measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// No processor or no memory that may be used.
    #[error("nothing to measure: this process may use no node with {0} (see its cpuset and affinity)")]
    Nothing(&'static str),
    /// The system refused something.
    #[error("cannot {doing} (node {node}): {source}")]
    System {
        /// Operation that was refused, in words.
        doing: &'static str,
        /// Operating-system number of the node.
        node: u32,
        /// What it said.
        source: io::Error,
    },
    /// Pages are not where they were bound.
    #[error("{wrong} of {asked} pages bound to node {node} are elsewhere: is it full?")]
    Misplaced {
        /// Operating-system number of the node.
        node: u32,
        /// Pages elsewhere.
        wrong: usize,
        /// Pages asked about.
        asked: usize,
    },
}

/// Repeats and how long each lasts.
#[derive(Clone, Copy)]
struct Effort {
    repeats: usize,
    each: Duration,
    quick: bool,
}

/// Samples of one quantity: rows = nodes with processors, columns = nodes with memory.
type Samples = Vec<Vec<Vec<f64>>>;

/// What was measured so far.
#[derive(Default)]
struct Tables {
    idle: Samples,
    huge: Samples,
    loaded: Samples,
    streamed: Samples,
    overlapped: Samples,
    hit_waited: Samples,
    hit_overlapped: Samples,
    hit_streamed: Samples,
    level: Samples,
    read: Samples,
    write: Samples,
}

impl Tables {
    fn all(&mut self) -> [&mut Samples; 11] {
        let Tables { idle, huge, loaded, streamed, overlapped, .. } = self;
        let Tables { hit_waited, hit_overlapped, hit_streamed, level, read, write, .. } = self;
        [idle, huge, loaded, streamed, overlapped, hit_waited, hit_overlapped, hit_streamed, level, read, write]
    }
}

/// Measures this machine. `told` hears how many of how many pairs are done. Takes about 4 s a pair of nodes, and about
/// 1.5 s a node with memory besides; a fifth of that when quick. Uses at most a quarter of a node's free memory.
///
/// # Errors
/// No usable processor or memory; a node whose memory cannot be bound or is full.
pub fn measure(
    topology: &Topology,
    options: &MeasureOptions,
    told: &mut dyn FnMut(u64, u64),
) -> Result<Measured, MeasureError> {
    let effort = match options.quick {
        false => Effort { repeats: 5, each: Duration::from_millis(60), quick: false },
        true => Effort { repeats: 3, each: Duration::from_millis(15), quick: true },
    };
    let all = (0..topology.nodes.len()).map(|i| NodeId(i as u16));
    let rows: Vec<NodeId> = all.clone().filter(|n| !topology.usable_cpus(*n).is_empty()).collect();
    let columns: Vec<NodeId> = all.filter(|n| topology.nodes[n.index()].allowed).collect();
    if rows.is_empty() {
        return Err(MeasureError::Nothing("processors"));
    }
    if columns.is_empty() {
        return Err(MeasureError::Nothing("memory"));
    }
    let mut tables = Tables::default();
    tables.all().into_iter().for_each(|samples| *samples = vec![Vec::new(); rows.len()]);
    let total = (rows.len() * columns.len()) as u64;
    told(0, total);
    let (mut done, mut notes) = (0, Vec::new());
    for &column in &columns {
        let mut memory = Memory::on(topology, column, columns.len() == 1, effort)?;
        for (i, &row) in rows.iter().enumerate() {
            pair(topology, row, &mut memory, effort, &mut tables, i);
            done += 1;
            told(done, total);
        }
        notes.extend(memory.note);
    }
    Ok(measured(topology, &rows, &columns, tables, effort, &notes))
}

/// All quantities of one pair.
fn pair(topology: &Topology, from: NodeId, memory: &mut Memory, effort: Effort, tables: &mut Tables, row: usize) {
    let cpus = topology.usable_cpus(from);
    if row > 0 {
        // The stores of the row before destroyed the cycle of the second buffer.
        memory.large.thread_cycle();
    }
    tables.idle[row].push(latency::idle(&memory.small, cpus[0], effort));
    if memory.really_huge {
        tables.huge[row].push(latency::idle(&memory.large, cpus[0], effort));
    }
    tables.loaded[row].push(latency::loaded(memory, &cpus, effort));
    tables.overlapped[row].push(latency::overlapped(&memory.small, cpus[0], effort));
    let alone = bandwidth::measure(&mut memory.large.buffer, &cpus[..1], Direction::Read, effort);
    tables.streamed[row].push(alone.into_iter().map(bandwidth::line_ps).collect());
    if let Some(cached) = &mut memory.cached {
        let HitSamples { waited, overlapped, streamed } = hits::measure(cached, cpus[0], effort);
        tables.hit_waited[row].push(waited);
        tables.hit_overlapped[row].push(overlapped);
        tables.hit_streamed[row].push(streamed);
        let level = topology.caches.map_or(0, |c| c.shared.bytes);
        tables.level[row].extend(latency::scattered_within(&memory.small, level, cpus[0], effort));
    }
    tables.read[row].push(bandwidth::measure(&mut memory.large.buffer, &cpus, Direction::Read, effort));
    tables.write[row].push(bandwidth::measure(&mut memory.large.buffer, &cpus, Direction::Write, effort));
}

fn measured(
    topology: &Topology,
    rows: &[NodeId],
    columns: &[NodeId],
    tables: Tables,
    effort: Effort,
    notes: &[String],
) -> Measured {
    let os = |nodes: &[NodeId]| nodes.iter().filter_map(|n| topology.os_id(*n)).collect::<Vec<u32>>();
    let full = |s: &Samples| s.iter().all(|r| r.len() == columns.len() && r.iter().all(|c| !c.is_empty()));
    let some = |s: &Samples| full(s).then(|| Table::of_samples(s));
    let ms = effort.each.as_millis();
    let hits = match memory::footprint(topology) {
        Some(bytes) => {
            let level = topology.caches.map_or(0, |c| c.shared.bytes);
            let all = format!(", and all three of {} KiB that its last level holds", bytes >> 10);
            format!("{all}, at random also in {} KiB, all that there is of it", level >> 10)
        }
        None => String::new(),
    };
    let mut how = format!(
        "random cycle of dependent loads 256 bytes apart, idle and with the node's other processors reading; sequential \
         reads and writes by all processors of a node; reads in order and at random by one processor{hits}; {} repeats of {ms} ms, threads pinned and timed by processor time, pages bound and verified",
        effort.repeats
    );
    notes.iter().for_each(|n| how.push_str(&format!("; {n}")));
    Measured {
        when: crate::date::now(),
        how,
        caution: virtualised::caution(topology.virtual_machine.as_deref()),
        cpu_nodes: os(rows),
        memory_nodes: os(columns),
        idle_ps: Table::of_samples(&tables.idle),
        idle_huge_ps: some(&tables.huge),
        loaded_ps: some(&tables.loaded),
        streamed_ps: some(&tables.streamed),
        overlapped_ps: some(&tables.overlapped),
        hit_waited_ps: some(&tables.hit_waited),
        hit_overlapped_ps: some(&tables.hit_overlapped),
        hit_streamed_ps: some(&tables.hit_streamed),
        level_ps: some(&tables.level),
        read_mbs: Table::of_samples(&tables.read),
        write_mbs: Table::of_samples(&tables.write),
    }
}
