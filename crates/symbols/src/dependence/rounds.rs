//! Which sites of a loop wait, round after round, for what a load brought the round before.
use super::Dependence;
use super::flow::Flow;
use super::nodes::{Form, How, Node, Value};
use super::values::Values;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Addresses nearer than this may lie in one cache line.
const LINE_BYTES: u64 = 64;
/// Values looked at for one function, all its loops together.
const STEPS_MAX: usize = 8 << 20;
/// Ways to a loop's begin that are told apart.
const FORMS_MAX: usize = 16;
/// Bytes of the largest store.
const STORE_MAX: i64 = 1024;
/// Chains that the address of one site is compared with.
const CHAINS_MAX: usize = 256;

/// What is known of a value in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    /// May be another value in another round.
    varies: bool,
    /// Made of what nobody knows.
    opaque: bool,
    /// Made of what a chain's load brought, by arithmetic alone.
    direct: bool,
    /// Part of a cycle from round to round in which a load's value becomes its next address.
    chain: bool,
    /// Made of arguments or of memory.
    given: bool,
}

/// What is known of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) dependence: Dependence,
    /// Innermost loop of the function that it is in, 0 in none.
    pub(super) own: usize,
    /// Of a carried one the loop in each of whose rounds the chain begins anew, if there is one.
    pub(super) anew: Option<usize>,
}

/// One loop; number 0 is the whole function, whose rounds are its calls.
struct Round {
    flags: HashMap<Value, Flags>,
    /// Loads in chains.
    chains: Vec<Value>,
    /// Whether a chain goes through memory with a fixed address, which lasts longer than the loop, or from one loop in it to another.
    kept: bool,
    /// Blocks that rounds begin with.
    heads: HashSet<u32>,
}

/// Answers for one function.
pub(super) struct Rounds<'a> {
    flow: &'a Flow<'a>,
    values: &'a mut Values,
    known: HashMap<usize, Option<Round>>,
    /// By terms of the address, and by what is added to them: numbers of stores.
    stores: HashMap<BTreeMap<Value, i64>, BTreeMap<i64, Vec<usize>>>,
    steps: usize,
    /// Variables with fixed places: begins and ends, in order.
    data: &'a [(u64, u64)],
}

