//! With replication (docs/design/optimum.md, section 4), many machines at once.
use super::lanes::{Machines, Num, Row, Total, WIDTH, each};
use crate::fold::coarse::{Ops, Reads, Write};
use homenode_placement::Start;

/// Up to [`WIDTH`] machines at one block size.
pub(crate) struct Replication<T> {
    machines: Machines<T>,
    start: Start,
    state: State<T>,
    /// Excess of all blocks so far, by lane.
    pub(crate) total: Total,
}

/// State of a block.
struct State<T> {
    /// Cost of ending at each node that was met, relative to the offset.
    at: Vec<Row<T>>,
    /// Block in which each node was met last.
    met: Vec<u32>,
    /// Number of the block.
    block: u32,
    /// Cost of ending at a node that was not met.
    rest: Row<T>,
    /// Least of all nodes.
    best: Row<T>,
    global: Row<T>,
    offset: Row<T>,
    /// What was taken out of all values.
    base: [i128; WIDTH],
    steps: u32,
    /// Whether the base is more than zero.
    settled: bool,
}

/// What the reads of a run cost: all shares, and the cheapest start.
struct Run<T> {
    all: Row<T>,
    start: Row<T>,
}

impl<T: Num> Replication<T> {
    pub(crate) fn new(machines: Machines<T>, nodes: usize, start: Start) -> Replication<T> {
        let zero = [T::default(); WIDTH];
        let state = State {
            at: vec![zero; nodes],
            met: vec![0; nodes],
            block: 0,
            rest: zero,
            best: zero,
            global: zero,
            offset: zero,
            base: Default::default(),
            steps: 0,
            settled: false,
        };
        Replication { machines, start, state, total: Default::default() }
    }

    /// One block.
    #[inline(always)]
    pub(crate) fn block(&mut self, ops: &Ops) {
        let Replication { machines, start, state, total } = self;
        state.begin();
        let mut from = 0;
        for (i, write) in ops.writes.iter().enumerate() {
            let reads = &ops.reads[from..write.reads_end as usize];
            from = write.reads_end as usize;
            // Reads before the first write are free: every reader has a copy.
            let reads = if i == 0 && *start == Start::FreeSet { &[] } else { reads };
            let free_run = i == 0 && *start == Start::FreeSet && from > 0;
            state.write(machines, reads, write, free_run);
        }
        let tail = ops.tail();
        if !(ops.writes.is_empty() && *start == Start::FreeSet) {
            let end = state.end(machines, tail);
            if state.settled {
                total.add_large(&state.base);
            }
            total.add(&each(|i| state.offset[i].plus(end[i])));
        }
    }
}

impl<T: Num> State<T> {
    #[inline(always)]
    fn begin(&mut self) {
        let zero = [T::default(); WIDTH];
        (self.rest, self.best, self.global, self.offset) = (zero, zero, zero, zero);
        self.steps = 0;
        if std::mem::take(&mut self.settled) {
            self.base = Default::default();
        }
        if self.block == u32::MAX {
            self.met.fill(0);
            self.block = 0;
        }
        self.block += 1;
    }

    /// The row of a node.
    #[inline(always)]
    fn meet(&mut self, node: u16) -> usize {
        let node = usize::from(node);
        if self.met[node] != self.block {
            self.met[node] = self.block;
            self.at[node] = self.rest;
        }
        node
    }

    /// Sums over the readers, without global memory in the set.
    #[inline(always)]
    fn run(&mut self, m: &Machines<T>, reads: &[Reads]) -> Run<T> {
        let mut run = Run { all: [T::default(); WIDTH], start: self.best };
        for r in reads {
            let node = self.meet(r.node);
            let (share, at) = (m.share.of(r.count), &self.at[node]);
            run.all = each(|i| run.all[i].plus(share[i]));
            run.start = each(|i| run.start[i].min(at[i].minus(share[i])));
        }
        run
    }

    /// The same with global memory in the set; nodes are met already.
    #[inline(always)]
    fn global_run(&self, m: &Machines<T>, reads: &[Reads]) -> Run<T> {
        let Some(g) = &m.global else { return Run { all: self.best, start: self.best } };
        let start = each(|i| self.best[i].min(self.global[i].minus(g.copy[i])));
        let mut run = Run { all: g.copy, start };
        for r in reads {
            let (share, at) = (g.share.of(r.count), &self.at[usize::from(r.node)]);
            run.all = each(|i| run.all[i].plus(share[i]));
            run.start = each(|i| run.start[i].min(at[i].minus(share[i])));
        }
        run
    }

