//! The processors' caches: directly mapped, write back.

/// State of a line that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// None is held.
    #[default]
    Invalid,
    /// May be read.
    Clean,
    /// May be written, and was.
    Dirty,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    line: u64,
    state: State,
    /// Referred to since somebody looked.
    touched: bool,
}

/// One processor's cache.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    slots: Vec<Slot>,
}

impl Cache {
    pub(super) fn new(lines: u64) -> Cache {
        Cache { slots: vec![Slot::default(); lines as usize] }
    }
    #[inline]
    fn at(&self, line: u64) -> usize {
        (line & (self.slots.len() as u64 - 1)) as usize
    }
    /// State of a line.
    #[inline]
    pub(super) fn state(&self, line: u64) -> State {
        let slot = &self.slots[self.at(line)];
        if slot.line == line { slot.state } else { State::Invalid }
    }
    #[inline]
    pub(super) fn touch(&mut self, line: u64) {
        let at = self.at(line);
        self.slots[at].touched = true;
    }
    /// Whether a line was referred to since the last call.
    pub(super) fn take_touched(&mut self, line: u64) -> bool {
        let at = self.at(line);
        self.state(line) != State::Invalid && std::mem::take(&mut self.slots[at].touched)
    }
    /// The line that stands where this one has to: it, whether it was written, and whether it was touched; none if the place is free.
    pub(super) fn victim(&self, line: u64) -> Option<(u64, bool, bool)> {
        let slot = &self.slots[self.at(line)];
        (slot.state != State::Invalid && slot.line != line).then_some((
            slot.line,
            slot.state == State::Dirty,
            slot.touched,
        ))
    }
    pub(super) fn put(&mut self, line: u64, state: State) {
        let at = self.at(line);
        self.slots[at] = Slot { line, state, touched: true };
    }
    /// Removes a line; what it was.
    pub(super) fn remove(&mut self, line: u64) -> State {
        let (at, was) = (self.at(line), self.state(line));
        if was != State::Invalid {
            self.slots[at].state = State::Invalid;
        }
        was
    }
    /// A written line may only be read from now on. Whether it had been written.
    pub(super) fn clean(&mut self, line: u64) -> bool {
        let at = self.at(line);
        let was = self.state(line) == State::Dirty;
        if was {
            self.slots[at].state = State::Clean;
        }
        was
    }
}
