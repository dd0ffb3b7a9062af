//! Findings on lines of source files, for tools that show them there.
use homenode_command::Failure;
use homenode_report::ReportDoc;
use homenode_report::annotations::{Annotation, annotations};
use std::path::Path;

/// The findings of a report with their places.
#[derive(Clone, Debug)]
pub struct Annotated {
    all: Vec<Annotation>,
    /// Findings of which no file and line is known.
    pub without_place: usize,
}

/// Finds out where findings are, below the folder of the sources: the current one unless another is given.
///
/// # Errors
/// There is no such folder.
pub fn annotate(doc: &ReportDoc, root: Option<&Path>) -> Result<Annotated, Failure> {
    let given = root.unwrap_or(Path::new("."));
    let root = given.canonicalize().map_err(|e| Failure::usage(format!("--source-root {}: {e}", given.display())))?;
    let all = annotations(doc, &root.to_string_lossy());
    let without_place = all.iter().filter(|a| a.lines.is_empty()).count();
    Ok(Annotated { all, without_place })
}

impl Annotated {
    /// As SARIF, which shows nothing without a place.
    pub fn sarif(&self, doc: &ReportDoc) -> String {
        let placed: Vec<Annotation> = self.all.iter().filter(|a| !a.lines.is_empty()).cloned().collect();
        homenode_report::annotations::sarif(doc, &placed)
    }

    /// As commands of GitHub Actions.
    pub fn github(&self) -> String {
        homenode_report::annotations::github(&self.all)
    }
}
