//! One screen of text: the finding in a sentence, then tables.
mod capacity;
mod info;
mod quick;
mod sections;
mod terminal;

use crate::doc::ReportDoc;
use crate::{headline, layout};
use homenode_sim::Verified;
use homenode_sim::evidence::Doubt;
use homenode_table::clean;
pub use quick::render_quick;
pub(crate) use sections::sorted;
use terminal::{Paint, wrap};

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
    let mut tail = sections::notes(doc, e, width, paint);
    // Tables of what the samples cannot know would say it all the same.
    if e.evidence.against(Doubt::Locality).is_some() {
        lines.extend(sections::notes(doc, e, width, paint));
        return join(lines);
    }
    let policies = sections::policies(e, width, paint);
    let mut layout = sections::layout(doc, width, paint);
    let mut others = sections::other_evaluations(doc, width, paint);
    let mut patterns = sections::patterns(e, width, paint);
    let height = |b: &Vec<String>| if b.is_empty() { 0 } else { b.len() + 1 };
    let mut room = SCREEN_LINES.saturating_sub(lines.len() + height(&policies));
    let mut capacity = capacity::capacity(doc, room, width, paint);
    for block in [&mut capacity, &mut tail, &mut layout, &mut others, &mut patterns] {
        if height(block) > room {
            block.clear();
        }
        room -= height(block);
    }
    let tables = sections::fit(sections::tables(e), room, width, paint);
    let blocks =
        [policies, capacity, layout, others].into_iter().chain(tables).chain([patterns]).filter(|b| !b.is_empty());
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
    let mut lines = vec![paint.dim(&terminal::cut_end(&sections::subject(doc), width))];
    if let Some(e) = doc.evaluations.first() {
        let words = headline::headline(e);
        lines.extend(brief(&words.cost, width).iter().map(|l| paint.bold(l)));
        let verdict = brief(&layout::beside(&words.verdict, doc.layout.as_ref()), width);
        lines.extend(verdict.iter().map(|l| if words.actionable { paint.warn(l) } else { paint.good(l) }));
        lines.extend(sections::further_findings(e, width));
        let binding = clean(&e.binding.sentence());
        lines.extend(brief(&binding, width).iter().filter(|l| !l.is_empty()).map(|l| paint.dim(l)));
        let memory_time = doc.memory_time.as_ref().filter(|m| m.share.is_some());
        lines.extend(memory_time.iter().flat_map(|m| brief(&m.sentence, width)).map(|l| paint.dim(&l)));
        lines.extend(sections::trust(doc, &words.trust, width).iter().map(|l| paint.warn(l)));
        let verified = e.verified.as_ref().map(Verified::sentence);
        lines.extend(verified.iter().flat_map(|v| brief(v, width)).map(|l| paint.good(&l)));
    }
    if let Some(s) = &doc.sampling {
        lines.extend(brief(&s.headline(), width).iter().map(|l| paint.dim(l)));
    }
    if let Some(c) = &doc.compare {
        let words = brief(&headline::comparison(c), width);
        lines.extend(words.iter().map(|l| if c.within_tenth || !c.predicts() { paint.good(l) } else { paint.warn(l) }));
    }
    lines.push(String::new());
    lines
}

/// At most five lines of a sentence.
fn brief(text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(&clean(text), width, 0);
    if lines.len() > 5 {
        lines.truncate(5);
        lines[4] = terminal::cut_end(&format!("{} …", lines[4]), width);
    }
    lines
}
