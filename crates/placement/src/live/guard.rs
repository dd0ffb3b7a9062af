//! What keeps one page from moving: its limit, and the PLATINUM rule (Cox and Fowler 1989: a page that moves again within
//! t1 is frozen in place, and defrosted after t2).
use homenode_base::NodeId;

/// What is remembered of a page that has moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// Times it moved since it had last not moved for long.
    pub(super) moves: u32,
    /// How often that happened: each time, "long" doubles.
    renewals: u32,
    /// Last move: when, and where to.
    pub(super) last: Option<(u64, NodeId)>,
    /// Frozen until then; the end of time = for ever.
    pub(super) frozen_until: u64,
    /// What the policy wished in the last windows with use, and how many running.
    pub(super) wish: Option<NodeId>,
    pub(super) streak: u32,
    /// The first of these windows.
    since: u64,
}

/// Doublings of the time after which a page's moves are forgotten.
const RENEWALS: u32 = 8;

/// What the guard says to a wish.
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
    /// Takes note of what the policy wishes in a window in which the page was used: `None` = it may stay. (Windows without
    /// use say nothing: hinting faults come around only so often.)
    pub(super) fn wished(&mut self, to: Option<NodeId>, window: u64) {
        let again = to.is_some() && self.wish == to;
        self.streak = if again { self.streak.saturating_add(1) } else { u32::from(to.is_some()) };
        self.wish = to;
        if !again {
            self.since = window;
        }
    }
    /// Windows that the wish of this window has lasted.
    pub(super) fn lasted(&self, window: u64) -> u64 {
        window.saturating_sub(self.since)
    }
    /// Forgets the moves of a page that has not moved for long: a program may have many phases. True if it did, and the
    /// policy is to forget them too. Each time it takes twice as long, so that a page that is nobody's comes to rest.
    pub(super) fn renew(&mut self, now_ns: u64, config: &super::Config) -> bool {
        let t2 = config.defrost_after_ns.max(config.freeze_within_ns).saturating_mul(1 << self.renewals.min(RENEWALS));
        let over = self.last.is_some_and(|(at, _)| now_ns.saturating_sub(at) >= t2) && !self.frozen(now_ns);
        if over {
            (self.moves, self.last) = (0, None);
            self.renewals += 1;
        }
        over
    }
    /// Whether the page may move.
    pub(super) fn pass(&mut self, now_ns: u64, config: &super::Config) -> Pass {
        if self.frozen(now_ns) {
            return Pass::Frozen;
        }
        if self.moves >= config.moves_per_page {
            self.freeze(now_ns, config);
            return Pass::Freezes;
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
        self.frozen_until = self.frozen_until.max(now_ns.saturating_add(config.defrost_after_ns));
    }
    pub(super) fn moved(&mut self, now_ns: u64, to: NodeId) {
        self.moves += 1;
        self.last = Some((now_ns, to));
        (self.wish, self.streak) = (None, 0);
    }
    /// Whether there is nothing worth keeping when the page is no longer used.
    pub(super) fn is_blank(&self) -> bool {
        self.moves == 0 && self.renewals == 0 && self.frozen_until == 0
    }
}
