//! The family of formats. To add one: a file here that defines `SPEC`, and its name in the list.
use crate::error::ImportError;
use crate::report::{FileReport, ImportSink, Input};

/// A format of another tool's recordings.
pub struct Format {
    /// Name, also that of the backend in the dataset's manifest.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Whether what looks like this is to be read as this format, if only to be refused with a better reason.
    pub recognises: fn(&Look) -> bool,
    /// Reads the file from its beginning, or the folder, and hands on what it holds.
    pub read: fn(Input<'_>, &mut dyn ImportSink) -> Result<FileReport, ReadError>,
}

/// What a format is recognised by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Name of the file or folder, without what it lies in.
    pub name: String,
    /// First bytes of a file, at most [`START_BYTES`]; none for a folder.
    pub start: Vec<u8>,
    /// As `start`, of what is inside of a packed file (gzip, lz4, zip); of another one the same bytes.
    pub content: Vec<u8>,
    /// Names in a folder, sorted; none for a file.
    pub names: Vec<String>,
}

homenode_base::registry! {
    /// All formats; the first that recognises a file reads it.
    Format; drmemtrace, lackey, perf_data, parquet, csv
}

mod rows;

/// Bytes by which a format is recognised.
pub const START_BYTES: usize = 4096;
/// Bytes of the shortest file of any format.
const SHORTEST: usize = 16;

/// Why reading ended early.
#[derive(Debug)]
pub enum ReadError {
    /// The file is at fault.
    File(String),
    /// What the sink said.
    Sink(ImportError),
}

/// The format of what looks so.
///
/// # Errors
/// In words, if it is of none.
pub(crate) fn of(look: &Look) -> Result<&'static Format, String> {
    let names = || ALL.iter().map(|f| f.name).collect::<Vec<_>>().join(" or ");
    if look.names.is_empty() && look.start.len() < SHORTEST {
        return Err(format!("it is too short for a {} file", names()));
    }
    let known = ALL.iter().find(|f| (f.recognises)(look));
    if known.is_none() && perf_data::is_part(&look.name) {
        return Err(format!("it is not a {} file; if {}", names(), perf_data::WHOLE));
    }
    known.copied().ok_or_else(|| format!("it is not a {} file, and no other format can be imported", names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Counter;
    use std::io::Cursor;

    fn look(bytes: &[u8]) -> Look {
        Look { start: bytes.to_vec(), content: bytes.to_vec(), ..Look::default() }
    }

    #[test]
    fn every_format_has_a_name_and_refuses_what_it_does_not_know() {
        let dir = tempfile::tempdir().unwrap();
        let folder = homenode_sys::dir::Dir::open(dir.path()).unwrap();
        for (i, format) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|f| f.name != format.name), "two formats called {}", format.name);
            assert!(!format.summary.is_empty() && !format.summary.contains('\n'));
            assert!(!(format.recognises)(&look(&[0; START_BYTES])) && !(format.recognises)(&look(b"")));
            assert!(!(format.recognises)(&Look { names: vec!["a".into(), "b".into()], ..Look::default() }));
            for bytes in [&[][..], &[0; 64], &[0xff; 4096]] {
                let mut sink = Counter::default();
                let read = (format.read)(Input::File(&mut Cursor::new(bytes)), &mut sink);
                assert!(matches!(read, Err(ReadError::File(_))), "{}", format.name);
                assert_eq!(sink, Counter::default(), "{} found something in nothing", format.name);
            }
            let read = (format.read)(Input::Folder(&folder), &mut Counter::default());
            assert!(matches!(read, Err(ReadError::File(_))), "{}", format.name);
        }
        assert!(of(&look(b"")).is_err_and(|why| why.contains("too short")));
        assert!(of(&look(&[0; START_BYTES])).is_err_and(|why| why.contains(ALL[0].name)));
    }
}
