//! `homenode reproduce`: published results again, with a verdict on each claim.
mod bolosky;
mod claims;
mod counting;
mod experiment;
mod page;
mod programs;
mod synthetic;

use homenode_command::{Failure, Progress, output};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What can be reproduced.
pub const EXPERIMENTS: &[(&str, &str)] = &[
    ("thakkar", "affinity, sampling loss and guided placement of Thakkar 2008, in the model"),
    ("bolosky", "policies, machines, TLBs, false sharing and disturbance of Bolosky 1993: E1 to E12"),
];

/// Identifier of these documents, described by `docs/schema/reproduce.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/reproduce-1";

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

/// What to reproduce.
#[derive(Clone, Debug, Default)]
pub struct ReproduceRequest {
    /// Name of [`EXPERIMENTS`].
    pub what: String,
    /// Only these experiments of it, such as `E8`; all if empty.
    pub only: Vec<String>,
    /// Size of the programs: XS, S or M.
    pub size: String,
    /// Folder for the page, pictures and data; made if missing.
    pub out: Option<PathBuf>,
}

/// Records programs and runs experiments on them. With a folder to write to, also writes a page `NAME.md`, `NAME.json`,
/// and pictures with their data.
///
/// # Errors
/// An experiment or size that does not exist, a folder that cannot be written, or no compiler where one is needed
/// (`thakkar` has synthetic programs then, which the document says).
pub fn reproduce(request: &ReproduceRequest, progress: &mut dyn Progress) -> Result<ReproduceDoc, Failure> {
    let name = request.what.as_str();
    if !EXPERIMENTS.iter().any(|(known, _)| *known == name) {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!("there is no experiment '{name}'; known are {}", known.join(", "))));
    }
    if !["XS", "S", "M"].contains(&request.size.as_str()) {
        return Err(Failure::usage(format!("--size: '{}' is none of XS, S, M", request.size)));
    }
    if name == "thakkar" && !request.only.is_empty() {
        return Err(Failure::usage("--experiment: thakkar is one experiment; bolosky has E1 to E12"));
    }
    // Removed with all that is in it: one process may reproduce twice at a time, so each has its own.
    let folder = tempfile::Builder::new().prefix("homenode-reproduce-").tempdir();
    let folder = folder.map_err(|e| Failure::work(format!("cannot create a temporary folder: {e}")))?;
    run(request, folder.path(), progress)
}

fn run(request: &ReproduceRequest, folder: &Path, progress: &mut dyn Progress) -> Result<ReproduceDoc, Failure> {
    if request.what == "bolosky" {
        let (doc, pictures) = bolosky::run(&request.only, &request.size, folder, progress)?;
        if let Some(out) = &request.out {
            write(&doc, out, &pictures.write(out)?)?;
        }
        return Ok(doc);
    }
    let (doc, bars) = experiment::thakkar(&request.size, folder, progress)?;
    if let Some(out) = &request.out {
        let picture = format!("{}.svg", doc.experiment);
        make(out)?;
        output::write(&out.join(&picture), page::svg(&bars).as_bytes())?;
        write(&doc, out, &[("savings".to_owned(), picture)])?;
    }
    Ok(doc)
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::work(format!("cannot create {}: {e}", folder.display())))
}

/// The page and the document; `pictures` are titles and file names.
fn write(doc: &ReproduceDoc, out: &Path, pictures: &[(String, String)]) -> Result<(), Failure> {
    make(out)?;
    output::write(&out.join(format!("{}.md", doc.experiment)), page::markdown(doc, pictures).as_bytes())?;
    output::write(&out.join(format!("{}.json", doc.experiment)), doc.to_json().as_bytes())
}

impl ReproduceDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// Tables and verdicts for a terminal.
    pub fn to_text(&self) -> String {
        page::text(self)
    }
}
