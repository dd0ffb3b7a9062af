//! Runs on machines with R < G, where a copy between nodes is cheaper than one from global memory: then global memory
//! may have to leave the set for two reads so that copies can be made at R (docs/design/optimum.md, section 5).
use super::costs::Costs;
use super::run::{Choice, Plan, Read, Run, forced};
use super::value::Value;
use std::borrow::Cow;

/// What each node can do under one plan.
#[derive(Clone, Debug)]
pub(super) struct Options<'a> {
    /// Values of the reads of each node without ever having a copy.
    pub(super) never: Cow<'a, [Value]>,
    /// A copy from the first read on.
    pub(super) first: Cow<'a, [Value]>,
    /// A copy from read tau on: the reads before, and R. `None` if the plan has no such moment.
    pub(super) late: Option<Cow<'a, [Value]>>,
}

impl Options<'_> {
    /// The cheapest for a node that may but need not have a copy at the end.
    pub(super) fn share(&self, k: usize, tail_window: bool) -> Value {
        let best = self.never[k].min(self.first[k]);
        match &self.late {
            Some(late) if !tail_window => best.min(late[k]),
            _ => best,
        }
    }
    /// The cheapest for the node that must have one.
    pub(super) fn end(&self, k: usize) -> Value {
        self.late.as_ref().map_or(self.first[k], |late| self.first[k].min(late[k]))
    }
}

/// A plan with its prices.
struct Timeline {
    plan: Plan,
    /// Global memory added after a start at a node; `None` if the plan is not open to one.
    from_node: Option<Value>,
    /// Likewise after a start at global memory.
    from_global: Option<Value>,
    /// Whether global memory is absent at some read.
    gap: bool,
    /// Ending at global memory; `None` if not open to it.
    to_global: Option<Value>,
    /// Whether the trace may end after the run.
    may_end: bool,
}

/// The best found so far for each end and for the end of the trace.
struct Best<'a> {
    at: &'a [Value],
    ends: Vec<Option<(Value, Choice)>>,
    tail: Option<(Value, Choice)>,
    shares: Vec<Value>,
}

fn improve(slot: &mut Option<(Value, Choice)>, value: Value, start: usize, plan: Plan) {
    if slot.is_none_or(|(old, _)| value < old) {
        *slot = Some((value, Choice { start: start as u16, plan }));
    }
}

impl Best<'_> {
    fn consider(&mut self, t: &Timeline, o: &Options<'_>) {
        let tail_window = matches!(t.plan, Plan::Window { .. }) && !t.may_end;
        let nodes = self.shares.len();
        let mut all = Value::ZERO;
        for k in 0..nodes {
            self.shares[k] = o.share(k, tail_window);
            all += self.shares[k];
        }
        if let Some(pay) = t.from_node {
            self.start_at_node(t, o, all + pay);
        }
        if let (Some(pay), Some(&at)) = (t.from_global, self.at.get(nodes)) {
            self.start_at_global(t, o, at + all + pay);
        }
    }

    fn start_at_node(&mut self, t: &Timeline, o: &Options<'_>, all: Value) {
        let nodes = self.shares.len();
        let start = |i: usize| self.at[i] - self.shares[i];
        let which = (0..nodes).min_by_key(|i| start(*i)).expect("a machine has a node");
        let cheapest = start(which);
        for j in 0..nodes {
            let come = cheapest + o.end(j);
            let (best, from) = if come < self.at[j] { (come, which) } else { (self.at[j], j) };
            improve(&mut self.ends[j], all - self.shares[j] + best, from, t.plan);
        }
        if let Some(last) = t.to_global {
            improve(&mut self.ends[nodes], all + cheapest + last, which, t.plan);
        }
        if t.may_end {
            improve(&mut self.tail, all + cheapest, which, t.plan);
        }
    }

    /// Where global memory, the start, leaves the set, some node must hold a copy by then.
    fn start_at_global(&mut self, t: &Timeline, o: &Options<'_>, all: Value) {
        let nodes = self.shares.len();
        let holder = if t.gap { cheapest_holder(o, &self.shares).1 } else { Value::ZERO };
        let early = (0..nodes).filter(|k| self.shares[*k] == o.first[*k]).count();
        let held = t.as_counted(early.max(1), holder);
        for j in 0..nodes {
            let (alone, helped) = (o.first[j], o.end(j) + holder);
            let end = match t.gap {
                true if alone <= helped => t.as_counted(early + usize::from(self.shares[j] != alone), alone),
                true => t.as_counted(early.max(1), helped),
                false => o.end(j),
            };
            improve(&mut self.ends[j], all - self.shares[j] + end, nodes, t.plan);
        }
        if let Some(last) = t.to_global {
            improve(&mut self.ends[nodes], all + held + last, nodes, t.plan);
        }
        if t.may_end {
            improve(&mut self.tail, all + held, nodes, t.plan);
        }
    }
}

