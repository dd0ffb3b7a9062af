//! `homenode reproduce`: published results again, with a verdict on each claim.
mod claims;
mod counting;
mod experiment;
mod page;
mod programs;
mod synthetic;

use crate::{Failure, Progress, output};
use serde::Serialize;
use std::path::Path;

/// What can be reproduced.
pub const EXPERIMENTS: &[(&str, &str)] =
    &[("thakkar", "affinity, sampling loss and guided placement of Thakkar 2008, in the model")];

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct ReproduceDoc {
    /// Identifier of this kind of document, described by `docs/schema/reproduce.json`.
    pub schema: &'static str,
    /// Name of the experiment.
    pub experiment: String,
    /// Size of the programs: XS, S or M.
    pub size: String,
    /// What was run, in a sentence.
    pub programs: String,
    /// Tables of results.
    pub tables: Vec<Table>,
    /// Every claim with a verdict.
    pub claims: Vec<Claim>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A table of results.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Column headings; the first column names the row.
    pub columns: Vec<String>,
    /// Rows, as long as the headings.
    pub rows: Vec<Vec<String>>,
}

/// One published claim beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What is claimed.
    pub what: String,
    /// Where.
    pub place: String,
    /// The published value with its unit.
    pub theirs: String,
    /// Ours; empty where there is none.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why that verdict.
    pub why: String,
}

/// Whether a published value and ours agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Within what rounding and the noise of the publication allow.
    #[serde(rename = "agrees")]
    Agrees,
    /// Not so.
    #[serde(rename = "differs")]
    Differs,
    /// The machines or the programs are gone, or only a clock could tell.
    #[serde(rename = "cannot be known")]
    CannotBeKnown,
}

impl Verdict {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::CannotBeKnown => "cannot be known",
        }
    }
}

/// Runs an experiment at a size. With `out`, a folder, also writes `NAME.md`, `NAME.svg` and `NAME.json` there.
///
/// # Errors
/// An experiment or size that does not exist, or a folder that cannot be written. Without a compiler the programs are
/// synthetic ones, which the document says.
pub fn reproduce(
    experiment: &str,
    size: &str,
    out: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<ReproduceDoc, Failure> {
    if !EXPERIMENTS.iter().any(|(name, _)| *name == experiment) {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!("there is no experiment '{experiment}'; known are {}", known.join(", "))));
    }
    if !["XS", "S", "M"].contains(&size) {
        return Err(Failure::usage(format!("--size: '{size}' is none of XS, S, M")));
    }
    let (doc, bars) = experiment::thakkar(size, progress)?;
    if let Some(folder) = out {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::work(format!("cannot create {}: {e}", folder.display())))?;
        let file = |end: &str| folder.join(format!("{experiment}.{end}"));
        output::write(&file("svg"), page::svg(&bars).as_bytes())?;
        output::write(&file("md"), page::markdown(&doc, &format!("{experiment}.svg")).as_bytes())?;
        output::write(&file("json"), doc.to_json().as_bytes())?;
    }
    Ok(doc)
}

impl ReproduceDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        crate::json_line(self)
    }
    /// Tables and verdicts for a terminal.
    pub fn to_text(&self) -> String {
        page::text(self)
    }
}
