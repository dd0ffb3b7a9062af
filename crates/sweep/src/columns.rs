//! The columns of a sweep's table: one list that the Parquet schema, the CSV header and the cells are made from.
use std::sync::Arc;

/// One row: a point of the study.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) trace: Arc<str>,
    pub(crate) seed: Option<u64>,
    pub(crate) disturbed: Option<Arc<str>>,
    pub(crate) machine: Arc<Named>,
    pub(crate) costs: Costs,
    pub(crate) block_bytes: u64,
    pub(crate) what: Arc<str>,
    pub(crate) cost: i128,
    pub(crate) local: Option<i128>,
    pub(crate) remote: Option<i128>,
    pub(crate) global: Option<i128>,
    pub(crate) movement: Option<i128>,
    pub(crate) moves: Option<u64>,
    pub(crate) copies: Option<u64>,
    pub(crate) transfer_cost: i128,
    pub(crate) refs: u64,
    pub(crate) accesses: u64,
    pub(crate) blocks_touched: u64,
    pub(crate) exact: bool,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) note: Option<&'static str>,
}

/// Which machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) family: Option<&'static str>,
    pub(crate) params: String,
    pub(crate) unit: String,
    pub(crate) lambda: Option<i64>,
    pub(crate) o_h: Option<i64>,
    pub(crate) o_s: Option<i64>,
}

/// What the machine costs at this block size; nothing where nodes are not equally far from each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    pub(crate) r: Option<i64>,
    pub(crate) copy: Option<i64>,
    pub(crate) g: Option<i64>,
    pub(crate) global_copy: Option<i64>,
}

impl Line {
    /// Mean cost per access charged.
    pub(crate) fn mcpr(&self) -> Option<f64> {
        (self.accesses > 0).then(|| self.cost as f64 / self.accesses as f64)
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    /// 38 decimal digits: sums of costs do not fit into 64 bits.
    Wide,
    Real,
    Flag,
}

/// A cell of a row; absent where it does not apply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Int(i64),
    Wide(i128),
    Real(f64),
    Flag(bool),
    Absent,
}

/// A column.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether every row has a value.
    pub(crate) required: bool,
    pub(crate) cell: for<'l> fn(&'l Line) -> Cell<'l>,
}

const fn column(name: &'static str, kind: Kind, required: bool, cell: for<'l> fn(&'l Line) -> Cell<'l>) -> Column {
    Column { name, kind, required, cell }
}

/// The columns, in order. `docs/sweep.md` says what each means.
pub(crate) static COLUMNS: &[Column] = &[
    column("trace", Kind::Text, true, |l| Cell::Text(&l.trace)),
    column("seed", Kind::Int, false, |l| int(l.seed)),
    column("disturbed", Kind::Text, false, |l| l.disturbed.as_deref().map_or(Cell::Absent, Cell::Text)),
    column("machine", Kind::Text, true, |l| Cell::Text(&l.machine.name)),
    column("family", Kind::Text, false, |l| l.machine.family.map_or(Cell::Absent, Cell::Text)),
    column("params", Kind::Text, true, |l| Cell::Text(&l.machine.params)),
    column("unit", Kind::Text, true, |l| Cell::Text(&l.machine.unit)),
    column("lambda", Kind::Int, false, |l| signed(l.machine.lambda)),
    column("o_h", Kind::Int, false, |l| signed(l.machine.o_h)),
    column("o_s", Kind::Int, false, |l| signed(l.machine.o_s)),
    column("remote", Kind::Int, false, |l| signed(l.costs.r)),
    column("copy", Kind::Int, false, |l| signed(l.costs.copy)),
    column("global", Kind::Int, false, |l| signed(l.costs.g)),
    column("copy_global", Kind::Int, false, |l| signed(l.costs.global_copy)),
    column("block_bytes", Kind::Int, true, |l| int(Some(l.block_bytes))),
    column("what", Kind::Text, true, |l| Cell::Text(&l.what)),
    column("cost", Kind::Wide, true, |l| Cell::Wide(l.cost)),
    column("cost_local", Kind::Wide, false, |l| wide(l.local)),
    column("cost_remote", Kind::Wide, false, |l| wide(l.remote)),
    column("cost_global", Kind::Wide, false, |l| wide(l.global)),
    column("cost_movement", Kind::Wide, false, |l| wide(l.movement)),
    column("moves", Kind::Int, false, |l| int(l.moves)),
    column("copies", Kind::Int, false, |l| int(l.copies)),
    column("cost_transfers", Kind::Wide, true, |l| Cell::Wide(l.transfer_cost)),
    column("refs", Kind::Int, true, |l| int(Some(l.refs))),
    column("accesses", Kind::Int, true, |l| int(Some(l.accesses))),
    column("blocks_touched", Kind::Int, true, |l| int(Some(l.blocks_touched))),
    column("mcpr", Kind::Real, false, |l| real(l.mcpr())),
    column("exact", Kind::Flag, true, |l| Cell::Flag(l.exact)),
    column("mcpr_low", Kind::Real, false, |l| real(l.interval.map(|i| i.0))),
    column("mcpr_high", Kind::Real, false, |l| real(l.interval.map(|i| i.1))),
    column("note", Kind::Text, false, |l| l.note.map_or(Cell::Absent, Cell::Text)),
];

/// Counts are far below 2^63: a program would have to run for centuries.
fn int(n: Option<u64>) -> Cell<'static> {
    n.map_or(Cell::Absent, |n| Cell::Int(i64::try_from(n).unwrap_or(i64::MAX)))
}
fn signed(n: Option<i64>) -> Cell<'static> {
    n.map_or(Cell::Absent, Cell::Int)
}
fn wide(n: Option<i128>) -> Cell<'static> {
    n.map_or(Cell::Absent, Cell::Wide)
}
fn real(x: Option<f64>) -> Cell<'static> {
    x.map_or(Cell::Absent, Cell::Real)
}

impl std::fmt::Display for Cell<'_> {
    /// As in CSV.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Text(t) if t.contains([',', '"', '\n', '\r']) => write!(f, "\"{}\"", t.replace('"', "\"\"")),
            Cell::Text(t) => f.write_str(t),
            Cell::Int(n) => write!(f, "{n}"),
            Cell::Wide(n) => write!(f, "{n}"),
            Cell::Real(x) => write!(f, "{x}"),
            Cell::Flag(b) => write!(f, "{b}"),
            Cell::Absent => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_explained() {
        let page = include_str!("../../../docs/sweep.md");
        for column in COLUMNS {
            assert!(page.contains(&format!("| `{}` |", column.name)), "{} is not in docs/sweep.md", column.name);
        }
    }

    #[test]
    fn cells_are_csv() {
        assert_eq!(Cell::Text("a,\"b\"").to_string(), "\"a,\"\"b\"\"\"");
        assert_eq!((Cell::Absent.to_string(), Cell::Real(0.5).to_string()), (String::new(), "0.5".to_owned()));
    }
}
