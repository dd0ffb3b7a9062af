//! Parquet: a row a reference. The columns are those of [`super::rows`].
use super::rows;
use super::{Format, ReadError};
use crate::quiet::quietly;
use crate::report::{FileReport, ImportSink, Input, Source};
use homenode_table::read::{Asked, Contents, TableReader};
use std::fs::File;
use std::io::{self, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

pub(crate) static SPEC: Format = Format {
    name: "parquet",
    summary: "Parquet with columns thread, addr and op, as `homenode export` writes them or anybody else",
    recognises: |look| look.start.starts_with(b"PAR1"),
    read,
};

fn read(input: Input<'_>, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    let source = input.file().map_err(ReadError::File)?;
    let begin = |asked: &[Asked], read: &mut dyn FnMut(TableReader<'_>) -> Result<(), ReadError>| {
        let contents = contents(source).map_err(|e| ReadError::File(e.to_string()))?;
        read(TableReader::parquet(contents, asked, quietly).map_err(rows::refused)?)
    };
    rows::read(begin, sink)
}

/// A file that is read from several places.
struct OfFile(File);

impl Contents for OfFile {
    fn bytes(&self) -> u64 {
        self.0.metadata().map_or(0, |m| m.len())
    }
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.0, out, at)
    }
}

/// The file, or a copy of what is in memory anyway.
fn contents(source: &mut dyn Source) -> io::Result<Arc<dyn Contents>> {
    if let Some(file) = source.handle() {
        return Ok(Arc::new(OfFile(file?)));
    }
    let mut bytes = Vec::new();
    source.seek(SeekFrom::Start(0))?;
    source.read_to_end(&mut bytes)?;
    Ok(Arc::new(bytes))
}
