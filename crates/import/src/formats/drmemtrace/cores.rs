//! Files of processors, in which threads alternate. A thread may go on in another file, so all are read at the same time: always the
//! one whose next piece, up to a stamp or to another thread, is the oldest.
use super::super::ReadError;
use super::decoding::{Decoding, named};
use super::entry::{BYTES, Entry, kind, marker};
use super::folder::Folder;
use super::lane::Lane;
use super::stream::Stream;
use super::summary::Origin;

/// Most files that are open at the same time.
const FILES_MAX: usize = 512;
/// Most bytes of a piece; a longer one is taken in several.
const PIECE: usize = BYTES << 14;

/// One processor's file.
struct Core<'a> {
    name: &'a str,
    window: Option<u32>,
    stream: Stream<'static>,
    lane: Lane,
    /// The next piece, empty at the end of the file.
    piece: Vec<u8>,
    /// Stamp of the piece: the one that it begins with, else the one that comes next, else the last.
    stamp: u64,
    ended: bool,
}

/// Reads all files of a trace.
pub(super) fn read(folder: &Folder, to: &mut Decoding<'_>) -> Result<(), ReadError> {
    let mut cores = Vec::new();
    for (window, name) in folder.files() {
        if cores.len() == FILES_MAX {
            return Err(ReadError::File(format!("it has the files of more than {FILES_MAX} processors")));
        }
        let stream = folder.open(window, name).map_err(ReadError::File)?;
        let (piece, stamp, ended) = Default::default();
        let mut core = Core { name, window, stream, lane: Lane::new(Origin::of(name)), piece, stamp, ended };
        core.next().map_err(|e| named(name, ReadError::File(e)))?;
        window.iter().for_each(|&number| to.summary.window(number.into()));
        cores.push(core);
    }
    // Windows are one after the other, and so are their stamps.
    while let Some(core) = cores.iter_mut().filter(|c| !c.ended).min_by_key(|c| (c.window, c.stamp)) {
        let fed = if core.piece.is_empty() { core.lane.end() } else { core.lane.feed(&core.piece, to) };
        core.ended = core.piece.is_empty();
        fed.and_then(|()| core.next().map_err(ReadError::File)).map_err(|e| named(core.name, e))?;
    }
    Ok(())
}

impl Core<'_> {
    /// Reads the next piece.
    fn next(&mut self) -> Result<(), String> {
        self.piece.clear();
        let mut stamped = false;
        while self.piece.len() < PIECE {
            let rest = self.stream.rest()?;
            let mut taken = 0;
            let mut over = rest.is_empty();
            for record in rest.as_chunks::<BYTES>().0 {
                let entry = Entry::of(record);
                let stamp = entry.marker() == Some(marker::TIMESTAMP);
                let first = self.piece.is_empty() && taken == 0;
                over = !first && (stamp || entry.kind == kind::THREAD) || self.piece.len() + taken >= PIECE;
                if stamp && !stamped {
                    (self.stamp, stamped) = (entry.value, true);
                }
                if over {
                    break;
                }
                taken += BYTES;
            }
            self.piece.extend_from_slice(&rest[..taken]);
            self.stream.give(taken);
            if over {
                break;
            }
        }
        Ok(())
    }
}
