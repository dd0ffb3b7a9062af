//! The frames of an lz4 file, one after the other. A frame ends with a mark; crate `lz4_flex` takes the end of the file between two blocks, or
//! behind the first bytes of a frame, for that mark as well, so here is counted what it has read.
use lz4_flex::frame::FrameDecoder;
use std::io::{self, ErrorKind, Read};

/// Reads all frames.
pub(super) struct Frames<R: Read> {
    decoder: FrameDecoder<Counted<R>>,
    /// Bytes of the file up to the end of the last frame that was read to its end.
    whole: u64,
}

/// Counts what is read.
struct Counted<R> {
    reader: R,
    bytes: u64,
    /// Whether the file has ended.
    ended: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.bytes += n as u64;
        self.ended |= n == 0 && !buf.is_empty();
        Ok(n)
    }
}

impl<R: Read> Frames<R> {
    pub(super) fn new(reader: R) -> Frames<R> {
        Frames { decoder: FrameDecoder::new(Counted { reader, bytes: 0, ended: false }), whole: 0 }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = if buf.is_empty() { 0 } else { self.decoder.read(buf)? };
            if n > 0 || buf.is_empty() {
                return Ok(n);
            }
            // A frame has ended, or the file has.
            let Counted { bytes, ended, .. } = *self.decoder.get_ref();
            match ended {
                false => self.whole = bytes,
                true if bytes == self.whole => return Ok(0),
                true => {
                    let why =
                        format!("it is cut off after {bytes} bytes, within an lz4 frame, whose end mark is missing");
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
                }
            }
        }
    }
}
