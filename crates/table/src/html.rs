//! Tables and text in pages.
use crate::{Side, Table};

impl Table {
    /// An element of HTML, in a box that scrolls where it is too wide; cells of columns that stand to the left have the class `left`.
    pub fn html(&self) -> String {
        let left = |at: usize| self.columns()[at].side.map_or_else(|| self.is_text(at), |side| side == Side::Left);
        let row = |mark: &str, cells: Vec<String>| {
            let cell = |(at, words): (usize, &String)| {
                let class = if left(at) { " class=\"left\"" } else { "" };
                format!("<{mark}{class}>{}</{mark}>", esc(words))
            };
            format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
        };
        let heading = row("th", self.columns().iter().map(|c| c.name.clone()).collect());
        let rows = self.rows().map(|cells| row("td", cells.iter().map(|c| c.shown("–").into_owned()).collect()));
        format!("<div class=\"scroll\"><table>\n{heading}{}</table></div>\n", rows.collect::<String>())
    }
}

/// Text or a double-quoted attribute value: markup characters as entities, characters without a safe picture
/// (controls, direction overrides) as U+FFFD.
pub fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            c if is_hostile(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Column, Kind};

    #[test]
    fn tables_have_words_on_the_left_and_no_markup_of_others() {
        let mut table =
            Table::new(vec![Column::new("a<b", Kind::Text), Column::number("n"), Column::new("m", Kind::Count)]);
        table.push([Cell::from("<i>"), Cell::from("1.5"), Cell::Absent]);
        let rows = [
            "<tr><th class=\"left\">a&lt;b</th><th>n</th><th>m</th></tr>",
            "<tr><td class=\"left\">&lt;i&gt;</td><td>1.5</td><td>–</td></tr>",
        ];
        assert_eq!(table.html(), format!("<div class=\"scroll\"><table>\n{}\n{}\n</table></div>\n", rows[0], rows[1]));
    }

    #[test]
    fn markup_is_inert() {
        assert_eq!(esc("</script><b a='\"'>&\u{202e}\n"), "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd} ");
    }
}
