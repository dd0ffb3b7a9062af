//! Collects references, and the event after them, into pieces.
use super::Piece;
use super::cursor::Cursor;
use crate::event::Event;
use crate::record::Merged;
use homenode_base::VirtualTime;
use std::borrow::Cow;

/// References in a piece, unless more threads than this go in step: 96 KiB, well inside a second-level cache.
pub(super) const PIECE_REFS: usize = 4096;

/// The piece in the making.
#[derive(Debug)]
pub(super) struct Output<'a> {
    buffer: Vec<Merged>,
    used: usize,
    event: Option<(Cow<'a, Event>, VirtualTime)>,
    /// Whether something came that has no room.
    full: bool,
    /// References in this piece and all before it.
    pub(super) refs: u64,
    /// Events in this piece and all before it.
    pub(super) events: u64,
}

impl Default for Output<'_> {
    fn default() -> Self {
        let buffer = vec![Merged::default(); PIECE_REFS];
        Output { buffer, used: 0, event: None, full: false, refs: 0, events: 0 }
    }
}

impl<'a> Output<'a> {
    /// Begins the next piece.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.used, self.event, self.full) = (0, None, false);
    }

    /// Whether the piece must be given before anything else happens.
    #[inline]
    pub(super) fn full(&self) -> bool {
        self.full
    }

    /// Whether so many references have room; if not, the piece is full.
    #[inline]
    pub(super) fn has_room(&mut self, refs: usize) -> bool {
        self.full |= self.buffer.len() - self.used < refs;
        !self.full
    }

    /// What was collected, if anything.
    #[inline]
    pub(super) fn piece(&self) -> Option<Piece<'_>> {
        let event = self.event.as_ref().map(|(event, time)| (&**event, *time));
        (self.used > 0 || event.is_some()).then(|| Piece { refs: &self.buffer[..self.used], event })
    }

    /// The event that ends the piece.
    #[inline]
    pub(super) fn event(&mut self, event: Cow<'a, Event>, time: u64) {
        self.event = Some((event, VirtualTime(time)));
        self.events += 1;
        self.full = true;
    }

    /// The next `n` references of `threads` in step: one of each in the order given, then again; fewer than `n` if the piece is
    /// full then. Each thread must have them in its frame. A loop per thread with strided stores, so that nothing is decided
    /// per reference.
    pub(super) fn lockstep(&mut self, cursors: &mut [Cursor<'_>], threads: &[u32], n: usize) -> usize {
        let width = threads.len();
        if self.used == 0 && self.buffer.len() < width {
            self.buffer.resize(width, Merged::default());
        }
        let rows = ((self.buffer.len() - self.used) / width).min(n);
        self.full |= rows < n;
        if rows == 0 {
            return 0;
        }
        for (column, &t) in threads.iter().enumerate() {
            let slots = &mut self.buffer[self.used + column..self.used + rows * width];
            cursors[t as usize].copy_out(slots, width, rows);
        }
        self.used += rows * width;
        self.refs += (rows * width) as u64;
        rows
    }
}
