//! How much may be looked at, and how often samples are wanted.

/// The allowance for looking and deciding: how many pages are looked at, and how often samples are wanted.
///
/// The allowance holds at every moment for the time from the start on: what is not used is saved, and the savings are spent while
/// pages are found away from their users. While all are at home, half the allowance or less is used; when that has been so for a
/// while, there are just enough samples to notice a change.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    per_mille: u64,
    most_pages: usize,
    pages: usize,
    full_rate_per_s: u64,
    rate_per_mille: u32,
    spent_ns: u64,
    /// Time spent in a window of late.
    usual_ns: u64,
    /// Rate that finds out soon who uses what, per mille of the full one.
    brisk_rate: u32,
    /// Lowest rate while there may be something to do; at rest it is half of that.
    least_rate: u32,
    savings_ns: i128,
    most_savings_ns: i128,
    /// The rate before it was lowered because nothing was to do.
    rate_awake: Option<u32>,
}

/// Never look at less: a loop that sees nothing decides nothing, and a window costs something however few pages it has.
const LEAST_PAGES: usize = 256;
/// Windows whose allowance can be saved, or owed.
const SAVED_WINDOWS: i128 = 120;
/// Windows over which savings are spent.
const SPENT_OVER: i128 = 8;
/// Most time while nothing is to be done, per mille of a processor, however much is allowed.
const CALM_PER_MILLE: u64 = 5;
/// Rate to begin with, per mille of the full one: what samples cost here is not known yet.
const FIRST_RATE: u32 = 10;
/// Rate to begin with, and as soon as pages are astray, where samples speak for their neighbours: then some hundreds a second say
/// within a second whose everything is.
const BRISK_RATE: u32 = 250;
/// Lowest rate where samples speak for their neighbours: they are also what the printed locality rests on.
const LEAST_RATE: u32 = 40;
/// Seconds in which every known page is to be sampled once even when there is no time.
const ROUND_S: u64 = 60;
/// Samples a second that show whether pages are at home on the whole, however many there are.
const GLANCE_PER_S: u64 = 100;

/// What the last windows showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// Pages known.
    pub(super) pages: usize,
    /// Pages looked at in this window.
    pub(super) looked_at: usize,
    /// Whether many of those looked at are away from their users.
    pub(super) astray: bool,
    /// Whether nothing has been to do for some windows.
    pub(super) calm: bool,
}

