//! When the references of a sampled recording were made, thread by thread, in program order.
use homenode_trace::frame::DecodedFrame;
use homenode_trace::{DatasetReader, TraceError};

/// One thread's place in its frames.
#[derive(Default)]
struct Cursor {
    frame: DecodedFrame,
    next_frame: usize,
    batch: usize,
    /// References of the batch that are left.
    left: u32,
}

/// The stamps of all threads.
pub(crate) struct Stamps<'d> {
    data: &'d DatasetReader,
    threads: Vec<Cursor>,
    bytes: Vec<u8>,
    /// The first stamp of the recording, from which the model order counts.
    first: u64,
}

impl<'d> Stamps<'d> {
    /// # Errors
    /// A damaged frame.
    pub(crate) fn new(data: &'d DatasetReader) -> Result<Stamps<'d>, TraceError> {
        let threads = (0..data.threads()).map(|_| Cursor::default()).collect();
        let mut stamps = Stamps { data, threads, bytes: Vec::new(), first: 0 };
        let mut first = data.events().iter().map(|e| e.stamp).filter(|stamp| *stamp != 0).min().unwrap_or(u64::MAX);
        for thread in 0..data.threads() {
            if stamps.settle(thread)? {
                first = first.min(stamps.begin(thread));
            }
        }
        stamps.first = if first == u64::MAX { 0 } else { first };
        Ok(stamps)
    }

    /// Goes on to a batch that has a reference left; whether there is one.
    fn settle(&mut self, thread: u32) -> Result<bool, TraceError> {
        let Some(c) = self.threads.get_mut(thread as usize) else { return Ok(false) };
        while c.left == 0 {
            c.batch += 1;
            if c.batch >= c.frame.batches.len() {
                if c.next_frame >= self.data.frames(thread).len() {
                    return Ok(false);
                }
                self.data.read_frame(thread, c.next_frame, &mut self.bytes, &mut c.frame)?;
                (c.next_frame, c.batch) = (c.next_frame + 1, 0);
            }
            c.left = c.frame.batches.get(c.batch).map_or(0, |batch| batch.refs);
        }
        Ok(true)
    }

    fn begin(&self, thread: u32) -> u64 {
        let c = &self.threads[thread as usize];
        c.frame.batches.get(c.batch).map_or(0, |batch| batch.begin)
    }

    /// Ticks from the first stamp to that of the thread's next reference, which is then the one after it.
    pub(crate) fn next(&mut self, thread: u32) -> Result<u64, TraceError> {
        if !self.settle(thread)? {
            return Ok(0);
        }
        let stamp = self.begin(thread);
        self.threads[thread as usize].left -= 1;
        Ok(stamp.saturating_sub(self.first))
    }
}
