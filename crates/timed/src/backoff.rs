//! AS-COMA's back-off: what a page-out daemon's success or failure does to thresholds, intervals and new pages (Kuo and others 1998, sections
//! 3 and 4.1). The same for page caches of nodes and for DRAM before slower memory.

/// Free frames, as the operating system sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    /// Frames that are free.
    pub(crate) free: u32,
    /// Frames below which the daemon runs.
    pub(crate) min: u32,
}

/// What the back-off is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackOff {
    /// Threshold at the beginning, and what each failure adds.
    pub(crate) threshold: [u32; 2],
    /// Steps after which relocation stops.
    pub(crate) steps: u32,
    /// Time between two runs of the daemon: least, most.
    pub(crate) gaps: [u64; 2],
    /// Whether new pages get a frame as long as one is free, whatever the daemon reported.
    pub(crate) until_empty: bool,
}

/// Where it stands.
#[derive(Clone, Debug)]
pub(crate) struct BackingOff {
    rules: BackOff,
    /// Steps that the threshold is raised.
    raised: u32,
    gap: u64,
    /// Whether the daemon's last run failed.
    failed: bool,
}

impl BackOff {
    pub(crate) fn begin(self) -> BackingOff {
        BackingOff { raised: 0, gap: self.gaps[0], failed: false, rules: self }
    }
}

impl BackingOff {
    /// Whether a new page gets a frame.
    pub(crate) fn takes_new(&self, pool: Pool) -> bool {
        pool.free > 0 && (self.rules.until_empty || !(self.failed && pool.free <= pool.min))
    }
    /// Accesses after which a page is to be relocated.
    pub(crate) fn threshold(&self) -> u32 {
        let [start, step] = self.rules.threshold;
        start.saturating_add(step.saturating_mul(self.raised))
    }
    /// Whether relocation is stopped altogether for now.
    pub(crate) fn stopped(&self) -> bool {
        self.raised > self.rules.steps
    }
    /// A relocation was refused, or the daemon failed.
    pub(crate) fn thrashes(&mut self) {
        self.raised = (self.raised + 1).min(self.rules.steps + 1);
    }
    /// The daemon has run, and reached its target or not.
    pub(crate) fn daemon_ran(&mut self, reached: bool) {
        let [least, most] = self.rules.gaps;
        self.failed = !reached;
        if reached {
            // Relocation that had stopped goes on at once.
            self.raised = self.raised.min(self.rules.steps + 1).saturating_sub(1);
            self.gap = (self.gap / 2).max(least);
        } else {
            self.thrashes();
            self.gap = self.gap.saturating_mul(2).clamp(least, most);
        }
    }
    /// Time between two runs of the daemon at least.
    pub(crate) fn gap(&self) -> u64 {
        self.gap
    }
}
