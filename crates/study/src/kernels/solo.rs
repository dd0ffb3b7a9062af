//! Without replication (docs/design/optimum.md, section 3), many machines at once.
use super::lanes::{Machines, Num, Row, Total, WIDTH, each};
use homenode_machine::AccessClass;
use homenode_placement::Step;

/// Any number of machines at one block size.
pub(crate) struct Solo<T> {
    parts: Vec<Part<T>>,
}

impl<T: Num> Solo<T> {
    pub(crate) fn new(machines: Vec<Machines<T>>, nodes: usize) -> Solo<T> {
        Solo { parts: machines.into_iter().map(|m| Part::new(m, nodes)).collect() }
    }
    /// Excess of all blocks so far.
    pub(crate) fn sums(&self) -> Vec<[i128; WIDTH]> {
        self.parts.iter().map(|part| part.total.sums()).collect()
    }
    /// One block.
    #[inline(always)]
    pub(crate) fn block(&mut self, steps: &[Step]) {
        for part in &mut self.parts {
            part.block(steps);
        }
    }
}

/// Up to [`WIDTH`] of them.
struct Part<T> {
    machines: Machines<T>,
    /// Cost of ending at each node that was met, relative to the offset.
    at: Vec<Row<T>>,
    /// Block in which each node was met last, and the number of this one.
    met: Vec<u32>,
    block: u32,
    /// Excess of all blocks so far.
    total: Total,
}

/// What is known of a block beside its nodes, relative to the offset.
struct State<T> {
    rest: Row<T>,
    best: Row<T>,
    global: Row<T>,
    offset: Row<T>,
    base: [i128; WIDTH],
    steps: u32,
    settled: bool,
}

impl<T: Num> Part<T> {
    fn new(machines: Machines<T>, nodes: usize) -> Part<T> {
        let at = vec![Row::<T>::default(); nodes];
        Part { machines, at, met: vec![0; nodes], block: 0, total: Total::default() }
    }

    /// One block.
    #[inline(always)]
    fn block(&mut self, steps: &[Step]) {
        let zero = Row::<T>::default();
        let mut s = State {
            rest: zero,
            best: zero,
            global: zero,
            offset: zero,
            base: Default::default(),
            steps: 0,
            settled: false,
        };
        if self.block == u32::MAX {
            self.met.fill(0);
            self.block = 0;
        }
        self.block += 1;
        for step in steps {
            self.step(&mut s, step);
        }
        if s.settled {
            self.total.add_large(&s.base, 1);
        }
        let least = if self.machines.global.is_some() { each(|i| s.best[i].min(s.global[i])) } else { s.best };
        self.total.add(&each(|i| s.offset[i].plus(least[i])), 1);
    }

    #[inline(always)]
    fn step(&mut self, s: &mut State<T>, step: &Step) {
        let m = &self.machines;
        let a = &step.access;
        let (node, count) = (a.node.index(), u64::from(a.weight));
        if self.met[node] != self.block {
            self.met[node] = self.block;
            self.at[node] = s.rest;
        }
        let (far, beyond) = match a.class {
            AccessClass::Read => (m.read.of(count), m.global.as_ref().map(|g| g.read.of(count))),
            AccessClass::Write => (m.write.of(count), m.global.as_ref().map(|g| g.write.of(count))),
            // Free; write-backs have machines with caches, which do not come here.
            _ => (m.read.of(0), m.global.as_ref().map(|g| g.read.of(0))),
        };
        let mut here = each(|i| self.at[node][i].min(s.best[i].plus(m.copy[i])));
        if let (Some(g), Some(beyond)) = (&m.global, beyond) {
            here = each(|i| here[i].min(s.global[i].plus(g.copy[i])));
            let into = each(|i| s.global[i].min(s.best[i].plus(g.copy[i])));
            s.global = each(|i| into[i].plus(beyond[i]).minus(far[i]));
        }
        let here = each(|i| here[i].minus(far[i]));
        self.at[node] = here;
        s.best = each(|i| s.best[i].min(here[i]));
        s.offset = each(|i| s.offset[i].plus(far[i]));
        s.steps += 1;
        if s.steps >= m.steps {
            self.settle(s);
        }
    }

    #[inline(never)]
    fn settle(&mut self, s: &mut State<T>) {
        let m = &self.machines;
        let best = s.best;
        let back = |row: &Row<T>, copy: &Row<T>| each(|i| row[i].min(best[i].plus(copy[i])).minus(best[i]));
        s.rest = back(&s.rest, &m.copy);
        for (at, _) in self.at.iter_mut().zip(&self.met).filter(|(_, met)| **met == self.block) {
            *at = back(at, &m.copy);
        }
        if let Some(g) = &m.global {
            s.global = back(&s.global, &g.copy);
        }
        for (i, base) in s.base.iter_mut().enumerate() {
            *base += i128::from(best[i].wide()) + i128::from(s.offset[i].wide());
        }
        s.best = Row::<T>::default();
        s.offset = s.best;
        (s.steps, s.settled) = (0, true);
    }
}
