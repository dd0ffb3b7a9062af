//! `lackey`: what `valgrind --tool=lackey --trace-mem=yes` writes: a line for each instruction, load, store and modification.
//!
//! Reading order: `line` (one line), `log` (all of them, and what valgrind says around them).
mod line;
mod log;
#[cfg(test)]
mod tests;

use super::{Format, ReadError};
use crate::report::{FileReport, ImportSink, Input};
use crate::unpack;
use log::Log;

pub(crate) static SPEC: Format = Format {
    name: "lackey",
    summary: "`valgrind --tool=lackey --trace-mem=yes`: every reference, without threads; plain, gzip, lz4 or zip",
    recognises: |look| line::begins_log(&look.content),
    read,
};

fn read(input: Input<'_>, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    let source = input.file().map_err(ReadError::File)?;
    let mut reader = unpack::open(source).map_err(ReadError::File)?;
    let mut log = Log::default();
    log.read(&mut *reader, sink)?;
    log.finish(sink)
}
