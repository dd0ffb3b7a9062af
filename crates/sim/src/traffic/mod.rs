//! Bandwidth: bytes that memories are asked for in windows of virtual time, beside what they serve.
//!
//! The cost of a miss supposes that it has the memory to itself. In each *window* (so many references of the merged order) a policy's
//! accesses take a time, that of the node which waits longest; the lines that go between nodes in the window need a time, too, at the
//! rates of [`Bandwidth`]. Where they need more, the window takes as long as they do.
//!
//! * Time of a node: what its accesses cost, under the policy, but for write-backs, which nobody waits for, with its transfers and its hits in last levels, shared among its processors as they
//!   share its references of the window. A window takes at least as long as its busiest processor computes, where that is known: of the time that the
//!   program took without hooks, what its accesses under first touch leave, spread evenly over its references.
//! * Lines: a miss reads one from its home, a write-back writes one there, a copy or move reads a block at the one and writes it at the
//!   other. The memory of a node serves both after each other, as do the wires from a node's processors to another node.
//!
//! What is longer is beside all totals and in none: the optimum knows nothing of it. All is counted in whole numbers.
mod pace;
mod windows;

use crate::evaluation::{Bottleneck, Serves, Traffic, TrafficRow};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Bandwidth, Machine, ReadWrite, Unit};
pub(crate) use pace::Pace;
pub(crate) use windows::Windows;

/// Windows of a run.
const WINDOWS: u64 = 256;
/// References of a window at least: below, a few misses that happen to meet would look like demand.
const WINDOW_MIN: u64 = 4096;
/// Machines with more nodes are not looked at: what is kept grows with pairs of them.
const NODES_MAX: usize = 64;
/// Bytes and picoseconds to MB/s: bytes / ps x 10^6.
const MBS: u128 = 1_000_000;

/// How traffic is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficOptions {
    /// References of a window, at least 1.
    pub window: u64,
    /// Picoseconds of processor time that all threads took in the program without hooks; `None` if nobody knows.
    pub native_ps: Option<u64>,
}

impl TrafficOptions {
    /// For a recording of so many references on a machine; `None` where the machine does not say what its memories serve, or in no unit of time.
    pub fn new(machine: &Machine, refs: u64, native_ps: Option<u64>) -> Option<TrafficOptions> {
        let is_known = machine.bandwidth().is_some() && machine.unit == Unit::Picoseconds;
        let can_be = is_known && machine.sections.caches.is_some() && machine.nodes() <= NODES_MAX;
        can_be.then(|| TrafficOptions { window: refs.div_ceil(WINDOWS).max(WINDOW_MIN), native_ps })
    }
    /// Where a time is. Recordings that are longer than they say end in the last window.
    fn index(&self, t: u64) -> usize {
        (t / self.window).min(WINDOWS) as usize
    }
}

/// A memory (no `from`), or the wires from a node's processors to it: what it served while it was what a window waited for.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    bytes: u128,
    /// Picoseconds of those windows, without and with it.
    without: u128,
    needed: u128,
}

/// What memories and wires serve.
pub(crate) struct Served {
    nodes: usize,
    memory: Vec<Option<ReadWrite>>,
    /// By `from * nodes + home`.
    wires: Vec<Option<ReadWrite>>,
}

impl Served {
    pub(crate) fn new(bandwidth: &Bandwidth, nodes: usize) -> Served {
        let node = |i: usize| NodeId(i as u16);
        let wire = |i: usize| {
            let (from, home) = (i / nodes, i % nodes);
            if from == home { None } else { bandwidth.path(node(from), node(home)) }
        };
        Served {
            nodes,
            memory: (0..nodes).map(|home| bandwidth.node(node(home), nodes)).collect(),
            wires: (0..nodes * nodes).map(wire).collect(),
        }
    }

    /// What the lines between nodes, by `from * nodes + home`, need longest for: the place (below `nodes` a memory, else wires), its bytes, picoseconds.
    fn slowest(&self, lines: &[ReadWrite]) -> Option<(usize, u64, u128)> {
        let memory = self.memory.iter().enumerate().map(|(home, rates)| {
            let asked = lines.iter().skip(home).step_by(self.nodes).fold(ReadWrite::default(), plus);
            (home, asked, rates)
        });
        let wires = self.wires.iter().zip(lines).enumerate().map(|(i, (rates, asked))| (self.nodes + i, *asked, rates));
        let needed = memory
            .chain(wires)
            .filter_map(|(place, asked, rates)| Some((place, asked.sum(), asked.picoseconds((*rates)?))));
        needed.reduce(|a, b| if b.2 > a.2 { b } else { a })
    }

