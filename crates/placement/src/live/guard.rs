//! What keeps one page from moving: its limit, and the PLATINUM rule (Cox and Fowler 1989: a page that moves again within
//! t1 is frozen in place, and defrosted after t2).
use homenode_base::NodeId;

/// What is remembered of a page that has moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// Moves that have not been earned back.
    pub(super) moves: u32,
    /// Since when the next is being earned.
    earned_since: u64,
    /// How often all were used up, and how often it was frozen: each time, both take twice as long.
    exhausted: u32,
    freezes: u32,
    /// Last move: when, and where to.
    pub(super) last: Option<(u64, NodeId)>,
    /// Frozen until then; the end of time = for ever.
    pub(super) frozen_until: u64,
    /// What the policy proposed in the last windows with use, and how many running.
    pub(super) candidate: Option<NodeId>,
    pub(super) streak: u32,
    /// The first of these windows.
    since: u64,
}

/// Doublings of what takes longer each time.
const DOUBLINGS: u32 = 8;
/// A move is earned in this part of the time that freezing takes at most.
const EARNED_IN: u64 = 5;

/// What the guard says to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Go on.
    Free,
    /// Not asked for long enough.
    TooNew,
    /// Frozen since before.
    Frozen,
    /// Frozen from now on, because it came back too soon or has moved often enough.
    Freezes,
}

impl History {
    /// Whether it may not move now.
    pub(super) fn frozen(&self, now_ns: u64) -> bool {
        now_ns < self.frozen_until
    }
    /// Takes note of what the policy proposes in a window in which the page was used: `None` = it may stay. (Windows without
    /// use say nothing: hinting faults come around only so often.)
    pub(super) fn proposed(&mut self, to: Option<NodeId>, window: u64) {
        let again = to.is_some() && self.candidate == to;
        self.streak = if again { self.streak.saturating_add(1) } else { u32::from(to.is_some()) };
        self.candidate = to;
        if !again {
            self.since = window;
        }
    }
    /// Windows that the candidate of this window has lasted.
    pub(super) fn lasted(&self, window: u64) -> u64 {
        window.saturating_sub(self.since)
    }
    /// Earns moves back as time passes: a program may have many phases. True if all are, and the policy is to forget them too.
    pub(super) fn renew(&mut self, now_ns: u64, config: &super::Config) -> bool {
        let had = self.moves;
        while self.moves > 0 && now_ns >= self.next_earned(config) {
            self.earned_since = self.next_earned(config);
            self.moves -= 1;
        }
        if had > 0 && self.moves == 0 {
            (self.exhausted, self.freezes) = (0, 0);
        }
        had > 0 && self.moves == 0
    }
    /// When the next move is earned. What has used up all of them takes longer, so that a page that is nobody's comes to rest.
    fn next_earned(&self, config: &super::Config) -> u64 {
        let once = (config.defrost_after_ns / EARNED_IN).max(config.freeze_within_ns).max(1);
        self.earned_since.saturating_add(once.saturating_mul(1 << self.exhausted.min(DOUBLINGS)))
    }
    /// Whether the page may move.
    pub(super) fn pass(&mut self, now_ns: u64, config: &super::Config) -> Pass {
        if self.frozen(now_ns) {
            return Pass::Frozen;
        }
        if self.moves >= config.moves_per_page {
            self.frozen_until = if self.moves == 0 { u64::MAX } else { self.next_earned(config) };
            return Pass::Frozen;
        }
        if self.streak < config.hysteresis {
            return Pass::TooNew;
        }
        if self.soon(now_ns, config) {
            self.freeze(now_ns, config);
            return Pass::Freezes;
        }
        Pass::Free
    }
    /// Whether the last move is so recent that another one is ping-pong.
    pub(super) fn soon(&self, now_ns: u64, config: &super::Config) -> bool {
        self.last.is_some_and(|(at, _)| now_ns.saturating_sub(at) < config.freeze_within_ns)
    }
    pub(super) fn freeze(&mut self, now_ns: u64, config: &super::Config) {
        let longer = config.freeze_within_ns.saturating_mul(1 << self.freezes.min(DOUBLINGS));
        self.freezes = self.freezes.saturating_add(1);
        self.frozen_until = self.frozen_until.max(now_ns.saturating_add(longer.min(config.defrost_after_ns)));
    }
    pub(super) fn moved(&mut self, now_ns: u64, to: NodeId, config: &super::Config) {
        if self.moves == 0 {
            self.earned_since = now_ns;
        }
        self.moves += 1;
        if self.moves >= config.moves_per_page {
            self.exhausted = self.exhausted.saturating_add(1);
        }
        self.last = Some((now_ns, to));
        (self.candidate, self.streak) = (None, 0);
    }
    /// Whether there is nothing worth keeping when the page is no longer used.
    pub(super) fn is_blank(&self) -> bool {
        self.moves == 0 && self.frozen_until == 0
    }
}
