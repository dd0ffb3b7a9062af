//! # homenode-table: tables
//!
//! One [`Table`] for every table that is shown or written: columns with name, kind, side and width, and rows in Arrow's
//! layout. Written as aligned text, CSV and Markdown; [`TableFile`] streams any number of rows into a CSV or Parquet file.
//!
//! **Invariant:** every form of a table comes from the same columns and cells: whoever adds a column adds it to all of them.
//!
//! Reading order: [`Column`], [`Cell`], [`Table`], `text`, `csv`, `markdown`, `parquet`, [`TableFile`], [`read`] (tables of others); [`esc`] for pages.
//!
//! ```
//! use homenode_table::{Cell, Column, Kind, Layout, Table};
//!
//! let mut table = Table::new(vec![Column::new("policy", Kind::Text), Column::new("moves", Kind::Count)]);
//! table.push([Cell::from("first-touch"), Cell::from(0_u64)]);
//! table.push([Cell::from("migrate, then freeze"), Cell::Absent]);
//!
//! let lines = table.lines(&Layout { absent: "-", ..Layout::default() });
//! assert_eq!(lines[0], "policy                moves");
//! assert_eq!(lines[2], "migrate, then freeze      -");
//! assert_eq!(table.csv(), "policy,moves\nfirst-touch,0\n\"migrate, then freeze\",\n");
//! assert_eq!(table.batch()?.num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod cell;
mod cells;
mod column;
mod csv;
mod file;
mod html;
mod markdown;
mod parquet;
pub mod read;
mod table;
mod text;
mod words;

/// Rows in Arrow's memory format.
pub use arrow_array::RecordBatch;
pub use arrow_schema::ArrowError;
pub use cell::Cell;
pub use column::{Column, Kind, Side};
pub use file::{Format, TableFile, WriteError};
pub use html::esc;
pub use table::Table;
pub use text::{Layout, clean, cut_front};
