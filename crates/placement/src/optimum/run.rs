//! The reads between two writes, and the ways of placing copies over them.
use super::costs::{Costs, Excess};
use super::value::Value;

/// Reads since the last write: what a reference from afar (from global memory) costs each node in all.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) far: Vec<i64>,
    /// Empty without global memory.
    pub(super) global: Vec<i64>,
    pub(super) len: u64,
    /// The reads themselves, folded; only where [`windows`](super::windows) needs them.
    pub(super) reads: Vec<Read>,
}

/// One read, or several that no cheapest placement tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) node: u16,
    pub(super) excess: Excess,
}

/// How the copies over a run came about: enough to rebuild the sets, given where the run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Location at the write before the run.
    pub(super) start: u16,
    pub(super) plan: Plan,
}

/// Presence of global memory over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Plan {
    /// No reads: a write follows a write.
    #[default]
    Direct,
    /// The free first set: every reader has a copy.
    Free,
    /// Never.
    Without,
    /// Always.
    With,
    /// From the second read on.
    Late,
    /// Until read `tau - 2` (counted from 1), absent at `tau - 1` and `tau`, and after that if `back`.
    Window { tau: u32, back: bool },
}

impl Run {
    pub(super) fn new(costs: &Costs) -> Run {
        let global = if costs.copy_global.is_some() { costs.nodes } else { 0 };
        Run { far: vec![0; costs.nodes], global: vec![0; global], ..Run::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, node: usize, e: Excess) {
        self.far[node] = self.far[node].saturating_add(e.far);
        if let Some(sum) = self.global.get_mut(node) {
            *sum = sum.saturating_add(e.global);
        }
        self.len += 1;
    }

    /// Also keeps the read. Of equal reads in a row by one node only the first two and the last two stand alone; the
    /// others are one: no cheapest placement changes anything between them (docs/design/optimum.md, section 5).
    pub(super) fn add_kept(&mut self, node: usize, excess: Excess) {
        self.add(node, excess);
        let read = Read { node: node as u16, excess };
        let n = self.reads.len();
        if n >= 5
            && self.reads[n - 5..]
                .iter()
                .enumerate()
                .all(|(i, r)| if i == 2 { r.node == read.node } else { *r == read })
        {
            let middle = &mut self.reads[n - 3].excess;
            middle.far = middle.far.saturating_add(excess.far);
            middle.global = middle.global.saturating_add(excess.global);
        } else {
            self.reads.push(read);
        }
    }

    pub(super) fn clear(&mut self) {
        self.far.fill(0);
        self.global.fill(0);
        self.len = 0;
        self.reads.clear();
    }
}

/// What a node's reads over a run cost at least: all from afar, or a copy at the first.
#[inline]
pub(super) fn share(reads: i64, copy: i64) -> Value {
    Value::access(reads).min(Value::copy(copy))
}

/// Having a copy at the closing write for certain: made at the first read if that saves anything, else at the write.
#[inline]
pub(super) fn forced(reads: i64, copy: i64) -> Value {
    if reads > 0 { Value::copy(copy) } else { Value::shift(copy) }
}

/// One of the two ways in which the set stays the same over the run: all sums over one kind of copy.
struct Constant<'a> {
    reads: &'a [i64],
    copy: i64,
    /// Sum of all shares (Z), with what global memory costs to begin with.
    all: Value,
    /// Cheapest start (mu), and which.
    start: Value,
    which: usize,
}

impl<'a> Constant<'a> {
    fn new(at: &[Value], reads: &'a [i64], copy: i64, all: Value) -> Constant<'a> {
        let mut c = Constant { reads, copy, all, start: Value::ZERO, which: usize::MAX };
        for (i, (&value, &reads)) in at.iter().zip(reads).enumerate() {
            let share = share(reads, copy);
            c.all += share;
            let start = value - share;
            if c.which == usize::MAX || start < c.start {
                (c.start, c.which) = (start, i);
            }
        }
        c
    }
    /// Cheapest way to end at node `j`, and its start.
    #[inline]
    fn end(&self, j: usize, stay: Value) -> (Value, usize) {
        let come = self.start + forced(self.reads[j], self.copy);
        let (best, start) = if come < stay { (come, self.which) } else { (stay, j) };
        (best + self.all - share(self.reads[j], self.copy), start)
    }
}

/// Closes a run of at least one read on a machine without global memory, or with R >= G: the set of copies stays the
/// same from the first read to the closing write, with global memory in it or without. `at` becomes the cheapest cost
/// of ending at each location, before the closing write itself is charged. `record(end, how)`.
pub(super) fn close(costs: &Costs, at: &mut [Value], run: &Run, mut record: impl FnMut(usize, Choice)) {
    let choice = |start: usize, plan| Choice { start: start as u16, plan };
    let (nodes, without) = (costs.nodes, Constant::new(at, &run.far, costs.copy, Value::ZERO));
    let Some(g) = costs.copy_global else {
        for (j, value) in at.iter_mut().enumerate() {
            let (best, start) = without.end(j, *value);
            record(j, choice(start, Plan::Without));
            *value = best;
        }
        return;
    };
    let with = with_global(at, run, g);
    for (j, value) in at[..nodes].iter_mut().enumerate() {
        let ((plain, start), (global, global_start)) = (without.end(j, *value), with.end(j, *value));
        let cheaper = global < plain;
        record(j, if cheaper { choice(global_start, Plan::With) } else { choice(start, Plan::Without) });
        *value = plain.min(global);
    }
    record(nodes, choice(with.which, Plan::With));
    at[nodes] = with.all + with.start;
}

/// The cheapest cost of a run of at least one read that ends the trace.
pub(super) fn tail(costs: &Costs, at: &[Value], run: &Run) -> (Value, Choice) {
    let without = Constant::new(at, &run.far, costs.copy, Value::ZERO);
    let best = (without.all + without.start, Choice { start: without.which as u16, plan: Plan::Without });
    let Some(g) = costs.copy_global else { return best };
    let with = with_global(at, run, g);
    let other = (with.all + with.start, Choice { start: with.which as u16, plan: Plan::With });
    if other.0 < best.0 { other } else { best }
}

/// Global memory in the set: one copy more, unless the run starts there.
fn with_global<'a>(at: &[Value], run: &'a Run, g: i64) -> Constant<'a> {
    let nodes = run.far.len();
    let mut with = Constant::new(&at[..nodes], &run.global, g, Value::copy(g));
    let from_global = at[nodes] - Value::copy(g);
    if from_global < with.start {
        (with.start, with.which) = (from_global, nodes);
    }
    with
}
