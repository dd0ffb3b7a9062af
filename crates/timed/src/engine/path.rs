//! The way of a message: servers one after the other, and delays between them.

/// Stages of the longest way.
const STAGES_MAX: usize = 10;

/// A part of a message's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Number of the server, which is occupied for that time; a delay without contention if there is none.
    pub server: Option<u16>,
    /// Cycles.
    pub cycles: u32,
    /// Cycles after which the message is at its next stage, while the rest of it follows; all of them but for cut-through.
    pub head: u32,
}

/// The way of a message, at most ten stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    stages: [Stage; STAGES_MAX],
    len: u8,
}

impl Path {
    /// One more stage through a server.
    ///
    /// # Panics
    /// The way has ten stages.
    #[must_use]
    #[inline]
    pub fn through(self, server: u16, cycles: u32) -> Path {
        self.and(Stage { server: Some(server), cycles, head: cycles })
    }
    /// One more stage through a server, from which the message is at its next stage after `head` cycles already (cut-through).
    ///
    /// # Panics
    /// The way has ten stages.
    #[must_use]
    #[inline]
    pub fn cut_through(self, server: u16, cycles: u32, head: u32) -> Path {
        self.and(Stage { server: Some(server), cycles, head: head.min(cycles) })
    }
    /// One more stage without contention.
    ///
    /// # Panics
    /// The way has ten stages.
    #[must_use]
    #[inline]
    pub fn delay(self, cycles: u32) -> Path {
        self.and(Stage { server: None, cycles, head: cycles })
    }
    #[inline]
    fn and(mut self, stage: Stage) -> Path {
        self.stages[usize::from(self.len)] = stage;
        self.len += 1;
        self
    }
    /// A way with these stages, on which a message is at stage `end` and those before it only when all of it is through the one before.
    #[must_use]
    pub fn whole_until(mut self, end: usize) -> Path {
        self.stages.iter_mut().take(end).for_each(|s| s.head = s.cycles);
        self
    }
    /// The stages.
    #[inline]
    pub fn stages(&self) -> &[Stage] {
        &self.stages[..usize::from(self.len)]
    }
    /// Cycles without contention.
    pub fn cycles(&self) -> u64 {
        let step =
            |(head, tail): (u64, u64), s: &Stage| (head + u64::from(s.head), tail.max(head + u64::from(s.cycles)));
        let (head, tail) = self.stages().iter().fold((0, 0), step);
        head.max(tail)
    }
}
