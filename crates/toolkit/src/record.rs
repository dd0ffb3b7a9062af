//! `homenode record`: run a program and keep what it did.
use homenode_base::pages::{Drawn, PAGE_BYTES};
use homenode_capture::{RecordOptions, RecordSummary};
use homenode_command::{Failure, Progress, Recording};
use homenode_report::{memory_time::native_words, units};
use homenode_trace::manifest::Native;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Identifier of these documents, described by `docs/schema/record.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/record-1";

/// What a recording came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordDoc {
    /// Identifier of this kind of document, described by `docs/schema/record.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The dataset; null if references were only counted.
    pub dataset: Option<String>,
    /// References recorded or counted, spins included.
    pub refs: u64,
    /// References left out because their pages were not to be recorded (`--sample`).
    pub left_out: u64,
    /// Busy-wait references.
    pub spins: u64,
    /// Events.
    pub events: u64,
    /// Threads.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// Exit status of the program; negative = killed by that signal; null = unknown.
    pub exit_status: Option<i32>,
    /// Whether references are missing because writing failed.
    pub write_failed: bool,
    /// Whether the phase that was to be recorded (`--roi`) never began.
    pub phase_missed: bool,
    /// Whether it ran before the recording and was left alone at the end: nobody here is told how it ended.
    #[serde(skip)]
    pub joined: bool,
    /// Seconds from the start of the program to its end.
    pub run_seconds: f64,
    /// Seconds from there to the finished dataset.
    pub finish_seconds: f64,
    /// What the program took without hooks; only with `--calibrate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// Why the recording ended early and what it could not see, in sentences.
    pub warnings: Vec<String>,
}

/// Runs the program and records it. The program's failure is not this function's: see [`RecordDoc::failed`].
pub fn record(options: &RecordOptions, progress: &mut dyn Progress) -> Result<RecordDoc, Failure> {
    let joined = options.pid.is_some();
    Ok(RecordDoc { joined, ..document(homenode_capture::record(options, &mut Recording(progress))?) })
}

/// The pages that `--sample` and `--sample-page` ask for.
pub fn drawn(one_in: u32, page_bytes: u64) -> Result<Drawn, Failure> {
    let (least, most) = (units::bytes(PAGE_BYTES.0), units::bytes(PAGE_BYTES.1));
    Drawn::new(one_in, page_bytes).ok_or_else(|| {
        Failure::usage(format!("one in {one_in} pages of {page_bytes} bytes: pages have a power of two from {least} to {most}, one of 2 or more"))
    })
}

/// The dataset of a command that names none: the program's name with `.hnt`, in the current directory.
pub fn default_output(command: &[OsString]) -> PathBuf {
    let program = command.first().map(PathBuf::from).unwrap_or_default();
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(".hnt");
    PathBuf::from(name)
}

fn document(s: RecordSummary) -> RecordDoc {
    let mut warnings: Vec<String> = (!s.ended.is_empty()).then(|| s.ended.clone()).into_iter().collect();
    warnings.extend(homenode_report::doc::blind_counts(&s.blind));
    RecordDoc {
        schema: SCHEMA,
        dataset: s.path.map(|p| p.display().to_string()),
        refs: s.refs,
        left_out: s.left_out,
        spins: s.spins,
        events: s.events,
        threads: s.threads,
        processes: s.processes,
        bytes: s.bytes,
        exit_status: s.exit_status,
        write_failed: s.write_failed,
        phase_missed: s.phase_missed,
        joined: false,
        run_seconds: s.run_seconds,
        finish_seconds: s.finish_seconds,
        native: s.native,
        warnings,
    }
}

impl RecordDoc {
    /// Whether the program ended badly, or the dataset lacks references because writing failed or the phase to be recorded
    /// never began.
    pub fn failed(&self) -> bool {
        let unknown = self.joined && self.exit_status.is_none();
        self.write_failed || self.phase_missed || (self.exit_status != Some(0) && !unknown)
    }
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// One or two lines for people.
    pub fn to_text(&self) -> String {
        let refs = units::integer(self.refs);
        let end = match self.exit_status {
            Some(0) => String::new(),
            Some(n) if n < 0 => format!("the program was killed by signal {}\n", -n),
            Some(n) => format!("the program ended with status {n}\n"),
            None if self.joined => String::new(),
            None => "how the program ended is not known\n".to_owned(),
        };
        let Some(dataset) = &self.dataset else {
            return format!("{refs} references counted in {:.3} s\n{end}", self.run_seconds);
        };
        let per_ref = match self.refs {
            0 => String::new(),
            n => format!(" ({:.3} B/ref)", self.bytes as f64 / n as f64),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!(" (and {} to other pages, left out)", units::integer(n)),
        };
        let native = self.native.as_ref().map_or(String::new(), |n| format!("without hooks: {}\n", native_words(n)));
        format!(
            "{dataset}: {refs} references{left_out} of {} thread(s) in {:.2} s, {} bytes{per_ref}\n{end}{native}{}",
            self.threads,
            self.run_seconds,
            units::integer(self.bytes),
            homenode_command::output::next(dataset, self.refs)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_joined_has_not_failed_because_nobody_knows_its_end() {
        let doc = |joined, exit_status, write_failed| RecordDoc {
            joined,
            exit_status,
            write_failed,
            ..document(RecordSummary { path: Some("x.hnt".into()), ..RecordSummary::default() })
        };
        assert!(!doc(true, None, false).failed() && doc(true, None, true).failed());
        assert!(doc(false, None, false).failed() && !doc(false, Some(0), false).failed());
        assert!(doc(false, Some(-9), false).failed());
        assert!(!doc(true, None, false).to_text().contains("not known"));
        assert!(doc(false, None, false).to_text().contains("not known"));
    }
}
