//! What the decisions of a policy ask of memories, by window.
use super::TrafficOptions;
use homenode_base::TotalCost;
use homenode_machine::{AccessClass, Location, Machine, ReadWrite};
use homenode_placement::events::{COPY, MOVE, POLICIES, Paths};
use homenode_placement::{BlockEngine, EventCounts, Step};
use std::borrow::Cow;
use std::sync::Arc;

/// One window.
#[derive(Clone, Debug, Default)]
struct Window {
    /// Bytes between nodes, by `from * nodes + home`.
    lines: Vec<ReadWrite>,
    /// What the accesses of each node that somebody waits for cost, and copies that come to it.
    costs: Vec<TotalCost>,
}

/// The windows of one policy.
pub(crate) struct Windows<'m> {
    options: TrafficOptions,
    machine: &'m Machine,
    block_bytes: u64,
    line_bytes: u64,
    windows: Vec<Window>,
    /// What happened in the piece of a window that is looked at.
    piece: EventCounts,
}

impl<'m> Windows<'m> {
    /// Nothing has happened. `paths` are [`Paths::apart`].
    pub(crate) fn new(
        options: TrafficOptions,
        machine: &'m Machine,
        block_bytes: u64,
        paths: &Arc<Paths>,
    ) -> Windows<'m> {
        let line_bytes = machine.sections.caches.as_ref().map_or(64, |c| c.line_bytes.into());
        let piece = EventCounts::new(&POLICIES, paths.clone());
        Windows { options, machine, block_bytes, line_bytes, windows: Vec::new(), piece }
    }

    /// References of a window.
    pub(crate) fn period(&self) -> u64 {
        self.options.window
    }

    /// Runs a policy on steps, window by window, each as they come, and adds what happens to its counts. Blocks are independent, and of each block
    /// steps come in order.
    pub(crate) fn run(&mut self, engine: &mut dyn BlockEngine, steps: &[Step], counts: &mut EventCounts) {
        let options = self.options;
        let index = |s: &Step| options.index(s.access.t.0);
        let mut sorted = Cow::from(steps);
        if !steps.is_sorted_by_key(index) {
            sorted.to_mut().sort_by_key(index);
        }
        for piece in sorted.chunk_by(|a, b| index(a) == index(b)) {
            engine.run(piece, &mut self.piece);
            counts.absorb(&self.piece);
            note(&mut self.windows, index(&piece[0]), &self.piece, (self.machine, self.block_bytes, self.line_bytes));
            self.piece.clear();
        }
    }

    /// Bytes between nodes in a window, if there were any.
    pub(super) fn line(&self, window: usize) -> Option<&[ReadWrite]> {
        self.windows.get(window).map(|w| &w.lines[..]).filter(|lines| !lines.is_empty())
    }
    /// What the accesses of each node that somebody waits for cost in a window.
    pub(super) fn costs(&self, window: usize) -> &[TotalCost] {
        self.windows.get(window).map_or(&[], |w| &w.costs)
    }
}

/// Adds what happened in a piece of a window.
fn note(
    windows: &mut Vec<Window>,
    at: usize,
    piece: &EventCounts,
    (machine, block_bytes, line_bytes): (&Machine, u64, u64),
) {
    const WRITE_BACK: usize = AccessClass::WriteBack as usize;
    const FREE: usize = AccessClass::Free as usize;
    let nodes = machine.nodes();
    if at >= windows.len() {
        windows.resize(at + 1, Window::default());
    }
    let window = &mut windows[at];
    window.lines.resize(nodes * nodes, ReadWrite::default());
    window.costs.resize(nodes, TotalCost::ZERO);
    let mut bytes = |from: usize, home: usize, read: u64, write: u64| {
        let sum = &mut window.lines[from * nodes + home];
        *sum = super::plus(*sum, &ReadWrite { read, write });
    };
    for (kind, (from, to), times) in piece.happened() {
        let (Location::Node(from), Location::Node(to)) = (from, to) else { continue };
        let (from, to, lines) = (from.index(), to.index(), times.saturating_mul(line_bytes));
        let whole = times.saturating_mul(block_bytes);
        let who = match kind {
            FREE => continue,
            // Nobody waits for it: its price is bandwidth, which is counted here.
            WRITE_BACK => {
                bytes(from, to, 0, lines);
                continue;
            }
            // The node that gets a block reads it where it is and writes it to its own memory.
            COPY | MOVE => {
                bytes(to, from, whole, 0);
                bytes(to, to, 0, whole);
                to
            }
            _ => {
                bytes(from, to, lines, 0);
                from
            }
        };
        let place = |i: usize| Location::Node(homenode_base::NodeId(i as u16));
        window.costs[who] += (POLICIES.kinds[kind].price)(machine, block_bytes, place(from), place(to)).times(times);
    }
}
