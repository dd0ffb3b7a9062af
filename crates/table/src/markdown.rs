//! Tables of Markdown.
use crate::Table;

impl Table {
    /// The heading, the rule below it and the rows, one a line.
    pub fn markdown(&self) -> String {
        let mut out = row(self.columns().iter().map(|c| escaped(&c.name)));
        out.push_str(&row(self.columns().iter().map(|_| "---".to_owned())));
        self.rows().for_each(|cells| out.push_str(&row(cells.iter().map(|c| escaped(&c.shown(""))))));
        out
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Column, Table};

    #[test]
    fn bars_and_line_ends_stay_inside_their_cell() {
        let mut table = Table::new(vec![Column::named("a|b"), Column::named("n")]);
        table.push([Cell::from("x\ny"), Cell::Count(3)]);
        assert_eq!(table.markdown(), "| a\\|b | n |\n| --- | --- |\n| x y | 3 |\n");
    }
}
