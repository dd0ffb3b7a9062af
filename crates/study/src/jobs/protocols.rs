//! Protocols of page coherence: all of a question at once, and their optimum; and the same, slowly.
use super::{Job, counters, priced, tallied};
use crate::{Answer, Charged, Done, Question, Row, What};
use homenode_base::spaces::tag;
use homenode_base::{TotalCost, VirtualTime};
use homenode_coherence::hindsight::{Delayed, Hindsight, STARTS};
use homenode_coherence::history::{Clocks, FirstTimes, History, Turn, turns};
use homenode_coherence::optimum::Optimum;
use homenode_coherence::protocols::{ALL, Timing};
use homenode_coherence::{Choice, Effects, PageEngine};
use homenode_machine::{AccessClass, Coherence, Machine};
use homenode_placement::{Access, AccessKind, Step};
use homenode_trace::{Merged, Op};
use std::collections::BTreeMap;

/// Virtual time at whose multiples a protocol may treat an access unlike an equal one just before it.
pub(crate) fn period(choice: &Choice) -> Option<u64> {
    match choice.timing() {
        Timing::Order => None,
        Timing::Period(period) => Some(period),
    }
}

/// A protocol that is counting.
struct Counting {
    /// Place in the question.
    place: u32,
    engine: Box<dyn PageEngine>,
    effects: Effects,
}

/// The optimum at the prices of a machine.
struct Least {
    machine: u32,
    optimum: Optimum,
    cost: TotalCost,
}

/// Protocols on machines with prices for them, with pages of one size.
pub(crate) struct ProtocolJob<'m> {
    machines: Vec<(u32, &'m Machine)>,
    protocols: Vec<Counting>,
    optima: Vec<Least>,
    between: u64,
    turns: Vec<Turn>,
}

impl<'m> ProtocolJob<'m> {
    /// All of them, with the optimum; `None` if no machine has prices.
    pub(crate) fn new(
        choices: &[Choice],
        page_bytes: u64,
        machines: Vec<(u32, &'m Machine)>,
    ) -> Option<ProtocolJob<'m>> {
        let machines: Vec<_> = machines.into_iter().filter(|(_, m)| m.sections.coherence.is_some()).collect();
        let counting = |(place, choice): (u32, &Choice)| {
            let engine = choice.engine(page_bytes);
            Counting { place, engine, effects: Effects::default() }
        };
        let protocols = (0..).zip(choices).map(counting).collect();
        let optimum = |(machine, prices): (u32, &Coherence)| Least {
            machine,
            optimum: Optimum::new(prices, page_bytes),
            cost: TotalCost::ZERO,
        };
        let prices = machines.iter().filter_map(|(at, m)| Some((*at, m.sections.coherence.as_ref()?)));
        let optima: Vec<Least> = prices.map(optimum).collect();
        let (between, turns) = (0, Vec::new());
        (!machines.is_empty()).then_some(ProtocolJob { machines, protocols, optima, between, turns })
    }
}

impl Job for ProtocolJob<'_> {
    fn block(&mut self, number: u64, steps: &[Step]) {
        self.timed_block(number, steps, &FirstTimes(steps));
    }
    fn timed_block(&mut self, _: u64, steps: &[Step], clocks: &dyn Clocks) {
        turns(steps, &mut self.turns);
        if self.turns.len() > 1 {
            self.between += self.turns.iter().map(Turn::accesses).sum::<u64>();
        }
        let history = History { steps, turns: &self.turns, clocks };
        self.optima.iter_mut().for_each(|least| least.cost += least.optimum.turns(&history));
        self.protocols.iter_mut().for_each(|p| p.engine.turns(&history, &mut p.effects));
    }
    fn rows(&self, page_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (at, machine) in &self.machines {
            for p in &self.protocols {
                rows.push(row((*at, machine), page_bytes, p.place, p.effects, self.between));
            }
        }
        let optimum = |least: &Least| priced(least.machine, page_bytes, What::COHERENCE, least.cost, true);
        rows.extend(self.optima.iter().map(optimum));
        rows
    }
}

