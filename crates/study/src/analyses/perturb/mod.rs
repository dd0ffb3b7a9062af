//! How much a result depends on the exact interleaving that was recorded: seeded changes to the order of references, and
//! the same question asked again (Bolosky 1993, section 4.3).
//!
//! A [`Perturber`] stands between an order and whoever pulls. Program order of each processor always survives. With
//! [`Sync::Kept`] so does the happens-before of recorded synchronisation, which the source's traces no longer had: an
//! acquire is held back until all releases that it follows have been given. With [`Sync::Ignored`] references may move
//! across synchronisation, as they did there.
mod blame;
mod gap;
mod interval;
mod local;
mod reorder_buffer;
mod sensitivity;

use super::{AnalysisError, Input, Need, Spec, table::table};
pub use blame::{Blamed, blame};
use homenode_sim::ThreadBinding;
use homenode_table::{Cell, Table};
use homenode_trace::TraceError;
use homenode_trace::order::{Piece, Source, Stream};
pub use interval::Interval;
pub use sensitivity::{Change, SHOWN_PERCENT, sensitivity};

pub(crate) static SPEC: Spec = Spec {
    name: "perturb",
    summary: "how much results change when the recorded interleaving is disturbed, locally and by gaps",
    needs: &[Need::Exact, Need::Machine],
    repeats: 5,
    run,
};

/// How references change places. The fields' values in [`LOCAL`] and [`GAP`] are those of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Some references are held; one of them is drawn, and the oldest held one of its processor goes on.
    Local {
        /// References held, at least 1.
        held: u32,
    },
    /// Now and then one processor stands still while the others go on, and then catches up.
    Gap {
        /// A gap begins at one reference in so many, at least 1.
        one_in: u32,
        /// References of the whole program that a gap lasts.
        length: u32,
        /// While anything is queued, a queued reference is given instead of a fresh one with probability `catch_up.0 /
        /// catch_up.1`, below 1 and above one half: else queues would grow for ever.
        catch_up: (u32, u32),
    },
}

/// The local filter of Bolosky 1993.
pub const LOCAL: Filter = Filter::Local { held: 100 };
/// The gap filter of Bolosky 1993.
pub const GAP: Filter = Filter::Gap { one_in: 30_000, length: 4000, catch_up: (2, 3) };

impl Filter {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Filter::Local { .. } => "local",
            Filter::Gap { .. } => "gap",
        }
    }
    fn check(self) -> Result<(), AnalysisError> {
        let bad = |what, value: String, allowed| Err(AnalysisError::Value { what, value, allowed });
        match self {
            Filter::Local { held: 0 } => bad("references held", "0".into(), "hold at least 1"),
            Filter::Gap { one_in: 0, .. } => bad("references to a gap", "0".into(), "at least 1"),
            Filter::Gap { catch_up: (n, d), .. } if n >= d || 2 * u64::from(n) <= u64::from(d) => {
                bad("catch-up probability", format!("{n}/{d}"), "above one half and below 1")
            }
            _ => Ok(()),
        }
    }
}

/// Whether synchronisation is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Happens-before of recorded synchronisation, creation of threads, and reuse of memory is kept.
    #[default]
    Kept,
    /// Only program order is.
    Ignored,
}

impl Sync {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Sync::Kept => "kept",
            Sync::Ignored => "ignored",
        }
    }
}

enum How {
    Local(local::Local),
    Gap(gap::Gap),
}

/// The references and events of a stream in another order. The stream must be in a legal order, such as
/// [`homenode_trace::order::Order`].
pub struct Perturber<S> {
    stream: S,
    how: How,
    out: reorder_buffer::Out,
    over: bool,
}

impl<S: Stream> Perturber<S> {
    /// A filter of `stream`. Equal seeds give equal orders.
    ///
    /// # Errors
    /// A field of the filter is outside its range.
    pub fn new(
        filter: Filter,
        sync: Sync,
        seed: u64,
        bindings: &[ThreadBinding],
        stream: S,
    ) -> Result<Perturber<S>, AnalysisError> {
        filter.check()?;
        Ok(Perturber {
            stream,
            how: How::new(filter, sync, seed, bindings),
            out: reorder_buffer::Out::default(),
            over: false,
        })
    }
}

impl How {
    fn new(filter: Filter, sync: Sync, seed: u64, bindings: &[ThreadBinding]) -> How {
        let held = reorder_buffer::ReorderBuffer::new(bindings, sync);
        match filter {
            Filter::Local { held: most } => How::Local(local::Local::new(held, most as usize, seed)),
            Filter::Gap { one_in, length, catch_up } => {
                How::Gap(gap::Gap::new(held, one_in.into(), length.into(), catch_up, seed))
            }
        }
    }
    fn take(&mut self, piece: Piece<'_>, out: &mut reorder_buffer::Out) {
        match self {
            How::Local(local) => {
                piece.refs.iter().for_each(|r| local.reference(r, out));
                piece.event.iter().for_each(|(event, time)| local.event(event, *time, out));
            }
            How::Gap(gap) => {
                piece.refs.iter().for_each(|r| gap.reference(r, out));
                piece.event.iter().for_each(|(event, time)| gap.event(event, *time, out));
            }
        }
    }
    /// Gives everything that is still held.
    fn finish(&mut self, out: &mut reorder_buffer::Out) {
        match self {
            How::Local(local) => local.finish(out),
            How::Gap(gap) => gap.finish(out),
        }
    }
}

impl<S: Stream> Stream for Perturber<S> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        self.out.forget();
        while !self.over && !self.out.full() {
            match self.stream.pull()? {
                Some(piece) => self.how.take(piece, &mut self.out),
                None => {
                    self.how.finish(&mut self.out);
                    self.over = true;
                }
            }
        }
        Ok(self.out.piece())
    }
}

