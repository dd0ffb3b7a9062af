//! Collects references into slices for the consumer.
use super::Consumer;
use super::cursor::Cursor;
use crate::event::Event;
use crate::record::Merged;
use homenode_base::VirtualTime;

/// References in a slice, unless more threads than this go in step: 96 KiB, well inside a second-level cache.
const SLICE_REFS: usize = 4096;

pub(super) struct Output<'a> {
    consumer: &'a mut dyn Consumer,
    buffer: Vec<Merged>,
    used: usize,
    pub(super) refs: u64,
    pub(super) events: u64,
}

impl<'a> Output<'a> {
    pub(super) fn new(consumer: &'a mut dyn Consumer) -> Output<'a> {
        Output { consumer, buffer: vec![Merged::default(); SLICE_REFS], used: 0, refs: 0, events: 0 }
    }

    /// Hands over what is collected.
    pub(super) fn flush(&mut self) {
        if self.used > 0 {
            self.consumer.refs(&self.buffer[..self.used]);
            self.refs += self.used as u64;
            self.used = 0;
        }
    }

    pub(super) fn event(&mut self, event: &Event, time: u64) {
        self.flush();
        self.consumer.event(event, VirtualTime(time));
        self.events += 1;
    }

    /// The next `n` references of `threads` in step: one of each in the order given, then again. Each must have them in its
    /// frame. A loop per thread with strided stores, so that nothing is decided per reference.
    pub(super) fn lockstep(&mut self, cursors: &mut [Cursor<'_>], threads: &[u32], n: usize) {
        let width = threads.len();
        if self.buffer.len() < width {
            self.flush();
            self.buffer.resize(width, Merged::default());
        }
        let mut left = n;
        while left > 0 {
            let rows = ((self.buffer.len() - self.used) / width).min(left);
            if rows == 0 {
                self.flush();
                continue;
            }
            for (column, &t) in threads.iter().enumerate() {
                let slots = &mut self.buffer[self.used + column..self.used + rows * width];
                cursors[t as usize].copy_out(slots, width, rows);
            }
            self.used += rows * width;
            left -= rows;
        }
    }
}
