//! How much may be moved: time that was not used is saved for half a minute, time that was overdrawn is paid back first.

/// Small pages in a huge one, for the two kinds of prices.
const HUGE: u64 = 512;

/// Small pages of a batch that is believed as much as all before it.
const FULL_BATCH: u128 = 256;
/// A batch of fewer pages says what a call takes, a larger one what a page does.
const SMALL_BATCH: u128 = 64;
/// A call is believed to take twice this at most when nothing is known of calls.
const BATCH_NS_FIRST: u64 = 1_000_000;
/// One batch says no more than that a page takes this many times what it took.
const SEEN_AT_MOST: u128 = 16;
/// The first batch says little, because all that it runs through is cold; the second is believed at once.
const WARM: u8 = 2;
/// A batch whose pages cost less than the call itself waits for company, for so many windows at most.
const COMPANY: u64 = 4;
/// One batch makes a page dearer by no more than this part of its price: a thread that had to wait for its processor in the
/// middle of a batch must not spoil the price of all later ones.
const DEARER_AT_MOST: u128 = 4;

/// Windows whose allowance can be saved: a program that changes its owners moves everything at once, then nothing for long.
const SAVED_WINDOWS: i128 = 60;

/// The allowance for moving.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    per_mille: u64,
    credit_ns: i128,
    last_ns: Option<u64>,
    most_ns: i128,
    /// Measured nanoseconds of one page: small, huge.
    price_ns: [u64; 2],
    /// What a batch takes beside its pages.
    batch_ns: u64,
    /// Since when pages wait for a batch that is worth its call.
    waiting_since: Option<u64>,
    /// Large batches so far, up to [`WARM`].
    batches: u8,
}

impl Budget {
    pub(super) fn new(per_mille: u32, window_ns: u64, first_move_ns: u64) -> Budget {
        let most_ns = i128::from(window_ns) * i128::from(per_mille) / 1000 * SAVED_WINDOWS;
        let price_ns = [first_move_ns.max(1), first_move_ns.max(1).saturating_mul(HUGE / 8)];
        Budget {
            per_mille: u64::from(per_mille),
            credit_ns: 0,
            last_ns: None,
            most_ns,
            price_ns,
            batch_ns: 0,
            waiting_since: None,
            batches: 0,
        }
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
    /// What of it there is for pages. Until batches have been measured it is for small ones: a price that is far too low would
    /// overdraw the budget by as much.
    pub(super) fn pages_ns(&self) -> u64 {
        let first_ns = if self.batches >= WARM { u64::MAX } else { self.price_ns[0].saturating_mul(FULL_BATCH as u64) };
        self.credit_ns().saturating_sub(self.batch_ns).min(first_ns)
    }
    /// Whether moves that take `price_ns` in all wait for company: the call itself takes longer, and they have not waited long.
    pub(super) fn waits(&mut self, price_ns: u64, window: u64) -> bool {
        if price_ns == 0 {
            return false;
        }
        let since = *self.waiting_since.get_or_insert(window);
        let waits = price_ns < self.batch_ns && window.saturating_sub(since) < COMPANY;
        if !waits {
            self.waiting_since = None;
        }
        waits
    }
    /// Whether no more can be saved. What costs more than that can only be had on credit.
    pub(super) fn is_full(&self) -> bool {
        self.credit_ns >= self.most_ns && self.most_ns > 0
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
        // Most of a small batch's time is the call's own: processors have to answer before a page may go. It says what a call takes
        // and nothing of a page, or a price that is too high would never be corrected, because nothing moved any more.
        let pages = u128::from(small) + u128::from(huge) * u128::from(HUGE);
        if pages < SMALL_BATCH {
            let beside = took_ns.saturating_sub(expected).min(self.batch_ns.max(BATCH_NS_FIRST).saturating_mul(2));
            self.batch_ns = self.batch_ns / 4 * 3 + beside / 4;
            return;
        }
        let took_ns = took_ns.saturating_sub(self.batch_ns);
        if self.batches < WARM {
            self.batches += 1;
            if self.batches < WARM {
                return;
            }
            let factor = (u128::from(took_ns) / u128::from(expected)).clamp(1, SEEN_AT_MOST);
            let dearer = |price: u64| u64::try_from(u128::from(price) * factor).unwrap_or(u64::MAX);
            self.price_ns = self.price_ns.map(dearer);
            return;
        }
        // Both prices were wrong by the same factor as far as this batch tells.
        let blend = |price: u64| {
            let price = u128::from(price);
            let seen = (price * u128::from(took_ns) / u128::from(expected)).clamp(1, price * SEEN_AT_MOST);
            let blended = (price * FULL_BATCH + seen * pages).div_ceil(FULL_BATCH + pages);
            u64::try_from(blended.min(price + price.div_ceil(DEARER_AT_MOST))).unwrap_or(u64::MAX)
        };
        if small > 0 {
            self.price_ns[0] = blend(self.price_ns[0]);
        }
        if huge > 0 {
            self.price_ns[1] = blend(self.price_ns[1]);
        }
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
        assert_eq!(b.credit_ns(), 3000);
        b.spend(1, 0, 3200);
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
        b.spend(256, 0, 90_000_000);
        assert_eq!(b.price_ns(1), 1000, "the first batch is cold");
        (0..40).for_each(|_| b.spend(100, 0, 200_000));
        assert!((1990..=2010).contains(&b.price_ns(1)), "{}", b.price_ns(1));
        (0..40).for_each(|_| b.spend(0, 2, 1_000_000));
        let before = b.price_ns(1);
        b.spend(512, 0, 100_000_000_000);
        assert!(b.price_ns(1) < before * 3 / 2, "one slow batch is no reason never to move again");
        // Calls that take 300 us beside their pages: that is paid once a batch, and a page costs what it did.
        let before = b.price_ns(1);
        (0..40).for_each(|_| b.spend(1, 0, 302_000));
        assert!(b.price_ns(1) == before && (250_000..=302_000).contains(&b.batch_ns), "{}", b.batch_ns);
        // Such a call is not made for one page unless that has waited.
        assert!(!b.waits(b.batch_ns, 7) && !b.waits(0, 7));
        let waited: Vec<bool> = (10..16).map(|window| b.waits(b.price_ns(1), window)).collect();
        assert_eq!(waited, [true, true, true, true, false, true]);
        b.earn(0);
        b.earn(1 << 60);
        assert!(b.pages_ns() == 0 || b.pages_ns() == b.credit_ns() - b.batch_ns);
        assert!((499_000..=501_000).contains(&b.price_ns(512)), "{}", b.price_ns(512));
    }
}
