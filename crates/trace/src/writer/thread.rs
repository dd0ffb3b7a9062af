//! The frames of one thread.
use crate::dataset::{KEPT_OPEN, frames_file};
use crate::frame::FrameEncoder;
use crate::framing::Codec;
use crate::store::{Append, Sink};
use std::io;

/// Counts of one thread in the dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// References or samples, spins included.
    pub refs: u64,
    /// Spins among them.
    pub spins: u64,
    /// Events.
    pub events: u64,
}

/// The frame file of one thread. Frames are made by an encoder that many threads may share, one after the other.
#[derive(Debug)]
pub struct ThreadFile<F> {
    thread: u32,
    refs: u64,
    spins: u64,
    file: F,
}

impl<F: Append> ThreadFile<F> {
    /// Makes the file.
    ///
    /// # Errors
    /// What the sink says.
    pub fn create(sink: &impl Sink<File = F>, thread: u32) -> io::Result<ThreadFile<F>> {
        Ok(ThreadFile::of(thread, sink.create(&frames_file(thread))?, 0))
    }
    /// Goes on with a file that holds the first `refs` references of a thread in whole frames and nothing behind them.
    pub fn of(thread: u32, mut file: F, refs: u64) -> ThreadFile<F> {
        if thread >= KEPT_OPEN {
            file.close();
        }
        ThreadFile { thread, refs, spins: 0, file }
    }
    /// Starts a frame that follows what is in the file.
    pub fn begin(&self, encoder: &mut FrameEncoder) {
        encoder.begin(self.thread, self.refs);
    }
    /// Ends the frame in `encoder`, in which there are so many spins, at this stamp and appends it; `bytes` is reused.
    /// Returns the bytes appended. The encoder must begin again afterwards.
    ///
    /// # Errors
    /// The frame could not be written: the file is as before.
    pub fn append(
        &mut self,
        encoder: &mut FrameEncoder,
        (end, codec): (u64, Codec),
        spins: u64,
        bytes: &mut Vec<u8>,
    ) -> io::Result<u64> {
        let refs = encoder.len() as u64;
        bytes.clear();
        encoder.finish(end, codec, bytes);
        self.file.append(bytes)?;
        (self.refs, self.spins) = (self.refs + refs, self.spins + spins);
        Ok(bytes.len() as u64)
    }
    /// Appends a whole frame of `refs` references as it stands in another file of this thread, where it had the same place.
    ///
    /// # Errors
    /// The frame could not be written: the file is as before.
    pub fn append_frame(&mut self, frame: &[u8], refs: u64) -> io::Result<()> {
        self.file.append(frame)?;
        self.refs += refs;
        Ok(())
    }
}

impl<F> ThreadFile<F> {
    /// References in the file, and spins among those appended here; events are not counted.
    pub fn counts(&self) -> Counts {
        Counts { refs: self.refs, spins: self.spins, events: 0 }
    }
    /// The file.
    pub fn into_file(self) -> F {
        self.file
    }
}
