//! Aligned text.
use crate::{Cell, Side, Table};

/// How a table is laid out as text.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Spaces before each line.
    pub indent: usize,
    /// Spaces between columns.
    pub gap: usize,
    /// Whether the names of the columns are the first line.
    pub head: bool,
    /// Characters of a line, at most: columns of words are squeezed first, then columns are left out from the right.
    pub width: Option<usize>,
    /// What is shown for an absent cell.
    pub absent: &'static str,
}

impl Default for Layout {
    /// A heading, two spaces between columns, lines as long as they are.
    fn default() -> Layout {
        Layout { indent: 0, gap: 2, head: true, width: None, absent: "" }
    }
}

/// Characters a terminal must not get from outside (escape sequences, line breaks, direction overrides) become `?`.
pub fn clean(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if hostile(c) { '?' } else { c }).collect()
}

/// At most `width` characters, cut in front, where names and paths are alike: `…file.c:12`.
pub fn cut_front(text: &str, width: usize) -> String {
    let have = text.chars().count();
    if have <= width {
        return text.to_owned();
    }
    let tail = text.chars().skip(have - width.saturating_sub(1));
    ['…'].into_iter().take(width).chain(tail).collect()
}

impl Table {
    /// The lines of the table: the heading if it is wanted, then one a row, without spaces at their end.
    pub fn lines(&self, layout: &Layout) -> Vec<String> {
        let heads = self.columns().iter().map(|c| clean(&c.name)).collect();
        let shown = |row: Vec<Cell<'_>>| row.iter().map(|c| clean(&c.shown(layout.absent))).collect();
        let rows: Vec<Vec<String>> = layout.head.then_some(heads).into_iter().chain(self.rows().map(shown)).collect();
        let mut columns = self.columns().len();
        while columns > 1 && self.squeezed(&rows, columns, layout).is_none() {
            columns -= 1;
        }
        let widths = self.squeezed(&rows, columns, layout).or(layout.width.map(|w| vec![w])).unwrap_or_default();
        rows.iter().map(|row| self.line(row, &widths, layout)).collect()
    }

    /// The lines, each with its line feed.
    pub fn text(&self, layout: &Layout) -> String {
        self.lines(layout).into_iter().map(|line| line + "\n").collect()
    }

    /// Whether all columns can be shown in `width` characters.
    pub fn fits(&self, width: usize) -> bool {
        let layout = Layout { width: Some(width), ..Layout::default() };
        let heads = std::iter::once(self.columns().iter().map(|c| clean(&c.name)).collect());
        let rows: Vec<Vec<String>> =
            heads.chain(self.rows().map(|row| row.iter().map(|c| clean(&c.shown(""))).collect())).collect();
        self.squeezed(&rows, self.columns().len(), &layout).is_some()
    }

    fn side(&self, column: usize) -> Side {
        let usual = if self.is_text(column) { Side::Left } else { Side::Right };
        self.columns()[column].side.unwrap_or(usual)
    }

    fn line(&self, cells: &[String], widths: &[usize], layout: &Layout) -> String {
        let mut line = " ".repeat(layout.indent);
        for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let (cell, gap) = (cut_front(cell, *width), if i == 0 { 0 } else { layout.gap });
            match self.side(i) {
                Side::Left => line.push_str(&format!("{:gap$}{cell:<width$}", "")),
                Side::Right => line.push_str(&format!("{:gap$}{cell:>width$}", "")),
            }
        }
        line.trim_end().to_owned()
    }

    /// Natural widths of the first columns, then the widest squeezable one gives until the line fits; `None` if none can.
    fn squeezed(&self, rows: &[Vec<String>], columns: usize, layout: &Layout) -> Option<Vec<usize>> {
        let natural = |i: usize| rows.iter().map(|r| r[i].chars().count()).fold(self.columns()[i].width, usize::max);
        let mut widths: Vec<usize> = (0..columns).map(natural).collect();
        let Some(width) = layout.width else { return Some(widths) };
        let room = width.saturating_sub(layout.indent + layout.gap * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let squeezable = |i: &usize| self.columns()[*i].least.is_some_and(|least| widths[*i] > least);
            let widest = (0..columns).filter(squeezable).max_by_key(|i| widths[*i])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn hostile_names_cannot_reach_the_terminal() {
        assert_eq!(clean("a\x1b[31m\n\u{202e}b"), "a?[31m??b");
        let mut t = Table::new(vec![Column::words("name", 4)]);
        t.push_words(["a\nb"]);
        assert_eq!(t.lines(&Layout::default()), ["name", "a?b"]);
    }

    #[test]
    fn cutting_keeps_the_end_and_never_exceeds_the_width() {
        assert_eq!(cut_front("abcdefghij", 5), "…ghij");
        for width in 0..12 {
            assert!(cut_front("äbcdefghij", width).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn a_table_is_squeezed_in_its_widest_words_only() {
        let mut t = Table::new(vec![Column::words("name", 4), Column::number("cost")]);
        t.push_words(["a rather long name", "12 ms"]);
        t.push_words(["b"]);
        let within = |width| t.lines(&Layout { width: Some(width), ..Layout::default() });
        assert_eq!(within(15), ["name       cost", "…ng name  12 ms", "b"]);
        assert_eq!(within(10), ["name", "…long name", "b"], "the cost is left out");
        assert!(t.fits(15) && !t.fits(10));
    }

    #[test]
    fn numbers_stand_to_the_right_and_absent_cells_are_what_the_layout_says() {
        let mut t = Table::new(vec![Column::named("n"), Column::named("what"), Column::named("x")]);
        t.push([Cell::Absent, Cell::from("a"), Cell::Real(0.001)]);
        t.push([Cell::Count(12), Cell::from("bb"), Cell::Real(3.0)]);
        let lines = t.lines(&Layout { indent: 1, absent: "-", ..Layout::default() });
        assert_eq!(lines, ["  n  what        x", "  -  a     1.00e-3", " 12  bb          3"]);
    }
}
