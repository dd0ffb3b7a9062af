//! What papers have in common: claims as data, the rules by which they are judged, results of several recordings as one,
//! and pictures.
//!
//! Reading order: [`claims`], [`rules`], [`Found`], [`settled`], [`figure`] and [`bars`] with `ticks`, [`work`] (on all processors at once).
pub(crate) mod bars;
pub(crate) mod claims;
pub(crate) mod figure;
pub(crate) mod rules;
pub(crate) mod settled;
mod ticks;
pub(crate) mod work;

use crate::doc::Table;
use crate::paper::Drawn;
use bars::Bars;
use claims::Judged;
use figure::Figure;
use homenode_command::Failure;
use std::path::Path;

/// What an experiment found.
#[derive(Default)]
pub(crate) struct Found {
    /// Tables.
    pub(crate) tables: Vec<Table>,
    /// Lines.
    pub(crate) figures: Vec<Figure>,
    /// Bars.
    pub(crate) bars: Vec<Bars>,
    /// A verdict on each claim that names this experiment.
    pub(crate) judged: Vec<Judged>,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

/// All pictures of a page.
#[derive(Default)]
pub(crate) struct Pictures {
    /// Bars.
    pub(crate) bars: Vec<Bars>,
    /// Lines.
    pub(crate) figures: Vec<Figure>,
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
