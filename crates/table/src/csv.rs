//! Comma-separated values (RFC 4180, but for the line ends, which are single line feeds).
use crate::{Cell, Column, Table};
use std::io::{self, Write};

impl Table {
    /// All rows under the names of the columns.
    pub fn csv(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory cannot fail.
        let _ = head(&mut out, self.columns());
        self.rows().for_each(|cells| drop(row(&mut out, cells)));
        String::from_utf8(out).unwrap_or_default()
    }
}

/// The names of the columns.
pub(crate) fn head(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    row(out, columns.iter().map(|c| Cell::from(&c.name)))
}

/// One row.
pub(crate) fn row<'c>(out: &mut impl Write, cells: impl IntoIterator<Item = Cell<'c>>) -> io::Result<()> {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        match cell {
            Cell::Absent => {}
            Cell::Text(text) => field(out, text.as_bytes())?,
            Cell::Count(n) => digits(out, n)?,
            number => write!(out, "{number}")?,
        }
    }
    out.write_all(b"\n")
}

/// The digits of a number; exports have little else.
fn digits(out: &mut impl Write, mut n: u64) -> io::Result<()> {
    let (mut text, mut at) = ([0; 20], 20);
    loop {
        at -= 1;
        text[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return out.write_all(&text[at..]);
        }
    }
}

/// Words, in quotes where they need them.
fn field(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    if !text.iter().any(|b| b",\"\r\n".contains(b)) {
        return out.write_all(text);
    }
    out.write_all(b"\"")?;
    for byte in text {
        out.write_all(if *byte == b'"' { b"\"\"" } else { std::slice::from_ref(byte) })?;
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn words_are_quoted_where_they_need_it() {
        let mut table = Table::new(vec![Column::new("a,b", Kind::Text), Column::named("x")]);
        table.push([Cell::from("a,\"b\""), Cell::Absent]);
        table.push([Cell::from("two\nlines"), Cell::Real(0.5)]);
        let mut numbers = Table::new(vec![Column::named("n")]);
        [0, 10, u64::MAX].into_iter().for_each(|n| numbers.push([Cell::Count(n)]));
        assert_eq!(numbers.csv(), "n\n0\n10\n18446744073709551615\n");
        assert_eq!(table.csv(), "\"a,b\",x\n\"a,\"\"b\"\"\",\n\"two\nlines\",0.5\n");
    }
}
