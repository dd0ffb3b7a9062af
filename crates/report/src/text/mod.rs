//! One screen of text: the finding in a sentence, then tables.
mod info;
mod sections;
mod table;

use crate::doc::ReportDoc;
use crate::headline;
pub(crate) use info::info;
pub(crate) use sections::sorted;
pub(crate) use table::clean;
use table::{Paint, wrap};

/// Lines of a screen; longer tables are cut and say so.
pub const SCREEN_LINES: usize = 45;
/// Narrowest width that is honoured; below it lines are longer than asked for.
pub const WIDTH_MIN: usize = 60;

/// How to write for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Characters in a line, at least [`WIDTH_MIN`].
    pub width: usize,
    /// Whether escape codes for colour may be used.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, colour: false }
    }
}

/// The report as at most [`SCREEN_LINES`] lines, each ending in a newline.
pub fn render(doc: &ReportDoc, style: Style) -> String {
    let (width, paint) = (style.width.max(WIDTH_MIN), Paint(style.colour));
    let mut lines = heading(doc, width, paint);
    let Some(e) = doc.evaluations.first() else {
        lines.push("Nothing was evaluated.".to_owned());
        return join(lines);
    };
    let tail = sections::notes(doc, e, width, paint);
    let mut blocks = vec![sections::policies(e, width, paint)];
    blocks.extend(sections::other_evaluations(doc, width, paint));
    let tables = sections::tables(e);
    let fixed = lines.len() + tail.len() + blocks.iter().map(|b| b.len() + 1).sum::<usize>();
    let spare = SCREEN_LINES.saturating_sub(fixed);
    blocks.extend(sections::fit(tables, spare, width, paint));
    for block in blocks {
        lines.extend(block);
        lines.push(String::new());
    }
    lines.extend(tail);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    join(lines)
}

fn join(lines: Vec<String>) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// What was recorded, and the finding.
fn heading(doc: &ReportDoc, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = vec![paint.dim(&table::cut(&sections::subject(doc), width))];
    if let Some(e) = doc.evaluations.first() {
        let words = headline::headline(e);
        lines.extend(wrap(&clean(&words.cost), width, 0).iter().map(|l| paint.bold(l)));
        let verdict = wrap(&clean(&words.verdict), width, 0);
        lines.extend(verdict.iter().map(|l| if words.actionable { paint.warn(l) } else { paint.good(l) }));
        lines.extend(sections::further_findings(e, width));
    }
    if let Some(c) = &doc.compare {
        let words = wrap(&clean(&headline::comparison(c)), width, 0);
        lines.extend(words.iter().map(|l| if c.within_tenth { paint.good(l) } else { paint.warn(l) }));
    }
    lines.push(String::new());
    lines
}
