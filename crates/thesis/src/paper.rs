//! Printed tables, and numbers as pages want them.

/// Rows of a printed table, without its heading: cells in double quotes may contain commas.
pub(super) fn rows(text: &'static str) -> impl Iterator<Item = Vec<String>> {
    text.lines().skip(1).map(cells)
}

fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("never empty").push(c),
        }
    }
    cells
}

/// A printed number; `None` where nothing is printed.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok()
}

/// With so many significant digits that pages stay readable.
pub(super) fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.1 => format!("{x:.2}"),
        a if a >= 0.001 => format!("{x:.4}"),
        _ => format!("{x:.1e}"),
    }
}

/// Column headings, from one text with bars between them.
pub(super) fn columns(names: &str) -> Vec<String> {
    names.split(" | ").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_quotes_keep_their_commas() {
        assert_eq!(cells("a,\"b, c\",,.5"), ["a", "b, c", "", ".5"]);
        assert_eq!((number(".5"), number("")), (Some(0.5), None));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 12345.6, 12.34, 0.5, 0.0123, 1e-5].map(short),
            ["0", "12346", "12.3", "0.50", "0.0123", "1.0e-5"]
        );
    }
}
