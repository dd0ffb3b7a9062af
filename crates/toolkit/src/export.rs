//! `homenode export`: the references in order, one row each, as Parquet or CSV.
use crate::open::{open, refs};
use crate::{Failure, OrderChoice, Progress, output};
use homenode_base::VirtualTime;
use homenode_trace::order::{Consumer, drive};
use homenode_trace::{Event, Merged};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows of a Parquet row group: what a reader must hold at once.
const GROUP_ROWS: usize = 1 << 20;
const SCHEMA: &str = "message homenode {
    required int32 thread (INTEGER(32,false));
    required int64 addr (INTEGER(64,false));
    required int32 size (INTEGER(32,false));
    required int32 op (INTEGER(8,false));
    required int32 site (INTEGER(32,false));
}";

/// Writes all references of `dataset` in this order to `to` (`.parquet` or `.csv`); returns the number of rows. The
/// file appears only when it is whole.
pub fn export(
    dataset: &Path,
    to: &Path,
    order: OrderChoice,
    force: bool,
    progress: &mut dyn Progress,
) -> Result<u64, Failure> {
    let parquet = match to.extension().and_then(|e| e.to_str()) {
        Some("parquet") => true,
        Some("csv") => false,
        _ => return Err(Failure::usage(format!("{}: the name must end in .parquet or .csv", to.display()))),
    };
    output::refuse_existing(to, force)?;
    let opened = open(dataset)?;
    let total = refs(&opened.reader);
    let part = output::temporary(to);
    let failed = |e: &dyn std::fmt::Display| Failure::work(format!("cannot write {}: {e}", to.display()));
    let file = File::create(&part).map_err(|e| failed(&e))?;
    // Without handlers (nested use) Ctrl-C just ends the process and leaves the hidden part file behind.
    let stop = homenode_sys::signals::StopRequests::install().ok();
    let sink = if parquet { Rows::parquet(file) } else { Rows::csv(file) };
    let done = sink.map_err(|e| failed(&e)).and_then(|rows| {
        let mut exporter = Exporter { rows, written: 0, total, progress, stop, broken: None };
        drive(&opened.reader, order.kind(), &mut exporter)?;
        exporter.finish().map_err(|e| failed(&e))
    });
    let done = done.and_then(|rows| std::fs::rename(&part, to).map(|()| rows).map_err(|e| failed(&e)));
    if done.is_err() {
        // A part of a file is worth nothing; that removing it may fail too changes nothing for the user.
        let _ = std::fs::remove_file(&part);
    }
    done
}

struct Exporter<'a> {
    rows: Rows,
    written: u64,
    total: u64,
    progress: &'a mut dyn Progress,
    stop: Option<homenode_sys::signals::StopRequests>,
    /// Why writing ended early. A consumer cannot stop the merge, so the rest is merged and not written.
    broken: Option<ParquetError>,
}

impl Exporter<'_> {
    fn finish(mut self) -> Result<u64, ParquetError> {
        if let Some(e) = self.broken.take() {
            return Err(e);
        }
        self.rows.finish()?;
        Ok(self.written)
    }
}

impl Consumer for Exporter<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        if self.broken.is_none() && self.stop.as_ref().is_some_and(|s| s.take().is_some()) {
            self.broken = Some(ParquetError::General("interrupted; nothing is kept".to_owned()));
        }
        if self.broken.is_none() {
            self.broken = self.rows.push(refs).err();
            self.written += refs.len() as u64;
            self.progress.at("exporting", self.written, Some(self.total));
        }
    }
    fn event(&mut self, _: &Event, _: VirtualTime) {}
}

enum Rows {
    Parquet { writer: Box<SerializedFileWriter<File>>, rows: Vec<Merged> },
    Csv(BufWriter<File>),
}

impl Rows {
    fn parquet(file: File) -> Result<Rows, ParquetError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1)?);
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Rows::Parquet { writer: Box::new(writer), rows: Vec::with_capacity(GROUP_ROWS) })
    }

    fn csv(file: File) -> Result<Rows, ParquetError> {
        let mut out = BufWriter::new(file);
        out.write_all(b"thread,addr,size,op,site\n")?;
        Ok(Rows::Csv(out))
    }

    fn push(&mut self, refs: &[Merged]) -> Result<(), ParquetError> {
        match self {
            Rows::Csv(out) => {
                for r in refs {
                    writeln!(out, "{},{},{},{},{}", r.thread, r.addr, r.size, r.op as u8, r.site)?;
                }
            }
            Rows::Parquet { writer, rows } => {
                rows.extend_from_slice(refs);
                if rows.len() >= GROUP_ROWS {
                    write_group(writer, rows)?;
                    rows.clear();
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), ParquetError> {
        match self {
            Rows::Csv(mut out) => out.flush()?,
            Rows::Parquet { mut writer, rows } => {
                if !rows.is_empty() {
                    write_group(&mut writer, &rows)?;
                }
                writer.close()?;
            }
        }
        Ok(())
    }
}

/// Parquet's unsigned columns are signed ones with the same bits.
fn write_group(writer: &mut SerializedFileWriter<File>, rows: &[Merged]) -> Result<(), ParquetError> {
    let ints: [fn(&Merged) -> i32; 4] = [|r| r.thread as i32, |r| r.size as i32, |r| r.op as i32, |r| r.site as i32];
    let mut ints = ints.into_iter();
    let mut group = writer.next_row_group()?;
    while let Some(mut column) = group.next_column()? {
        let wide = matches!(column.untyped(), parquet::column::writer::ColumnWriter::Int64ColumnWriter(_));
        if wide {
            let values: Vec<i64> = rows.iter().map(|r| r.addr as i64).collect();
            column.typed::<Int64Type>().write_batch(&values, None, None)?;
        } else if let Some(value) = ints.next() {
            let values: Vec<i32> = rows.iter().map(value).collect();
            column.typed::<Int32Type>().write_batch(&values, None, None)?;
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}
