//! From the choices of the dynamic program back to the placement itself.
use super::Start;
use super::costs::Costs;
use super::run::{Choice, Plan, Read, Run, share};
use super::value::Value;
use super::windows::{self, Options};
use crate::access::{Access, AccessKind};
use crate::placement::{LocationSet, Placement, location};
use homenode_machine::Location;

/// `choices[w * locations + end]`: how write number w was reached at `end`; `last`: how the trace ends.
pub(super) fn placement(costs: &Costs, start: Start, trace: &[Access], choices: &[Choice], last: Choice) -> Placement {
    let mut sets = vec![LocationSet::default(); trace.len()];
    let mut choice = last;
    let mut end = None;
    let mut row = choices.len();
    let mut upto = trace.len();
    loop {
        let write = trace[..upto].iter().rposition(|a| a.kind == AccessKind::Write);
        let from = write.map_or(0, |w| w + 1);
        fill(costs, &trace[from..upto], &mut sets[from..upto], choice, end);
        let Some(write) = write else { break };
        // A choice says where the write before its run was; here that is the write just found.
        let at = usize::from(choice.start);
        sets[write].insert(location(at, costs.nodes));
        row -= costs.locations();
        choice = choices[row + at];
        (end, upto) = (Some(at), write);
    }
    let origin = location(usize::from(choice.start), costs.nodes);
    Placement { start: (start == Start::FreeSingle).then_some(origin), sets, served: Vec::new() }
}

/// The sets over one run of reads.
fn fill(costs: &Costs, reads: &[Access], sets: &mut [LocationSet], choice: Choice, end: Option<usize>) {
    if reads.is_empty() {
        return;
    }
    let mut run = Run::new(costs);
    for a in reads {
        let (node, excess) = (a.node.index(), costs.excess(a));
        run.add(node, excess);
        run.reads.push(Read { node: node as u16, excess });
    }
    let start = location(usize::from(choice.start), costs.nodes);
    let end_node = end.filter(|e| *e < costs.nodes);
    match choice.plan {
        Plan::Free => {
            let mut set: LocationSet = reads.iter().map(|a| Location::Node(a.node)).collect();
            end.into_iter().for_each(|e| set.insert(location(e, costs.nodes)));
            sets.fill(set);
        }
        Plan::Direct => unreachable!("a run with reads is never closed as one without"),
        Plan::Without => sets.fill(constant(costs, &run.far, costs.copy, start, end_node)),
        Plan::With => {
            let copy = costs.copy_global.expect("only chosen with global memory");
            let mut set = constant(costs, &run.global, copy, start, end_node);
            set.insert(Location::Global);
            sets.fill(set);
        }
        Plan::Late => late(costs, &run, sets, start, end_node),
        Plan::Window { tau, back } => Window { costs, run: &run, tau: tau as usize, back }.fill(sets, start, end_node),
    }
}

/// The one set over the whole run: where it starts, and the nodes that get a copy.
fn constant(costs: &Costs, reads: &[i64], copy: i64, start: Location, end: Option<usize>) -> LocationSet {
    let replicated = |k: &usize| share(reads[*k], copy) == Value::copy(copy) || (end == Some(*k) && reads[*k] > 0);
    let mut set: LocationSet = (0..costs.nodes).filter(replicated).map(|k| location(k, costs.nodes)).collect();
    set.insert(start);
    set
}

fn late(costs: &Costs, run: &Run, sets: &mut [LocationSet], start: Location, end: Option<usize>) {
    let options = windows::late_options(costs, run);
    let has_copy = |k: &usize| end == Some(*k) || options.first[*k] < options.never[*k];
    let mut set: LocationSet = (0..costs.nodes).filter(has_copy).map(|k| location(k, costs.nodes)).collect();
    set.insert(start);
    sets[0] = set.clone();
    set.insert(Location::Global);
    sets[1..].fill(set);
}

/// When a node gets its copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Never,
    First,
    Late,
}

struct Window<'a> {
    costs: &'a Costs,
    run: &'a Run,
    tau: usize,
    back: bool,
}

impl Window<'_> {
    fn fill(&self, sets: &mut [LocationSet], start: Location, end: Option<usize>) {
        let options = windows::window_options(self.costs, self.run, self.tau, self.back);
        let when = self.decide(&options, start, end);
        for (i, set) in sets.iter_mut().enumerate() {
            let t = i + 1;
            let absent = t + 1 >= self.tau && (t <= self.tau || !self.back);
            for (k, when) in when.iter().enumerate() {
                if *when == When::First || (*when == When::Late && t >= self.tau) {
                    set.insert(location(k, self.costs.nodes));
                }
            }
            set.insert(start);
            match absent {
                true => set.remove(Location::Global),
                false => set.insert(Location::Global),
            }
        }
    }

    fn decide(&self, o: &Options<'_>, start: Location, end: Option<usize>) -> Vec<When> {
        let last = self.tau > self.run.reads.len();
        let late = |k: usize| o.late.as_ref().map_or(o.first[k], |late| late[k]);
        let shares: Vec<Value> = (0..self.costs.nodes).map(|k| o.share(k, last)).collect();
        let choose = |options: &[(Value, When)]| {
            options.iter().min_by_key(|(value, _)| *value).map_or(When::Never, |(_, when)| *when)
        };
        let mut when: Vec<When> = (0..self.costs.nodes)
            .map(|k| {
                let mut options = vec![(o.never[k], When::Never), (o.first[k], When::First)];
                if !last {
                    options.push((late(k), When::Late));
                }
                choose(&options)
            })
            .collect();
        if let Some(end) = end.filter(|e| location(*e, self.costs.nodes) != start) {
            when[end] = choose(&[(o.first[end], When::First), (late(end), When::Late)]);
        }
        if start == Location::Global {
            let (holder, more) = windows::cheapest_holder(o, &shares);
            match end {
                Some(end) if o.first[end] <= o.end(end) + more => when[end] = When::First,
                _ => when[holder] = When::First,
            }
        }
        when
    }
}
