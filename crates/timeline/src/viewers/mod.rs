//! The family of viewers that files are written for.
mod firefox;
mod perfetto;

use crate::timeline::Timeline;
use std::io;

/// A viewer.
#[derive(Debug)]
pub struct Viewer {
    /// Name, as on the command line.
    pub name: &'static str,
    /// Whether it shows code and data, and not only sums.
    pub(crate) places: bool,
    /// Where one opens a file.
    pub(crate) open: &'static str,
    /// Writes its format.
    pub(crate) write: fn(&Timeline<'_>, &mut dyn io::Write) -> io::Result<()>,
}

/// All viewers.
pub static VIEWERS: [&Viewer; 2] = [&perfetto::SPEC, &firefox::SPEC];

impl Viewer {
    /// The one with this name.
    pub fn find(name: &str) -> Option<&'static Viewer> {
        VIEWERS.into_iter().find(|viewer| viewer.name == name)
    }
}
