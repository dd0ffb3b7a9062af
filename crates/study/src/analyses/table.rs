//! What analyses return: tables for people and files, series for plots.
use homenode_table::{Column, Table};
use serde::{Deserialize, Serialize};

/// A table without rows; each column is named, with the unit at the end where it has one.
pub(super) fn table(name: &'static str, note: &'static str, columns: &[&'static str]) -> Table {
    Table::new(columns.iter().map(|c| Column::named(*c)).collect()).named(name, note)
}

/// A line of a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it is, for the legend.
    pub label: String,
    /// Points (x, y), ascending by x.
    pub points: Vec<(f64, f64)>,
}