impl Attention {
    pub(super) fn new(config: &super::Config) -> Attention {
        let most_pages = config.most_pages.max(1);
        let allowed_ns = i128::from(config.window_ns) * i128::from(config.decide_per_mille) / 1000;
        let brisk_rate = if config.neighbours { BRISK_RATE } else { FIRST_RATE };
        Attention {
            per_mille: u64::from(config.decide_per_mille),
            most_pages,
            pages: most_pages,
            full_rate_per_s: config.full_rate_per_s.max(1),
            rate_per_mille: brisk_rate,
            brisk_rate,
            least_rate: if config.neighbours { LEAST_RATE } else { 0 },
            spent_ns: 0,
            usual_ns: 0,
            savings_ns: 0,
            most_savings_ns: allowed_ns * SAVED_WINDOWS,
            rate_awake: None,
        }
    }
    /// There is something to do again: returns the rate if it is to change.
    pub(super) fn wake(&mut self) -> Option<u32> {
        let awake = self.rate_awake.take()?.max(self.brisk_rate);
        let changes = awake > self.rate_per_mille;
        self.rate_per_mille = awake.max(self.rate_per_mille);
        changes.then_some(self.rate_per_mille)
    }
    pub(super) fn spent(&mut self, ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }
    /// Pages to look at in this window.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }
    /// How often samples are wanted, per mille of the full rate.
    pub(super) fn rate_per_mille(&self) -> u32 {
        self.rate_per_mille
    }
    /// A window of `passed` nanoseconds is over; returns the rate if it is to change.
    pub(super) fn adapt(&mut self, passed: u64, demand: Demand) -> Option<u32> {
        let spent = std::mem::take(&mut self.spent_ns);
        self.usual_ns = if self.usual_ns == 0 { spent } else { self.usual_ns / 4 * 3 + spent / 4 };
        let target = self.target(passed, spent, demand.astray);
        if demand.calm {
            return self.rest(demand.pages);
        }
        let scale = |x: u64| {
            let ideal = u128::from(x) * u128::from(target) / u128::from(self.usual_ns.max(1));
            // By no more than a factor of two: one window says little.
            u64::try_from(ideal).unwrap_or(u64::MAX).clamp(x / 2, x.saturating_mul(2))
        };
        let least = LEAST_PAGES.min(self.most_pages);
        // A limit that nobody reached says nothing of what less would take.
        let base = if target < self.usual_ns { self.pages.min(demand.looked_at) } else { self.pages };
        let pages = usize::try_from(scale(base as u64)).unwrap_or(base).clamp(least, self.most_pages);
        let before = self.rate_per_mille;
        let floor = self.floor(demand.pages).max(self.least_rate);
        let least_rate = if demand.astray && self.savings_ns >= 0 { floor.max(self.brisk_rate) } else { floor };
        let rate = u32::try_from(scale(u64::from(before.max(1)))).unwrap_or(before).clamp(least_rate, 1000);
        self.pages = pages;
        // A small change is not worth the calls.
        if rate.abs_diff(before) * 4 < before.max(1) {
            return None;
        }
        self.rate_per_mille = rate;
        Some(rate)
    }
    /// Just enough samples to notice a change.
    fn rest(&mut self, pages: usize) -> Option<u32> {
        let before = self.rate_per_mille;
        self.rate_awake.get_or_insert(before);
        let glance = u32::try_from(GLANCE_PER_S.saturating_mul(1000) / self.full_rate_per_s).unwrap_or(FIRST_RATE);
        self.rate_per_mille = self.floor(pages).min(glance.max(1)).max(self.least_rate / 2).min(before);
        (self.rate_per_mille != before).then_some(self.rate_per_mille)
    }
    /// What the next window may take; this one took `spent`.
    fn target(&mut self, passed: u64, spent: u64, astray: bool) -> u64 {
        let allowed = passed.saturating_mul(self.per_mille) / 1000;
        let rest = self.savings_ns + i128::from(allowed) - i128::from(spent);
        self.savings_ns = rest.clamp(-self.most_savings_ns, self.most_savings_ns);
        if self.savings_ns < 0 {
            allowed / 2
        } else if astray {
            allowed.saturating_add(u64::try_from(self.savings_ns / SPENT_OVER).unwrap_or(0))
        } else {
            (allowed / 2).min(passed.saturating_mul(CALM_PER_MILLE) / 1000)
        }
    }
    /// Lowest rate: with less, a change would not be noticed in useful time.
    fn floor(&self, pages: usize) -> u32 {
        let per_mille = (pages as u64).saturating_mul(1000) / ROUND_S / self.full_rate_per_s;
        u32::try_from(per_mille).unwrap_or(FIRST_RATE).clamp(1, FIRST_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attention(most_pages: usize) -> Attention {
        let config = super::super::Config { most_pages, window_ns: 1_000_000, ..super::super::Config::default() };
        Attention::new(&config)
    }
    const CALM: Demand = Demand { pages: 0, looked_at: 10_000, astray: false, calm: false };
    const ASTRAY: Demand = Demand { astray: true, ..CALM };

    /// Runs windows of a millisecond in which a thousandth of the rate costs `cost_ns`; what was spent, and the last rate.
    fn spend(a: &mut Attention, windows: u64, cost_ns: u64, demand: Demand) -> (u64, u32) {
        let mut sum = 0;
        for _ in 0..windows {
            let ns = u64::from(a.rate_per_mille) * cost_ns;
            a.spent(ns);
            sum += ns;
            a.adapt(1_000_000, demand);
        }
        (sum, a.rate_per_mille)
    }

    #[test]
    fn the_allowance_holds_on_average_and_savings_are_spent_on_stray_pages() {
        let mut a = attention(10_000);
        // 1 % of a window is 10 us; 2 us for a thousandth of the rate.
        let (first, _) = spend(&mut a, 30, 2_000, ASTRAY);
        assert!(first > 15 * 10_000 && first <= 35 * 10_000, "the bound holds from the start on: {first}");
        let (later, _) = spend(&mut a, 500, 2_000, ASTRAY);
        assert!((300 * 10_000..=550 * 10_000).contains(&later), "{later}");
        let (calm, rate) = spend(&mut a, 300, 2_000, CALM);
        assert!(calm <= 160 * 10_000 && rate >= 1, "{calm}");
        // What was saved meanwhile is there for the next change.
        let (again, _) = spend(&mut a, 20, 2_000, ASTRAY);
        assert!(again > 50 * 10_000, "{again}");
    }

    #[test]
    fn samples_that_speak_for_neighbours_are_brisk_while_pages_are_astray_and_few_at_rest() {
        let config =
            super::super::Config { neighbours: true, full_rate_per_s: 2_000, ..super::super::Config::default() };
        let mut a = Attention::new(&config);
        assert_eq!(a.rate_per_mille(), BRISK_RATE);
        let (_, rate) = spend(&mut a, 30, 100, CALM);
        assert!((LEAST_RATE..=LEAST_RATE * 5 / 4).contains(&rate), "home, but not for long: {rate}");
        a.adapt(1_000_000, ASTRAY);
        assert_eq!(a.rate_per_mille(), BRISK_RATE);
        a.adapt(8_000_000, Demand { pages: 6_000, calm: true, ..CALM });
        assert_eq!((a.rate_per_mille(), a.wake()), (LEAST_RATE / 2, Some(BRISK_RATE)));
    }

    #[test]
    fn where_thinking_is_cheap_all_is_looked_at() {
        let mut a = attention(10_000);
        let (_, rate) = spend(&mut a, 20, 1, ASTRAY);
        assert_eq!((rate, a.pages()), (1000, 10_000));
    }

    #[test]
    fn never_so_rarely_that_a_change_goes_unnoticed() {
        let mut a = attention(10_000);
        let (_, rate) = spend(&mut a, 60, 1_000_000, Demand { pages: 12_000, ..CALM });
        // 12,000 pages in a minute are 200 a second, of 20,000.
        assert!((10..=13).contains(&rate), "{rate}");
        assert_eq!(a.pages(), LEAST_PAGES);
        assert_eq!(a.floor(usize::MAX), FIRST_RATE);
    }

    #[test]
    fn at_rest_few_samples_are_taken_and_after_it_as_many_as_before() {
        let mut a = attention(10_000);
        assert_eq!(a.wake(), None, "it has not rested");
        let (_, rate) = spend(&mut a, 20, 1, ASTRAY);
        for _ in 0..20 {
            a.adapt(8_000_000, Demand { pages: 1_000_000, calm: true, ..CALM });
        }
        // A hundred of 20,000; a small program is known from fewer.
        assert_eq!((rate, a.rate_per_mille()), (1000, 5));
        a.adapt(8_000_000, Demand { pages: 2_400, calm: true, ..CALM });
        assert_eq!((a.rate_per_mille(), a.wake(), a.wake()), (2, Some(1000), None));
    }
}