impl Timeline {
    /// If global memory leaves at the first read already and one node alone takes over, that is a move and no copy.
    fn as_counted(&self, takers: usize, v: Value) -> Value {
        match self.plan {
            Plan::Window { tau: 2, .. } if takers == 1 => Value { moves: v.moves + 1, copies: v.copies - 1, ..v },
            _ => v,
        }
    }
}

/// The node for which having a copy from the first read on costs least more than what it does anyway, and how much.
pub(super) fn cheapest_holder(o: &Options<'_>, shares: &[Value]) -> (usize, Value) {
    let more = |k: usize| o.first[k] - shares[k];
    let k = (0..shares.len()).min_by_key(|k| more(*k)).expect("a machine has a node");
    (k, more(k))
}

/// Closes a run of at least one read; as [`run::close`](super::run::close).
pub(super) fn close(costs: &Costs, at: &mut [Value], run: &Run, mut record: impl FnMut(usize, Choice)) {
    let best = search(costs, at, run);
    for (end, found) in best.ends.into_iter().enumerate() {
        let (value, choice) = found.expect("every end can be reached without and with global memory");
        record(end, choice);
        at[end] = value;
    }
}

/// The cheapest cost of a run of at least one read that ends the trace.
pub(super) fn tail(costs: &Costs, at: &[Value], run: &Run) -> (Value, Choice) {
    search(costs, at, run).tail.expect("a trace can end after any run")
}

/// Tries every plan. [`close`] takes the ends out of the result before it writes to `at`, hence the copy.
fn search(costs: &Costs, at: &[Value], run: &Run) -> BestWindows {
    let shares = vec![Value::ZERO; costs.nodes];
    let mut best = Best { at, ends: vec![None; at.len()], tail: None, shares };
    let g = costs.copy_global.expect("the machine has global memory");
    let constant = |reads: &[i64], copy| Options {
        never: reads.iter().map(|r| Value::access(*r)).collect(),
        first: reads.iter().map(|r| forced(*r, copy)).collect(),
        late: None,
    };
    let plain = Timeline {
        plan: Plan::Without,
        from_node: Some(Value::ZERO),
        from_global: None,
        gap: true,
        to_global: Some(Value::shift(g)),
        may_end: true,
    };
    best.consider(&plain, &constant(&run.far, costs.copy));
    let always = Timeline {
        plan: Plan::With,
        from_node: Some(Value::copy(g)),
        from_global: Some(Value::ZERO),
        gap: false,
        to_global: Some(Value::ZERO),
        may_end: true,
    };
    best.consider(&always, &constant(&run.global, g));
    if run.reads.len() >= 2 {
        let to_global = Some(Value::ZERO);
        let late = Timeline { plan: Plan::Late, from_global: None, to_global, ..always };
        best.consider(&late, &late_options(costs, run));
    }
    windows(&mut best, costs, run, g);
    BestWindows { ends: best.ends, tail: best.tail }
}

struct BestWindows {
    ends: Vec<Option<(Value, Choice)>>,
    tail: Option<(Value, Choice)>,
}

/// Global memory from the second read on: the first read of the run finds it absent, so copies made then cost R.
pub(super) fn late_options(costs: &Costs, run: &Run) -> Options<'static> {
    let mut never: Vec<Value> = run.global.iter().map(|r| Value::access(*r)).collect();
    let Read { node, excess } = run.reads[0];
    never[usize::from(node)] += Value::access(excess.far - excess.global);
    Options { first: vec![Value::copy(costs.copy); costs.nodes].into(), never: never.into(), late: None }
}

/// Every window `tau - 1, tau` without global memory, with and without its return.
fn windows(best: &mut Best<'_>, costs: &Costs, run: &Run, g: i64) {
    let k = run.reads.len();
    let mut sweep = Sweep::new(costs, run);
    for tau in 2..=k + 1 {
        sweep.advance(tau);
        let last = tau == k + 1;
        let stay = Timeline {
            plan: Plan::Window { tau: tau as u32, back: false },
            from_node: (tau > 2).then_some(Value::copy(g)),
            from_global: Some(Value::ZERO),
            gap: true,
            to_global: (!last).then_some(Value::shift(g)),
            may_end: !last,
        };
        best.consider(&stay, &sweep.options(false));
        if tau < k {
            let back = Timeline {
                plan: Plan::Window { tau: tau as u32, back: true },
                // From a node, having it from the second read on instead costs less (docs/design/optimum.md, section 5).
                from_node: None,
                from_global: Some(Value::copy(g)),
                to_global: Some(Value::ZERO),
                ..stay
            };
            best.consider(&back, &sweep.options(true));
        }
    }
}

/// The options of one window after another, in constant time each.
struct Sweep<'a> {
    run: &'a Run,
    copy: i64,
    stay: Vec<Value>,
    back: Vec<Value>,
    first: Vec<Value>,
    late: Vec<Value>,
}

