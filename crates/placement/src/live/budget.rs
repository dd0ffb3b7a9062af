//! How much may be moved and looked at: time that was not used is saved for one more window, time that was overdrawn is
//! paid back first.

/// Small pages in a huge one, for the two kinds of prices.
const HUGE: u64 = 512;

/// Small pages of a batch that is believed as much as all before it.
const FULL_BATCH: u128 = 256;
/// One batch says no more than that a page takes this many times what it took.
const DEARER_AT_MOST: u128 = 16;

/// The allowance for moving.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    per_mille: u64,
    credit_ns: i128,
    last_ns: Option<u64>,
    most_ns: i128,
    /// Measured nanoseconds of one page: small, huge.
    price_ns: [u64; 2],
}

impl Budget {
    pub(super) fn new(per_mille: u32, window_ns: u64, first_move_ns: u64) -> Budget {
        let most_ns = i128::from(window_ns) * i128::from(per_mille) / 1000 * 2;
        let price_ns = [first_move_ns.max(1), first_move_ns.max(1).saturating_mul(HUGE / 8)];
        Budget { per_mille: u64::from(per_mille), credit_ns: 0, last_ns: None, most_ns, price_ns }
    }
    /// Time passes.
    pub(super) fn earn(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns));
        self.last_ns = Some(self.last_ns.unwrap_or(now_ns).max(now_ns));
        let earned = i128::from(passed) * i128::from(self.per_mille) / 1000;
        self.credit_ns = (self.credit_ns + earned).min(self.most_ns);
    }
    /// What may be spent now.
    pub(super) fn credit_ns(&self) -> u64 {
        u64::try_from(self.credit_ns.max(0)).unwrap_or(u64::MAX)
    }
    /// What moving a page of so many small ones is expected to take.
    pub(super) fn price_ns(&self, pages: u32) -> u64 {
        if pages == 1 { self.price_ns[0] } else { self.price_ns[1].saturating_mul(u64::from(pages).div_ceil(HUGE)) }
    }
    /// Moving so many small and huge pages took this long.
    pub(super) fn spend(&mut self, small: u64, huge: u64, took_ns: u64) {
        self.credit_ns -= i128::from(took_ns);
        let expected = small.saturating_mul(self.price_ns[0]).saturating_add(huge.saturating_mul(self.price_ns[1]));
        if expected == 0 {
            return;
        }
        // Both prices were wrong by the same factor as far as this batch tells. A small batch tells little: most of its
        // time is the call's own, and a price that is too high would never be corrected, because nothing moved any more.
        let pages = u128::from(small) + u128::from(huge) * u128::from(HUGE);
        let seen = |price: u128| (price * u128::from(took_ns) / u128::from(expected)).clamp(1, price * DEARER_AT_MOST);
        let blend = |price: u64| {
            let price = u128::from(price);
            let sum = price * FULL_BATCH + seen(price) * pages;
            u64::try_from(sum.div_ceil(FULL_BATCH + pages)).unwrap_or(u64::MAX)
        };
        if small > 0 {
            self.price_ns[0] = blend(self.price_ns[0]);
        }
        if huge > 0 {
            self.price_ns[1] = blend(self.price_ns[1]);
        }
    }
}

/// The allowance for looking and deciding: how many pages are looked at, and how often samples are wanted.
///
/// The allowance holds on average: what is not used is saved, and the savings, full at the start, are spent while pages
/// are found away from their users. While all are at home, half the allowance or less is used.
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
    savings_ns: i128,
    most_savings_ns: i128,
}

/// Never look at less: a loop that sees nothing decides nothing.
const LEAST_PAGES: usize = 64;
/// Windows whose allowance can be saved, or owed.
const SAVED_WINDOWS: i128 = 120;
/// Windows over which savings are spent.
const SPENT_OVER: i128 = 8;
/// Most time while nothing is to be done, per mille of a processor, however much is allowed.
const CALM_PER_MILLE: u64 = 5;
/// Rate to begin with, per mille of the full one: what samples cost here is not known yet.
const FIRST_RATE: u32 = 100;
/// Seconds in which every known page is to be sampled once even when there is no time.
const ROUND_S: u64 = 60;

