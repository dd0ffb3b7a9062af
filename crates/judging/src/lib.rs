//! # homenode-judging: what papers have in common
//!
//! Claims as data, the rules by which they are judged, results of several recordings as one, pictures, and the document and pages
//! of a reproduction.
//!
//! **Invariant:** a claim without a verdict, or a verdict without a claim, is an error; nothing that was not measured agrees.
//!
//! Reading order: [`doc`], [`claims`], [`rules`], [`Found`], [`settled`], [`figure`] and [`bars`] with `ticks`, [`experiments`], [`page`] and [`html`],
//! [`work`] (on all processors at once), [`checked`] (for tests).
#![forbid(unsafe_code)]

pub mod bars;
pub mod checked;
pub mod claims;
pub mod doc;
pub mod experiments;
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
use page::Picture;
use std::path::Path;

/// Pictures of a page.
pub trait Drawn {
    /// Writes them with their data into a folder, which is made if missing.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn write(&self, folder: &Path) -> Result<Vec<Picture>, Failure>;
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
    fn write(&self, folder: &Path) -> Result<Vec<Picture>, Failure> {
        let bars = self.bars.iter().map(|b| b.write(folder));
        bars.chain(self.figures.iter().map(|f| f.write(folder))).collect()
    }
}
