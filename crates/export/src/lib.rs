//! # homenode-export: references as rows of a table
//!
//! The references in order, or what policies see of them, one row each, as Parquet or CSV.
//!
//! **Invariant:** a file appears only when it is whole, and both formats have the same rows: one list of columns makes the
//! Parquet schema, the CSV header and the cells.
//!
//! Reading order: [`export`], [`batches`] (the same rows in memory), `rows` (columns, and the files), `names` and `words` (what rows say in words).
//!
//! ```
//! use homenode_export::{ExportRequest, RowsRequest, batches, export};
//! use homenode_synthetic::Builder;
//! use homenode_trace::{order::OrderKind, store::Store};
//!
//! let mut program = Builder::new(2);
//! program.write(0, 0x40_0000).spawn(0, 1).read(1, 0x40_0000);
//! let (folder, dataset) = (tempfile::tempdir().unwrap(), program.store());
//! for name in dataset.names().unwrap() {
//!     let file = folder.path().join("x.hnt").join(&name);
//!     std::fs::create_dir_all(file.parent().unwrap()).unwrap();
//!     std::fs::write(file, dataset.get(&name).unwrap().as_slice()).unwrap();
//! }
//!
//! let rows = RowsRequest {
//!     dataset: folder.path().join("x.hnt"),
//!     order: OrderKind::Model,
//!     after_caches: false,
//!     machine: "numa".to_owned(),
//!     block: None,
//!     map: None,
//!     realign: None,
//! };
//! let request = ExportRequest { to: folder.path().join("x.csv"), force: false, rows };
//! assert_eq!(export(&request, &mut ())?, 2);
//! assert_eq!(std::fs::read_to_string(&request.to).unwrap().lines().count(), 3);
//!
//! let mut sizes = Vec::new();
//! batches(&request.rows, 1, &mut |batch| Ok(sizes.push(batch.num_rows())), &mut ())?;
//! assert_eq!(sizes, [1, 1]);
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod names;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use homenode_base::NodeId;
use homenode_base::spaces::{home, tag};
use homenode_command::dataset::{open, open_any, refs};
use homenode_command::instructions::{Between, Column, Instructions};
use homenode_command::{Failure, Progress, machine, output};
use homenode_machine::AccessClass;
use homenode_realign::{Opening, Private, RealignError, Rule};
use homenode_sim::names::NameTable;
use homenode_sim::shared::Start;
use homenode_sim::{BoundMachine, Filtered, Objects, Passed, Setup, ThreadBinding, for_pieces};
use homenode_sys::dir::create_new;
use homenode_table::{Format, RecordBatch, WriteError};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Again, Order, OrderKind, Stream};
use homenode_trace::{DataSource, Merged, Op, TraceError};
use names::{NOWHERE, Now};
use rows::{GROUP_ROWS, Row, Shape, Sink};
use std::collections::HashMap;
use std::path::PathBuf;

/// References as rows: which, in which order, and where threads and memory are.
#[derive(Clone, Debug)]
pub struct RowsRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Order of the rows.
    pub order: OrderKind,
    /// What policies see on the machine, instead of all references.
    pub after_caches: bool,
    /// Machine name or TOML file: where threads run and memory is.
    pub machine: String,
    /// Placement block in bytes; the machine's page if absent.
    pub block: Option<u64>,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// Data where a [`Rule`] moves it, for pages of the placement block; as recorded if absent.
    pub realign: Option<String>,
}

/// What to export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The file; `.parquet` or `.csv`.
    pub to: PathBuf,
    /// Replace it if it exists.
    pub force: bool,
    /// References that become rows.
    pub rows: RowsRequest,
}

