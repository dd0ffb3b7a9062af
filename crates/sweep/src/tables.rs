//! Tables of analyses, in documents and as text.
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;

/// Rows of a table that are printed, at most.
const SHOWN_ROWS: usize = 12;

/// One analysis of one trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalysisDoc {
    /// Dataset.
    pub trace: String,
    /// Name of the analysis.
    pub analysis: String,
    /// What it found.
    pub tables: Vec<TableDoc>,
}

/// A table of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDoc {
    /// Name.
    pub name: String,
    /// What it says and what it does not.
    pub note: String,
    /// Columns.
    pub columns: Vec<String>,
    /// Rows that there are.
    pub rows: u64,
    /// The first of them.
    pub first_rows: Vec<Vec<Cell>>,
    /// All of them, with those of other traces.
    pub csv: PathBuf,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Does not apply, or cannot be known.
    Absent,
    /// A count.
    Count(u64),
    /// A ratio or an estimate.
    Real(f64),
    /// Words.
    Text(String),
}

impl Cell {
    /// As CSV has it (RFC 4180); nothing if absent.
    pub(crate) fn csv(&self) -> String {
        match self {
            Cell::Absent => String::new(),
            Cell::Count(n) => n.to_string(),
            Cell::Real(x) => x.to_string(),
            Cell::Text(t) if t.contains([',', '"', '\n', '\r']) => format!("\"{}\"", t.replace('"', "\"\"")),
            Cell::Text(t) => t.clone(),
        }
    }

    fn shown(&self) -> String {
        match self {
            Cell::Absent => "-".to_owned(),
            Cell::Real(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            Cell::Real(x) if x.abs() < 0.01 => format!("{x:.2e}"),
            Cell::Real(x) => format!("{x:.3}"),
            Cell::Count(n) => n.to_string(),
            Cell::Text(t) => t.clone(),
        }
    }
}

impl AnalysisDoc {
    pub(crate) fn write(&self, text: &mut String) {
        for table in &self.tables {
            let _ = writeln!(text, "\n{}: {} ({})\n{}", self.trace, table.name, self.analysis, table.note);
            let head = table.columns.clone();
            let shown = table.first_rows.iter().take(SHOWN_ROWS);
            let number = |column: usize| {
                let mut cells = table.first_rows.iter().filter_map(|r| r.get(column));
                cells.all(|c| !matches!(c, Cell::Text(_)))
            };
            let numbers: Vec<bool> = (0..head.len()).map(number).collect();
            let rows = shown.map(|r| r.iter().map(Cell::shown).collect());
            write_aligned(text, &std::iter::once(head).chain(rows).collect::<Vec<_>>(), &numbers);
            if table.rows > SHOWN_ROWS as u64 {
                let more = table.rows - SHOWN_ROWS as u64;
                let _ = writeln!(text, "  and {more} rows more in {}", table.csv.display());
            }
        }
        text.push('\n');
    }
}

/// Rows in columns as wide as their widest cell; `right` says which stand at the right.
pub(crate) fn write_aligned(text: &mut String, rows: &[Vec<String>], right: &[bool]) {
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..right.len()).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(&widths).zip(right) {
            let _ = if *right { write!(line, "  {cell:>width$}") } else { write!(line, "  {cell:width$}") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
