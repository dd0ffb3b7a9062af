//! `homenode import`: recordings of other tools as datasets.
use homenode_command::{Failure, json_line};
use homenode_import::{ImportError, ImportSummary};
use homenode_report::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
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
    /// The imported file or folder.
    pub file: String,
    /// Samples in the dataset; 0 for an exact recording.
    pub samples: u64,
    /// Events in the dataset.
    pub events: u64,
    /// Threads in the dataset.
    pub threads: u32,
    /// Processes in the dataset.
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
    /// What a file of all references has; absent for samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactDoc>,
    /// What a reader should know, in sentences.
    pub warnings: Vec<String>,
}

/// What came of a file of all references.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExactDoc {
    /// Format of the file (`homenode list formats`).
    pub format: &'static str,
    /// References in the dataset.
    pub references: u64,
    /// What was counted in the file: `instructions`, `loads`, `stores` and so on.
    pub counted: BTreeMap<&'static str, u64>,
    /// Whether what orders its threads was recorded.
    pub synchronised: bool,
}

/// Makes the dataset `out` of one file or folder; `force` replaces a dataset that is there.
///
/// # Errors
/// Usage for any number of files but one and for an output in the way; input for a file that is damaged, of another format or
/// without data addresses.
pub fn import(files: &[PathBuf], out: &Path, force: bool) -> Result<ImportDoc, Failure> {
    let [file] = files else {
        return Err(Failure::usage(format!(
            "{} files given; an import takes one file, or the folder of a trace with several",
            files.len()
        )));
    };
    let summary = homenode_import::import(file, out, force).map_err(blame)?;
    Ok(document(file, summary))
}

fn document(file: &Path, s: ImportSummary) -> ImportDoc {
    let (format, references, synchronised) = (s.format, s.references, s.synchronised);
    let exact = ExactDoc { format, references, counted: s.counted.into_iter().collect(), synchronised };
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
        exact: (s.samples == 0).then_some(exact),
        warnings: s.notes,
    }
}

impl ImportDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        json_line(self)
    }
    /// What came in, and the command that comes next.
    pub fn to_text(&self) -> String {
        let held = match &self.exact {
            Some(exact) => format!("{} references", units::integer(exact.references)),
            None => format!("{} of {} samples", units::integer(self.samples), units::integer(self.seen)),
        };
        let mut text =
            format!("{}: {held} of {} thread(s), {} bytes\n", self.dataset, self.threads, units::integer(self.bytes));
        if let Some(exact) = &self.exact {
            let counted: Vec<String> =
                exact.counted.iter().map(|(what, n)| format!("{} {what}", units::integer(*n))).collect();
            text += &format!("the {} file counts {}\n", exact.format, counted.join(", "));
        }
        text + &homenode_command::output::next(
            &self.dataset,
            self.samples + self.exact.as_ref().map_or(0, |e| e.references),
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
