//! Affinity: from counts of a page to the node where it should live.
//!
//! The rules of Thakkar 2008 (equations 2.1, 2.2, 3.1 in both readings, and the cost difference of section 3.2), one file
//! each. `docs/design/affinity.md` says which open points were closed how.
mod distances;

use crate::counts::ClassCounts;
use crate::policies::Param;
use homenode_base::{Cost, NodeId, TotalCost};
use std::fmt;

pub use distances::Distances;

/// What a rule is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What accesses cost.
    pub distances: &'a Distances,
    /// Counts per accessing node: one entry a row of the distances.
    pub uses: &'a [ClassCounts],
    /// Where the page is, if known.
    pub home: Option<NodeId>,
    /// What a move is worth.
    pub terms: Terms,
}

/// What moving costs and how much use is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Moving this page, in the unit of the distances.
    pub move_cost: Cost,
    /// Accesses to come for each one counted: weight per sample times windows expected to remain. 1 for a full trace.
    pub scale: u64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { move_cost: Cost::ZERO, scale: 1 }
    }
}

/// A rule of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Parameters in the order written.
    pub params: &'static [Param],
    /// The home the page should have; `None`: leave it where it is (nothing known, or the rule is not convinced).
    decide: fn(&[u32], &Question<'_>) -> Option<NodeId>,
    /// What the rule minimises, at each home.
    price: fn(&Question<'_>) -> Vec<TotalCost>,
}

homenode_base::registry!(
    /** Every rule, the default first. */ Spec;
    hop_sensitive, uniform, filtered_variance, filtered_pairwise, cost_difference
);

/// A rule with its parameters.
#[derive(Clone)]
pub struct Rule {
    /// The registry entry.
    pub spec: &'static Spec,
    /// One value per parameter.
    pub values: Vec<u32>,
}

/// Why a rule cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no affinity rule '{given}': known are {known}; parameters stand in parentheses and are whole numbers in their range"
)]
pub struct RuleError {
    /// What was written.
    given: String,
    /// Names of the registry with parameters and ranges.
    known: String,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { spec: ALL[0], values: ALL[0].params.iter().map(|p| p.default).collect() }
    }
}

impl Rule {
    /// Reads `hop-sensitive`, `cost-difference(2)`.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        read(text.trim()).ok_or_else(|| {
            let params = |s: &Spec| s.params.iter().map(|p| format!("({} to {})", p.min, p.max)).collect::<String>();
            let known = ALL.iter().map(|s| format!("{}{}", s.name, params(s))).collect::<Vec<_>>().join(", ");
            RuleError { given: text.trim().into(), known }
        })
    }
    /// The home the page should have; `None`: leave it where it is.
    pub fn decide(&self, question: &Question<'_>) -> Option<NodeId> {
        let used = question.uses.iter().flatten().any(|n| *n > 0);
        if used { (self.spec.decide)(&self.values, question) } else { None }
    }
    /// What the rule minimises, at each home: what assignment under limits adds up.
    pub fn price(&self, question: &Question<'_>) -> Vec<TotalCost> {
        (self.spec.price)(question)
    }
}

impl fmt::Display for Rule {
    /// As [`Rule::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)?;
        self.values.iter().try_for_each(|v| write!(f, "({v})"))
    }
}

fn read(text: &str) -> Option<Rule> {
    let (name, value) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?.trim().parse::<u32>().ok()?)),
    };
    let spec = *ALL.iter().find(|s| s.name == name.trim())?;
    let mut values: Vec<u32> = spec.params.iter().map(|p| p.default).collect();
    if let Some(value) = value {
        let p = spec.params.first().filter(|p| (p.min..=p.max).contains(&value))?;
        values[spec.params.iter().position(|q| q.name == p.name)?] = value;
    }
    Some(Rule { spec, values })
}

/// Uses per node, all classes together: r of the thesis.
fn totals(uses: &[ClassCounts]) -> Vec<i128> {
    uses.iter().map(|c| c.iter().map(|n| i128::from(*n)).sum()).collect()
}

/// Number of uses by a home's own processors; 0 where the home has no row.
fn own(r: &[i128], home: usize) -> i128 {
    r.get(home).copied().unwrap_or(0)
}

/// The home of least price; among equals the current home, else the one that uses the page most, else the lowest
/// (the thesis does not say).
fn least(prices: &[TotalCost], question: &Question<'_>) -> Option<NodeId> {
    let r = totals(question.uses);
    let home = question.home.map(NodeId::index);
    let key = |k: &usize| (prices[*k], Some(*k) != home, -own(&r, *k), *k);
    (0..prices.len()).min_by_key(key).map(|k| NodeId(k as u16))
}

/// Price of equation 2.1: uses from elsewhere.
fn remote_uses(question: &Question<'_>) -> Vec<TotalCost> {
    let r = totals(question.uses);
    let all: i128 = r.iter().sum();
    (0..question.distances.homes()).map(|k| TotalCost(all - own(&r, k))).collect()
}

/// Price of equation 2.2: what all uses cost.
fn latency(question: &Question<'_>) -> Vec<TotalCost> {
    question.distances.costs(question.uses)
}