/// How far apart two addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// Perhaps in one line.
    Near,
    /// Not in one line, or in other data.
    Far,
    Unknown,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(flow: &'a Flow<'a>, values: &'a mut Values, data: &'a [(u64, u64)]) -> Rounds<'a> {
        let mut stores: HashMap<BTreeMap<Value, i64>, BTreeMap<i64, Vec<usize>>> = HashMap::new();
        for n in 0..values.stores.len() {
            let form = values.nodes.form(values.stores[n].address);
            stores.entry(form.terms).or_default().entry(form.offset).or_default().push(n);
        }
        Rounds { flow, values, known: HashMap::new(), stores, steps: STEPS_MAX, data }
    }

    /// Of the site of a hook, by the address of its call's last byte.
    pub(super) fn of(&mut self, site: u64) -> Answer {
        let unknown = Answer { dependence: Dependence::Unknown, own: 0, anew: None };
        let Some(&(block, address)) = self.values.sites.get(&site) else { return unknown };
        let own = self.flow.nest.inner[block as usize];
        let (mut level, unknown) = (own, Answer { own, ..unknown });
        loop {
            let Some(found) = self.in_loop(level, address) else { return unknown };
            match (found, level) {
                (Some(dependence), _) => {
                    let anew = (dependence == Dependence::Carried).then(|| self.anew(level, address)).flatten();
                    return Answer { dependence, own, anew };
                }
                // The address stays the same while the function runs.
                (None, 0) if own > 0 => return Answer { dependence: Dependence::Independent, ..unknown },
                (None, 0) => return unknown,
                (None, _) => level = self.flow.nest.parent[level],
            }
        }
    }

    /// What a loop says about an address, as [`Rounds::at`]; `None` if the loop is too much.
    fn in_loop(&mut self, level: usize, address: Value) -> Option<Option<Dependence>> {
        if !self.known.contains_key(&level) {
            let round = self.round(level);
            self.known.insert(level, round);
        }
        let round = self.known.remove(&level).flatten()?;
        let found = self.at(&round, level, address);
        self.known.insert(level, Some(round));
        Some(found)
    }

    /// The loop around that of a chain, if the chain begins with what no chain of that one brought: in each round anew.
    fn anew(&mut self, level: usize, address: Value) -> Option<usize> {
        let around = self.flow.nest.parent[level];
        if level == 0 || around == 0 || self.in_loop(around, address)? != Some(Dependence::Independent) {
            return None;
        }
        let kept = |level| self.known.get(&level).and_then(Option::as_ref).is_none_or(|round| round.kept);
        (!kept(level) && !kept(around)).then_some(around)
    }

    /// What a loop says about an address; `None` if it is the same in all rounds.
    fn at(&mut self, round: &Round, level: usize, address: Value) -> Option<Dependence> {
        let flags = round.flags.get(&address).copied().unwrap_or_default();
        let constant = !flags.varies && !flags.opaque && !flags.given;
        let of_chain = flags.direct || flags.chain;
        match level {
            0 if constant && self.values.nodes.form(address).terms.is_empty() => return Some(Dependence::Independent),
            0 if !of_chain => return None,
            _ if !flags.varies => return None,
            _ => {}
        }
        let distance = if of_chain { self.distance(round, level, address) } else { Distance::Far };
        Some(match distance {
            Distance::Near => Dependence::Carried,
            _ if flags.opaque => Dependence::Unknown,
            Distance::Far if level > 0 => Dependence::Independent,
            _ => Dependence::Unknown,
        })
    }

    /// How far an address is from those of the loads in chains.
    fn distance(&mut self, round: &Round, level: usize, address: Value) -> Distance {
        let own = self.forms(round, level, address);
        let mut found = Distance::Unknown;
        if round.chains.len() > CHAINS_MAX {
            return found;
        }
        for &load in &round.chains {
            let at = self.values.nodes.all[load as usize].inputs[0];
            for theirs in self.forms(round, level, at) {
                for ours in &own {
                    match self.steps.checked_sub(1) {
                        Some(left) => self.steps = left,
                        None => return Distance::Unknown,
                    }
                    let apart = if self.differ(ours, &theirs) {
                        Distance::Far
                    } else {
                        self.apart(round, level, &ours.minus(&theirs))
                    };
                    found = found.min(apart);
                }
            }
        }
        found
    }

    /// Whether two addresses are in different variables with fixed places.
    fn differ(&self, a: &Form, b: &Form) -> bool {
        let variable = |form: &Form| {
            let after = self.data.partition_point(|d| d.0 <= form.offset as u64);
            after.checked_sub(1).filter(|n| (form.offset as u64) < self.data[*n].1)
        };
        let (a, b) = (variable(a), variable(b));
        a.is_some() && b.is_some() && a != b
    }

    fn apart(&self, round: &Round, level: usize, by: &Form) -> Distance {
        if by.terms.is_empty() {
            return if by.offset.unsigned_abs() < LINE_BYTES { Distance::Near } else { Distance::Far };
        }
        // Two arrays, whose begins do not change.
        let fixed = |times: i64| by.terms.iter().any(|(v, t)| *t == times && !self.varies(round, level, *v));
        if fixed(1) && fixed(-1) { Distance::Far } else { Distance::Unknown }
    }

    /// An address, also as it was made in the round before: all of what came from there, by each way to the loop's begin.
    fn forms(&mut self, round: &Round, level: usize, address: Value) -> Vec<Form> {
        let first = self.values.nodes.form(address);
        let mut all = vec![first.clone()];
        let inside: Vec<Value> = first.terms.keys().copied().filter(|v| self.varies(round, level, *v)).collect();
        let nodes: Vec<Node> = inside.iter().map(|v| self.values.nodes.all[*v as usize].clone()).collect();
        let Some(head) = nodes.first().map(|n| n.block).filter(|b| round.heads.contains(b)) else { return all };
        if nodes.iter().any(|n| n.how != How::Phi || n.block != head) {
            return all;
        }
        for way in 0..nodes[0].inputs.len().min(FORMS_MAX) {
            let before: Option<Vec<Value>> = nodes.iter().map(|n| n.inputs.get(way).copied()).collect();
            let Some(before) = before.filter(|b| b.iter().any(|v| self.is_inside(level, *v))) else { continue };
            let forms: Vec<Form> = before.iter().map(|v| self.values.nodes.form(*v)).collect();
            all.push(first.with(&inside.iter().copied().zip(forms).collect()));
        }
        all
    }

    fn loop_of(&self, value: Value) -> Option<usize> {
        self.flow.nest.inner.get(self.values.nodes.all[value as usize].block as usize).copied()
    }

    /// The loop in this one that a value is made in; none if it is made in this one itself, or elsewhere.
    fn part_of(&self, level: usize, value: Value) -> Option<usize> {
        let up = |l: &usize| (*l > 0).then(|| self.flow.nest.parent[*l]);
        std::iter::successors(self.loop_of(value), up).find(|l| *l > 0 && self.flow.nest.parent[*l] == level)
    }

    /// Whether a value is made in a loop.
    fn is_inside(&self, level: usize, value: Value) -> bool {
        self.loop_of(value).is_some_and(|inner| {
            std::iter::successors(Some(inner), |l| (*l > 0).then(|| self.flow.nest.parent[*l])).any(|l| l == level)
        })
    }

    /// Whether a value may be another one in another round.
    fn varies(&self, round: &Round, level: usize, value: Value) -> bool {
        self.is_inside(level, value) && round.flags.get(&value).is_none_or(|f| f.varies)
    }

    /// Values of a loop that its sites' addresses are made of; `None` if that is too much.
    fn round(&mut self, level: usize) -> Option<Round> {
        let body = &self.flow.nest.bodies[level];
        let blocks: HashSet<u32> = body.iter().map(|b| *b as u32).collect();
        let calls = body.iter().any(|b| self.values.calls[*b]);
        let starts: Vec<Value> = self.values.sites.values().filter(|s| blocks.contains(&s.0)).map(|s| s.1).collect();
        let enters = |b: &&usize| self.flow.blocks.pred[**b].iter().any(|p| !blocks.contains(&(*p as u32)));
        let heads = body.iter().filter(enters).map(|b| *b as u32).collect();
        let round = Round { flags: HashMap::new(), chains: Vec::new(), kept: false, heads };
        let mut search = Search { round, level, blocks, calls };
        search.all(self, starts)?;
        Some(search.round)
    }

    /// Numbers of the stores of a loop that write what a load reads, if its address stays the same in it.
    fn written(&mut self, search: &Search, load: Value) -> Option<Vec<usize>> {
        let bytes = self.values.loaded.get(&load).copied().unwrap_or(1);
        let form = self.values.nodes.form(self.values.nodes.all[load as usize].inputs[0]);
        if form.terms.keys().any(|v| self.is_inside(search.level, *v)) {
            return None;
        }
        let near = form.offset.saturating_sub(STORE_MAX)..form.offset.saturating_add(bytes.clamp(1, STORE_MAX));
        let same = self.stores.get(&form.terms).into_iter().flat_map(|by| by.range(near.clone()));
        let found: Vec<usize> = same
            .flat_map(|(at, stores)| stores.iter().map(move |n| (*at, *n)))
            .filter(|(at, n)| {
                let store = &self.values.stores[*n];
                search.blocks.contains(&store.block) && form.offset.wrapping_sub(*at) < store.bytes
            })
            .map(|found| found.1)
            .collect();
        self.steps = self.steps.saturating_sub(found.len());
        Some(found)
    }
}

