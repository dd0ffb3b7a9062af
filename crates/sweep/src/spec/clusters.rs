//! Clusters in virtual time: machines, shapes, steps of the protocol, and what is another one than on the machine.
use super::numbers::Values;
use super::{Resolve, SpecError, error};
use homenode_cluster::{PARAMETERS, Parameter, Shape, WhatIf, shape, shaped};
use homenode_hlrc::steps::{self, Step};
use homenode_machine::Machine;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// How parameters vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vary {
    /// All combinations of their values.
    Grid,
    /// One at a time, beside the machine as it is.
    Each,
}

/// Words for how parameters vary.
const VARY: [(&str, Vary); 2] = [("grid", Vary::Grid), ("each", Vary::Each)];
/// Keys that are no parameter's.
const KEYS: [&str; 5] = ["machine", "nodes", "protocols", "what_if", "vary"];
/// Most values of one parameter.
const VALUES_MAX: u64 = 10_000;

/// A table `[[cluster]]`.
#[derive(Clone, Debug)]
pub struct ClusterSet {
    /// Machines with a network.
    pub machines: Vec<Machine>,
    /// Nodes and processors of each; those of the machine if there are none.
    pub shapes: Vec<Shape>,
    /// Steps of the protocol.
    pub steps: Vec<&'static Step>,
    /// Counterfactuals.
    pub what_ifs: Vec<WhatIf>,
    /// Parameters that vary, in the order of the list of all.
    pub axes: Vec<(&'static Parameter, Vec<u64>)>,
    /// How they do.
    pub vary: Vary,
}

/// Keys of a table with their lines.
pub(super) type ClusterTable = BTreeMap<Spanned<String>, Spanned<Value>>;

impl ClusterSet {
    /// Each machine in each shape.
    pub fn clusters(&self) -> impl Iterator<Item = Machine> + '_ {
        self.machines.iter().flat_map(|machine| {
            let as_it_is = self.shapes.is_empty().then(|| machine.clone());
            as_it_is.into_iter().chain(self.shapes.iter().map(|s| shaped(machine, *s)))
        })
    }

    /// How many points a cluster and step have.
    pub fn points(&self) -> u128 {
        let counts = self.axes.iter().map(|(_, values)| values.len() as u128);
        let asked = 1 + self.what_ifs.len() as u128;
        match self.vary {
            Vary::Grid => counts.fold(asked, u128::saturating_mul),
            Vary::Each => counts.fold(asked, u128::saturating_add),
        }
    }

    /// What is another one at the point with this number, below [`ClusterSet::points`]; nothing: the machine is as it is.
    pub fn point(&self, number: u128) -> Vec<WhatIf> {
        match self.vary {
            Vary::Grid => self.combined(number),
            Vary::Each => self.alone(number).into_iter().collect(),
        }
    }

    /// The last parameter varies fastest, counterfactuals vary slowest and are applied to what parameters made.
    fn combined(&self, number: u128) -> Vec<WhatIf> {
        let mut rest = number;
        let mut changes = Vec::with_capacity(self.axes.len() + 1);
        for (parameter, values) in self.axes.iter().rev() {
            let count = values.len() as u128;
            changes.push(WhatIf::Is(parameter, values[(rest % count) as usize]));
            rest /= count;
        }
        changes.reverse();
        changes.extend((rest as usize).checked_sub(1).map(|n| self.what_ifs[n]));
        changes
    }

    /// The machine as it is, counterfactuals, and parameters, one after the other.
    fn alone(&self, number: u128) -> Option<WhatIf> {
        let values = self.axes.iter().flat_map(|(p, values)| values.iter().map(|v| WhatIf::Is(p, *v)));
        (number as usize).checked_sub(1).and_then(|n| self.what_ifs.iter().copied().chain(values).nth(n))
    }
}

