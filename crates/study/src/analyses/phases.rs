//! What one home per phase of the program would be worth, with phases as the program marked them: between barriers, or from
//! one named phase to the next; beside as many windows of equal length, which know nothing of the program.
//!
//! The policy `phase-static` has windows of virtual time only, since policies see accesses and not events. Homes and moves
//! are the cheapest, found by [`PhaseStatic`], so each row is a bound for whoever moves blocks at those times: between the
//! best static placement and the optimum without replication.
use super::{AnalysisError, Input, Need, Spec, input, table::table};
use crate::Question;
use hashbrown::HashMap;
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::{AccessClass, Machine};
use homenode_placement::optimum::{PhaseState, PhaseStatic};
use homenode_placement::{Access, AccessKind, Tally};
use homenode_sim::ThreadBinding;
use homenode_table::Table;
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged, Op};
use std::collections::BTreeSet;

pub(crate) static SPEC: Spec = Spec {
    name: "phases",
    summary: "what one home per phase is worth, with phases by recorded barriers, named phases, or windows of equal length",
    needs: &[Need::Exact, Need::Machine],
    repeats: 1,
    run,
};

/// What begins a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseBy {
    /// Nothing: one phase.
    Nothing,
    /// Windows of equal length, as many as there are phases between barriers.
    Windows,
    /// A barrier that several threads came to.
    Barriers,
    /// The begin or end of a named phase.
    Names,
}

impl PhaseBy {
    /// All, in the order of tables.
    pub const ALL: [PhaseBy; 4] = [PhaseBy::Nothing, PhaseBy::Windows, PhaseBy::Barriers, PhaseBy::Names];
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            PhaseBy::Nothing => "one phase",
            PhaseBy::Windows => "windows",
            PhaseBy::Barriers => "barriers",
            PhaseBy::Names => "named phases",
        }
    }
}

/// When phases begin, in references of all threads, spins excepted.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    references: u64,
    barriers: BTreeSet<u64>,
    names: BTreeSet<u64>,
    /// By barrier: its generation, who came to it, and whether somebody left.
    open: HashMap<u64, Coming>,
}

#[derive(Clone, Debug, Default)]
struct Coming {
    generation: u64,
    threads: BTreeSet<u32>,
    left: bool,
}

impl Marks {
    /// Marks of a whole trace.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn of(source: &mut dyn Source) -> Result<Marks, AnalysisError> {
        let mut marks = Marks::default();
        let mut stream = source.stream(0)?;
        while let Some(piece) = stream.pull()? {
            marks.refs(piece.refs);
            piece.event.iter().for_each(|(event, _)| marks.event(event));
        }
        Ok(marks)
    }
    /// When phases after the first begin, ascending; times at which nothing follows are left out.
    pub fn starts(&self, by: PhaseBy) -> Vec<u64> {
        let inside = |all: &BTreeSet<u64>| all.iter().copied().filter(|t| (1..self.references).contains(t)).collect();
        match by {
            PhaseBy::Nothing => Vec::new(),
            PhaseBy::Barriers => inside(&self.barriers),
            PhaseBy::Names => inside(&self.names),
            PhaseBy::Windows => {
                let phases = self.starts(PhaseBy::Barriers).len() as u64 + 1;
                let window = self.references.div_ceil(phases).max(1);
                (1..phases).map(|i| i * window).filter(|t| *t < self.references).collect()
            }
        }
    }
}

/// Whether this is a barrier. Where kinds are not recorded, what has generations after the first is taken for one; locks have
/// none, though a reader-writer lock has an epoch 1.
fn is_barrier(sync: SyncKind, epoch: u64) -> bool {
    match sync {
        SyncKind::Unknown => epoch > 0,
        kind => kind.is_barrier(),
    }
}

impl Marks {
    fn refs(&mut self, refs: &[Merged]) {
        self.references += refs.iter().filter(|r| r.op != Op::Spin).map(|r| u64::from(r.weight)).sum::<u64>();
    }
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::PhaseBegin { .. } | EventKind::PhaseEnd { .. } => _ = self.names.insert(self.references),
            EventKind::Release { object, epoch, sync, .. } if is_barrier(sync, epoch) => {
                let coming = self.open.entry(object).or_default();
                if coming.generation != epoch {
                    *coming = Coming { generation: epoch, ..Coming::default() };
                }
                coming.threads.insert(event.thread);
            }
            EventKind::Acquire { object, epoch, sync, .. } if is_barrier(sync, epoch) => {
                let Some(coming) = self.open.get_mut(&object).filter(|c| c.generation == epoch && !c.left) else {
                    return;
                };
                coming.left = true;
                if coming.threads.len() > 1 {
                    self.barriers.insert(self.references);
                }
            }
            _ => {}
        }
    }
}