/// The strongly connected parts of what addresses in a loop are made of (Tarjan 1972).
struct Search {
    round: Round,
    level: usize,
    blocks: HashSet<u32>,
    /// Whether the loop calls functions that may change any variable.
    calls: bool,
}

/// A value being looked at.
struct Open {
    value: Value,
    inputs: Vec<Value>,
    next: usize,
}

impl Search {
    fn all(&mut self, rounds: &mut Rounds<'_>, starts: Vec<Value>) -> Option<()> {
        let (mut number, mut low): (HashMap<Value, usize>, HashMap<Value, usize>) = (HashMap::new(), HashMap::new());
        let (mut stack, mut on) = (Vec::new(), HashSet::new());
        for start in starts {
            let mut work: Vec<Open> = Vec::new();
            let mut enter = Some(start).filter(|v| !number.contains_key(v));
            loop {
                if let Some(value) = enter.take() {
                    rounds.steps = rounds.steps.checked_sub(1)?;
                    number.insert(value, number.len());
                    low.insert(value, number[&value]);
                    stack.push(value);
                    on.insert(value);
                    work.push(Open { value, inputs: self.inputs(rounds, value), next: 0 });
                }
                let Some(open) = work.last_mut() else { break };
                let value = open.value;
                if let Some(&to) = open.inputs.get(open.next) {
                    open.next += 1;
                    rounds.steps = rounds.steps.checked_sub(1)?;
                    match number.get(&to) {
                        None => enter = Some(to),
                        Some(n) if on.contains(&to) => {
                            let least = low[&value].min(*n);
                            low.insert(value, least);
                        }
                        Some(_) => {}
                    }
                    continue;
                }
                work.pop();
                if let Some(before) = work.last() {
                    let least = low[&before.value].min(low[&value]);
                    low.insert(before.value, least);
                }
                if low[&value] == number[&value] {
                    let at = stack.iter().rposition(|v| *v == value).unwrap_or(0);
                    let part = stack.split_off(at);
                    part.iter().for_each(|v| _ = on.remove(v));
                    self.close(rounds, &part);
                }
            }
        }
        Some(())
    }

