//! Protocols of page coherence: all of a question at once, and their optimum; and the same, slowly.
use super::{counters, priced, tallied};
use crate::fold::turns::Turns;
use crate::{Answer, Charged, Done, Question, Row, What};
use homenode_base::spaces::tag;
use homenode_base::{TotalCost, VirtualTime};
use homenode_coherence::hindsight::{Delayed, Hindsight, STARTS};
use homenode_coherence::history::{Clocks, Turn};
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

/// Who has been at a page.
#[derive(Clone, Copy, Default)]
struct Users {
    first: u16,
    several: bool,
    accesses: u64,
}

/// Protocols on machines with prices for them, with pages of one size.
struct ProtocolJob<'m> {
    machines: Vec<(u32, &'m Machine)>,
    protocols: Vec<Counting>,
    optima: Vec<Least>,
    /// By page of the region at hand.
    users: Vec<Users>,
    between: u64,
    /// Pages that were touched.
    touched: u64,
}

impl<'m> ProtocolJob<'m> {
    /// All of them, with the optimum; nothing if no machine has prices.
    fn new(choices: &[Choice], page_bytes: u64, machines: Vec<(u32, &'m Machine)>) -> ProtocolJob<'m> {
        let machines: Vec<_> = machines.into_iter().filter(|(_, m)| m.sections.coherence.is_some()).collect();
        let counting = |(place, choice): (u32, &Choice)| {
            let engine = choice.engine(page_bytes);
            Counting { place, engine, effects: Effects::default() }
        };
        let any = usize::from(!machines.is_empty());
        let protocols = (0..).zip(choices).map(counting).take(any * choices.len()).collect();
        let optimum = |(machine, prices): (u32, &Coherence)| Least {
            machine,
            optimum: Optimum::new(prices, page_bytes),
            cost: TotalCost::ZERO,
        };
        let prices = machines.iter().filter_map(|(at, m)| Some((*at, m.sections.coherence.as_ref()?)));
        let optima: Vec<Least> = prices.map(optimum).collect();
        ProtocolJob { machines, protocols, optima, users: Vec::new(), between: 0, touched: 0 }
    }

    fn note_users(&mut self, turns: &[Turn]) {
        for turn in turns {
            let (page, node) = (turn.page as usize, turn.node().0);
            if self.users.len() <= page {
                self.users.resize(page + 1, Users::default());
            }
            let users = &mut self.users[page];
            if users.accesses == 0 {
                users.first = node;
            }
            users.several |= users.first != node;
            users.accesses += turn.accesses();
        }
    }

    fn rows(&self, page_bytes: u64) -> Vec<Row> {
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

/// Protocols with pages of all sizes.
pub(crate) struct ProtocolJobs<'m> {
    /// By size, in the order of the question.
    of: Vec<ProtocolJob<'m>>,
}

impl<'m> ProtocolJobs<'m> {
    /// All protocols of a question on some of its machines.
    pub(crate) fn new(question: &'m Question, machines: &[usize]) -> ProtocolJobs<'m> {
        let job = |bytes: &u64| {
            let able = machines.iter().filter(|m| question.usable(**m, *bytes));
            let machines = able.map(|m| (*m as u32, &question.machines[*m])).collect();
            ProtocolJob::new(&question.protocols, *bytes, machines)
        };
        ProtocolJobs { of: question.blocks.iter().map(job).collect() }
    }
    /// Pages of a size touched so far.
    pub(crate) fn touched(&self, level: usize) -> u64 {
        self.of[level].touched
    }
    /// All rows.
    pub(crate) fn rows(&self, blocks: &[u64]) -> Vec<Row> {
        self.of.iter().zip(blocks).flat_map(|(job, bytes)| job.rows(*bytes)).collect()
    }
}

impl Turns for ProtocolJobs<'_> {
    fn turns(&mut self, level: usize, turns: &[Turn], clocks: &dyn Clocks) {
        let job = &mut self.of[level];
        job.note_users(turns);
        job.optima.iter_mut().for_each(|least| least.optimum.turns(turns));
        job.protocols.iter_mut().for_each(|p| p.engine.turns(turns, clocks, &mut p.effects));
    }
    fn end(&mut self, level: usize, pages: &[u32]) {
        let job = &mut self.of[level];
        job.touched += pages.len() as u64;
        for page in pages {
            let users = std::mem::take(&mut job.users[*page as usize]);
            job.between += if users.several { users.accesses } else { 0 };
        }
        job.optima.iter_mut().for_each(|least| least.cost += least.optimum.take(pages));
        job.protocols.iter_mut().for_each(|p| p.engine.reset(pages));
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