/// A source whose streams are perturbed, each time the same.
pub struct Perturbed<'a> {
    source: &'a mut dyn Source,
    filter: Filter,
    sync: Sync,
    seed: u64,
    bindings: &'a [ThreadBinding],
}

impl<'a> Perturbed<'a> {
    /// A filter of what `source` streams.
    ///
    /// # Errors
    /// A field of the filter is outside its range.
    pub fn new(
        filter: Filter,
        sync: Sync,
        seed: u64,
        bindings: &'a [ThreadBinding],
        source: &'a mut dyn Source,
    ) -> Result<Perturbed<'a>, AnalysisError> {
        filter.check()?;
        Ok(Perturbed { source, filter, sync, seed, bindings })
    }
}

impl Source for Perturbed<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        let how = How::new(self.filter, self.sync, self.seed, self.bindings);
        let stream = self.source.stream(merge)?;
        Ok(Box::new(Perturber { stream, how, out: reorder_buffer::Out::default(), over: false }))
    }
}

/// Objects in the table of objects, for each filter and synchronisation.
const OBJECTS_MAX: usize = 8;

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let mut changes = changes_table();
    let mut causes = causes_table();
    let mut objects = objects_table();
    for filter in [LOCAL, GAP] {
        let [kept, ignored] = [Sync::Kept, Sync::Ignored].map(|sync| sensitivity(input, filter, sync));
        let [kept, ignored] = [kept?, ignored?];
        for (sync, all) in [(Sync::Kept, &kept), (Sync::Ignored, &ignored)] {
            all.iter().for_each(|change| changes.push(change_row(input, filter, sync, change)));
            object_rows(input, filter, sync, &mut objects)?;
        }
        for (kept, ignored) in kept.iter().zip(&ignored) {
            let [kept_interval, ignored_interval] = [kept, ignored].map(Change::interval_percent);
            let mut row = place(input, filter, kept);
            row.extend([ignored_interval.mean.into(), kept_interval.mean.into()]);
            row.push((ignored_interval.mean - kept_interval.mean).into());
            causes.push(row);
        }
    }
    Ok(vec![changes, causes, objects])
}

fn place(input: &Input<'_>, filter: Filter, change: &Change) -> Vec<Cell<'static>> {
    vec![
        filter.name().into(),
        input.question.machines[change.row.machine as usize].name.clone().into(),
        change.row.block_bytes.into(),
        change.row.what.words(input.question).into(),
    ]
}

fn changes_table() -> Table {
    let columns = [
        "filter",
        "machine",
        "block_bytes",
        "what",
        "synchronisation",
        "cost",
        "largest_change_percent",
        "mean_change_percent",
        "change_percent",
        "change_low_percent",
        "change_high_percent",
        "repeats",
    ];
    let note = "Change of each cost when the order of references is disturbed, in percent of the cost in the recorded \
                order: largest and mean without signs, where changes below 0.001 are shown as 0, and the mean with signs \
                between the ends of its 95 % confidence interval over the repeats.";
    table("perturbation", note, &columns)
}

fn change_row(input: &Input<'_>, filter: Filter, sync: Sync, change: &Change) -> Vec<Cell<'static>> {
    let interval = change.interval_percent();
    let mut row = place(input, filter, change);
    row.extend([
        sync.name().into(),
        change.row.cost.as_f64().into(),
        change.largest_percent().into(),
        change.mean_percent().into(),
        interval.mean.into(),
        interval.ends.map(|e| e.0).into(),
        interval.ends.map(|e| e.1).into(),
        (change.costs.len() as u64).into(),
    ]);
    row
}

fn causes_table() -> Table {
    let columns =
        ["filter", "machine", "block_bytes", "what", "change_percent", "with_synchronisation_kept", "by_crossing_it"];
    let note = "Mean change of each cost in percent where synchronisation is ignored, the part of it that is there too where \
                it is kept, and the rest, which comes from references that moved across synchronisation.";
    table("perturbation-causes", note, &columns)
}

fn objects_table() -> Table {
    let columns =
        ["filter", "synchronisation", "block_bytes", "object", "moves", "change", "change_low", "change_high", "share"];
    let note = "Moves of blocks on a machine that cannot reference other nodes, by the object whose reference causes them: in \
                the recorded order, and how they change with the 95 % confidence interval over the repeats. The share is \
                that of the sum of all objects' changes without signs.";
    table("perturbation-objects", note, &columns)
}

fn object_rows(input: &mut Input<'_>, filter: Filter, sync: Sync, table: &mut Table) -> Result<(), AnalysisError> {
    let word = input.question.machines.first().map_or(4, |m| u64::from(m.shape.word_bytes));
    let Some(block_bytes) = input.question.blocks.iter().copied().find(|b| *b >= word) else { return Ok(()) };
    let blamed = blame(input, filter, sync, (block_bytes, word))?;
    let all: f64 = blamed.iter().map(|b| b.interval().mean.abs()).sum();
    for b in blamed.iter().filter(|b| b.changes().iter().any(|c| *c != 0.0)).take(OBJECTS_MAX) {
        let interval = b.interval();
        table.push(vec![
            filter.name().into(),
            sync.name().into(),
            block_bytes.into(),
            b.name.as_str().into(),
            b.moves.into(),
            interval.mean.into(),
            interval.ends.map(|e| e.0).into(),
            interval.ends.map(|e| e.1).into(),
            (all > 0.0).then(|| interval.mean.abs() / all).into(),
        ]);
    }
    Ok(())
}
