//! Reports.
use crate::policy::choice;
use crate::refs::order_of;
use crate::table::{self, Table};
use crate::work::{self, Watch};
use homenode_report::ReportDoc;
use homenode_toolkit::{MissModel, ReportRequest};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// Where pages should live, what that is worth and what to change.
#[pyclass(frozen, module = "homenode")]
pub(crate) struct Report {
    doc: ReportDoc,
    value: Value,
}

#[pymethods]
impl Report {
    /// Replays the recording.
    #[new]
    #[pyo3(signature = (dataset, *, compare, machine, blocks, policies, map, order, charge_spins, model, threshold, capacity, verify, progress))]
    #[expect(clippy::too_many_arguments, reason = "each is one of the command's options, by name")]
    fn new(
        py: Python<'_>,
        dataset: PathBuf,
        compare: Option<PathBuf>,
        machine: String,
        blocks: Vec<u64>,
        policies: Vec<Bound<'_, PyAny>>,
        map: Option<String>,
        order: &str,
        charge_spins: bool,
        model: &str,
        threshold: u32,
        capacity: Vec<String>,
        verify: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let watch = Watch::default();
        let (mut named, mut owned) = (Vec::new(), Vec::new());
        for policy in policies {
            match policy.extract::<String>() {
                Ok(name) => named.push(name),
                Err(_) => owned.push(choice(&policy, &watch)?),
            }
        }
        let request = ReportRequest {
            dataset,
            compare,
            machine,
            blocks,
            policies: named,
            map,
            order: order_of(order, 1)?,
            charge_spins,
            model: model_of(model)?,
            threshold_percent: threshold,
            verify,
            capacity,
        };
        let doc = work::run(py, progress.as_ref(), &watch, move |watch| {
            homenode_toolkit::report_with(&request, owned, watch)
        })?;
        let value = serde_json::from_str(&doc.to_json()).expect("our own document is JSON");
        Ok(Report { doc, value })
    }

    /// The document, as `homenode report --json` prints it.
    fn to_json(&self) -> String {
        self.doc.to_json()
    }
    /// The page, as `homenode report -o page.html` writes it.
    fn to_html(&self) -> String {
        homenode_toolkit::html(&self.doc)
    }
    /// The text, as `homenode report` prints it.
    #[pyo3(signature = (width = 100))]
    fn to_text(&self, width: usize) -> String {
        homenode_toolkit::text(&self.doc, width, false)
    }
    /// A list of the document as a table; of evaluation `evaluation` (one a block size) unless it is that of the document.
    #[pyo3(signature = (name, evaluation = 0))]
    fn table(&self, name: &str, evaluation: usize) -> PyResult<Table> {
        let part = &self.value["evaluations"][evaluation];
        let list = name.split('.').fold(part, |value, member| &value[member]);
        let nothing = Vec::new();
        Table::of(&table::rows("", list.as_array().unwrap_or(&nothing)))
    }
}

fn model_of(name: &str) -> PyResult<MissModel> {
    match name {
        "latency" => Ok(MissModel::Latency),
        "overlap" => Ok(MissModel::Overlap),
        _ => Err(work::UsageError::new_err(format!("model: there is no model '{name}': latency or overlap"))),
    }
}
