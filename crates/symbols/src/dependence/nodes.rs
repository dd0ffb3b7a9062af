//! Values that a function computes, each with what it is computed from.
use std::collections::{BTreeMap, HashMap};

/// Number of a value.
pub(super) type Value = u32;

/// No block: a value that is there before the function begins, or always.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Values of the largest function that is looked at.
const VALUES_MAX: usize = 1 << 20;
/// Terms of a sum that are told apart, and how deep sums are followed.
const TERMS_MAX: usize = 6;
const DEPTH_MAX: u32 = 24;

/// How a value comes about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    /// What a register or a slot held when the function began.
    Begin,
    /// Number that does not depend on anything.
    Constant(u64),
    /// The stack pointer as it was at the begin of the function.
    Frame,
    /// Anything.
    Opaque,
    /// The value of one of the ways by which control came.
    Phi,
    /// Read from memory at its first input; what else it is made of follows.
    Load,
    /// Inputs times factors, and a constant.
    Sum(Vec<i64>, i64),
    /// Operation whose value depends on nothing but its inputs, and its constant.
    Computed(u32, u64),
    /// Anything that is made of the inputs.
    Made,
    /// The first input in the low bits of a register, and what was in it before.
    Low,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) how: How,
    pub(super) inputs: Vec<Value>,
    pub(super) block: u32,
}

/// A constant and values with factors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) terms: BTreeMap<Value, i64>,
    pub(super) offset: i64,
}

impl Form {
    fn add(&mut self, other: &Form, factor: i64) {
        self.offset = self.offset.wrapping_add(other.offset.wrapping_mul(factor));
        for (value, times) in &other.terms {
            let sum = self.terms.entry(*value).or_default();
            *sum = sum.wrapping_add(times.wrapping_mul(factor));
            if *sum == 0 {
                self.terms.remove(value);
            }
        }
    }

    pub(super) fn minus(&self, other: &Form) -> Form {
        let mut all = self.clone();
        all.add(other, -1);
        all
    }

    /// The form with others in place of some of its values, all at once.
    pub(super) fn with(&self, others: &BTreeMap<Value, Form>) -> Form {
        let mut all = Form { terms: BTreeMap::new(), offset: self.offset };
        for (value, times) in &self.terms {
            match others.get(value) {
                Some(other) => all.add(other, *times),
                None => all.add(&Form { terms: BTreeMap::from([(*value, 1)]), offset: 0 }, *times),
            }
        }
        all
    }
}

/// All values of a function.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    /// By loop, how and inputs.
    known: HashMap<(usize, How, Vec<Value>), Value>,
    forms: HashMap<Value, Form>,
}

impl Nodes {
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= VALUES_MAX
    }

    pub(super) fn new_value(&mut self, block: u32, how: How, inputs: Vec<Value>) -> Value {
        self.all.push(Node { how, inputs, block });
        self.all.len() as Value - 1
    }

    /// One value for equal inputs in one loop.
    pub(super) fn value(&mut self, block: u32, inside: usize, how: How, inputs: Vec<Value>) -> Value {
        let key = (inside, how, inputs);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let value = self.new_value(block, key.1.clone(), key.2.clone());
        self.known.insert(key, value);
        value
    }

    /// Puts values in place of others: those of all ways on which only one arrives, and then computed ones that became equal.
    pub(super) fn simplify(&mut self, inside: &[usize]) -> Vec<Value> {
        let mut same = self.arriving();
        let mut known: HashMap<(usize, How, Vec<Value>), Value> = HashMap::new();
        for n in 0..self.all.len() {
            let mut inputs = std::mem::take(&mut self.all[n].inputs);
            inputs.iter_mut().for_each(|v| *v = same[*v as usize]);
            let node = &self.all[n];
            if matches!(node.how, How::Sum(..) | How::Computed(..)) {
                let inside = inside.get(node.block as usize).copied().unwrap_or(0);
                let key = (inside, node.how.clone(), inputs.clone());
                same[n] = *known.entry(key).or_insert(n as Value);
            }
            self.all[n].inputs = inputs;
        }
        for n in 0..self.all.len() {
            let inputs = &mut self.all[n].inputs;
            inputs.iter_mut().for_each(|v| *v = same[*v as usize]);
        }
        self.known.clear();
        let through = |v: Value| same[same[v as usize] as usize];
        (0..self.all.len() as Value).map(through).collect()
    }

    /// By value: itself, or the only other one that arrives there.
    fn arriving(&self) -> Vec<Value> {
        const UNSEEN: Value = Value::MAX;
        let is_phi = |n: usize| self.all[n].how == How::Phi;
        let own = |n: usize| n as Value;
        let mut same: Vec<Value> = (0..self.all.len()).map(|n| if is_phi(n) { UNSEEN } else { own(n) }).collect();
        let phis: Vec<usize> = (0..self.all.len()).filter(|n| is_phi(*n)).collect();
        for _ in 0..64 {
            let mut changed = false;
            for &n in &phis {
                let mut arriving = self.all[n].inputs.iter().map(|v| same[*v as usize]).filter(|v| *v != UNSEEN);
                let met = arriving.next().map_or(UNSEEN, |f| if arriving.all(|v| v == f) { f } else { own(n) });
                changed |= same[n] != met;
                same[n] = met;
            }
            if !changed {
                same.iter_mut().enumerate().filter(|(_, v)| **v == UNSEEN).for_each(|(n, v)| *v = own(n));
                return same;
            }
        }
        (0..self.all.len()).map(own).collect()
    }

    /// A value as a sum of values that are none.
    pub(super) fn form(&mut self, value: Value) -> Form {
        self.form_of(value, DEPTH_MAX)
    }

    fn form_of(&mut self, value: Value, depth: u32) -> Form {
        if let Some(known) = self.forms.get(&value) {
            return known.clone();
        }
        let alone = Form { terms: BTreeMap::from([(value, 1)]), offset: 0 };
        let node = self.all[value as usize].clone();
        let form = match (node.how, depth.checked_sub(1)) {
            (How::Constant(c), _) => Form { terms: BTreeMap::new(), offset: c as i64 },
            (How::Sum(factors, offset), Some(depth)) => {
                let mut sum = Form { terms: BTreeMap::new(), offset };
                for (input, factor) in node.inputs.iter().zip(factors) {
                    let part = self.form_of(*input, depth);
                    sum.add(&part, factor);
                }
                if sum.terms.len() <= TERMS_MAX { sum } else { alone }
            }
            _ => alone,
        };
        self.forms.insert(value, form.clone());
        form
    }
}
