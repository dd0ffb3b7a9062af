//! What a paper is: a member of the family.
use homenode_command::{Failure, Progress};
use homenode_judging::Drawn;
use homenode_judging::doc::ReproduceDoc;
pub(crate) use homenode_judging::doc::SIZES;
use std::path::Path;

/// A published study that can be repeated.
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Names of its experiments, in words; `None` where it is one and nothing can be chosen.
    pub experiments: Option<&'static str>,
    /// Sizes that it has programs of, of [`SIZES`].
    pub sizes: &'static [&'static str],
    /// Runs the experiments asked for.
    pub(crate) run: fn(&Job<'_>, &mut dyn Progress) -> Page,
}

/// What came out, and the pictures to go with it.
pub(crate) type Page = Result<(ReproduceDoc, Box<dyn Drawn>), Failure>;

/// What a paper is asked.
pub(crate) struct Job<'a> {
    /// Only these experiments; all if empty.
    pub(crate) only: &'a [String],
    /// One of [`SIZES`].
    pub(crate) size: &'a str,
    /// A folder for programs and recordings, which may have those of a run that was killed.
    pub(crate) folder: &'a Path,
}
