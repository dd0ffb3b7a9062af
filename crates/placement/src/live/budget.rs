//! How much may be moved and looked at: time that was not used is saved for one more window, time that was overdrawn is
//! paid back first.

/// Small pages in a huge one, for the two kinds of prices.
const HUGE: u64 = 512;

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
        // Both prices were wrong by the same factor as far as this batch tells; believe a quarter of it.
        let seen = |price: u64| (u128::from(price) * u128::from(took_ns) / u128::from(expected)).max(1);
        let blend = |price: u64| u64::try_from((u128::from(price) * 3 + seen(price)).div_ceil(4)).unwrap_or(u64::MAX);
        if small > 0 {
            self.price_ns[0] = blend(self.price_ns[0]);
        }
        if huge > 0 {
            self.price_ns[1] = blend(self.price_ns[1]);
        }
    }
}

/// The allowance for looking and deciding: how many pages are looked at, and how often samples are wanted.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    per_mille: u64,
    most_pages: usize,
    pages: usize,
    rate_per_mille: u32,
    spent_ns: u64,
    since_ns: Option<u64>,
}

/// Never look at less: a loop that sees nothing decides nothing.
const LEAST_PAGES: usize = 64;

impl Attention {
    pub(super) fn new(per_mille: u32, most_pages: usize) -> Attention {
        let pages = most_pages.max(1);
        let per_mille = u64::from(per_mille);
        Attention { per_mille, most_pages: pages, pages, rate_per_mille: 1000, spent_ns: 0, since_ns: None }
    }
    pub(super) fn spent(&mut self, ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }
    /// Pages to look at in this window.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }
    /// A window is over; returns the rate if it is to change.
    pub(super) fn adapt(&mut self, now_ns: u64) -> Option<u32> {
        let passed = now_ns.saturating_sub(self.since_ns.replace(now_ns)?);
        let allowed = passed.saturating_mul(self.per_mille) / 1000;
        let (spent, before) = (std::mem::take(&mut self.spent_ns), self.rate_per_mille);
        if spent > allowed {
            let scale = |x: u64| u64::try_from(u128::from(x) * u128::from(allowed) / u128::from(spent)).unwrap_or(x);
            self.pages =
                usize::try_from(scale(self.pages as u64)).unwrap_or(self.pages).max(LEAST_PAGES.min(self.most_pages));
            self.rate_per_mille = u32::try_from(scale(u64::from(before))).unwrap_or(before).max(1);
        } else if spent <= allowed / 2 {
            self.pages = self.pages.saturating_mul(2).min(self.most_pages);
            self.rate_per_mille = (before + before.div_ceil(4)).min(1000);
        }
        (self.rate_per_mille != before).then_some(self.rate_per_mille)
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
        (0..40).for_each(|_| b.spend(10, 0, 20_000));
        assert!((1990..=2010).contains(&b.price_ns(1)), "{}", b.price_ns(1));
        (0..40).for_each(|_| b.spend(0, 2, 1_000_000));
        assert!((499_000..=501_000).contains(&b.price_ns(512)), "{}", b.price_ns(512));
    }

    #[test]
    fn too_much_thinking_looks_at_less_and_recovers() {
        let mut a = Attention::new(10, 10_000);
        assert_eq!(a.adapt(0), None);
        a.spent(100);
        assert_eq!(a.adapt(1000), Some(100));
        assert_eq!(a.pages(), 1000);
        a.spent(u64::MAX);
        a.spent(1);
        assert_eq!(a.adapt(2000), Some(1));
        assert_eq!(a.pages(), LEAST_PAGES);
        let changes = (3..60).filter(|w| a.adapt(w * 1000).is_some()).count();
        assert!(changes > 5 && a.pages() == 10_000 && a.rate_per_mille == 1000);
    }
}
