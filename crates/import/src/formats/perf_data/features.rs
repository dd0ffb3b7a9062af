//! Facts about the recorded machine, from the feature sections of a perf.data file.
use super::event::{FileEvent, attribute};
use crate::report::FileFacts;
use homenode_sampling::perf::wire::Cursor;

// Numbers of features.
const OSRELEASE: u32 = 4;
const ARCH: u32 = 6;
const NRCPUS: u32 = 7;
const CPUDESC: u32 = 8;
const CMDLINE: u32 = 11;
const EVENT_DESC: u32 = 12;

/// Longest string taken.
const TEXT_MAX: usize = 64 << 10;
/// Most strings of a command line.
const WORDS_MAX: u32 = 4096;

/// Whether a feature is read at all.
pub(super) fn wanted(number: u32) -> bool {
    matches!(number, OSRELEASE | ARCH | NRCPUS | CPUDESC | CMDLINE | EVENT_DESC)
}

/// Takes note of one feature; what does not make sense is left out.
pub(super) fn feature(number: u32, bytes: &[u8], facts: &mut FileFacts, events: &mut [FileEvent]) {
    let mut c = Cursor(bytes);
    match number {
        OSRELEASE => facts.kernel = text(&mut c).unwrap_or_default(),
        ARCH => facts.arch = text(&mut c).unwrap_or_default(),
        CPUDESC => facts.processor = text(&mut c).unwrap_or_default(),
        // Available, then online.
        NRCPUS => facts.cpus = c.pair().map_or(0, |p| p.1),
        CMDLINE => {
            let count = c.u32().unwrap_or(0).min(WORDS_MAX);
            facts.command = (0..count).map_while(|_| text(&mut c)).collect();
        }
        EVENT_DESC => {
            // Names only: attributes and ids are in the header, and believed there.
            let _ = names(&mut c, events);
        }
        _ => {}
    }
}

fn names(c: &mut Cursor<'_>, events: &mut [FileEvent]) -> Option<()> {
    let (count, attr_bytes) = c.pair()?;
    for event in events.iter_mut().take(count as usize) {
        let attr = attribute(c.take(attr_bytes as usize)?)?;
        let ids = c.u32()?;
        let name = text(c)?;
        c.skip_words(ids.into())?;
        if (attr.kind, attr.config) == (event.attr.kind, event.attr.config) {
            event.name = name;
        }
    }
    Some(())
}

/// A length, then that many bytes padded with zeros.
fn text(c: &mut Cursor<'_>) -> Option<String> {
    let bytes = c.u32()? as usize;
    let all = c.take(bytes)?;
    Some(Cursor(&all[..all.len().min(TEXT_MAX)]).text())
}
