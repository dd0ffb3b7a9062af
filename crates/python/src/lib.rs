//! # homenode-python: the native module of the Python package
//!
//! What the package `homenode` (`crates/python/python/homenode`) is made of: the commands as functions, tables and references in Arrow's
//! memory format, policies that are written in Python, and the pieces that a scheduler of its own kind makes a sweep of.
//!
//! **Invariant:** nothing is computed here. Long work runs on a thread of its own without Python's lock, and ends soon after
//! Ctrl-C; every failure becomes the exception of its exit status, with the same text.
//!
//! Reading order: `work` (long work, failures), `table` and `refs` (Arrow), `report`, `policy` (policies in Python), `sweep`, `commands`.
mod commands;
mod policy;
mod refs;
mod report;
mod sweep;
mod table;
mod work;

/// Functions and classes behind the package `homenode`, which is what to import.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::commands::{check, import_files, info, main, members, place, version};
    #[pymodule_export]
    use crate::policy::Access;
    #[pymodule_export]
    use crate::refs::References;
    #[pymodule_export]
    use crate::report::Report;
    #[pymodule_export]
    use crate::sweep::{Sweep, carry_out, carry_out_run, sweep};
    #[pymodule_export]
    use crate::table::Table;
}
