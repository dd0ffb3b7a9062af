//! `drmemtrace`: offline traces of DynamoRIO, as its tracer's post-processing leaves them.
//!
//! Reading order: `entry` (records of 12 bytes), `folder` (which files a trace has), `stream` (records of a file in order, blocks of
//! them), `lane` (what the records of one file mean), `decoding` (all files of a trace to references and events), `cores` (files of
//! processors, in which threads alternate), `futex` (waits in the kernel), `functions` (the list of recorded functions), `calls` (calls of
//! a thread), `order` (all of these in one order), `summary` (what was counted and what to say of it).
//!
//! Written from the description of the format in DynamoRIO's public headers and documentation; no code of it is used.
#[cfg(test)]
mod call_tests;
mod calls;
mod cores;
mod decoding;
mod entry;
mod folder;
mod functions;
mod futex;
mod lane;
mod order;
#[cfg(test)]
mod order_tests;
mod stream;
mod summary;
#[cfg(test)]
mod testfile;
#[cfg(test)]
mod tests;

use super::{Format, Look, ReadError};
use crate::report::{FileReport, ImportSink, Input};
use crate::unpack;
use decoding::{Decoding, named};
use folder::Folder;
use functions::Functions;
use lane::Lane;
use stream::Stream;
use summary::Origin;

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
            let mut decoding = Decoding::new(sink, Functions::default());
            file(stream, ("", None), &mut decoding)?;
            decoding.finish()
        }
        Input::Folder(dir) => {
            let folder = Folder::find(dir).map_err(ReadError::File)?;
            let functions = Functions::of(&folder).map_err(ReadError::File)?;
            let mut decoding = Decoding::new(sink, functions);
            if folder.is_by_core().map_err(ReadError::File)? {
                cores::read(&folder, &mut decoding)?;
            } else {
                for (window, name) in folder.files() {
                    file(folder.open(window, name).map_err(ReadError::File)?, (name, window), &mut decoding)?;
                }
            }
            decoding.finish()
        }
    }
}

/// Reads a file of the trace to its end; without a name it is the only one.
fn file(
    mut stream: Stream<'_>,
    (name, window): (&str, Option<u32>),
    decoding: &mut Decoding<'_>,
) -> Result<(), ReadError> {
    let mut lane = Lane::new(Origin::of(name));
    if let Some(number) = window {
        decoding.summary.window(number.into());
    }
    let mut all = || loop {
        let bytes = stream.rest().map_err(ReadError::File)?;
        if bytes.is_empty() {
            return lane.end();
        }
        lane.feed(bytes, decoding)?;
        let given = bytes.len();
        stream.give(given);
    };
    all().map_err(|e| named(name, e))
}
