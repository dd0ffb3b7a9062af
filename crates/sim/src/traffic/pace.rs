//! Time that passes in each window besides what depends on where blocks live.
use super::TrafficOptions;
use homenode_base::{Cost, TotalCost};
use homenode_threads::ThreadBinding;

/// One window.
#[derive(Clone, Debug, Default)]
struct Window {
    /// References by processor in use.
    refs: Vec<u64>,
    /// What transfers and hits in last levels cost, by node.
    fixed: Vec<TotalCost>,
}

/// References of processors, and costs that are the same wherever blocks live.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    options: TrafficOptions,
    /// By thread, its processor among those in use, and its node.
    threads: Vec<(usize, usize)>,
    /// By processor in use, its node.
    nodes: Vec<usize>,
    windows: Vec<Window>,
    /// References so far, without spins, as a replay counts them.
    now: u64,
    /// Of the current reference.
    window: usize,
    node: usize,
}

impl Pace {
    pub(crate) fn new(options: TrafficOptions, bindings: &[ThreadBinding]) -> Pace {
        let mut used: Vec<(u16, usize)> = bindings.iter().map(|b| (b.cpu, b.node.index())).collect();
        used.sort_unstable();
        used.dedup();
        let place = |b: &ThreadBinding| used.partition_point(|u| *u < (b.cpu, b.node.index()));
        Pace {
            options,
            threads: bindings.iter().map(|b| (place(b), b.node.index())).collect(),
            nodes: used.iter().map(|(_, node)| *node).collect(),
            windows: Vec::new(),
            now: 0,
            window: 0,
            node: 0,
        }
    }

    /// The next reference, which is no spin.
    #[inline]
    pub(crate) fn reference(&mut self, thread: u32, weight: u32) {
        let Some((cpu, node)) = self.threads.get(thread as usize).copied() else { return };
        (self.window, self.node) = (self.options.index(self.now + 1), node);
        self.now += u64::from(weight);
        if self.window >= self.windows.len() {
            let count = self.nodes.iter().max().map_or(0, |most| most + 1);
            let none = Window { refs: vec![0; self.nodes.len()], fixed: vec![TotalCost::ZERO; count] };
            self.windows.resize(self.window + 1, none);
        }
        self.windows[self.window].refs[cpu] += u64::from(weight);
    }

    /// A cost of the current reference that is the same wherever blocks live.
    #[inline]
    pub(crate) fn fixed(&mut self, cost: Cost) {
        if let Some(sum) = self.windows.get_mut(self.window).and_then(|w| w.fixed.get_mut(self.node)) {
            *sum += cost;
        }
    }

    /// How many windows there are.
    pub(crate) fn windows(&self) -> usize {
        self.windows.len()
    }

    /// References, without spins.
    pub(super) fn refs(&self) -> u64 {
        self.now
    }

    /// Costs of each node in a window that are the same wherever blocks live.
    pub(super) fn fixed_costs(&self, window: usize) -> &[TotalCost] {
        &self.windows[window].fixed
    }

    /// Picoseconds that a window takes where the accesses of each node cost so much, and a reference takes so long besides.
    pub(super) fn time(&self, window: usize, costs: &[TotalCost], reference_ps: u64) -> u128 {
        let Window { refs, fixed } = &self.windows[window];
        let of = |node: usize| self.nodes.iter().zip(refs).filter(move |(n, _)| **n == node).map(|(_, refs)| *refs);
        let waits = (0..costs.len().max(fixed.len())).map(|node| {
            let part = |from: &[TotalCost]| from.get(node).map_or(0, |c| c.0.max(0).unsigned_abs());
            let cost = part(costs).saturating_add(part(fixed));
            // Who has most of a node's references has most of its cost. A node without references has no cost, but where lines leave its caches.
            let (most, all) = (of(node).max().unwrap_or(0), of(node).sum::<u64>());
            if all == 0 { cost } else { cost.saturating_mul(most.into()) / u128::from(all) }
        });
        let computed = u128::from(reference_ps).saturating_mul(refs.iter().max().copied().unwrap_or(0).into());
        waits.max().unwrap_or(0).max(computed)
    }
}