/// Reads a table; `text` is the whole study.
pub(super) fn cluster(text: &str, table: &ClusterTable, resolve: &Resolve<'_>) -> Result<ClusterSet, SpecError> {
    let mut set = ClusterSet {
        machines: Vec::new(),
        shapes: Vec::new(),
        steps: Vec::new(),
        what_ifs: Vec::new(),
        axes: Vec::new(),
        vary: Vary::Grid,
    };
    for (key, value) in table {
        let line = error::line_of(text, key.span().start);
        set.take(key.get_ref(), value.get_ref(), resolve).map_err(|e| e.at(line))?;
    }
    set.axes.sort_by_key(|(p, _)| PARAMETERS.iter().position(|q| q.name == p.name));
    if set.machines.is_empty() {
        return Err(SpecError::new("a [[cluster]] has machine = \"svm-achievable\", or a list of machines"));
    }
    if set.steps.is_empty() {
        set.steps.extend([steps::ALL.first(), steps::ALL.last()].into_iter().flatten());
    }
    Ok(set)
}

impl ClusterSet {
    fn take(&mut self, key: &str, value: &Value, resolve: &Resolve<'_>) -> Result<(), SpecError> {
        let in_key = |e: String| SpecError::new(format!("{key}: {e}"));
        match key {
            "machine" => self.machines = each(key, value, |name| machine(name, resolve))?,
            "nodes" => self.shapes = each(key, value, |word| shape(word).map_err(in_key))?,
            "protocols" => self.steps = each(key, value, step)?,
            "what_if" => self.what_ifs = each(key, value, |word| word.parse().map_err(in_key))?,
            "vary" => {
                let word = value.as_str().unwrap_or_default();
                let found = VARY.iter().find(|(name, _)| *name == word);
                let unknown = || SpecError::unknown("value of vary", word, VARY.iter().map(|v| v.0));
                self.vary = found.ok_or_else(unknown)?.1;
            }
            _ => self.axes.push(axis(key, value)?),
        }
        Ok(())
    }
}

/// A text, or a list of texts of which none stands there twice.
fn each<T>(key: &str, value: &Value, read: impl Fn(&str) -> Result<T, SpecError>) -> Result<Vec<T>, SpecError> {
    let items: &[Value] = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    if items.is_empty() {
        return Err(SpecError::new(format!("{key}: the list is empty")));
    }
    if let Some(n) = (1..items.len()).find(|n| items[..*n].contains(&items[*n])) {
        return Err(SpecError::new(format!("{key}: {} stands there twice, and its rows would too", items[n])));
    }
    let one = |v: &Value| match v {
        Value::String(word) => read(word),
        other => Err(SpecError::new(format!("{key} = {other} is not allowed: a text, or a list of texts"))),
    };
    items.iter().map(one).collect()
}

fn machine(name: &str, resolve: &Resolve<'_>) -> Result<Machine, SpecError> {
    let machine = resolve(name).map_err(SpecError::new)?;
    let network = machine.sections.network.is_some();
    let missing = || SpecError::new(homenode_cluster::ClusterError::NoSection(machine.name.clone()).to_string());
    if network { Ok(machine) } else { Err(missing()) }
}

fn step(name: &str) -> Result<&'static Step, SpecError> {
    steps::find(name).ok_or_else(|| {
        SpecError::unknown("protocol of clusters", name, steps::ALL.iter().map(|s| s.name).chain(["genima"]))
    })
}

/// Values of a parameter, each of which it may have.
fn axis(key: &str, value: &Value) -> Result<(&'static Parameter, Vec<u64>), SpecError> {
    let unknown =
        || SpecError::unknown("key of [[cluster]]", key, KEYS.into_iter().chain(PARAMETERS.iter().map(|p| p.name)));
    let parameter = Parameter::find(key).ok_or_else(unknown)?;
    let values = Values::from_toml(key, value, None)?;
    if values.count() > VALUES_MAX {
        return Err(SpecError::new(format!("{key}: {} values, and at most {VALUES_MAX} can be", values.count())));
    }
    let values: Vec<u64> = (0..values.count()).map(|n| values.at(n).unsigned_abs()).collect();
    for value in &values {
        parameter.is(*value).map_err(|e| SpecError::new(format!("{key}: {e}")))?;
    }
    Ok((parameter, values))
}

/// Names of the parameters that may vary.
pub fn parameters() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|p| p.name)
}

#[cfg(test)]
#[path = "clusters_tests.rs"]
mod tests;