/// What the last windows showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// Pages known.
    pub(super) pages: usize,
    /// Pages looked at in this window.
    pub(super) looked_at: usize,
    /// Whether many of those looked at are away from their users.
    pub(super) astray: bool,
}

impl Attention {
    pub(super) fn new(config: &super::Config) -> Attention {
        let most_pages = config.most_pages.max(1);
        let allowed_ns = i128::from(config.window_ns) * i128::from(config.decide_per_mille) / 1000;
        Attention {
            per_mille: u64::from(config.decide_per_mille),
            most_pages,
            pages: most_pages,
            full_rate_per_s: config.full_rate_per_s.max(1),
            rate_per_mille: FIRST_RATE,
            spent_ns: 0,
            usual_ns: 0,
            savings_ns: allowed_ns * SAVED_WINDOWS,
            most_savings_ns: allowed_ns * SAVED_WINDOWS,
        }
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
        let rate =
            u32::try_from(scale(u64::from(before.max(1)))).unwrap_or(before).clamp(self.floor(demand.pages), 1000);
        self.pages = pages;
        // A small change is not worth the calls.
        if rate.abs_diff(before) * 4 < before.max(1) {
            return None;
        }
        self.rate_per_mille = rate;
        Some(rate)
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

    #[test]
    fn debts_are_paid_back_and_savings_are_bounded() {
        let mut b = Budget::new(50, 1000, 10);
        b.earn(0);
        assert_eq!(b.credit_ns(), 0);
        b.earn(1000);
        assert_eq!(b.credit_ns(), 50);
        b.earn(1_000_000);
        assert_eq!(b.credit_ns(), 100);
        b.spend(1, 0, 300);
        assert_eq!(b.credit_ns(), 0);
        b.earn(1_004_000);
        assert_eq!(b.credit_ns(), 0);
        b.earn(1_005_000);
        assert_eq!(b.credit_ns(), 50);
        b.earn(1);
        assert_eq!(b.credit_ns(), 50, "a clock that goes back earns nothing");
    }

    #[test]
    fn prices_follow_what_is_measured() {
        let mut b = Budget::new(50, 1000, 1000);
        (0..400).for_each(|_| b.spend(10, 0, 20_000));
        assert!((1990..=2010).contains(&b.price_ns(1)), "{}", b.price_ns(1));
        (0..40).for_each(|_| b.spend(0, 2, 1_000_000));
        let before = b.price_ns(1);
        b.spend(1, 0, 100_000_000);
        assert!(b.price_ns(1) < before * 11 / 10, "one slow call is no reason never to move again");
        assert!((499_000..=501_000).contains(&b.price_ns(512)), "{}", b.price_ns(512));
    }

    fn attention(most_pages: usize) -> Attention {
        let config = super::super::Config { most_pages, window_ns: 1_000_000, ..super::super::Config::default() };
        Attention::new(&config)
    }
    const CALM: Demand = Demand { pages: 0, looked_at: 10_000, astray: false };
    const ASTRAY: Demand = Demand { pages: 0, looked_at: 10_000, astray: true };

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
        assert!(first > 60 * 10_000 && first < 150 * 10_000, "{first}");
        let (later, _) = spend(&mut a, 500, 2_000, ASTRAY);
        assert!((300 * 10_000..=540 * 10_000).contains(&later), "{later}");
        let (calm, rate) = spend(&mut a, 300, 2_000, CALM);
        assert!(calm <= 160 * 10_000 && rate >= 1, "{calm}");
        // What was saved meanwhile is there for the next change.
        let (again, _) = spend(&mut a, 20, 2_000, ASTRAY);
        assert!(again > 50 * 10_000, "{again}");
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
}
