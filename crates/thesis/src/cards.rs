//! A card for each program: what table 2.1 prints of it beside what was recorded.
use super::paper::{number, rows};

/// Table 2.1, with the length of ours at the thesis's size (`-s P`) and what is to be said where ours is another.
const TABLE_2_1: &str = include_str!("../data/bolosky_table_2_1.csv");

/// A row of table 2.1, and what is to be said where ours is another.
pub(super) struct Card {
    /// Millions of references without private ones, and private ones.
    pub(super) millions: [f64; 2],
    /// Size of the trace in megabytes.
    pub(super) mbytes: f64,
    /// Bytes of a recorded reference.
    pub(super) bytes: f64,
    /// Loads among references that are not private, in percent.
    pub(super) loads: f64,
    /// Millions of references at the thesis's size, private ones included, where that is known.
    pub(super) ours_millions: Option<f64>,
    /// Why length, loads or private references miss.
    pub(super) why: String,
}

/// The card of a program.
pub(super) fn of(name: &str) -> Option<Card> {
    let row = rows(TABLE_2_1).find(|r| r[0] == name)?;
    let [shared, private, mbytes, bytes, loads] = [1, 2, 3, 4, 5].map(|i| number(&row[i]));
    let (millions, ours_millions) = ([shared?, private?], number(&row[6]));
    let why = row.into_iter().nth(7)?;
    Some(Card { millions, mbytes: mbytes?, bytes: bytes?, loads: loads?, ours_millions, why })
}

/// Part by which a share may miss without a word.
pub(super) const MISS: f64 = 0.15;
