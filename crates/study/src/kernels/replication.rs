//! With replication (docs/design/optimum.md, section 4), many machines at once.
use super::lanes::{Machines, Num, Row, Total, WIDTH, each};
use crate::fold::coarse::{Ops, Reads, Write};
use homenode_placement::Start;

/// Any number of machines at one block size.
pub(crate) struct Replication<T> {
    start: Start,
    parts: Vec<Part<T>>,
    /// Blocks that are worked on by turns, by slot - 1; what is at work is in the other fields.
    kept: Vec<Kept<T>>,
    met: Met,
    /// Steps since values were brought back, and after how many they have to be.
    steps: u32,
    most: u32,
}

/// A block that is not at work.
struct Kept<T> {
    /// By part.
    states: Vec<State<T>>,
    met: Met,
    steps: u32,
}

/// Which nodes the accesses of the block so far name: the rows of others are all alike.
struct Met {
    /// Block in which each node was met last.
    at: Vec<u32>,
    /// Number of this one.
    block: u32,
}

/// Up to [`WIDTH`] of them.
struct Part<T> {
    machines: Machines<T>,
    state: State<T>,
    /// Excess of all blocks so far, by lane.
    total: Total,
}

/// State of a block.
struct State<T> {
    /// Cost of ending at each node that was met, relative to the offset.
    at: Vec<Row<T>>,
    /// Cost of ending at a node that was not met.
    rest: Row<T>,
    /// Least of all nodes.
    best: Row<T>,
    global: Row<T>,
    offset: Row<T>,
    /// What was taken out of all values.
    base: [i128; WIDTH],
    /// Whether the base is more than zero.
    settled: bool,
}

/// What the reads of a run cost: all shares, and the cheapest start.
struct Run<T> {
    all: Row<T>,
    start: Row<T>,
}

impl<T: Num> Replication<T> {
    pub(crate) fn new(machines: Vec<Machines<T>>, nodes: usize, start: Start) -> Replication<T> {
        let most = machines.iter().map(|m| m.steps).min().unwrap_or(1);
        let part = |machines| Part { machines, state: State::new(nodes), total: Total::default() };
        let met = Met { at: vec![0; nodes], block: 0 };
        let parts = machines.into_iter().map(part).collect();
        Replication { start, parts, kept: Vec::new(), met, steps: 0, most }
    }

    /// Excess of all blocks so far.
    pub(crate) fn sums(&self) -> Vec<[i128; WIDTH]> {
        self.parts.iter().map(|part| part.total.sums()).collect()
    }

    /// One block. Write by write for all machines, so that the processor has independent work.
    #[inline(always)]
    pub(crate) fn block(&mut self, ops: &Ops) {
        let free = self.start == Start::FreeSet;
        if free && ops.first && ops.last && ops.writes().is_empty() {
            return;
        }
        self.exchange(ops.slot);
        if ops.first {
            self.parts.iter_mut().for_each(|part| part.state.begin());
            self.met.next();
            self.steps = 0;
        }
        let mut from = 0;
        for (i, write) in ops.writes().iter().enumerate() {
            let reads = &ops.reads[from..write.reads_end as usize];
            from = write.reads_end as usize;
            // Reads before the first write are free: every reader has a copy.
            let free_run = free && ops.first && i == 0 && from > 0;
            self.write(if free_run { &[] } else { reads }, write, free_run);
        }
        if ops.last {
            self.end(ops);
        }
        self.exchange(ops.slot);
    }

    #[inline(always)]
    fn end(&mut self, ops: &Ops) {
        ops.tail().iter().for_each(|r| self.meet(r.node));
        for Part { machines, state, total } in &mut self.parts {
            let end = state.end(machines, ops.tail());
            if state.settled {
                total.add_large(&state.base, ops.blocks);
            }
            total.add(&each(|i| state.offset[i].plus(end[i])), ops.blocks);
        }
    }

    /// Takes the block in this slot to work, or puts it back.
    #[inline(always)]
    fn exchange(&mut self, slot: usize) {
        if slot > 0 {
            self.exchange_kept(slot - 1);
        }
    }

    #[inline(never)]
    fn exchange_kept(&mut self, at: usize) {
        let Replication { parts, kept, met, steps, .. } = self;
        let nodes = met.at.len();
        if at >= kept.len() {
            let fresh = || Kept {
                states: parts.iter().map(|_| State::new(nodes)).collect(),
                met: Met { at: vec![0; nodes], block: 0 },
                steps: 0,
            };
            kept.resize_with(at + 1, fresh);
        }
        let there = &mut kept[at];
        for (part, state) in parts.iter_mut().zip(&mut there.states) {
            std::mem::swap(&mut part.state, state);
        }
        std::mem::swap(met, &mut there.met);
        std::mem::swap(steps, &mut there.steps);
    }

    #[inline(always)]
    fn write(&mut self, reads: &[Reads], write: &Write, free_run: bool) {
        if write.own > 0 {
            return self.own(write);
        }
        reads.iter().for_each(|r| self.meet(r.node));
        self.meet(write.node);
        for Part { machines, state, .. } in &mut self.parts {
            state.write(machines, reads, write, free_run);
        }
        self.count();
    }