/// Writes the rows and returns their number. The file appears only when it is whole.
///
/// # Errors
/// The request makes no sense, the dataset cannot be read, the file cannot be written, or Ctrl-C.
pub fn export(request: &ExportRequest, progress: &mut dyn Progress) -> Result<u64, Failure> {
    let to = &request.to;
    output::refuse_kind(to, &["parquet", "csv"])?;
    output::refuse_existing(to, request.force)?;
    let part = output::temporary(to);
    let failed = |e: &dyn std::fmt::Display| Failure::work(format!("cannot write {}: {e}", to.display()));
    let parquet = to.extension().is_some_and(|e| e == "parquet");
    let format = if parquet { Format::Parquet("homenode", GROUP_ROWS) } else { Format::Csv };
    let create = |shape| {
        let file = create_new(&part).map_err(|e| failed(&e))?;
        Sink::file(file, format, shape).map_err(|e| failed(&e))
    };
    // Without handlers (nested use) Ctrl-C just ends the process and leaves the hidden part file behind.
    let stop = homenode_sys::signals::StopRequests::install().ok();
    let stop = || match stop.as_ref().is_some_and(|s| s.take().is_some()) {
        true => Err(Failure::work(format!("interrupted; nothing is kept of {}", to.display()))),
        false => Ok(()),
    };
    let done = write(&request.rows, create, (&failed, &stop), progress);
    let done = done.and_then(|rows| std::fs::rename(&part, to).map(|()| rows).map_err(|e| failed(&e)));
    if done.is_err() {
        // A part of a file is worth nothing; that removing it may fail too changes nothing for the user.
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// Hands on the rows in Arrow's memory format, `rows` of them at once (fewer at the end), and returns their number. The batches
/// have the columns of the files; an error of `give` ends it.
///
/// # Errors
/// The request makes no sense, the dataset cannot be read, or what `give` says.
///
/// # Panics
/// `rows` is 0.
pub fn batches(
    request: &RowsRequest,
    rows: usize,
    give: &mut (dyn FnMut(RecordBatch) -> std::io::Result<()> + Send),
    progress: &mut dyn Progress,
) -> Result<u64, Failure> {
    assert!(rows > 0, "batches of no rows");
    let failed = |e: &dyn std::fmt::Display| Failure::work(format!("the rows were not taken: {e}"));
    write(request, |shape| Ok(Sink::batches(rows, give, shape)), (&failed, &|| Ok(())), progress)
}

/// Makes of an error of a sink the failure that is told, and asks whether to stop.
type Hooks<'h> = (&'h dyn Fn(&dyn std::fmt::Display) -> Failure, &'h dyn Fn() -> Result<(), Failure>);

/// Writes the rows into the sink that is made when all else is known to be right.
fn write<'s>(
    request: &RowsRequest,
    create: impl FnOnce(Shape) -> Result<Sink<'s>, Failure>,
    (failed, stop): Hooks<'_>,
    progress: &mut dyn Progress,
) -> Result<u64, Failure> {
    let bound_machine = BoundMachine::new(machine::named(&request.machine)?, request.map.as_deref())
        .map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let block_bytes = request.block.unwrap_or(bound_machine.machine.shape.page_bytes);
    bound_machine.machine.check_block("--block", block_bytes).map_err(Failure::usage)?;
    let opened = if request.after_caches { open(&request.dataset) } else { open_any(&request.dataset) }?;
    let bindings = bound_machine.bindings(&opened.reader).map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let options = bound_machine.replay_options(&opened.reader);
    let rule = realignment(request, options.sampled.is_some())?;
    let setup = Setup { machine: &bound_machine.machine, bindings: &bindings, block_bytes, options, waits: &[] };
    let some_pages = opened.reader.manifest().pages.is_some();
    let shape = Shape { sampled: options.sampled.is_some(), after_caches: request.after_caches, some_pages };
    let sink = create(shape)?;
    let names = NameTable::new(&opened.reader)?;
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let mut again = Again { data: &opened.reader, kind: request.order };
    let (objects, bindings, private): (&Start<'_>, &[_], _) = (&objects, &bindings, Private::Kept);
    let what = Opening { source: &mut again, objects, bindings, page_bytes: block_bytes, private };
    let moved = rule.map(|rule| rule.open(what)).transpose();
    let mut moved = moved.map_err(|e| Failure::usage(format!("--realign: {e}")))?;
    let mut exporter = Exporter::new((sink, shape), setup, (&names, &opened.reader), progress)?;
    let mut order = Order::new(&opened.reader, request.order)?;
    exporter.moved = moved.as_mut().map(|m| m.stream(0)).transpose()?.map(Beside::new);
    while let Some(piece) = order.pull()? {
        stop()?;
        exporter.refs(piece.refs, |e| failed(e))?;
        piece.event.iter().for_each(|(event, _)| exporter.now.event(event));
    }
    exporter.finish().map_err(|e| failed(&e))
}

/// Where rows come from.
enum Rows<'m> {
    /// References as recorded.
    Recorded(Box<Recorded<'m>>),
    /// What passes the caches.
    Filtered(Box<Filtered<'m>>),
}

struct Exporter<'a, 's> {
    rows: Rows<'a>,
    sink: Sink<'s>,
    now: Now<'a>,
    bindings: &'a [ThreadBinding],
    read: u64,
    written: u64,
    /// References with their words moved, one for each as recorded.
    moved: Option<Beside<'a>>,
    total: u64,
    progress: &'a mut dyn Progress,
}

impl<'a, 's> Exporter<'a, 's> {
    fn new(
        (sink, shape): (Sink<'s>, Shape),
        setup: Setup<'a>,
        (names, reader): (&'a NameTable<'a>, &'a DatasetReader),
        progress: &'a mut dyn Progress,
    ) -> Result<Exporter<'a, 's>, Failure> {
        let rows = if shape.after_caches {
            Rows::Filtered(Box::new(Filtered::new(setup).map_err(Failure::usage)?))
        } else {
            Rows::Recorded(Box::new(Recorded::new(&setup, reader)))
        };
        Ok(Exporter {
            rows,
            sink,
            now: Now::new(names, reader),
            bindings: setup.bindings,
            read: 0,
            written: 0,
            moved: None,
            total: refs(reader),
            progress,
        })
    }

    fn finish(self) -> Result<u64, WriteError> {
        self.sink.finish(&self.now.texts)?;
        Ok(self.written)
    }

    /// Writes the rows of references; `failed` says which file could not be written.
    fn refs(&mut self, refs: &[Merged], failed: impl Fn(&WriteError) -> Failure) -> Result<(), Failure> {
        self.read += refs.len() as u64;
        self.progress.at("exporting", self.read, Some(self.total));
        let Exporter { rows, sink, now, bindings, written, moved, .. } = self;
        match rows {
            Rows::Recorded(rows) => {
                for r in refs {
                    let binding = bindings.get(r.thread as usize).copied();
                    let to = moved.as_mut().map_or(Ok(*r), Beside::next)?;
                    let node = binding.and_then(|binding| rows.homes.of(&to, binding));
                    let instructions = rows.between(r)?;
                    let row = Row { instructions, ..recorded(r, binding, node, now) };
                    // A moved word has no address in any process: it is given as it is, flat.
                    let addr = if to.addr == r.addr { row.addr } else { to.addr ^ tag(binding.map_or(0, |b| b.space)) };
                    sink.push(Row { addr, ..row }, &now.texts).map_err(|e| failed(&e))?;
                }
                *written += refs.len() as u64;
            }
            Rows::Filtered(filtered) => {
                for passed in filtered.refs(refs) {
                    sink.push(self::passed(passed, now), &now.texts).map_err(|e| failed(&e))?;
                    *written += 1;
                }
            }
        }
        Ok(())
    }
}

/// How words move, if they do.
fn realignment(request: &RowsRequest, sampled: bool) -> Result<Option<Rule>, Failure> {
    let Some(text) = &request.realign else { return Ok(None) };
    let wrong = |e: RealignError| Failure::usage(format!("--realign: {e}"));
    let rule = Rule::parse(text).map_err(wrong)?;
    if request.after_caches {
        return Err(Failure::usage("--realign is for references as recorded: leave --after-caches out"));
    }
    if sampled {
        let name = request.dataset.display();
        return Err(Failure::usage(format!("{name} is sampled: --realign needs all references")));
    }
    Ok(Some(rule))
}

/// A stream that is read beside another with the same references.
struct Beside<'s> {
    stream: Box<dyn Stream + 's>,
    piece: Vec<Merged>,
    given: usize,
}

impl<'s> Beside<'s> {
    fn new(stream: Box<dyn Stream + 's>) -> Beside<'s> {
        Beside { stream, piece: Vec::new(), given: 0 }
    }
    /// The next reference.
    fn next(&mut self) -> Result<Merged, TraceError> {
        while self.given == self.piece.len() {
            let piece = self.stream.pull()?.expect("the order has the same references each time");
            self.piece.clear();
            self.piece.extend_from_slice(piece.refs);
            self.given = 0;
        }
        self.given += 1;
        Ok(self.piece[self.given - 1])
    }
}

/// The row of a reference.
fn recorded(r: &Merged, binding: Option<ThreadBinding>, node: Option<NodeId>, now: &mut Now<'_>) -> Row {
    let (space, addr) = home(binding.map_or(0, |s| s.space), r.addr);
    Row {
        thread: Some(r.thread),
        space,
        addr,
        size: r.size,
        op: Some(r.op),
        site: Some(r.site),
        place: now.place(r.site),
        object: now.object(space, addr),
        thread_node: binding.map(|s| s.node.0),
        node: node.map(|n| n.0),
        phase: now.phase(r.thread),
        charged: AccessClass::Free,
        times: 0,
        weight: r.weight,
        source: r.source,
        latency: r.latency_cycles(),
        cpu: r.cpu(),
        instructions: Between::Unknown,
        pages_one_in: now.pages_one_in,
    }
}

/// The row of what policies see.
fn passed(p: &Passed, now: &mut Now<'_>) -> Row {
    let common = Row {
        thread: None,
        space: p.space,
        addr: p.addr,
        size: p.bytes,
        op: None,
        site: None,
        place: NOWHERE,
        object: now.object(p.space, p.addr),
        thread_node: Some(p.access.node.0),
        node: Some(p.home.0),
        phase: names::NO_TEXT,
        charged: p.access.class,
        times: p.access.weight,
        weight: 1,
        source: DataSource::Unknown,
        latency: None,
        cpu: None,
        instructions: Between::Unknown,
        pages_one_in: now.pages_one_in,
    };
    let Some(r) = &p.reference else { return common };
    Row {
        thread: Some(r.thread),
        op: Some(r.op),
        site: Some(r.site),
        place: now.place(r.site),
        phase: now.phase(r.thread),
        weight: r.weight,
        source: r.source,
        latency: r.latency_cycles(),
        cpu: r.cpu(),
        ..common
    }
}

/// What is known beside references as they were recorded.
struct Recorded<'a> {
    homes: Homes,
    instructions: Instructions<'a>,
    counts: Column<'a>,
    /// The last site of each thread.
    last: Vec<Option<u32>>,
}

impl<'a> Recorded<'a> {
    fn new(setup: &Setup<'_>, reader: &'a DatasetReader) -> Recorded<'a> {
        Recorded {
            homes: Homes::new(setup),
            instructions: Instructions::new(reader),
            counts: Column::new(reader),
            last: vec![None; reader.threads() as usize],
        }
    }
    /// Instructions between the thread's reference before this one and this one.
    fn between(&mut self, r: &Merged) -> Result<Between, homenode_trace::TraceError> {
        let Some(last) = self.last.get_mut(r.thread as usize) else { return Ok(Between::Unknown) };
        let before = last.replace(r.site);
        Ok(self.instructions.between(before, r.site, self.counts.next(r.thread)?))
    }
}

/// Where each block is under first touch, as replays have it.
struct Homes {
    sampled: bool,
    block_shift: u32,
    /// By flat block number.
    homes: HashMap<u64, NodeId>,
}

impl Homes {
    fn new(setup: &Setup<'_>) -> Homes {
        let sampled = setup.options.sampled.is_some();
        Homes { sampled, block_shift: setup.block_bytes.trailing_zeros(), homes: HashMap::new() }
    }

    /// Home of the first byte, once this reference has been made; none if nothing has touched it. Waiting is not counted as
    /// a touch, and samples that say nothing about memory are none.
    fn of(&mut self, r: &Merged, binding: ThreadBinding) -> Option<NodeId> {
        let block = |addr: u64| (addr ^ tag(binding.space)) >> self.block_shift;
        let first = block(r.addr);
        let says = |s: DataSource| s.placement_matters() || s == DataSource::FirstTouch;
        if r.op != Op::Spin && (!self.sampled || says(r.source)) {
            // Samples touch their first byte only: how far they reach is not known of all.
            let size = if self.sampled { 1 } else { r.size };
            for_pieces(r.addr, size, self.block_shift, |piece| {
                self.homes.entry(block(piece.addr)).or_insert(binding.node);
            });
        }
        self.homes.get(&first).copied()
    }
}
