//! How long windows are: short while there is something to do, longer and longer while there is not, and at once short
//! again when samples say that pages are away from their users.

/// Windows running without a move and with pages at home before windows become longer.
const CALM_WINDOWS: u32 = 3;
/// Longest window, in windows as configured.
const LONGEST: u32 = 8;
/// Uses from elsewhere that wake: so many, and more than one in [`WAKE_SHARE`].
const WAKE_USES: u64 = 8;
const WAKE_SHARE: u64 = 8;

/// When windows end.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    base_ns: u64,
    stretch: u32,
    calm_windows: u32,
    start_ns: Option<u64>,
    due_ns: u64,
    /// Uses of known pages in this window, and those of them from another node than the page's.
    uses: u64,
    stray: u64,
}

impl Pace {
    pub(super) fn new(base_ns: u64) -> Pace {
        let base_ns = base_ns.max(1);
        Pace { base_ns, stretch: 1, calm_windows: 0, start_ns: None, due_ns: 0, uses: 0, stray: 0 }
    }
    /// Whether nothing has been to do for so long that windows are longer than usual.
    pub(super) fn is_calm(&self) -> bool {
        self.stretch > 1
    }
    /// Length of a window now, in windows as configured.
    pub(super) fn stretch(&self) -> u32 {
        self.stretch
    }
    fn length_ns(&self) -> u64 {
        self.base_ns.saturating_mul(u64::from(self.stretch))
    }
    /// When the window is over; 0 before the first tick.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }
    /// If the window is over by now, the next one begins; returns how long this one was.
    pub(super) fn over(&mut self, now_ns: u64, marker: bool) -> Option<u64> {
        let Some(start_ns) = self.start_ns else {
            self.start_ns = Some(now_ns);
            self.due_ns = now_ns.saturating_add(self.length_ns());
            return None;
        };
        if !marker && now_ns < self.due_ns {
            return None;
        }
        self.start_ns = Some(now_ns);
        Some(now_ns.saturating_sub(start_ns))
    }
    /// What the window that is over came to, `calm` if nothing moved and nearly all pages are at home: sets the length of
    /// the next one. Evidence comes round once in `round` windows: for longer than that all must have been calm.
    pub(super) fn close(&mut self, now_ns: u64, calm: bool, round: u32) {
        self.calm_windows = if calm { self.calm_windows.saturating_add(1) } else { 0 };
        if !calm {
            self.stretch = 1;
        } else if self.calm_windows >= CALM_WINDOWS.max(round + round / 2) {
            self.stretch = (self.stretch * 2).min(LONGEST);
        }
        let length_ns = self.length_ns();
        // A tick that comes a little late must not put off all that follow: at a fixed beat none would find its window over.
        let on_beat = self.due_ns.saturating_add(length_ns);
        let late = on_beat < now_ns.saturating_add(length_ns / 2);
        let early = on_beat > now_ns.saturating_add(length_ns);
        self.due_ns = if late || early { now_ns.saturating_add(length_ns) } else { on_beat };
        (self.uses, self.stray) = (0, 0);
    }
    /// Takes note of the use of a page whose place is known; whether it is time to wake up. Uses count alike: one sample that weighs
    /// much says no more of where pages are than one that weighs little.
    pub(super) fn used(&mut self, stray: bool) -> bool {
        self.uses = self.uses.saturating_add(1);
        self.stray = self.stray.saturating_add(u64::from(stray));
        self.is_calm() && self.stray >= WAKE_USES && self.stray.saturating_mul(WAKE_SHARE) > self.uses
    }
    /// From now on windows are as configured, and one that has lasted that long is over.
    pub(super) fn wake(&mut self) {
        (self.stretch, self.calm_windows) = (1, 0);
        self.due_ns = self.start_ns.unwrap_or(0).saturating_add(self.base_ns).min(self.due_ns);
    }
}

/// How many of the pages looked at of late were away from those who use them most, in 1/1024 of a page.
pub(super) struct Astray {
    looked_at: u64,
    astray: u64,
}

impl Default for Astray {
    /// As long as nothing has been seen, there is everything to look for.
    fn default() -> Astray {
        Astray { looked_at: 1, astray: 1 }
    }
}

