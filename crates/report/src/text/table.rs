//! Aligned tables, wrapping and colour for a terminal.
use crate::units::is_quantity;

/// Escape codes, or nothing if colour was not asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub(crate) fn warn(self, text: &str) -> String {
        self.with("33", text)
    }
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }
    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Characters a terminal must not get from outside (escape sequences, line breaks, direction overrides) become `?`.
pub(crate) fn clean(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if hostile(c) { '?' } else { c }).collect()
}

/// At most `width` characters, cut in front, where names and paths are alike: `…file.c:12`.
pub(crate) use crate::units::cut_front as cut;

/// At most `width` characters, cut at the end.
pub(crate) fn cut_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…'].into_iter().take(width)).collect()
}

/// Breaks at spaces, but not between a number and its unit, into lines of at most `width` characters, the second and
/// later ones indented by `indent`. Longer words are cut.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in tokens(text) {
        let word = cut(&word, width.saturating_sub(indent));
        let used = line.chars().count();
        if used > 0 && used + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.trim().is_empty() {
        lines.push(line);
    }
    lines
}

/// Words, with a number and its unit as one.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(last) if is_quantity(last, word) => *last = format!("{last} {word}"),
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// Side of a column on which its cells are flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A column: heading, side, and the characters below which it is not squeezed (`None`: never squeezed).
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) side: Side,
    pub(crate) least: Option<usize>,
}

/// Left-aligned text that may be squeezed down to `least` characters.
pub(crate) fn words(head: &str, least: usize) -> Column {
    Column { head: head.to_owned(), side: Side::Left, least: Some(least) }
}

/// Right-aligned number.
pub(crate) fn number(head: &str) -> Column {
    Column { head: head.to_owned(), side: Side::Right, least: None }
}

/// Rows under headings; cells are plain text, painted only as whole lines, so widths stay true.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Appends a row; missing cells are empty, cells are cleaned here.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let mut cells: Vec<String> = cells.iter().map(|c| clean(c)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// The heading line (bold) and the rows, each at most `width` characters: columns of words are squeezed first,
    /// then columns are left out from the right.
    pub(crate) fn render(&self, width: usize, paint: Paint) -> Vec<String> {
        let mut shown = self.columns.len();
        while shown > 1 && self.squeezed(shown, width).is_none() {
            shown -= 1;
        }
        let widths = self.squeezed(shown, width).unwrap_or_else(|| vec![width]);
        let heads: Vec<&str> = self.columns.iter().map(|c| c.head.as_str()).collect();
        let mut out = vec![paint.bold(&self.line(&heads, &widths))];
        out.extend(self.rows.iter().map(|r| self.line(&r.iter().map(String::as_str).collect::<Vec<_>>(), &widths)));
        out
    }

    /// Whether all columns can be shown in `width` characters.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.squeezed(self.columns.len(), width).is_some()
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(widths).zip(&self.columns) {
            let (cell, gap) = (cut(cell, *width), if line.is_empty() { "" } else { "  " });
            match column.side {
                Side::Left => line.push_str(&format!("{gap}{cell:<width$}")),
                Side::Right => line.push_str(&format!("{gap}{cell:>width$}")),
            }
        }
        line.trim_end().to_owned()
    }

    /// Natural widths of the first columns, then the widest squeezable one gives until the line fits; `None` if none can.
    fn squeezed(&self, columns: usize, width: usize) -> Option<Vec<usize>> {
        let natural = |i: usize| {
            let cells = self.rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
            cells.max(self.columns[i].head.chars().count())
        };
        let mut widths: Vec<usize> = (0..columns).map(natural).collect();
        let room = width.saturating_sub(2 * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let squeezable = |i: &usize| self.columns[*i].least.is_some_and(|least| widths[*i] > least);
            let widest = (0..columns).filter(squeezable).max_by_key(|i| widths[*i])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_cannot_reach_the_terminal() {
        assert_eq!(clean("a\x1b[31m\n\u{202e}b"), "a?[31m??b");
    }

    #[test]
    fn cutting_keeps_the_end_and_never_exceeds_the_width() {
        assert_eq!(cut("abcdefghij", 5), "…ghij");
        for width in 0..12 {
            assert!(cut("äbcdefghij", width).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "one two 38 % three four five six 38 ms seven eight nine";
        for width in 8..50 {
            let lines = wrap(text, width, 2);
            assert!(lines.iter().all(|l| l.chars().count() <= width), "{width}: {lines:?}");
            assert!(!lines.iter().any(|l| l.ends_with("38")), "{lines:?}");
            assert_eq!(lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" "), text);
        }
    }

    #[test]
    fn a_table_is_squeezed_in_its_widest_words_only() {
        let mut t = Table::new(vec![words("name", 4), number("cost")]);
        t.row(vec!["a rather long name".into(), "12 ms".into()]);
        t.row(vec!["b".into()]);
        let lines = t.render(15, Paint(false));
        assert_eq!(lines, ["name       cost", "…ng name  12 ms", "b"]);
        assert_eq!(t.render(10, Paint(false)), ["name", "…long name", "b"], "the cost is left out");
    }
}
