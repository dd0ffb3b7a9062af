//! The rows of tables 2 to 13, and what they cost with exact sums.
//!
//! The paper prints rates, of replications, packets and cycles a reference, not their sum. Its latency columns were added up in floating
//! point of 32 bits; exact sums are counts times prices, and turn some orders round.
use homenode_coherence::{Effect, Effects};
use homenode_machine::Coherence;

/// Rows of a printed table as they stand in `data/markatos_rows.csv`.
const ROWS: &str = include_str!("../../data/markatos_rows.csv");

/// Rates are printed with at most eight decimals: of so many references they are whole numbers.
const REFERENCES: u64 = 100_000_000;

/// One printed row.
pub(super) struct Row {
    /// Number of the table.
    pub(super) table: u32,
    /// Program.
    pub(super) app: &'static str,
    /// Whether data were realigned.
    pub(super) realigned: bool,
    /// Protocol as it is printed.
    pub(super) policy: &'static str,
    /// Page size.
    pub(super) page_bytes: u64,
    /// Replications, remote reads, remote writes a reference.
    rates: [f64; 3],
    /// Cost over that of local references, as published beside the tables' reconstruction, with four decimals.
    pub(super) exact: f64,
    /// Local, remote, replication, multicasts, os in cycles a reference; replication, remote, multicasts in packets a reference;
    /// packets a multicast.
    pub(super) cells: [f64; 9],
}

/// Names of [`Row::cells`].
pub(super) const CELLS: [&str; 9] =
    ["local", "remote", "repl.", "multicasts", "os", "traffic repl.", "traffic remote", "traffic multicasts", "mls"];

/// All 168 rows, table by table.
pub(super) fn rows() -> Vec<Row> {
    ROWS.lines().skip(1).map(row).collect()
}

fn row(line: &'static str) -> Row {
    let cells: Vec<&'static str> = line.split(',').collect();
    let number = |i: usize| cells[i].parse::<f64>().unwrap_or(f64::NAN);
    Row {
        table: number(0) as u32,
        app: cells[1],
        realigned: cells[2] == "realigned",
        policy: cells[3],
        page_bytes: number(4) as u64,
        rates: [6, 7, 8].map(number),
        exact: number(9),
        cells: std::array::from_fn(|i| number(10 + i)),
    }
}

impl Row {
    fn counted(&self) -> bool {
        self.policy.ends_with(".DEL")
    }
    /// Packets a reference to holders of copies.
    pub(super) fn updates(&self) -> f64 {
        self.cells[7]
    }
    /// Replications a reference.
    pub(super) fn fetches(&self) -> f64 {
        self.rates[0]
    }
    /// Remote reads a reference.
    pub(super) fn remote_reads(&self) -> f64 {
        self.rates[1]
    }
    /// What the protocol did in [`REFERENCES`] references.
    pub(super) fn effects(&self) -> Effects {
        let times = |rate: f64| (rate * REFERENCES as f64).round() as u64;
        let mut effects = Effects::default();
        effects.add(if self.counted() { Effect::FetchMapped } else { Effect::Fetch }, times(self.rates[0]));
        effects.add(Effect::RemoteRead, times(self.rates[1]));
        effects.add(Effect::RemoteWrite, times(self.rates[2]));
        effects.add(Effect::Update, times(self.updates()));
        effects.add(Effect::Local, REFERENCES.saturating_sub(effects.references()));
        effects
    }
    /// Cost over that of local references alone: counts times prices.
    pub(super) fn cost(&self, prices: &Coherence) -> f64 {
        let local = Effect::Local.price(prices, self.page_bytes).times(REFERENCES);
        self.effects().cost(prices, self.page_bytes).ratio_to(local)
    }
    /// What the cost may be off by, since rates are rounded, and so is [`Row::exact`].
    pub(super) fn rounding(&self, prices: &Coherence) -> f64 {
        let over = |price: i64| price as f64 / prices.local.0 as f64;
        let fetch = over(Effect::FetchMapped.price(prices, self.page_bytes).0);
        0.5e-4 + 0.5e-8 * fetch + 0.5e-6 * over(prices.remote_read.0 + prices.remote_write.0)
    }
    /// The sum of its latency columns as they are printed, over the cost of a local reference.
    pub(super) fn printed(&self, prices: &Coherence) -> f64 {
        self.cells[..5].iter().sum::<f64>() / prices.local.0 as f64
    }
    /// Whether both are rows of one program, with pages of one size, realigned or not.
    pub(super) fn comparable(&self, other: &Row) -> bool {
        (self.table_kind(), self.page_bytes) == (other.table_kind(), other.page_bytes)
    }
    /// Program, and whether it was realigned.
    pub(super) fn table_kind(&self) -> (&'static str, bool) {
        (self.app, self.realigned)
    }
}

/// A pair of protocols whose order with exact sums is not that of the printed cells.
pub(super) struct Flip {
    /// Program.
    pub(super) app: &'static str,
    /// Whether data were realigned.
    pub(super) realigned: bool,
    /// Page size.
    pub(super) page_bytes: u64,
    /// The protocols, in the order of the alphabet.
    pub(super) pair: [&'static str; 2],
    /// Sums of printed cells.
    pub(super) printed: [f64; 2],
    /// Exact sums.
    pub(super) exact: [f64; 2],
}

/// All pairs that change places.
pub(super) fn flips(rows: &[Row], prices: &Coherence) -> Vec<Flip> {
    let mut found = Vec::new();
    for (i, one) in rows.iter().enumerate() {
        for other in rows[i + 1..].iter().filter(|r| one.comparable(r)) {
            let (a, b) = if one.policy <= other.policy { (one, other) } else { (other, one) };
            let (printed, exact) = ([a, b].map(|r| r.printed(prices)), [a, b].map(|r| r.cost(prices)));
            if (printed[0] - printed[1]) * (exact[0] - exact[1]) < 0.0 {
                let pair = [a.policy, b.policy];
                found.push(Flip { app: a.app, realigned: a.realigned, page_bytes: a.page_bytes, pair, printed, exact });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markatos::machine;

    #[test]
    fn our_prices_find_all_rows_and_eighteen_pairs() {
        let machine = machine().expect("in the registry");
        let (rows, prices) = (rows(), machine.sections.coherence.as_ref().expect("prices"));
        assert_eq!(rows.len(), 168);
        assert!(rows.iter().all(|r| (r.cost(prices) - r.exact).abs() <= r.rounding(prices)));
        let flips = flips(&rows, prices);
        assert_eq!(flips.len(), 18);
        assert!(flips.iter().all(|f| f.app == "SPEECH"));
    }
}
