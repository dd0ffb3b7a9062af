//! Bolosky 1993 again: experiments E1 to E12 on our programs, with a verdict on every table, figure and claim.
//!
//! The references of one program at a time are recorded, partitioned and given to every experiment in turn, so memory does
//! not grow with the number of programs. To add an experiment: a file here that defines `SPEC`, and its name in the list.
//!
//! Reading order: this file, [`program`] (what is run), [`claims`] (what was published), then the experiments.
mod bars;
mod claims;
mod figure;
mod lookup;
mod moves_case;
mod paper;
mod program;

use super::{ReproduceDoc, Table};
use crate::{Failure, Progress};
pub(super) use bars::Bars;
use claims::Judged;
pub(super) use figure::Figure;
use program::{Program, of_size};
use std::path::Path;

homenode_base::registry!(
    /** Every experiment, in the order of the page. */ Spec;
    e01, e02, e03, e04, e05, e06, e07, e08, e09, e10, e11, e12, printed
);

/// One experiment.
pub(super) struct Spec {
    /// `E1` to `E12`.
    id: &'static str,
    /// What it is about, a few words.
    title: &'static str,
    /// Ready for the first program.
    begin: fn() -> Box<dyn Experiment>,
}

/// What gathers the results of an experiment, program by program.
trait Experiment {
    /// The next program.
    fn program(&mut self, program: &Program) -> Result<(), Failure>;
    /// All programs were seen.
    fn finish(self: Box<Self>) -> Result<Found, Failure>;
}

/// What an experiment found.
#[derive(Default)]
struct Found {
    tables: Vec<Table>,
    figures: Vec<Figure>,
    bars: Vec<Bars>,
    /// A verdict on each claim that names this experiment.
    judged: Vec<Judged>,
    notes: Vec<String>,
}

/// All pictures of a page.
#[derive(Default)]
pub(super) struct Pictures {
    bars: Vec<Bars>,
    figures: Vec<Figure>,
}

impl Pictures {
    /// Writes them with their data; returns titles and file names.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<Vec<(String, String)>, Failure> {
        let bars = self.bars.iter().map(|b| b.write(folder));
        let mut all = bars.chain(self.figures.iter().map(|f| f.write(folder))).collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|(_, file)| number_of(file));
        Ok(all)
    }
}

/// The number in `E8-gauss.svg`.
fn number_of(file: &str) -> u32 {
    let digits: String = file.chars().skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u32::MAX)
}

/// Sizes on the command line, in the order of [`program::Listed`].
const SIZES: [&str; 3] = ["XS", "S", "M"];

/// Runs the experiments of these names (`E8`), or all if there is none.
///
/// # Errors
/// A name that does not exist; a program that cannot be built or recorded.
pub(super) fn run(
    only: &[String],
    size: &str,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<(ReproduceDoc, Pictures), Failure> {
    let chosen = choose(only)?;
    let size_number = SIZES.iter().position(|s| *s == size).unwrap_or(0);
    let mut running: Vec<Box<dyn Experiment>> = chosen.iter().map(|spec| (spec.begin)()).collect();
    let programs = of_size(size_number);
    for (i, listed) in (0..).zip(&programs) {
        progress.at(listed.name, i, Some(programs.len() as u64));
        let program = Program::record(listed, folder, size_number, progress)?;
        running.iter_mut().try_for_each(|experiment| experiment.program(&program))?;
    }
    let found = running.into_iter().map(Experiment::finish).collect::<Result<Vec<Found>, Failure>>()?;
    page(&chosen, size, programs.len(), found)
}

fn choose(only: &[String]) -> Result<Vec<&'static Spec>, Failure> {
    let known = || ALL.iter().map(|s| s.id).collect::<Vec<_>>().join(", ");
    let unknown = only.iter().find(|name| ALL.iter().all(|s| !s.id.eq_ignore_ascii_case(name)));
    match unknown {
        Some(name) => Err(Failure::usage(format!("--experiment: there is no '{name}'; known are {}", known()))),
        None => {
            let wanted = |s: &&&Spec| only.is_empty() || only.iter().any(|name| s.id.eq_ignore_ascii_case(name));
            Ok(ALL.iter().filter(wanted).copied().collect())
        }
    }
}

fn page(chosen: &[&Spec], size: &str, programs: usize, found: Vec<Found>) -> Result<(ReproduceDoc, Pictures), Failure> {
    let ids: Vec<&str> = chosen.iter().map(|s| s.id).collect();
    let (mut tables, mut pictures, mut judged, mut notes) = (Vec::new(), Pictures::default(), Vec::new(), Vec::new());
    for (spec, found) in chosen.iter().zip(found) {
        let titled = |t: Table| Table { title: format!("{} {}: {}", spec.id, spec.title, t.title), ..t };
        tables.extend(found.tables.into_iter().map(titled));
        pictures.bars.extend(found.bars);
        pictures.figures.extend(found.figures);
        judged.extend(found.judged);
        notes.extend(found.notes);
    }
    let doc = ReproduceDoc {
        schema: super::SCHEMA,
        experiment: "bolosky".into(),
        size: size.into(),
        programs: format!(
            "{} workloads of Homenode with {} threads, recorded with the hooks just now",
            programs,
            program::PROCESSORS
        ),
        tables,
        claims: claims::beside(&ids, judged)?,
        notes,
    };
    Ok((doc, pictures))
}
