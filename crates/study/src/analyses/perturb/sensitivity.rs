//! A question asked of the recorded order and of perturbed ones.
use super::super::{AnalysisError, Input, sum};
use super::{Filter, Interval, Perturbed, Sync};
use crate::Row;
use homenode_base::TotalCost;

/// Smaller changes, in percent, are shown as 0, as in table 4.1 of Bolosky 1993.
pub const SHOWN_PERCENT: f64 = 0.001;

/// One result, and the same under perturbation.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row in the recorded order.
    pub row: Row,
    /// Cost of the row under each seed.
    pub costs: Vec<TotalCost>,
}

impl Change {
    /// Relative changes in percent, with their signs.
    pub fn percents(&self) -> impl Iterator<Item = f64> + '_ {
        self.costs.iter().map(|c| match self.row.cost {
            TotalCost::ZERO if *c == TotalCost::ZERO => 0.0,
            cost => 100.0 * (*c - cost).as_f64() / cost.as_f64(),
        })
    }
    /// The mean with its sign, and how sure it is.
    pub fn interval_percent(&self) -> Interval {
        Interval::of(&self.percents().collect::<Vec<f64>>())
    }
    /// The largest without its sign, 0 below [`SHOWN_PERCENT`].
    pub fn largest_percent(&self) -> f64 {
        shown(self.percents().map(f64::abs).fold(0.0, f64::max))
    }
    /// The mean without signs, 0 below [`SHOWN_PERCENT`].
    pub fn mean_percent(&self) -> f64 {
        shown(self.percents().map(f64::abs).sum::<f64>() / self.costs.len().max(1) as f64)
    }
}

fn shown(percent: f64) -> f64 {
    if percent < SHOWN_PERCENT { 0.0 } else { percent }
}

/// Asks the input's question of the recorded order and of [`Input::repeats`] orders perturbed by seeds `seed`, `seed + 1`
/// and so on. Rows are those of the recorded order.
///
/// # Errors
/// As of whoever answers, and a filter out of range.
pub fn sensitivity(input: &mut Input<'_>, filter: Filter, sync: Sync) -> Result<Vec<Change>, AnalysisError> {
    filter.check()?;
    let recorded = sum(&(input.ask)(input.question, input.source)?)?;
    let mut changes: Vec<Change> = recorded.rows.into_iter().map(|row| Change { row, costs: Vec::new() }).collect();
    for i in 0..u64::from(input.repeats) {
        let seed = input.seed.wrapping_add(i);
        let mut perturbed = Perturbed::new(filter, sync, seed, input.bindings(), &mut *input.source)?;
        let answer = sum(&(input.ask)(input.question, &mut perturbed)?)?;
        for (change, row) in changes.iter_mut().zip(&answer.rows) {
            debug_assert_eq!((change.row.machine, change.row.what), (row.machine, row.what));
            change.costs.push(row.cost);
        }
    }
    Ok(changes)
}
