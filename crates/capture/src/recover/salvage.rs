//! What a damaged file still holds: frames and chunks are self-contained, so one that is damaged costs itself and not what
//! follows it. The next one is found by its mark and believed for its checksum.
use homenode_trace::TraceError;
use homenode_trace::dataset::read_fully;
use homenode_trace::frame::FRAME_REFS_MAX;
use homenode_trace::framing::{HEADER_BYTES, Header, Kind};
use homenode_trace::store::ReadAt;

/// A frame or chunk whose checksum matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// Byte offset in the file.
    pub(super) offset: u64,
    /// Header of the frame or chunk.
    pub(super) header: Header,
}

/// What [`salvage`] found.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    /// Everything whole, in order; ordinals ascend, with gaps where something is lost.
    pub(super) whole: Vec<Whole>,
    /// Stretches (offset, bytes) that hold nothing whole. Frames that repeat what came before are among them.
    pub(super) damaged: Vec<(u64, u64)>,
}

impl Salvage {
    /// Bytes in damaged stretches.
    pub(super) fn damaged_bytes(&self) -> u64 {
        self.damaged.iter().map(|d| d.1).sum()
    }
}

/// Bytes searched for a mark at a time.
const BLOCK: usize = 1 << 20;
/// Bytes of the first block: marks that lead nowhere may be close together.
const PAGE: usize = 4096;
/// Bytes that may be summed up in vain for each byte of the file: a file made of nothing but headers that promise much would
/// otherwise take time in the square of its length.
const WORK: u64 = 64;

/// Finds everything whole in a file of this kind; `thread` is that of the headers (`u32::MAX` for events). `accept` looks
/// into the bytes of a frame whose checksum matches; what it refuses is damaged. Holes of sparse files are not read.
///
/// # Errors
/// [`TraceError::Io`] only.
pub(super) fn salvage(
    file: &dyn ReadAt,
    name: &str,
    (kind, thread): (Kind, u32),
    accept: &mut dyn FnMut(&Header, &[u8]) -> bool,
) -> Result<Salvage, TraceError> {
    let len = file.len().map_err(|e| io_error(name, e))?;
    let mut search =
        Search { file, name, kind, thread, len, next: 0, work: len.saturating_mul(WORK), bytes: Vec::new() };
    let mut found = Salvage::default();
    let mut at = 0;
    while at < len {
        let from = at;
        let header = loop {
            match search.candidate(at)? {
                None => break None,
                Some(offset) => {
                    at = offset;
                    if let Some(header) = search.whole(at, accept)? {
                        break Some(header);
                    }
                    at += 1;
                }
            }
        };
        let until = if header.is_some() { at } else { len };
        if until > from {
            found.damaged.push((from, until - from));
        }
        let Some(header) = header else { break };
        found.whole.push(Whole { offset: at, header });
        search.next = header.first + u64::from(header.count);
        at += header.total_len() as u64;
    }
    Ok(found)
}

fn io_error(name: &str, source: std::io::Error) -> TraceError {
    TraceError::Io { name: name.to_owned(), source }
}

struct Search<'a> {
    file: &'a dyn ReadAt,
    name: &'a str,
    kind: Kind,
    thread: u32,
    len: u64,
    /// Lowest ordinal that may come next.
    next: u64,
    /// Bytes that may still be read in vain.
    work: u64,
    bytes: Vec<u8>,
}

