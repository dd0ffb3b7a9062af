//! The columns of a sweep's table, and the files that have them.
use homenode_coherence::Effect;
use homenode_study::Done;
use homenode_table::{Cell, Format, Kind, TableFile, WriteError};
use std::fs::File;
use std::sync::Arc;

/// One row: a point of the study.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) trace: Arc<str>,
    pub(crate) seed: Option<u64>,
    pub(crate) disturbed: Option<Arc<str>>,
    /// How words were realigned, if they were.
    pub(crate) realigned: Option<Arc<str>>,
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
    /// Of protocols of page coherence.
    pub(crate) done: Option<Done>,
    /// Cost over that of the optimum of page coherence; of these alone.
    pub(crate) over_optimum: Option<f64>,
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
    column("trace", Kind::Text, true, |l| Cell::from(&*l.trace)),
    column("seed", Kind::Int, false, |l| int(l.seed)),
    column("disturbed", Kind::Text, false, |l| Cell::from(l.disturbed.as_deref())),
    column("machine", Kind::Text, true, |l| Cell::from(&l.machine.name)),
    column("family", Kind::Text, false, |l| Cell::from(l.machine.family)),
    column("params", Kind::Text, true, |l| Cell::from(&l.machine.params)),
    column("unit", Kind::Text, true, |l| Cell::from(&l.machine.unit)),
    column("lambda", Kind::Int, false, |l| Cell::from(l.machine.lambda)),
    column("o_h", Kind::Int, false, |l| Cell::from(l.machine.o_h)),
    column("o_s", Kind::Int, false, |l| Cell::from(l.machine.o_s)),
    column("remote", Kind::Int, false, |l| Cell::from(l.costs.r)),
    column("copy", Kind::Int, false, |l| Cell::from(l.costs.copy)),
    column("global", Kind::Int, false, |l| Cell::from(l.costs.g)),
    column("copy_global", Kind::Int, false, |l| Cell::from(l.costs.global_copy)),
    column("block_bytes", Kind::Int, true, |l| int(Some(l.block_bytes))),
    column("what", Kind::Text, true, |l| Cell::from(&*l.what)),
    column("cost", Kind::Wide, true, |l| Cell::Wide(l.cost)),
    column("cost_local", Kind::Wide, false, |l| Cell::from(l.local)),
    column("cost_remote", Kind::Wide, false, |l| Cell::from(l.remote)),
    column("cost_global", Kind::Wide, false, |l| Cell::from(l.global)),
    column("cost_movement", Kind::Wide, false, |l| Cell::from(l.movement)),
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
    column("note", Kind::Text, false, |l| Cell::from(l.note)),
    column("remote_reads", Kind::Int, false, |l| effect(l, Effect::RemoteRead)),
    column("remote_writes", Kind::Int, false, |l| effect(l, Effect::RemoteWrite)),
    column("updates", Kind::Int, false, |l| effect(l, Effect::Update)),
    column("invalidations", Kind::Int, false, |l| effect(l, Effect::Invalidation)),
    column("between", Kind::Int, false, |l| int(l.done.map(|d| d.between))),
    column("realigned", Kind::Text, false, |l| Cell::from(l.realigned.as_deref())),
    column("over_optimum", Kind::Real, false, |l| real(l.over_optimum)),
];

fn effect(line: &Line, effect: Effect) -> Cell<'static> {
    int(line.done.map(|d| d.effects.of(effect)))
}
/// Counts are far below 2^63: a program would have to run for centuries.
fn int(n: Option<u64>) -> Cell<'static> {
    n.map_or(Cell::Absent, |n| Cell::Int(i64::try_from(n).unwrap_or(i64::MAX)))
}
fn real(x: Option<f64>) -> Cell<'static> {
    x.map_or(Cell::Absent, Cell::Real)
}

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;
/// The table as Parquet.
pub(crate) const PARQUET: Format = Format::Parquet("sweep", GROUP_ROWS);

/// A file of rows.
pub(crate) struct LineFile(TableFile<File>);

impl LineFile {
    pub(crate) fn new(file: File, format: Format) -> Result<LineFile, WriteError> {
        let column = |c: &Column| {
            let column = homenode_table::Column::new(c.name, c.kind);
            if c.required { column.required() } else { column }
        };
        Ok(LineFile(TableFile::new(file, format, COLUMNS.iter().map(column).collect())?))
    }
    pub(crate) fn push(&mut self, line: &Line) -> Result<(), WriteError> {
        self.0.push(COLUMNS.iter().map(|c| (c.cell)(line)))
    }
    pub(crate) fn finish(self) -> Result<(), WriteError> {
        self.0.finish()
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
}
