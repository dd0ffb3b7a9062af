//! # homenode-judging: what papers have in common
//!
//! Claims as data, the rules by which they are judged, results of several recordings as one, pictures, and the document and pages
//! of a reproduction.
//!
//! **Invariant:** a claim without a verdict, or a verdict without a claim, is an error; nothing that was not measured agrees.
//!
//! Reading order: [`doc`], [`claims`], [`rules`], [`Found`], [`settled`], [`figure`] and [`bars`] with `ticks`, [`page`] and [`html`],
//! [`work`] (on all processors at once), [`checked`] (for tests).
#![forbid(unsafe_code)]

pub mod bars;
pub mod checked;
pub mod claims;
pub mod doc;
pub mod figure;
pub mod html;
pub mod page;
pub mod rules;
pub mod settled;
mod ticks;
pub mod work;

use bars::Bars;
use claims::Judged;
use doc::Table;
use figure::Figure;
use homenode_command::Failure;
use std::path::Path;

/// Pictures of a page.
pub trait Drawn {
    /// Writes them with their data into a folder, which is made if missing; returns titles and file names.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn write(&self, folder: &Path) -> Result<Vec<(String, String)>, Failure>;
}

/// What an experiment found.
#[derive(Default)]
pub struct Found {
    /// Tables.
    pub tables: Vec<Table>,
    /// Lines.
    pub figures: Vec<Figure>,
    /// Bars.
    pub bars: Vec<Bars>,
    /// A verdict on each claim that names this experiment.
    pub judged: Vec<Judged>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// All pictures of a page.
#[derive(Default)]
pub struct Pictures {
    /// Bars.
    pub bars: Vec<Bars>,
    /// Lines.
    pub figures: Vec<Figure>,
}

impl Drawn for Pictures {
    fn write(&self, folder: &Path) -> Result<Vec<(String, String)>, Failure> {
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