fn row((at, machine): (u32, &Machine), page_bytes: u64, place: u32, effects: Effects, between: u64) -> Row {
    let tally = effects.tally(machine, page_bytes);
    Row { done: Some(Done { effects, between }), ..tallied(at, page_bytes, What::protocol(place), &tally, true) }
}

/// Answers a question about protocols slowly: page by page, access by access. The question was checked.
pub(crate) fn answer(question: &Question, refs: &[Merged]) -> Answer {
    let blocks_touched = vec![0; question.blocks.len()];
    let charged = vec![Charged::default(); question.machines.len()];
    let mut answer = Answer { blocks_touched, charged, ..Answer::default() };
    let known = |r: &&Merged| (r.thread as usize) < question.bindings[0].len();
    answer.refs = refs.iter().filter(known).map(|r| u64::from(r.weight)).sum();
    for (m, machine) in question.machines.iter().enumerate() {
        for (level, page_bytes) in question.blocks.iter().copied().enumerate().filter(|(_, b)| question.usable(m, *b)) {
            let pages = pages(question, m, page_bytes, refs);
            if answer.blocks_touched[level] == 0 {
                answer.blocks_touched[level] = pages.len() as u64;
            }
            answer.charged[m].accesses = pages.values().map(|steps| steps.len() as u64).sum();
            let Some(prices) = &machine.sections.coherence else { continue };
            let several = |steps: &&Vec<Step>| steps.iter().any(|s| s.access.node != steps[0].access.node);
            let between = pages.values().filter(several).map(|steps| steps.len() as u64).sum();
            for (place, choice) in (0..).zip(&question.protocols) {
                let mut effects = Effects::default();
                pages.values().for_each(|steps| choice.engine(page_bytes).page(steps, &mut effects));
                answer.rows.push(row((m as u32, machine), page_bytes, place, effects, between));
            }
            let cost = pages.values().map(|steps| Optimum::new(prices, page_bytes).page(steps)).sum();
            answer.rows.push(priced(m as u32, page_bytes, What::COHERENCE, cost, true));
            if question.counters {
                let counters =
                    [Delayed::Update, Delayed::Invalidate].map(|p| (p, hindsight(p, &pages, prices, page_bytes)));
                let rows = counters.iter().flat_map(|(p, sums)| counters::rows(m as u32, page_bytes, *p, sums));
                answer.rows.extend(rows);
            }
        }
    }
    let first = question.machines.iter().position(|m| m.sections.caches.is_none());
    answer.accesses = first.map_or(0, |m| answer.charged[m].accesses);
    answer
}

/// Every counter by an engine of its own.
fn hindsight(protocol: Delayed, pages: &BTreeMap<u64, Vec<Step>>, prices: &Coherence, page_bytes: u64) -> Hindsight {
    let spec = ALL.iter().find(|s| s.name == ["upt-del", "inv-del"][protocol as usize]).expect("in the registry");
    let mut sums = Hindsight::default();
    for steps in pages.values() {
        let page = STARTS.map(|start| {
            let mut effects = Effects::default();
            spec.choose(&[start]).expect("any counter").engine(page_bytes).page(steps, &mut effects);
            effects
        });
        sums.add(&page, prices, page_bytes);
    }
    sums
}

/// The accesses of each page, one by one.
fn pages(question: &Question, machine: usize, page_bytes: u64, refs: &[Merged]) -> BTreeMap<u64, Vec<Step>> {
    let (mut pages, mut time) = (BTreeMap::<u64, Vec<Step>>::new(), 0);
    for r in refs {
        let Some(binding) = question.bindings[machine].get(r.thread as usize) else { continue };
        let mut t = time;
        if r.op != Op::Spin {
            t += 1;
            time += u64::from(r.weight);
        } else if !question.options.charge_spins {
            continue;
        }
        let (kind, class) = match r.op.writes() {
            true => (AccessKind::Write, AccessClass::Write),
            false => (AccessKind::Read, AccessClass::Read),
        };
        let access = Access { node: binding.node, kind, class, weight: 1, t: VirtualTime(t) };
        pages.entry((r.addr ^ tag(binding.space)) / page_bytes).or_default().push(Step { slot: 0, access });
    }
    pages
}
