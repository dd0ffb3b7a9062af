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
/// What sampled datasets have besides. Latency and processor are missing where nothing was measured.
const SAMPLE_FIELDS: &str = "
    required int32 weight (INTEGER(32,false));
    required int32 source (INTEGER(8,false));
    optional int32 latency (INTEGER(32,false));
    optional int32 cpu (INTEGER(16,false));
}";
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
    let sampled = opened.reader.manifest().sampling.is_some();
    let sink = if parquet { Rows::parquet(file, sampled) } else { Rows::csv(file, sampled) };
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
    Csv { out: BufWriter<File>, sampled: bool },
}

impl Rows {
    fn parquet(file: File, sampled: bool) -> Result<Rows, ParquetError> {
        let exact = SCHEMA.trim_end_matches('}');
        let text = if sampled { format!("{exact}{SAMPLE_FIELDS}") } else { SCHEMA.to_owned() };
        let schema = Arc::new(parse_message_type(&text)?);
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1)?);
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Rows::Parquet { writer: Box::new(writer), rows: Vec::with_capacity(GROUP_ROWS) })
    }

    fn csv(file: File, sampled: bool) -> Result<Rows, ParquetError> {
        let mut out = BufWriter::new(file);
        let more = if sampled { ",weight,source,latency,cpu" } else { "" };
        writeln!(out, "thread,addr,size,op,site{more}")?;
        Ok(Rows::Csv { out, sampled })
    }

    fn push(&mut self, refs: &[Merged]) -> Result<(), ParquetError> {
        match self {
            Rows::Csv { out, sampled } => {
                for r in refs {
                    write!(out, "{},{},{},{},{}", r.thread, r.addr, r.size, r.op as u8, r.site)?;
                    if *sampled {
                        write!(out, ",{},{},", r.weight, r.source as u8)?;
                        r.latency_cycles().map_or(Ok(()), |l| write!(out, "{l}"))?;
                        out.write_all(b",")?;
                        r.cpu().map_or(Ok(()), |c| write!(out, "{c}"))?;
                    }
                    out.write_all(b"\n")?;
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
            Rows::Csv { mut out, .. } => out.flush()?,
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

/// Parquet's unsigned columns are signed ones with the same bits. Columns come in the order of the schema.
fn write_group(writer: &mut SerializedFileWriter<File>, rows: &[Merged]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut column) = group.next_column()? {
        match at {
            1 => {
                let values: Vec<i64> = rows.iter().map(|r| r.addr as i64).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            7 | 8 => {
                let cell: fn(&Merged) -> Option<i32> =
                    if at == 7 { |r| r.latency_cycles().map(|l| l as i32) } else { |r| r.cpu().map(i32::from) };
                let levels: Vec<i16> = rows.iter().map(|r| i16::from(cell(r).is_some())).collect();
                let values: Vec<i32> = rows.iter().filter_map(cell).collect();
                column.typed::<Int32Type>().write_batch(&values, Some(&levels), None)?;
            }
            _ => {
                let value = INTS[at];
                let values: Vec<i32> = rows.iter().map(value).collect();
                column.typed::<Int32Type>().write_batch(&values, None, None)?;
            }
        }
        column.close()?;
        at += 1;
    }
    group.close()?;
    Ok(())
}

/// The required 32-bit columns by their place in the schema; place 1 is the address.
const INTS: [fn(&Merged) -> i32; 7] = [
    |r| r.thread as i32,
    |_| 0,
    |r| r.size as i32,
    |r| r.op as i32,
    |r| r.site as i32,
    |r| r.weight as i32,
    |r| r.source as i32,
];
