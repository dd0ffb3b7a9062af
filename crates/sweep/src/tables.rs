//! Tables of analyses, in documents and as text.
use homenode_table::{Cell, Column, Layout, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;

/// Rows of a table that are printed, at most.
const SHOWN_ROWS: usize = 12;

/// How tables are printed.
pub(crate) const SHOWN: Layout = Layout { indent: 2, gap: 2, head: true, width: None, absent: "-" };

/// One analysis of one trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalysisDoc {
    /// Dataset.
    pub trace: String,
    /// Name of the analysis, as `homenode list analyses` has it.
    pub analysis: String,
    /// What it found.
    pub tables: Vec<TableDoc>,
}

/// A table of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub first_rows: Vec<Vec<Cell<'static>>>,
    /// All of them, with those of other traces.
    pub csv: PathBuf,
}

impl AnalysisDoc {
    pub(crate) fn write(&self, text: &mut String) {
        for table in &self.tables {
            let _ = writeln!(text, "\n{}: {} ({})\n{}", self.trace, table.name, self.analysis, table.note);
            text.push_str(&table.shown().text(&SHOWN));
            if table.rows > SHOWN_ROWS as u64 {
                let more = table.rows - SHOWN_ROWS as u64;
                let _ = writeln!(text, "  and {more} rows more in {}", table.csv.display());
            }
        }
        text.push('\n');
    }
}

impl TableDoc {
    /// The rows that are printed.
    fn shown(&self) -> Table {
        let mut shown = Table::new(self.columns.iter().map(Column::named).collect());
        self.first_rows.iter().take(SHOWN_ROWS).for_each(|row| shown.push(row.iter().cloned()));
        shown
    }
}
