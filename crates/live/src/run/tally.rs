//! What came of a plan: what was placed, what came with another size, what could not be placed and why.
use crate::doc::{PlanOutcome, Scaled, Unplaced};
use homenode_base::agentresult::{NO_MAPPINGS, Outcome, ProcessResult};
use homenode_place::Source;
use homenode_placement::plan::{ObjectKey, Plan};
use std::collections::{BTreeMap, HashSet};

/// How far each thread and each range of a plan came.
pub(crate) struct Tally<'a> {
    plan: &'a Plan,
    pins: Vec<State>,
    entries: Vec<State>,
}

/// The best that was heard of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Reason why the thread or range was not placed, in words.
    Left(String),
    /// Carried out: bytes, and the size that it came with, if that is another one.
    Placed(u64, Option<u64>),
}

/// The better of two: one that was placed.
fn better(old: &State, new: State) -> State {
    match (old, &new) {
        (State::Placed(..), State::Left(_)) => old.clone(),
        _ => new,
    }
}

impl<'a> Tally<'a> {
    /// Nothing was heard of any yet. `sources` says what there are lines for; `dynamic`, whether the program is asked to carry
    /// them out itself.
    pub(crate) fn new(plan: &'a Plan, sources: &[Source], dynamic: bool) -> Tally<'a> {
        let left = |why: &str| State::Left(why.to_owned());
        let silent = || {
            left(if dynamic {
                "no process of the program reported that it placed anything"
            } else {
                "the program is static: only its static data can be moved"
            })
        };
        let has: HashSet<usize> =
            sources.iter().filter_map(|s| if let Source::Entry(i) = s { Some(*i) } else { None }).collect();
        let entry = |i: usize| match (&plan.entries[i].object, has.contains(&i)) {
            (ObjectKey::Symbol { .. }, true) if !dynamic => left("none of its pages was seen in memory"),
            (_, true) => silent(),
            (ObjectKey::Symbol { .. }, false) => left("this build has no such variable of that size"),
            (_, false) => left("it cannot be found in this build"),
        };
        let pins = vec![silent(); plan.threads.len()];
        Tally { plan, pins, entries: (0..plan.entries.len()).map(entry).collect() }
    }

    /// What one process reports; line `i` of its plan is `sources[i]`.
    pub(crate) fn hear(&mut self, process: &ProcessResult, sources: &[Source]) {
        for item in &process.items {
            let Some(source) = sources.get(item.line as usize) else { continue };
            let state = self.state(*source, item.outcome);
            self.set(*source, state);
        }
    }

    /// A range that was placed by other means.
    pub(crate) fn placed(&mut self, source: Source, bytes: u64) {
        self.set(source, State::Placed(bytes, None));
    }

    fn set(&mut self, source: Source, state: State) {
        let (Source::Pin(i) | Source::Entry(i)) = source;
        let list = if matches!(source, Source::Pin(_)) { &mut self.pins } else { &mut self.entries };
        if let Some(old) = list.get_mut(i) {
            *old = better(old, state);
        }
    }

    fn state(&self, source: Source, outcome: Outcome) -> State {
        let never = match source {
            Source::Pin(_) => "no such thread came",
            Source::Entry(i) => match self.plan.entries.get(i).map(|e| &e.object) {
                Some(ObjectKey::Stack { .. }) => "no such thread came",
                Some(ObjectKey::Symbol { .. }) => "its library was not loaded",
                _ => "no such allocation came",
            },
        };
        State::Left(match outcome {
            Outcome::Matched { bytes, .. } => return State::Placed(bytes, None),
            Outcome::Scaled { bytes, size, .. } => return State::Placed(bytes, Some(size)),
            Outcome::NotSeen => never.to_owned(),
            Outcome::OtherSizeOrBuild => "an allocation of another size or build came in its place".to_owned(),
            Outcome::OutsideModule => "its program or library is shorter than the plan says".to_owned(),
            Outcome::Failed { error } => refused(error),
        })
    }

    /// Writes what is known now into the report.
    pub(crate) fn tell(&self, outcome: &mut PlanOutcome) {
        let all = || self.pins.iter().chain(&self.entries);
        let placed = |s: &&State| matches!(s, State::Placed(..));
        outcome.entries = all().count() as u64;
        outcome.placed = all().filter(placed).count() as u64;
        outcome.placed_bytes = self.entries.iter().map(|s| if let State::Placed(n, _) = s { *n } else { 0 }).sum();
        // Threads alone are not what a plan with data is for.
        let judged = if self.entries.is_empty() { &self.pins } else { &self.entries };
        outcome.nothing_placed = !judged.iter().any(|s| matches!(s, State::Placed(..)));
        outcome.scaled = self.scaled();
        outcome.unplaced = self.unplaced();
    }

    fn scaled(&self) -> Vec<Scaled> {
        let mut rows: BTreeMap<(&str, u64, u64), u64> = BTreeMap::new();
        for (entry, state) in self.plan.entries.iter().zip(&self.entries) {
            if let (ObjectKey::Heap { size, .. }, State::Placed(_, Some(came))) = (&entry.object, state) {
                *rows.entry((&entry.name, *size, *came)).or_default() += 1;
            }
        }
        let row = |((name, planned, came), ranges): ((&str, u64, u64), u64)| Scaled {
            name: name.to_owned(),
            planned_bytes: planned,
            came_bytes: came,
            ranges,
        };
        rows.into_iter().map(row).collect()
    }

    /// What was left, by name and reason, the largest first.
    fn unplaced(&self) -> Vec<Unplaced> {
        let pins = self.plan.threads.iter().zip(&self.pins).map(|(p, s)| (format!("thread {}", p.thread), s, 0));
        let entries = self.plan.entries.iter().zip(&self.entries).map(|(e, s)| (e.name.clone(), s, e.bytes));
        let mut rows: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
        for (name, state, bytes) in pins.chain(entries) {
            if let State::Left(why) = state {
                let row = rows.entry((name, why)).or_default();
                *row = (row.0 + 1, row.1.saturating_add(bytes));
            }
        }
        let row = |((name, why), (ranges, bytes)): ((String, &str), (u64, u64))| Unplaced {
            name,
            why: why.to_owned(),
            ranges,
            bytes,
        };
        let mut rows: Vec<Unplaced> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|r| std::cmp::Reverse(r.bytes));
        rows
    }
}

fn refused(error: u32) -> String {
    match error {
        NO_MAPPINGS => "the process has nearly as many mappings as vm.max_map_count allows".to_owned(),
        12 => "refused by the kernel: no memory for the policy".to_owned(),
        22 => "refused by the kernel: a node or processor that this process may not use".to_owned(),
        other => format!("refused by the kernel: {}", std::io::Error::from_raw_os_error(other.cast_signed())),
    }
}