impl Search<'_> {
    /// The first offset from `at` on with the mark of a frame.
    fn candidate(&mut self, mut at: u64) -> Result<Option<u64>, TraceError> {
        let mark = self.kind.magic();
        let mut block = PAGE;
        while self.len.saturating_sub(at) >= HEADER_BYTES as u64 {
            // Frames follow one another, so mostly it is here; a hole may begin inside of what a mark would need.
            let Some(data) = self.file.next_data(at).map_err(|e| io_error(self.name, e))? else { return Ok(None) };
            at = at.max(data.saturating_sub(mark.len() as u64));
            if self.len.saturating_sub(at) < mark.len() as u64 {
                return Ok(None);
            }
            let mut first = [0; 4];
            read_fully(self.file, self.name, at, &mut first)?;
            if first == mark {
                return Ok(Some(at));
            }
            self.bytes.resize((self.len - at).min(block as u64) as usize, 0);
            read_fully(self.file, self.name, at, &mut self.bytes)?;
            if let Some(i) = self.bytes.windows(mark.len()).position(|w| w == mark) {
                return Ok(Some(at + i as u64));
            }
            at += (self.bytes.len() - (mark.len() - 1)) as u64;
            if self.bytes.len() < block {
                return Ok(None);
            }
            block = BLOCK;
        }
        Ok(None)
    }

    /// The header of the frame at `at`, if it is whole and may come next.
    fn whole(&mut self, at: u64, accept: &mut dyn FnMut(&Header, &[u8]) -> bool) -> Result<Option<Header>, TraceError> {
        let mut head = [0; HEADER_BYTES];
        if self.len - at < HEADER_BYTES as u64 {
            return Ok(None);
        }
        read_fully(self.file, self.name, at, &mut head)?;
        let Ok(header) = Header::parse(&head, self.kind) else { return Ok(None) };
        let fits = header.total_len() as u64 <= self.len - at && header.count as usize <= FRAME_REFS_MAX;
        if !fits || header.thread != self.thread || header.first < self.next || self.work == 0 {
            return Ok(None);
        }
        self.bytes.resize(header.total_len(), 0);
        read_fully(self.file, self.name, at, &mut self.bytes)?;
        if header.matches(&self.bytes) && accept(&header, &self.bytes) {
            return Ok(Some(header));
        }
        self.work = self.work.saturating_sub(header.total_len() as u64);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;
    use homenode_trace::Op;
    use homenode_trace::frame::FrameEncoder;
    use homenode_trace::framing::Codec;

    /// Frames are all of one length.
    fn frame(first: u64, out: &mut Vec<u8>) {
        let (mut encoder, mut rng) = (FrameEncoder::default(), Rng::new(5));
        encoder.begin(7, first);
        (0..10).for_each(|_| assert!(encoder.push(rng.next_u64(), 8, Op::Read, rng.next_u64())));
        encoder.finish(1, Codec::Raw, out);
    }
    fn found(bytes: &Vec<u8>) -> (Vec<u64>, Vec<(u64, u64)>) {
        let s = salvage(bytes, "f", (Kind::Refs, 7), &mut |_, _| true).expect("memory");
        (s.whole.iter().map(|w| w.header.first).collect(), s.damaged)
    }

    #[test]
    fn a_damaged_frame_costs_itself_wherever_the_damage_is() {
        let mut good = Vec::new();
        (0..5).for_each(|i| frame(i * 10, &mut good));
        let n = good.len() / 5;
        assert!(n > 150);
        assert_eq!(found(&good), (vec![0, 10, 20, 30, 40], vec![]));
        for at in (n..2 * n).step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            assert_eq!(found(&bad), (vec![0, 20, 30, 40], vec![(n as u64, n as u64)]), "byte {at}");
        }
        let mut inserted = good.clone();
        inserted.splice(n + 60..n + 60, [0xAA; 3]);
        assert_eq!(found(&inserted).0, [0, 20, 30, 40]);
        let mut missing = good.clone();
        missing.drain(n + 60..n + 93);
        assert_eq!(found(&missing).0, [0, 20, 30, 40]);
        assert_eq!(found(&good[..good.len() - 1].to_vec()), (vec![0, 10, 20, 30], vec![(4 * n as u64, n as u64 - 1)]));
        let twice = [&good[..2 * n], &good[..]].concat();
        assert_eq!(
            found(&twice),
            (vec![0, 10, 20, 30, 40], vec![(2 * n as u64, 2 * n as u64)]),
            "what repeats is left out"
        );
    }

    #[test]
    fn headers_that_promise_much_end_the_search_and_not_the_patience() {
        let mut head = Vec::new();
        frame(0, &mut head);
        // What it says of its length.
        for at in [24, 28] {
            head[at..at + 4].copy_from_slice(&(4u32 << 20).to_le_bytes());
        }
        let bytes: Vec<u8> = head[..HEADER_BYTES].iter().copied().cycle().take(6 << 20).collect();
        assert_eq!(found(&bytes).0, [0u64; 0]);
    }

    #[test]
    fn other_ordinals_keep_the_frame_whole() {
        let mut bytes = Vec::new();
        frame(10, &mut bytes);
        let header = Header::parse(&bytes, Kind::Refs).expect("just made");
        header.renumber(&mut bytes, 3);
        let mut plain = Vec::new();
        frame(10, &mut plain);
        assert_eq!(found(&bytes).0, [3]);
        assert_eq!(bytes[HEADER_BYTES..], plain[HEADER_BYTES..]);
    }
}
