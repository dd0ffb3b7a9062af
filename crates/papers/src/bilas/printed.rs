//! Tables as printed.
use std::collections::BTreeMap;

/// A table: rows of cells under names of columns.
pub(super) struct Printed(&'static str);

pub(super) const TABLE_1_2: Printed = Printed(include_str!("../../data/bilas_table_1_2.csv"));
pub(super) const TABLE_1_3: Printed = Printed(include_str!("../../data/bilas_table_1_3.csv"));
pub(super) const TABLE_1_4: Printed = Printed(include_str!("../../data/bilas_table_1_4.csv"));
pub(super) const TABLE_1_5: Printed = Printed(include_str!("../../data/bilas_table_1_5.csv"));
pub(super) const TABLE_1_7: Printed = Printed(include_str!("../../data/bilas_table_1_7.csv"));
pub(super) const TABLE_1_8: Printed = Printed(include_str!("../../data/bilas_table_1_8.csv"));
pub(super) const TABLE_1_9: Printed = Printed(include_str!("../../data/bilas_table_1_9.csv"));
pub(super) const TABLE_1_10: Printed = Printed(include_str!("../../data/bilas_table_1_10.csv"));
pub(super) const TABLE_1_11: Printed = Printed(include_str!("../../data/bilas_table_1_11.csv"));

impl Printed {
    /// Rows by name of column.
    pub(super) fn rows(&self) -> impl Iterator<Item = BTreeMap<&'static str, &'static str>> {
        let mut lines = self.0.lines();
        let names: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
        lines.map(move |line| names.iter().copied().zip(line.split(',')).collect())
    }
    /// The number in a column of the row that has these cells; not a number where nothing is printed.
    pub(super) fn number(&self, cells: &[(&str, &str)], column: &str) -> f64 {
        let has = |row: &BTreeMap<&str, &str>| cells.iter().all(|(name, value)| row.get(name) == Some(value));
        let cell = self.rows().find(has).and_then(|row| row.get(column).copied());
        cell.and_then(|c| c.parse().ok()).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_their_rows() {
        let fft = TABLE_1_2.number(&[("application", "FFT")], "achievable_speedup_16p");
        assert_eq!(fft, 7.7);
        assert_eq!(
            TABLE_1_9
                .number(&[("application", "FFTst"), ("processors", "64"), ("processors_per_node", "8")], "speedup"),
            28.7
        );
        assert!(
            TABLE_1_10
                .number(&[("application", "LU"), ("processors_per_node", "16")], "mprotect_cost_microseconds")
                .is_nan()
        );
        let mean = TABLE_1_3.rows().filter_map(|r| r["overall_improvement_base_to_genima_percent"].parse::<f64>().ok());
        assert!((mean.sum::<f64>() / 10.0 - 37.7).abs() < 0.05, "with Barnes-spatial negative");
    }
}
