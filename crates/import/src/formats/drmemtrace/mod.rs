//! `drmemtrace`: offline traces of DynamoRIO, as its tracer's post-processing leaves them.
//!
//! Reading order: `entry` (records of 12 bytes), `folder` (which files a trace has), `stream` (records of a file in order, blocks of
//! them), `lane` (what the records of one file mean), `decoding` (all files of a trace to references and events), `cores` (files of
//! processors, in which threads alternate), `futex` (waits in the kernel), `summary` (what was counted and what to say of it).
//!
//! Written from the description of the format in DynamoRIO's public headers and documentation; no code of it is used.
mod cores;
mod decoding;
mod entry;
mod folder;
mod futex;
mod lane;
mod stream;
mod summary;
#[cfg(test)]
mod testfile;
#[cfg(test)]
mod tests;

use super::{Format, Look, ReadError};
use crate::report::{FileReport, ImportSink, Input};
use crate::unpack;
use decoding::Decoding;
use folder::Folder;
use stream::Stream;

pub(crate) static SPEC: Format = Format {
    name: "drmemtrace",
    summary: "offline traces of DynamoRIO's drmemtrace: every reference, from one file or a trace folder; plain, gzip, lz4 or zip",
    recognises,
    read,
};

fn recognises(look: &Look) -> bool {
    entry::begins_trace(&look.content) || entry::begins_raw(&look.content) || folder::recognises(&look.names)
}

fn read(input: Input<'_>, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    match input {
        Input::File(source) => {
            let stream = Stream::new(unpack::open(source).map_err(ReadError::File)?);
            let mut decoding = Decoding::new(sink);
            decoding.file(stream, "", None)?;
            decoding.finish()
        }
        Input::Folder(dir) => {
            let folder = Folder::find(dir).map_err(ReadError::File)?;
            let mut decoding = Decoding::new(sink);
            if folder.is_by_core().map_err(ReadError::File)? {
                cores::read(&folder, &mut decoding)?;
            } else {
                for (window, name) in folder.files() {
                    decoding.file(folder.open(window, name).map_err(ReadError::File)?, name, window)?;
                }
            }
            decoding.finish()
        }
    }
}