impl<'a> Sweep<'a> {
    /// Before window 2: at 1, nothing is read from global memory if it stays away.
    fn new(costs: &Costs, run: &'a Run) -> Sweep<'a> {
        let g = costs.copy_global.expect("the machine has global memory");
        let sums = |of: &[i64]| of.iter().map(|r| Value::access(*r)).collect();
        let mut sweep = Sweep {
            run,
            copy: costs.copy,
            stay: sums(&run.far),
            back: sums(&run.global),
            first: vec![Value::copy(g); costs.nodes],
            late: vec![Value::copy(costs.copy); costs.nodes],
        };
        let Read { node, excess } = run.reads[0];
        sweep.back[usize::from(node)].cost += excess.far - excess.global;
        sweep
    }

    /// From window `tau - 1` to window `tau`.
    fn advance(&mut self, tau: usize) {
        let more = |r: &Read| r.excess.far - r.excess.global;
        let read = |t: usize| self.run.reads.get(t.wrapping_sub(1));
        if let Some(r) = read(tau - 2) {
            let k = usize::from(r.node);
            self.stay[k].cost -= more(r);
            self.back[k].cost -= more(r);
            self.late[k].cost -= more(r);
        }
        if let Some(r) = read(tau) {
            self.back[usize::from(r.node)].cost += more(r);
        }
        if let Some(r) = read(tau - 1) {
            self.late[usize::from(r.node)].cost += r.excess.far;
        }
        if tau > self.run.reads.len() {
            let change = Value::shift(self.copy) - Value::copy(self.copy);
            self.late.iter_mut().for_each(|v| *v += change);
        }
    }

    fn options(&self, back: bool) -> Options<'_> {
        let never = if back { &self.back } else { &self.stay };
        Options { never: never.into(), first: (&self.first).into(), late: Some((&self.late).into()) }
    }
}

/// What each node can do if global memory is absent at reads `tau - 1` and `tau` (counted from 1).
pub(super) fn window_options(costs: &Costs, run: &Run, tau: usize, back: bool) -> Options<'static> {
    let g = costs.copy_global.expect("the machine has global memory");
    let mut never = vec![Value::ZERO; costs.nodes];
    let mut late = vec![Value::ZERO; costs.nodes];
    for (i, r) in run.reads.iter().enumerate() {
        let (t, node) = (i + 1, usize::from(r.node));
        let absent = t + 1 >= tau && (t <= tau || !back);
        let cost = Value::access(if absent { r.excess.far } else { r.excess.global });
        never[node] += cost;
        if t < tau {
            late[node] += cost;
        }
    }
    let added = if tau > run.reads.len() { Value::shift(costs.copy) } else { Value::copy(costs.copy) };
    late.iter_mut().for_each(|v| *v += added);
    Options { never: never.into(), first: vec![Value::copy(g); costs.nodes].into(), late: Some(late.into()) }
}

#[cfg(test)]
mod tests {
    use super::super::costs::Excess;
    use super::*;
    use homenode_base::{Cost, NodeId, Rng};
    use homenode_machine::{CopyCost, GlobalMemory, Machine, Matrix};

    #[test]
    fn sweeping_gives_the_options_of_every_window() {
        let mut machine: Machine = homenode_machine::models::find("ace").expect("in the registry");
        machine.shape.cores = vec![1; 3];
        machine.cost.read = Matrix::uniform(3, Cost(1), Cost(5));
        (machine.cost.write, machine.cost.write_back) = (machine.cost.read.clone(), machine.cost.read.clone());
        machine.cost.copy = CopyCost::linear(Cost(4), Cost(0));
        machine.cost.global = Some(GlobalMemory { access: Cost(2), copy: CopyCost::linear(Cost(9), Cost(0)) });
        let costs = Costs::new(&machine, 4);
        let mut rng = Rng::new(3);
        for k in 1..9 {
            let mut run = Run::new(&costs);
            for _ in 0..k {
                let global = rng.below(3) as i64;
                let far = global + rng.below(4) as i64;
                let node = NodeId(rng.below(3) as u16);
                run.add(node.index(), Excess { far, global });
                run.reads.push(Read { node: node.0, excess: Excess { far, global } });
            }
            let mut sweep = Sweep::new(&costs, &run);
            for tau in 2..=k + 1 {
                sweep.advance(tau);
                let (stay, back) = (window_options(&costs, &run, tau, false), window_options(&costs, &run, tau, true));
                assert_eq!((&sweep.stay[..], &sweep.back[..]), (&stay.never[..], &back.never[..]), "k {k} tau {tau}");
                assert_eq!((&sweep.late[..], &sweep.first[..]), (&stay.late.expect("has one")[..], &stay.first[..]));
            }
        }
    }
}
