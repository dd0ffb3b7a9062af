//! # homenode-papers: published results again, with a verdict on each claim
//!
//! A family: to add a paper, write a file or folder here that defines `SPEC`, and its name in the list.
//!
//! **Invariant:** every claim of a paper gets a verdict (it agrees, differs, hangs on the recording, holds for any program, cannot be
//! known, or is not judged with programs so small), and ours comes from the same engines that answer everything else.
//!
//! Reading order: [`Paper`], [`ReproduceDoc`], [`reproduce`], `homenode_reproducing` (what is recorded), then the papers; claims, rules, pictures and pages are in `homenode_judging`.
//!
//! ```
//! use homenode_papers::{ALL, ReproduceRequest, Verdict, reproduce};
//!
//! assert!(ALL.iter().any(|paper| paper.name == "bolosky"));
//! // The constants of chapter 6 need no programs.
//! let request = ReproduceRequest { what: "bolosky".into(), only: vec!["E6".into()], size: "XS".into(), ..Default::default() };
//! let doc = reproduce(&request, &mut ())?;
//! assert!(doc.claims.iter().all(|claim| claim.verdict == Verdict::Identity));
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

pub use homenode_judging::doc::{Claim, ReproduceDoc, Table, Verdict};
pub use homenode_reproducing::elsewhere::{Elsewhere, Unit};
pub use homenode_reproducing::paper::Paper;

use homenode_command::{Failure, Progress};
use homenode_reproducing::kept;
use homenode_reproducing::paper::{Job, SIZES};
use std::path::PathBuf;

homenode_base::registry!(
    /** Every paper. */ Paper;
    thakkar, bolosky, markatos, ascoma, bilas
);

/// What to reproduce.
#[derive(Clone, Debug, Default)]
pub struct ReproduceRequest {
    /// Name of a paper of [`ALL`].
    pub what: String,
    /// Only these experiments of it, such as `E8`; all if empty.
    pub only: Vec<String>,
    /// Only these programs of it, such as `gauss`; all if empty. Claims that need others are not judged.
    pub programs: Vec<String>,
    /// Size of the programs: XS, S, M or P, which is that of the paper.
    pub size: String,
    /// Folder for the page, pictures and data; made if missing.
    pub out: Option<PathBuf>,
}

/// Records programs and runs experiments on them. With a folder to write to, also writes the page as `NAME.md` and, with pictures
/// inside, as `NAME.html`; `NAME.json`; and pictures with their data. Recordings that are finished stay there until it comes to its end:
/// a run that is killed is taken up by the next one with the same size.
///
/// # Errors
/// A paper, experiment, program or size that does not exist, a folder that cannot be written, or no compiler where one is needed
/// (`thakkar` has synthetic programs then, which the document says).
pub fn reproduce(request: &ReproduceRequest, progress: &mut dyn Progress) -> Result<ReproduceDoc, Failure> {
    reproduced(request, None, progress)
}

/// As [`reproduce`], with the runs of recordings done by others. They see the folder for results, where recordings are.
///
/// # Errors
/// As [`reproduce`]; a run that fails elsewhere.
pub fn reproduce_elsewhere(
    request: &ReproduceRequest,
    elsewhere: &dyn Elsewhere,
    progress: &mut dyn Progress,
) -> Result<ReproduceDoc, Failure> {
    reproduced(request, Some(elsewhere), progress)
}

/// Does one run of a recording: a [`Unit`] as JSON, of which the answer is JSON on one line.
///
/// # Errors
/// A run or recording that there is not, or that fails.
pub fn carry_out(unit: &str) -> Result<String, Failure> {
    let unit: Unit = serde_json::from_str(unit).map_err(|e| Failure::usage(format!("no run of a paper: {e}")))?;
    let paper = ALL.iter().find(|p| p.name == unit.paper);
    let paper = paper.ok_or_else(|| Failure::usage(format!("there is no experiment '{}'", unit.paper)))?;
    (paper.carry_out)(&unit)
}

fn reproduced(
    request: &ReproduceRequest,
    elsewhere: Option<&dyn Elsewhere>,
    progress: &mut dyn Progress,
) -> Result<ReproduceDoc, Failure> {
    let paper = asked(request)?;
    let name = paper.name;
    let left_out = paper.left_out(&request.programs, ALL)?;
    let place = kept::Place::new(request.out.as_deref(), &format!("{name}-{}.recordings", request.size))?;
    let (only, size, folder) = (&request.only[..], &request.size[..], place.path());
    let job = Job { only, left_out: &left_out, size, folder, elsewhere };
    let (doc, pictures) = (paper.run)(&job, progress)?;
    if let Some(out) = &request.out {
        homenode_judging::html::write(&doc, out, &pictures.write(out)?)?;
    }
    place.over();
    Ok(doc)
}

/// The paper that is asked for, if it has what is asked of it.
fn asked(request: &ReproduceRequest) -> Result<&'static Paper, Failure> {
    let name = request.what.as_str();
    let Some(paper) = ALL.iter().find(|p| p.name == name) else {
        let known: Vec<&str> = ALL.iter().map(|p| p.name).collect();
        return Err(Failure::usage(format!("there is no experiment '{name}'; known are {}", known.join(", "))));
    };
    if !SIZES.contains(&request.size.as_str()) {
        return Err(Failure::usage(format!("--size: '{}' is none of {}", request.size, SIZES.join(", "))));
    }
    if !paper.sizes.contains(&request.size.as_str()) {
        let (size, known) = (&request.size, paper.sizes.join(", "));
        return Err(Failure::usage(format!("--size: {name} has no size {size}, only {known}")));
    }
    if paper.experiments.is_none() && !request.only.is_empty() {
        let others = ALL.iter().filter_map(|p| Some(format!("{} has {}", p.name, p.experiments?)));
        let others: Vec<String> = others.collect();
        return Err(Failure::usage(format!("--experiment: {name} is one experiment; {}", others.join(", "))));
    }
    Ok(paper)
}
