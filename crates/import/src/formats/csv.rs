//! Comma-separated values: a row a reference, under a line of names. The columns are those of [`super::rows`].
use super::rows::{self, ASKED};
use super::{Format, Look, ReadError};
use crate::report::{FileReport, ImportSink, Input};
use homenode_table::read::{Asked, TableReader};
use std::io::{BufReader, SeekFrom};

pub(crate) static SPEC: Format = Format {
    name: "csv",
    summary: "comma-separated values with columns thread, addr and op, as `homenode export` writes them or anybody else",
    recognises,
    read,
};

/// Bytes of the file read at once.
const BUFFER: usize = 1 << 18;

/// Whether the first line names the columns without which there are no references.
fn recognises(look: &Look) -> bool {
    let line = look.start.split(|b| *b == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start_matches('\u{feff}');
    let names: Vec<&str> = text.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let is_there = |asked: &Asked| names.iter().any(|name| asked.names.contains(name));
    is_there(&ASKED[rows::THREAD]) && is_there(&ASKED[rows::ADDR])
}

fn read(input: Input<'_>, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    let source = input.file().map_err(ReadError::File)?;
    let begin = |asked: &[Asked], read: &mut dyn FnMut(TableReader<'_>) -> Result<(), ReadError>| {
        source.seek(SeekFrom::Start(0)).map_err(|e| ReadError::File(e.to_string()))?;
        let text = BufReader::with_capacity(BUFFER, &mut *source);
        read(TableReader::csv(text, asked).map_err(rows::refused)?)
    };
    rows::read(begin, sink)
}