    /// What a value is made of, in this loop: what is written to memory in it, too.
    fn inputs(&self, rounds: &mut Rounds<'_>, value: Value) -> Vec<Value> {
        let node = &rounds.values.nodes.all[value as usize];
        if !rounds.is_inside(self.level, value) {
            return Vec::new();
        }
        let (mut inputs, is_load) = (node.inputs.clone(), node.how == How::Load);
        if is_load {
            let written = rounds.written(self, value).unwrap_or_default();
            inputs.extend(written.into_iter().map(|n| rounds.values.stores[n].data));
        }
        inputs
    }

    /// What is known of values that are made of each other; what else they are made of is known.
    fn close(&mut self, rounds: &mut Rounds<'_>, part: &[Value]) {
        let members: HashSet<Value> = part.iter().copied().collect();
        let mut flags = Flags::default();
        let (mut cyclic, mut own, mut loads) = (part.len() > 1, false, Vec::new());
        let (mut direct, mut kept) = (false, false);
        for &value in part {
            let node = rounds.values.nodes.all[value as usize].clone();
            let inside = rounds.is_inside(self.level, value);
            own |= rounds.loop_of(value) == Some(self.level);
            let inputs = self.inputs(rounds, value);
            cyclic |= inputs.contains(&value);
            flags.given |= matches!(node.how, How::Begin | How::Load);
            flags.varies |= node.how == How::Phi && inside;
            flags.opaque |= node.how == How::Opaque && (inside || self.level == 0);
            if node.how == How::Load && inside {
                let fixed = rounds.written(self, value).is_some();
                flags.varies |= !fixed;
                flags.opaque |= fixed && self.calls;
                kept |= inputs.iter().skip(1).any(|v| members.contains(v));
                if members.contains(&node.inputs[0]) {
                    loads.push(value);
                }
            }
            for (n, input) in inputs.iter().enumerate().filter(|(_, v)| !members.contains(v)) {
                let of = self.round.flags.get(input).copied().unwrap_or_default();
                flags.varies |= of.varies;
                flags.opaque |= of.opaque;
                flags.given |= of.given;
                direct |= (of.direct || of.chain) && (node.how != How::Load || n > 0);
            }
        }
        flags.varies |= cyclic || flags.opaque;
        flags.chain = cyclic && own && !loads.is_empty();
        flags.direct = direct;
        if flags.chain {
            self.round.chains.extend(loads);
            self.round.kept |= kept;
        } else if cyclic && !loads.is_empty() {
            let parts: HashSet<Option<usize>> = part.iter().map(|v| rounds.part_of(self.level, *v)).collect();
            self.round.kept |= kept || parts.len() > 1;
        }
        part.iter().for_each(|v| _ = self.round.flags.insert(*v, flags));
    }
}
