//! What the charts draw, with every label already in words, so that units are decided in one place.
use crate::compare::share;
use crate::units::{CostUnit, bytes, factor, percent};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::PolicyRow;
use serde::Serialize;

/// Charts of one evaluation.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    policies: Policies,
    patterns: Vec<Pattern>,
    /// Nodes of the machine that threads or homes name.
    nodes: usize,
}

#[derive(Debug, Serialize)]
struct Policies {
    /// Unit of the axis.
    axis: String,
    /// Parts that are not zero everywhere: key (for colour) and label.
    parts: Vec<(&'static str, &'static str)>,
    rows: Vec<Bar>,
    /// Value, name and label of the optimum line.
    optimum: Option<(f64, String, String)>,
}

#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    values: Vec<f64>,
    labels: Vec<String>,
    total: String,
}

#[derive(Debug, Serialize)]
struct Pattern {
    name: String,
    bytes_percent: f64,
    cost_percent: f64,
    bytes: String,
    cost: String,
}

/// A part of a policy's total: key, label, value.
pub(crate) type Part = (&'static str, &'static str, fn(&PolicyRow) -> TotalCost);

const PARTS: [Part; 5] = [
    ("local", "Local", |p| p.local),
    ("remote", "Remote", |p| p.remote),
    ("global", "Global", |p| p.global),
    ("movement", "Moves", |p| p.movement),
    ("transfer", "Transfers", |p| p.transfer),
];

/// The parts that some policy has.
pub(crate) fn parts(e: &Evaluation) -> Vec<Part> {
    PARTS.into_iter().filter(|(_, _, part)| e.policies.iter().any(|p| part(p) != TotalCost::ZERO)).collect()
}

/// One more than the highest node that a thread, a home or a cell names.
pub(crate) fn nodes(e: &Evaluation) -> usize {
    let threads = e.threads.iter().map(|t| usize::from(t.node) + 1);
    let homes = e.heat.rows.iter().map(|r| usize::from(r.home) + 1);
    let cells = e.heat.rows.iter().flat_map(|r| r.cells.iter().map(Vec::len));
    threads.chain(homes).chain(cells).max().unwrap_or(0)
}

impl View {
    pub(crate) fn of(e: &Evaluation) -> View {
        View { policies: policies(e), patterns: patterns(e), nodes: nodes(e) }
    }
}

fn policies(e: &Evaluation) -> Policies {
    let unit = CostUnit::of(&e.unit);
    let parts = parts(e);
    let optimum = e.optimum.first();
    let largest = e.policies.iter().map(|p| p.total).chain(optimum.map(|o| o.total)).max().unwrap_or(TotalCost::ZERO);
    let (scale, axis) = unit.axis(largest);
    let bar = |p: &PolicyRow| Bar {
        name: p.name.clone(),
        values: parts.iter().map(|(_, _, part)| part(p).as_f64() / scale).collect(),
        labels: parts.iter().map(|(_, _, part)| unit.cost(part(p))).collect(),
        total: format!("{} ({})", unit.cost(p.total), factor(p.ratio)),
    };
    Policies {
        axis,
        rows: e.policies.iter().map(bar).collect(),
        optimum: optimum.map(|o| (o.total.as_f64() / scale, o.name.clone(), unit.cost(o.total))),
        parts: parts.iter().map(|(key, label, _)| (*key, *label)).collect(),
    }
}

fn patterns(e: &Evaluation) -> Vec<Pattern> {
    let unit = CostUnit::of(&e.unit);
    let all_bytes = e.patterns.iter().map(|p| p.bytes as f64).sum::<f64>();
    let all_cost: TotalCost = e.patterns.iter().map(|p| p.cost).sum();
    let row = |p: &homenode_sim::evaluation::PatternRow| {
        let of_bytes = if all_bytes > 0.0 { p.bytes as f64 / all_bytes } else { 0.0 };
        let of_cost = share(p.cost, all_cost);
        Pattern {
            name: p.pattern.clone(),
            bytes_percent: of_bytes * 100.0,
            cost_percent: of_cost * 100.0,
            bytes: format!("{} ({})", bytes(p.bytes), percent(of_bytes)),
            cost: format!("{} ({})", unit.cost(p.cost), percent(of_cost)),
        }
    };
    e.patterns.iter().map(row).collect()
}
