//! One thread's file, walked from its first byte to its last.
use super::{CheckReport, plain};
use crate::dataset::{DatasetReader, frames_file};
use crate::frame::{DecodedFrame, FRAME_REFS_MAX, decode_frame};
use crate::framing::{HEADER_BYTES, Header, Kind, PAYLOAD_BYTES_MAX};
use crate::store::ReadAt;

/// What a thread's file holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramesSummary {
    pub(super) refs: u64,
    spins: u64,
    last_stamp: u64,
    /// Frames with columns that this build does not know.
    strange: u64,
}

struct Walk<'a> {
    data: &'a DatasetReader,
    thread: u32,
    name: String,
    found: FramesSummary,
    frame: DecodedFrame,
    scratch: Vec<u8>,
}

pub(super) fn check(data: &DatasetReader, thread: u32, report: &mut CheckReport) -> FramesSummary {
    let (frame, scratch) = (DecodedFrame::default(), Vec::new());
    let mut w = Walk { data, thread, name: frames_file(thread), found: FramesSummary::default(), frame, scratch };
    match data.store().open(&w.name) {
        Ok(file) => w.file(&*file, report),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && data.refs(thread) == 0 => {}
        Err(e) => report.problem(&w.name, e.to_string()),
    }
    report.refs += w.found.refs;
    report.spins += w.found.spins;
    w.counts(report);
    if w.found.strange > 0 {
        let what = format!("{}: {} frames have columns that this version does not know", w.name, w.found.strange);
        report.notes.push(what);
    }
    w.found
}

impl Walk<'_> {
    fn file(&mut self, file: &dyn ReadAt, report: &mut CheckReport) {
        let len = match file.len() {
            Ok(len) => len,
            Err(e) => return report.problem(&self.name, e.to_string()),
        };
        report.bytes += len;
        let (mut offset, mut bytes) = (0, Vec::new());
        while offset < len {
            bytes.resize((len - offset).min((HEADER_BYTES + PAYLOAD_BYTES_MAX) as u64) as usize, 0);
            if !matches!(file.read_at(offset, &mut bytes), Ok(n) if n == bytes.len()) {
                return report.problem(&self.name, format!("cannot be read at byte {offset}"));
            }
            match self.frame(&bytes, offset, report) {
                Ok(n) => offset += n as u64,
                Err(what) => return report.problem(&self.name, format!("byte {offset}: {what}")),
            }
            report.frames += 1;
        }
    }

    /// Checks the frame at the start of `bytes`; returns its length. `Err` if it is no frame at all.
    fn frame(&mut self, bytes: &[u8], offset: u64, report: &mut CheckReport) -> Result<usize, String> {
        let header = Header::parse(bytes, Kind::Refs).map_err(|f| f.what)?;
        if header.count as usize > FRAME_REFS_MAX {
            return Err(format!("{} references in a frame", header.count));
        }
        let payload = header.open(bytes, &mut self.scratch).map_err(|f| f.what)?;
        let second = plain::decode(payload, &header).ok_or("the columns cannot be decoded")?;
        decode_frame(bytes, &mut self.frame).map_err(|f| f.what)?;
        if (header.thread, header.first) != (self.thread, self.found.refs) {
            let what = format!("byte {offset}: reference {} of thread {}", header.first, header.thread);
            report.problem(&self.name, what);
        }
        self.found.strange += u64::from(self.frame.unknown_columns() > 0);
        self.compare(&second, offset, report);
        self.stamps(&second, offset, report);
        self.sites(offset, report);
        self.found.refs += u64::from(header.count);
        self.found.spins += second.refs.iter().filter(|r| r.2 == 3).count() as u64;
        Ok(header.total_len())
    }

    fn compare(&self, second: &plain::PlainFrame, offset: u64, report: &mut CheckReport) {
        let f = &self.frame;
        let same_refs = f.len() == second.refs.len()
            && (0..f.len()).all(|i| {
                let r = f.get(i);
                (r.addr, r.size, r.op as u8, f.pcs[r.site as usize]) == second.refs[i]
            });
        let same_batches = f.batches.iter().map(|b| (u64::from(b.refs), b.begin)).eq(second.batches.iter().copied());
        if !same_refs || !same_batches || !second.same_columns(f) || f.end != second.end {
            report.problem(&self.name, format!("byte {offset}: two decoders disagree; please report this"));
        }
    }

    fn stamps(&mut self, frame: &plain::PlainFrame, offset: u64, report: &mut CheckReport) {
        let stamps = frame.batches.iter().map(|b| b.1).chain([frame.end]);
        let mut before = self.found.last_stamp;
        let mut backwards = false;
        for s in stamps {
            backwards |= s < before;
            before = s;
        }
        if backwards {
            report.problem(&self.name, format!("byte {offset}: stamps run backwards"));
        }
        self.found.last_stamp = before;
    }

    fn sites(&self, offset: u64, report: &mut CheckReport) {
        let process = self.data.manifest().threads[self.thread as usize].process;
        let unknown = self.frame.pcs.iter().find(|&&pc| self.data.symbols().site_id(process, pc).is_none());
        if let Some(pc) = unknown {
            report.problem(&self.name, format!("byte {offset}: no site for program counter {pc:#x}"));
        }
    }

    fn counts(&self, report: &mut CheckReport) {
        let t = &self.data.manifest().threads[self.thread as usize];
        if (t.refs, t.spins) != (self.found.refs, self.found.spins) {
            let FramesSummary { refs, spins, .. } = self.found;
            let (a, b) = (t.refs, t.spins);
            report.problem(
                &self.name,
                format!("{refs} references, {spins} of them spins; the manifest says {a} and {b}"),
            );
        }
    }
}