impl Astray {
    pub(super) fn saw(&mut self, looked_at: u64, astray: u64) {
        self.looked_at = self.looked_at / 2 + looked_at * 1024;
        self.astray = self.astray / 2 + astray * 1024;
    }
    /// More than one in 32: borders between users, which are nobody's, make fewer.
    pub(super) fn many(&self) -> bool {
        self.astray > self.looked_at / 32
    }
}

/// How many windows pass between two looks at the same page, where that is up to the kernel's scan.
#[derive(Debug, Default)]
pub(super) struct Round {
    windows: u64,
    looks: u64,
}

/// Longest round that is believed: a page may also be used that rarely.
const ROUND_MOST: u64 = 24;

impl Round {
    /// Takes note of pages that were looked at again; `gaps` are the windows since they last were, one a page.
    pub(super) fn saw(&mut self, gaps: impl Iterator<Item = u64>) {
        let (mut windows, mut looks) = (0, 0);
        gaps.for_each(|gap| (windows, looks) = (windows + gap.min(ROUND_MOST) * 1024, looks + 1024));
        if looks > 0 {
            // A round is seen in pieces, of which some are large.
            (self.windows, self.looks) = (self.windows / 4 * 3 + windows, self.looks / 4 * 3 + looks);
        }
    }
    /// Windows in a round, on average of late; 0 if unknown.
    pub(super) fn windows(&self) -> u32 {
        u32::try_from(self.windows.checked_div(self.looks).unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calm_is_what_has_lasted_for_longer_than_a_round() {
        let mut round = Round::default();
        assert_eq!(round.windows(), 0);
        for window in 0..40u64 {
            round.saw((0..if window % 4 == 0 { 500 } else { 3 }).map(|_| 6));
            round.saw(std::iter::empty());
        }
        assert_eq!(round.windows(), 6);
        round.saw((0..100_000).map(|_| 1_000_000));
        assert!(round.windows() <= ROUND_MOST as u32);
        let mut pace = Pace::new(1000);
        pace.over(0, false);
        let stretched = (1..20u64).find(|n| {
            let now = n * 1000;
            pace.over(now, false).expect("windows last as long as configured until then");
            pace.close(now, true, 6);
            pace.is_calm()
        });
        assert_eq!(stretched, Some(9));
    }

    /// Ticks every `step` until `end`; lengths of the windows.
    fn windows(pace: &mut Pace, from: u64, end: u64, step: u64, calm: bool) -> Vec<u64> {
        let mut lengths = Vec::new();
        for now in (from..=end).step_by(step as usize) {
            if let Some(length) = pace.over(now, false) {
                pace.close(now, calm, 0);
                lengths.push(length);
            }
        }
        lengths
    }

    #[test]
    fn windows_double_while_calm_and_are_short_again_at_once() {
        let mut pace = Pace::new(1000);
        assert_eq!(windows(&mut pace, 0, 60_000, 100, true)[..8], [1000, 1000, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert!(pace.is_calm() && pace.stretch() == LONGEST);
        let start = pace.start_ns.unwrap();
        assert!((0..20).all(|_| !pace.used(false)) && (0..7).all(|_| !pace.used(true)) && pace.used(true));
        pace.wake();
        assert!(!pace.is_calm() && pace.due_ns() == start + 1000);
        assert_eq!(pace.over(start + 2500, false), Some(2500));
        pace.close(start + 2500, false, 0);
        assert_eq!(windows(&mut pace, start + 3000, start + 6500, 500, false), [1000; 4]);
        assert!((0..50).all(|_| !pace.used(true)), "it is awake");
    }

    #[test]
    fn ticks_that_come_late_do_not_halve_the_windows() {
        let mut pace = Pace::new(1000);
        pace.over(0, false);
        let mut decided = 0;
        for beat in 1..=100u64 {
            let now = beat * 1000 + (beat * 37) % 300;
            if pace.over(now, false).is_some() {
                pace.close(now, false, 0);
                decided += 1;
            }
        }
        assert_eq!(decided, 100);
        // After a long absence the beat begins anew.
        assert_eq!(pace.over(500_000, false), Some(500_000 - 100_000 - 100 * 37 % 300));
        pace.close(500_000, false, 0);
        assert_eq!(pace.due_ns(), 501_000);
        assert!(pace.over(500_300, true).is_some());
        pace.close(500_300, false, 0);
        assert_eq!(pace.due_ns(), 501_300, "a marker begins a whole window");
    }
}
