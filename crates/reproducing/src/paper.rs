//! What a paper is: a member of the family.
use crate::elsewhere::{Elsewhere, Unit};
use homenode_command::{Failure, Progress};
use homenode_judging::Drawn;
use homenode_judging::doc::ReproduceDoc;
pub use homenode_judging::doc::SIZES;
use std::path::Path;

/// A published study that can be repeated.
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Names of its experiments, in words; `None` where it is one and nothing can be chosen.
    pub experiments: Option<&'static str>,
    /// Names of its programs, of which some can be chosen; `None` where it always runs all.
    pub programs: Option<fn() -> Vec<&'static str>>,
    /// Sizes that it has programs of, of [`SIZES`].
    pub sizes: &'static [&'static str],
    /// Runs the experiments asked for.
    pub run: fn(&Job<'_>, &mut dyn Progress) -> Page,
    /// Does one run of a recording, whose result it returns as JSON (`null` where there is none).
    pub carry_out: CarryOut,
}

/// Does one run and returns its result as JSON.
pub type CarryOut = fn(&Unit) -> Result<String, Failure>;

/// What came out, and the pictures to go with it.
pub type Page = Result<(ReproduceDoc, Box<dyn Drawn>), Failure>;

/// What a paper is asked.
pub struct Job<'a> {
    /// Only these experiments; all if empty.
    pub only: &'a [String],
    /// Programs that were not asked for, in the order of the paper; none if all are to be run.
    pub left_out: &'a [&'static str],
    /// One of [`SIZES`].
    pub size: &'a str,
    /// A folder for programs and recordings, which may have those of a run that was killed.
    pub folder: &'a Path,
    /// Who does runs in place of this process.
    pub elsewhere: Option<&'a dyn Elsewhere>,
}

impl Job<'_> {
    /// Whether this program is to be run.
    pub fn runs(&self, program: &str) -> bool {
        !self.left_out.contains(&program)
    }
    /// What was left out and what that means, for a page; nothing if nothing was.
    pub fn left_out_note(&self) -> Option<String> {
        let names = (!self.left_out.is_empty()).then(|| self.left_out.join(", "))?;
        Some(format!(
            "Left out as asked for: {names}. Claims that need them are not judged; counts, shares and means are of the programs \
             that were run."
        ))
    }
}

impl Paper {
    /// The programs that are not among those asked for, in the paper's order; none if none is named, which asks for all.
    ///
    /// # Errors
    /// A program that the paper does not have, or a paper whose programs cannot be chosen.
    pub fn left_out(&self, asked: &[String], papers: &[&Paper]) -> Result<Vec<&'static str>, Failure> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let Some(all) = self.programs.map(|names| names()) else {
            let some = papers.iter().filter(|p| p.programs.is_some()).map(|p| p.name);
            let some = some.collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!(
                "--only: programs of {} cannot be chosen, those of {some} can",
                self.name
            )));
        };
        let is = |name: &str, word: &String| name.eq_ignore_ascii_case(word);
        if let Some(word) = asked.iter().find(|word| !all.iter().any(|name| is(name, word))) {
            let (name, known) = (self.name, all.join(", "));
            return Err(Failure::usage(format!("--only: {name} has no program '{word}'; it has {known}")));
        }
        Ok(all.into_iter().filter(|name| !asked.iter().any(|word| is(name, word))).collect())
    }
}
