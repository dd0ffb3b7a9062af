//! `homenode report --fail-above` and `--baseline`: the limit that a report is held against.
use homenode_command::Failure;
use homenode_report::gate::{Document, Judged, judge, judge_against};
use homenode_sys::dir;
use std::path::{Path, PathBuf};

/// Largest baseline that is read.
const BYTES_MOST: u64 = 256 << 20;
/// Limit beside a baseline, in thousandths, unless another is given.
const PERMILLE: u32 = 50;

/// A limit, and what is held against it.
#[derive(Clone, Debug)]
pub struct Gate {
    permille: u32,
    baseline: Option<(PathBuf, Document)>,
}

impl Gate {
    /// What was asked for; nothing if neither was. Reads the baseline.
    ///
    /// # Errors
    /// The baseline cannot be read, or is no document of a report.
    pub fn new(permille: Option<u32>, baseline: Option<&Path>) -> Result<Option<Gate>, Failure> {
        let baseline = baseline.map(load).transpose()?;
        let permille = permille.or(baseline.as_ref().map(|_| PERMILLE));
        Ok(permille.map(|permille| Gate { permille, baseline }))
    }

    /// The largest threshold, in percent, with which a report finds everything that is above the limit.
    pub fn threshold_percent(&self) -> u32 {
        self.permille / 10
    }

    /// Holds it against a report, given as its document.
    ///
    /// # Errors
    /// The baseline answers another question.
    pub fn judge(&self, document: &str) -> Result<Judged, Failure> {
        let now = Document::read(document).map_err(Failure::work)?;
        let limit = f64::from(self.permille) / 1000.0;
        match &self.baseline {
            None => Ok(judge(&now, limit)),
            Some((path, old)) => {
                judge_against(&now, old, limit).map_err(|why| Failure::input(format!("{}: {why}", path.display())))
            }
        }
    }

    /// The option that says what is asked, for sentences about it.
    pub fn asked(&self) -> String {
        let limit = match self.permille % 10 {
            0 => format!("{}%", self.permille / 10),
            tenth => format!("{}.{tenth}%", self.permille / 10),
        };
        match &self.baseline {
            None => format!("--fail-above {limit}"),
            Some((path, _)) => format!("--fail-above {limit} --baseline {}", path.display()),
        }
    }
}

fn load(path: &Path) -> Result<(PathBuf, Document), Failure> {
    let bytes =
        dir::content(path, BYTES_MOST).map_err(|e| Failure::input(format!("--baseline {}: {e}", path.display())))?;
    let bad = |why: String| Failure::input(format!("--baseline {}: {why}", path.display()));
    let text = String::from_utf8(bytes).map_err(|_| bad("it is no text".to_owned()))?;
    Ok((path.to_owned(), Document::read(&text).map_err(bad)?))
}
