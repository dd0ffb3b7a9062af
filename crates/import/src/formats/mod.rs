//! The family of formats. To add one: a file here that defines `SPEC`, and its name in the list.
use crate::error::ImportError;
use crate::report::{FileReport, ImportSink, Source};

/// A format of another tool's recordings.
pub struct Format {
    /// Name, also that of the backend in the dataset's manifest.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Whether a file that begins with these bytes ([`START_BYTES`] of them) is to be read as this format, if only to be
    /// refused with a better reason.
    pub recognises: fn(&[u8]) -> bool,
    /// Reads the file from its beginning and hands on what it holds.
    pub read: fn(&mut dyn Source, &mut dyn ImportSink) -> Result<FileReport, ReadError>,
}

homenode_base::registry! {
    /// All formats; the first that recognises a file reads it.
    Format; perf_data
}

/// Bytes by which a format is recognised.
pub const START_BYTES: usize = 16;

/// Why reading ended early.
#[derive(Debug)]
pub enum ReadError {
    /// The file is at fault.
    File(String),
    /// What the sink said.
    Sink(ImportError),
}

/// The format of a file that begins so.
///
/// # Errors
/// In words, if it is of none.
pub(crate) fn of(start: &[u8]) -> Result<&'static Format, String> {
    let names = || ALL.iter().map(|f| f.name).collect::<Vec<_>>().join(" or ");
    if start.len() < START_BYTES {
        return Err(format!("it is too short for a {} file", names()));
    }
    let known = ALL.iter().find(|f| (f.recognises)(start));
    known.copied().ok_or_else(|| format!("it is not a {} file, and no other format can be imported", names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    struct Nobody;
    impl ImportSink for Nobody {
        fn sample(&mut self, _: &homenode_sampling::RawSample) -> Result<(), ImportError> {
            panic!("an empty file holds no sample")
        }
        fn notice(&mut self, _: &homenode_sampling::Notice) -> Result<(), ImportError> {
            panic!("an empty file holds no notice")
        }
        fn name(&mut self, _: u32, _: &str, _: bool) {}
    }

    #[test]
    fn every_format_has_a_name_and_refuses_what_it_does_not_know() {
        for (i, format) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|f| f.name != format.name), "two formats called {}", format.name);
            assert!(!format.summary.is_empty() && !format.summary.contains('\n'));
            assert!(!(format.recognises)(&[0; START_BYTES]) && !(format.recognises)(b""));
            for bytes in [&[][..], &[0; 64]] {
                assert!(matches!((format.read)(&mut Cursor::new(bytes), &mut Nobody), Err(ReadError::File(_))));
            }
        }
        assert!(of(b"").is_err_and(|why| why.contains("too short")));
        assert!(of(&[0; START_BYTES]).is_err_and(|why| why.contains(ALL[0].name)));
    }
}