/// Gives the accesses of blocks to solvers, one a way of making phases.
struct Solvers<'a> {
    bindings: &'a [ThreadBinding],
    block_bytes: u64,
    word_bytes: u64,
    references: u64,
    of: Vec<PhaseStatic<'a>>,
    blocks: HashMap<(u32, u64), Vec<PhaseState>>,
}

impl Solvers<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let t = VirtualTime(self.references);
            self.references += u64::from(r.weight);
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            let (kind, class) = match r.op.writes() {
                true => (AccessKind::Write, AccessClass::Write),
                false => (AccessKind::Read, AccessClass::Read),
            };
            input::pieces(r, self.block_bytes, |block, from, last| {
                let words = last / self.word_bytes - from / self.word_bytes + 1;
                let weight = r.weight.saturating_mul(words as u32);
                let access = Access { node: binding.node, kind, class, weight, t };
                let fresh = || self.of.iter().map(PhaseStatic::begin).collect();
                let states = self.blocks.entry((binding.space, block)).or_insert_with(fresh);
                self.of.iter().zip(states).for_each(|(solver, state)| solver.push(state, &access));
            });
        }
    }
}

/// The cheapest homes per phase on a machine without caches, where blocks are first placed for nothing: one tally for each
/// list of times at which phases begin.
///
/// # Errors
/// The trace cannot be read.
pub fn phase_costs(
    source: &mut dyn Source,
    machine: &Machine,
    bindings: &[ThreadBinding],
    block_bytes: u64,
    starts: &[Vec<u64>],
) -> Result<Vec<Tally>, AnalysisError> {
    let of: Vec<PhaseStatic<'_>> = starts.iter().map(|s| PhaseStatic::by_starts(machine, block_bytes, s)).collect();
    let word_bytes = u64::from(machine.shape.word_bytes);
    let mut solvers = Solvers { bindings, block_bytes, word_bytes, references: 0, of, blocks: HashMap::new() };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        solvers.refs(piece.refs);
    }
    let mut sums = vec![Tally::default(); starts.len()];
    for states in solvers.blocks.values() {
        let found = solvers.of.iter().zip(states).map(|(solver, state)| solver.finish(state));
        sums.iter_mut().zip(found).for_each(|(sum, tally)| sum.add(&tally));
    }
    Ok(sums)
}

/// Whether blocks can stay where they are on this machine: others reach them there, or in global memory.
fn can_stay(question: &Question, machine: usize) -> bool {
    let m = &question.machines[machine];
    let nodes = question.bindings[machine].iter().map(|s| s.node).collect::<BTreeSet<NodeId>>().len();
    m.sections.caches.is_none() && (m.cost.remote_access || m.cost.global.is_some() || nodes < 2)
}

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let columns = ["machine", "block_bytes", "phases_by", "phases", "cost", "movement", "moves", "saved_percent"];
    let note = "Cheapest homes if each block may move once a phase, moves included. Phases are as recorded, or windows as \
                many as phases between barriers; what is saved is in percent of the cost of one home for ever. Machines \
                whose blocks cannot stay in one place, and those with caches, are left out.";
    let mut table = table("phases", note, &columns);
    let marks = Marks::of(input.source)?;
    let starts = PhaseBy::ALL.map(|by| marks.starts(by)).to_vec();
    let question = input.question;
    for machine in (0..question.machines.len()).filter(|m| can_stay(question, *m)) {
        let m = &question.machines[machine];
        for &block_bytes in question.blocks.iter().filter(|b| **b >= u64::from(m.shape.word_bytes)) {
            let found = phase_costs(input.source, m, &question.bindings[machine], block_bytes, &starts)?;
            let one = found[0].total().as_f64();
            for ((by, starts), tally) in PhaseBy::ALL.into_iter().zip(&starts).zip(&found) {
                let cost = tally.total().as_f64();
                table.push(vec![
                    m.name.as_str().into(),
                    block_bytes.into(),
                    by.name().into(),
                    (starts.len() as u64 + 1).into(),
                    cost.into(),
                    tally.movement.as_f64().into(),
                    tally.moves.into(),
                    (one > 0.0).then(|| 100.0 * (one - cost) / one).into(),
                ]);
            }
        }
    }
    Ok(vec![table])
}