    /// Reads and writes of the node that wrote last, and of nobody else.
    #[inline(always)]
    fn own(&mut self, write: &Write) {
        if self.parts.iter().all(|part| part.machines.global.is_none()) {
            self.parts.iter_mut().for_each(|part| part.state.own(&part.machines, write));
            return self.count();
        }
        let reads = [Reads { node: write.node, count: write.own }];
        for _ in 0..write.times {
            for Part { machines, state, .. } in &mut self.parts {
                state.write(machines, &reads, write, false);
            }
            self.count();
        }
    }

    /// Gives a node its row in every part.
    #[inline(always)]
    fn meet(&mut self, node: u16) {
        let node = usize::from(node);
        if self.met.at[node] != self.met.block {
            self.met.at[node] = self.met.block;
            self.parts.iter_mut().for_each(|Part { state, .. }| state.at[node] = state.rest);
        }
    }

    #[inline(always)]
    fn count(&mut self) {
        self.steps += 1;
        if self.steps >= self.most {
            self.steps = 0;
            let Replication { parts, met, .. } = self;
            parts.iter_mut().for_each(|part| part.state.settle(&part.machines, met));
        }
    }
}

impl Met {
    fn next(&mut self) {
        if self.block == u32::MAX {
            self.at.fill(0);
            self.block = 0;
        }
        self.block += 1;
    }
}

impl<T: Num> State<T> {
    fn new(nodes: usize) -> State<T> {
        let zero = Row::<T>::default();
        State {
            at: vec![zero; nodes],
            rest: zero,
            best: zero,
            global: zero,
            offset: zero,
            base: Default::default(),
            settled: false,
        }
    }

    #[inline(always)]
    fn begin(&mut self) {
        let zero = Row::<T>::default();
        (self.rest, self.best, self.global, self.offset) = (zero, zero, zero, zero);
        if std::mem::take(&mut self.settled) {
            self.base = Default::default();
        }
    }

    /// Sums over the readers, without global memory in the set.
    #[inline(always)]
    fn run(&self, m: &Machines<T>, reads: &[Reads]) -> Run<T> {
        let mut run = Run { all: Row::<T>::default(), start: self.best };
        for r in reads {
            let (share, at) = (m.share.of(r.count), &self.at[usize::from(r.node)]);
            run.all = each(|i| run.all[i].plus(share[i]));
            run.start = each(|i| run.start[i].min(at[i].minus(share[i])));
        }
        run
    }

    /// Sums over the readers, with global memory in the set; nodes are met.
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
        let writer = usize::from(write.node);
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
    }

    /// Reads and writes of the node that wrote last, and of nobody else. Its node costs no more than a move from the best,
    /// and has what it needs; all others pay for each read, or for a copy a run, and for each write. Whoever would pay K
    /// moves to it and back instead, so the sum is capped as a single excess is.
    #[inline(always)]
    fn own(&mut self, m: &Machines<T>, write: &Write) {
        let (share, far) = (m.share.of(write.own), m.write.of(write.count));
        let once = each(|i| share[i].plus(far[i]));
        let (mut left, mut sum) = (write.times, Row::<T>::default());
        while left > 0 {
            let times = left.min(u64::from(m.steps));
            left -= times;
            let times = T::of(times as i64);
            let more = each(|i| sum[i].plus(once[i].times(times)).min(m.limit[i]));
            if more == sum {
                break;
            }
            sum = more;
        }
        let writer = usize::from(write.node);
        self.offset = each(|i| self.offset[i].plus(sum[i]));
        let at = each(|i| self.at[writer][i].minus(sum[i]));
        self.at[writer] = at;
        self.best = each(|i| self.best[i].min(at[i]));
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
            let zero = Row::<T>::default();
            self.at[writer] = end(&self.at[writer], zero, zero);
        }
        self.global = each(|i| with.start[i].plus(more_with[i]));
        self.offset = each(|i| self.offset[i].plus(all[i]));
    }

    /// The cheapest end of the trace, relative to the offset.
    #[inline(always)]
    fn end(&self, m: &Machines<T>, tail: &[Reads]) -> Row<T> {
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
    fn settle(&mut self, m: &Machines<T>, met: &Met) {
        let best = self.best;
        let back = |row: &Row<T>, copy: &Row<T>| each(|i| row[i].min(best[i].plus(copy[i])).minus(best[i]));
        self.rest = back(&self.rest, &m.copy);
        for (at, _) in self.at.iter_mut().zip(&met.at).filter(|(_, block)| **block == met.block) {
            *at = back(at, &m.copy);
        }
        if let Some(g) = &m.global {
            self.global = back(&self.global, &g.copy);
        }
        for (i, base) in self.base.iter_mut().enumerate() {
            *base += i128::from(best[i].wide()) + i128::from(self.offset[i].wide());
        }
        self.best = Row::<T>::default();
        self.offset = self.best;
        self.settled = true;
    }
}