    /// Picoseconds that all memories together need for these lines, however they are spread; 0 if one serves nobody knows how much.
    fn together(&self, lines: &[ReadWrite]) -> u128 {
        const WHOLE: u128 = 1 << 100;
        let all = lines.iter().fold(ReadWrite::default(), plus);
        let each = self.memory.iter().map(|rates| Some(WHOLE / all.picoseconds((*rates)?).max(1)));
        each.sum::<Option<u128>>().filter(|_| all.sum() > 0).map_or(0, |speed| WHOLE / speed.max(1))
    }
}

fn plus(a: ReadWrite, b: &ReadWrite) -> ReadWrite {
    ReadWrite { read: a.read.saturating_add(b.read), write: a.write.saturating_add(b.write) }
}

/// What the traffic of policies comes to; `first_touch` is the place of one that neither moves nor copies.
pub(crate) fn traffic(
    options: TrafficOptions,
    served: &Served,
    pace: &Pace,
    (policies, first_touch): (&[(String, Option<&Windows<'_>>)], Option<usize>),
) -> Traffic {
    let serves = served.memory.iter().zip(0..).filter_map(|(rates, node)| {
        rates.map(|ReadWrite { read, write }| Serves { node, read_mbs: read, write_mbs: write })
    });
    let first_touch = first_touch.and_then(|i| policies.get(i)?.1);
    let reference_ps =
        options.native_ps.zip(first_touch).map(|(native, windows)| computing(native.into(), pace, windows));
    let rows = policies
        .iter()
        .filter_map(|(name, windows)| Some(row(name.clone(), served, (pace, reference_ps.unwrap_or(0)), (*windows)?)));
    Traffic {
        windows: pace.windows() as u64,
        window_refs: options.window,
        reference_ps,
        serves: serves.collect(),
        policies: rows.collect(),
    }
}

/// Picoseconds that a reference takes on the mean, besides what its accesses cost.
fn computing(native_ps: u128, pace: &Pace, windows: &Windows<'_>) -> u64 {
    let costs = (0..pace.windows()).flat_map(|w| windows.costs(w).iter().chain(pace.fixed_costs(w)));
    let waited: TotalCost = costs.copied().sum();
    let left = native_ps.saturating_sub(waited.0.max(0).unsigned_abs());
    u64::try_from(left / u128::from(pace.refs()).max(1)).unwrap_or(u64::MAX)
}

fn row(name: String, served: &Served, (pace, reference_ps): (&Pace, u64), windows: &Windows<'_>) -> TrafficRow {
    let mut waited = vec![Waited::default(); served.nodes * (served.nodes + 1)];
    let (mut time, mut longer, mut evenly, mut stretched) = (0u128, 0u128, 0u128, 0);
    for w in 0..pace.windows() {
        let without = pace.time(w, windows.costs(w), reference_ps);
        time += without;
        evenly += without.max(windows.line(w).map_or(0, |lines| served.together(lines)));
        let Some((place, bytes, needed)) = windows.line(w).and_then(|lines| served.slowest(lines)) else { continue };
        if needed > without {
            let at = &mut waited[place];
            (at.bytes, at.without, at.needed) =
                (at.bytes + u128::from(bytes), at.without + without, at.needed + needed);
            longer += needed - without;
            stretched += 1;
        }
    }
    let most = waited.iter().enumerate().max_by_key(|(i, at)| (at.needed - at.without, std::cmp::Reverse(*i)));
    let most = most.filter(|_| stretched > 0).map(|(place, at)| bottleneck(place, at, served.nodes));
    let [time, longer, evenly] = [time, longer, evenly].map(total);
    TrafficRow { name, time, longer, evenly, windows_longer: stretched, most }
}

fn bottleneck(place: usize, at: &Waited, nodes: usize) -> Bottleneck {
    let mbs = |ps: u128| u64::try_from(at.bytes.saturating_mul(MBS) / ps.max(1)).unwrap_or(u64::MAX);
    let (from, home) = match place.checked_sub(nodes) {
        None => (None, place),
        Some(wire) => (Some((wire / nodes) as u16), wire % nodes),
    };
    Bottleneck {
        from,
        home: home as u16,
        asked_mbs: mbs(at.without),
        serves_mbs: mbs(at.needed),
        longer: total(at.needed - at.without),
    }
}

fn total(ps: u128) -> TotalCost {
    TotalCost(i128::try_from(ps).unwrap_or(i128::MAX))
}

#[cfg(test)]
mod tests;
