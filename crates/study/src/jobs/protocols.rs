//! Protocols of page coherence: all of a question at once, and their optimum; and the same, slowly.
use super::{Job, counters, priced, tallied};
use crate::{Answer, Charged, Done, Question, Row, What};
use homenode_base::spaces::tag;
use homenode_base::{TotalCost, VirtualTime};
use homenode_coherence::hindsight::{Delayed, Hindsight, STARTS};
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
        Timing::Each => Some(1),
    }
}

/// A protocol that is counting.
struct Counting {
    /// Place in the question.
    place: u32,
    engine: Box<dyn PageEngine>,
    /// Across multiples of this nothing is folded.
    period: Option<u64>,
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
    /// Steps folded further than they come.
    folded: Vec<Step>,
}

impl<'m> ProtocolJob<'m> {
    /// The ones that look at times, or the others with the optimum; `None` if there is nothing to do.
    pub(crate) fn new(
        choices: &[Choice],
        page_bytes: u64,
        machines: Vec<(u32, &'m Machine)>,
        timed: bool,
    ) -> Option<ProtocolJob<'m>> {
        let machines: Vec<_> = machines.into_iter().filter(|(_, m)| m.sections.coherence.is_some()).collect();
        let counting = |(place, choice): (u32, &Choice)| {
            let (engine, period) = (choice.engine(page_bytes), period(choice));
            Counting { place, engine, period, effects: Effects::default() }
        };
        let asked = (0..).zip(choices).filter(|(_, c)| (c.timing() != Timing::Order) == timed);
        let mut protocols: Vec<Counting> = asked.map(counting).collect();
        // Those for whom accesses are folded alike stand together.
        protocols.sort_by_key(|p| p.period);
        let optimum = |(machine, prices): (u32, &Coherence)| Least {
            machine,
            optimum: Optimum::new(prices, page_bytes),
            cost: TotalCost::ZERO,
        };
        let prices = machines.iter().filter_map(|(at, m)| Some((*at, m.sections.coherence.as_ref()?)));
        let optima: Vec<Least> = if timed { Vec::new() } else { prices.map(optimum).collect() };
        let nothing = machines.is_empty() || (protocols.is_empty() && optima.is_empty());
        let (between, folded) = (0, Vec::new());
        (!nothing).then_some(ProtocolJob { machines, protocols, optima, between, folded })
    }
}

impl Job for ProtocolJob<'_> {
    fn block(&mut self, _: u64, steps: &[Step]) {
        let first = steps[0].access.node;
        if steps.iter().any(|s| s.access.node != first) {
            self.between += steps.iter().map(|s| u64::from(s.access.weight)).sum::<u64>();
        }
        self.optima.iter_mut().for_each(|least| least.cost += least.optimum.page(steps));
        let finest = self.protocols.first().and_then(|p| p.period);
        let mut folded_by = None;
        for p in &mut self.protocols {
            // Steps come as the protocol with the shortest period needs them; others may take more at once.
            let coarser = p.period.filter(|_| p.period > finest);
            if coarser.is_some() && coarser != folded_by {
                fold(steps, coarser, &mut self.folded);
                folded_by = coarser;
            }
            let steps = if coarser.is_some() { &self.folded } else { steps };
            p.engine.page(steps, &mut p.effects);
        }
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

/// Equal accesses in a row as one, but across multiples of the period.
fn fold(steps: &[Step], period: Option<u64>, folded: &mut Vec<Step>) {
    folded.clear();
    for step in steps {
        let Access { node, kind, class, weight, t } = step.access;
        if let Some(Step { access: last, .. }) = folded.last_mut()
            && (last.node, last.kind, last.class) == (node, kind, class)
            && period.is_none_or(|p| last.t.0 / p == t.0 / p)
            && let Some(sum) = last.weight.checked_add(weight)
        {
            last.weight = sum;
            continue;
        }
        folded.push(*step);
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
