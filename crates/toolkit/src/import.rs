//! `homenode import`: recordings of other tools as datasets.
use homenode_command::{Failure, json_line};
use homenode_import::{ImportError, ImportSummary};
use homenode_report::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Identifier of these documents, described by `docs/schema/import.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/import-1";

/// What an import came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImportDoc {
    /// Identifier of this kind of document, described by `docs/schema/import.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The new dataset.
    pub dataset: String,
    /// The imported file.
    pub file: String,
    /// Samples in the dataset.
    pub samples: u64,
    /// Events in the dataset.
    pub events: u64,
    /// Threads with samples.
    pub threads: u32,
    /// Processes with samples.
    pub processes: u32,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// The sampled event in words.
    pub event: String,
    /// Sample records in the file.
    pub seen: u64,
    /// Samples dropped because they have no data address.
    pub unaddressed: u64,
    /// Samples dropped because their address is of the kernel.
    pub kernel: u64,
    /// Samples that were lost while recording.
    pub lost: u64,
    /// What a reader should know, in sentences.
    pub warnings: Vec<String>,
}

/// Makes the dataset `out` of one perf.data file; `force` replaces a dataset that is there.
///
/// # Errors
/// Usage for any number of files but one and for an output in the way; input for a file that is damaged, of another format or
/// without data addresses.
pub fn import(files: &[PathBuf], out: &Path, force: bool) -> Result<ImportDoc, Failure> {
    let [file] = files else {
        return Err(Failure::usage(format!(
            "{} files given; an import takes one perf.data file (other formats are not supported yet)",
            files.len()
        )));
    };
    let summary = homenode_import::import(file, out, force).map_err(blame)?;
    Ok(document(file, summary))
}

fn document(file: &Path, s: ImportSummary) -> ImportDoc {
    ImportDoc {
        schema: SCHEMA,
        dataset: s.path.display().to_string(),
        file: file.display().to_string(),
        samples: s.samples,
        events: s.events,
        threads: s.threads,
        processes: s.processes,
        bytes: s.bytes,
        event: s.sampling.event,
        seen: s.counts.seen,
        unaddressed: s.counts.unaddressed,
        kernel: s.counts.kernel,
        lost: s.counts.lost,
        warnings: s.notes,
    }
}

impl ImportDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        json_line(self)
    }
    /// One line for people.
    pub fn to_text(&self) -> String {
        format!(
            "{}: {} of {} samples of {} thread(s), {} bytes\n{}",
            self.dataset,
            units::integer(self.samples),
            units::integer(self.seen),
            self.threads,
            units::integer(self.bytes),
            homenode_command::output::next(&self.dataset, self.samples)
        )
    }
}

/// Whose fault it is that nothing was imported.
fn blame(e: ImportError) -> Failure {
    match e {
        ImportError::Dataset(e) => e.into(),
        file => Failure::input(file),
    }
}