    #[inline(always)]
    fn write(&mut self, m: &Machines<T>, reads: &[Reads], write: &Write, free_run: bool) {
        let writer = self.meet(write.node);
        let count = if write.free { 0 } else { write.count };
        let far = m.write.of(count);
        match &m.global {
            // All locations cost nothing after free reads, and moving costs something.
            _ if free_run => {}
            None => self.close(m, reads, writer),
            Some(_) if reads.is_empty() => self.direct(m, writer),
            Some(_) => self.close_global(m, reads, writer),
        }
        self.offset = each(|i| self.offset[i].plus(far[i]));
        self.at[writer] = each(|i| self.at[writer][i].minus(far[i]));
        self.best = each(|i| self.best[i].min(self.at[writer][i]));
        if let Some(g) = &m.global {
            let beyond = g.write.of(count);
            self.global = each(|i| self.global[i].plus(beyond[i]).minus(far[i]));
        }
        self.steps += 1;
        if self.steps >= m.steps {
            self.settle(m);
        }
    }

    /// A write right after a write, with global memory: the writer's node may fetch the block, and it may go to global.
    #[inline(always)]
    fn direct(&mut self, m: &Machines<T>, writer: usize) {
        let Some(g) = &m.global else { return };
        let into = each(|i| self.global[i].min(self.best[i].plus(g.copy[i])));
        self.at[writer] = each(|i| {
            let come = self.best[i].plus(m.copy[i]).min(self.global[i].plus(g.copy[i]));
            self.at[writer][i].min(come)
        });
        self.global = into;
    }

    /// The closing write's set of one copy, at each reader and at the writer.
    #[inline(always)]
    fn close(&mut self, m: &Machines<T>, reads: &[Reads], writer: usize) {
        let run = self.run(m, reads);
        self.offset = each(|i| self.offset[i].plus(run.all[i]));
        let come = each(|i| run.start[i].plus(m.copy[i]));
        let mut wrote = false;
        for r in reads {
            let (j, share) = (usize::from(r.node), m.share.of(r.count));
            wrote |= j == writer;
            let at = each(|i| self.at[j][i].min(come[i]).minus(share[i]));
            self.at[j] = at;
            self.best = each(|i| self.best[i].min(at[i]));
        }
        if !wrote {
            self.at[writer] = each(|i| self.at[writer][i].min(come[i]));
        }
    }

    #[inline(always)]
    fn close_global(&mut self, m: &Machines<T>, reads: &[Reads], writer: usize) {
        let Some(g) = &m.global else { return };
        let (plain, with) = (self.run(m, reads), self.global_run(m, reads));
        let all = each(|i| plain.all[i].min(with.all[i]));
        let (more, more_with) = (each(|i| plain.all[i].minus(all[i])), each(|i| with.all[i].minus(all[i])));
        let come = each(|i| plain.start[i].plus(m.copy[i]));
        let come_with = each(|i| with.start[i].plus(g.copy[i]));
        let end = |at: &Row<T>, share: Row<T>, global_share: Row<T>| {
            each(|i| {
                let without = at[i].min(come[i]).plus(more[i]).minus(share[i]);
                without.min(at[i].min(come_with[i]).plus(more_with[i]).minus(global_share[i]))
            })
        };
        let mut wrote = false;
        for r in reads {
            let j = usize::from(r.node);
            wrote |= j == writer;
            let at = end(&self.at[j], m.share.of(r.count), g.share.of(r.count));
            self.at[j] = at;
            self.best = each(|i| self.best[i].min(at[i]));
        }
        if !wrote {
            let zero = [T::default(); WIDTH];
            self.at[writer] = end(&self.at[writer], zero, zero);
        }
        self.global = each(|i| with.start[i].plus(more_with[i]));
        self.offset = each(|i| self.offset[i].plus(all[i]));
    }

    /// The cheapest end of the trace, relative to the offset.
    #[inline(always)]
    fn end(&mut self, m: &Machines<T>, tail: &[Reads]) -> Row<T> {
        if tail.is_empty() {
            return match &m.global {
                None => self.best,
                Some(_) => each(|i| self.best[i].min(self.global[i])),
            };
        }
        let plain = self.run(m, tail);
        let without = each(|i| plain.all[i].plus(plain.start[i]));
        if m.global.is_none() {
            return without;
        }
        let with = self.global_run(m, tail);
        each(|i| without[i].min(with.all[i].plus(with.start[i])))
    }

    /// Brings all values back to where they began.
    #[inline(never)]
    fn settle(&mut self, m: &Machines<T>) {
        let best = self.best;
        let back = |row: &Row<T>, copy: &Row<T>| each(|i| row[i].min(best[i].plus(copy[i])).minus(best[i]));
        self.rest = back(&self.rest, &m.copy);
        for (at, met) in self.at.iter_mut().zip(&self.met) {
            if *met == self.block {
                *at = back(at, &m.copy);
            }
        }
        if let Some(g) = &m.global {
            self.global = back(&self.global, &g.copy);
        }
        for (i, base) in self.base.iter_mut().enumerate() {
            *base += i128::from(best[i].wide()) + i128::from(self.offset[i].wide());
        }
        self.best = [T::default(); WIDTH];
        self.offset = self.best;
        (self.steps, self.settled) = (0, true);
    }
}
