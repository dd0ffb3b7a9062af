//! Tables and their cells.
use homenode_judging::doc::Table;

pub(super) fn table(title: impl Into<String>, columns: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    Table { title: title.into(), columns, rows }
}
pub(super) fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| (*w).to_owned()).collect()
}
/// A number, or a dash where there is none.
pub(super) fn shown(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".to_owned() }
}
/// Printed and ours, side by side.
pub(super) fn pair(printed: f64, ours: f64, digits: usize) -> [String; 2] {
    [shown(printed, digits), shown(ours, digits)]
}
