//! What some colours say of all: estimates of totals and ratios with their intervals, for a simple random sample without replacement
//! from a finite population (W. G. Cochran, Sampling Techniques, 3rd edition: sections 2.5 to 2.8 for totals, 6.3 and 6.4 for ratios). The
//! sample is one of each class of neighbours; taking it for a simple one makes no interval narrower than it should be.
//!
//! Few colours say nothing of one block that costs as much as thousands. So what is known of all colours without a replay is
//! estimated, too, and by as much as these estimates are wrong every interval is widened.
use crate::rows::Interval;
use homenode_base::student::two_sided_95;

/// A sample of the colours.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Colours that there are.
    colours: f64,
    /// By what factor, at least 1, all accesses are more than the sample says; and at most 1, fewer.
    under: f64,
    over: f64,
    /// Hand-overs less those that the sample says there are; and what of that is surprising, 0 if nothing is.
    missing: f64,
    surprising: f64,
    /// Part of a sum that may be of a kind which the sample does not show at all.
    unseen: f64,
    /// Values beyond those of the sample that are no sample, and what they do not have.
    certain: Certain,
    /// What totals are scaled by, too, if that may be better than the number of colours.
    scale: Option<Scale>,
}

/// References as the auxiliary variable of a ratio estimator (Cochran, section 6.8): pages that are used alike cost alike.
#[derive(Clone, Debug)]
struct Scale {
    /// By colour of the sample, and of all.
    sums: Vec<f64>,
    all: f64,
    /// Standard deviation of an estimate from single pages, as a part of it.
    by_page: f64,
}

impl Scale {
    /// Nothing unless costs follow references so well that this is clearly better, and no reference is unlike those of the sample.
    fn of(pages: &[(f64, f64)], references: &References, cost: f64, squares: f64) -> Option<Scale> {
        let (sums, all) = (references.sums.clone(), references.all);
        let refs: f64 = sums.iter().sum();
        if references.unlike > 0.0 || refs <= 0.0 || cost <= 0.0 {
            return None;
        }
        let residuals: f64 = pages.iter().map(|(c, r)| (c - cost / refs * r).powi(2)).sum();
        (residuals < squares / 2.0).then(|| Scale { sums, all, by_page: residuals.sqrt() / cost })
    }
}

/// What was taken all, each a stratum by itself, from some time on.
#[derive(Clone, Debug, Default)]
pub struct Certain {
    /// Of each, its references, and those of before, which are missing.
    pub refs: Vec<(u64, u64)>,
    /// References of everything.
    pub all: u64,
}

impl Certain {
    /// References, and those that are missing.
    pub fn sum(&self) -> u64 {
        self.refs.iter().map(|(refs, before)| refs + before).sum()
    }
    /// What the references of before come to, of things whose sum over everything is `sum`: as much each as those after; where these are
    /// fewer, the others as much as all on average. It may be nothing, and twice that.
    fn before(&self, values: &[f64], sum: f64) -> f64 {
        let average = sum / (self.all as f64).max(1.0);
        let each = |(value, (refs, before)): (&f64, &(u64, u64))| {
            let own = value / (*refs as f64).max(1.0);
            own * (*before).min(*refs) as f64 + average * before.saturating_sub(*refs) as f64
        };
        values.iter().zip(&self.refs).map(each).sum()
    }
}

/// Of `n` alike ones, none shows what up to so many in `n` of all have, with 95 % confidence.
const UNSEEN_OF_ALIKE: f64 = 3.0;

/// Half of a normal interval of 95 %, in standard deviations.
const NORMAL_95: f64 = 1.96;

/// Part of all references from which on a page is one by itself: were there as many like it as it was drawn for, they would have more
/// than a quarter of all.
const HOT_PART: f64 = 0.25;

/// Standard deviations beyond which it is no chance that few references were drawn.
const SURPRISE: f64 = 3.0;

/// References of pages that were drawn, beside the number of all.
#[derive(Default)]
pub struct References {
    /// References that are more than those to pages like the drawn ones can be: to a few pages that are used much.
    unlike: f64,
    /// By group, all of them, and how many there are.
    sums: Vec<f64>,
    all: f64,
}

impl References {
    /// Of drawn pages their groups, of so many, and references; one page in so many was drawn.
    pub fn new(pages: impl Iterator<Item = (usize, u64)>, (groups, one_in): (u32, u32), all: u64) -> References {
        let (all, one_in) = (all as f64, f64::from(one_in));
        let (mut hot, mut squares, mut sums) = (0.0, 0.0, vec![0.0; groups as usize]);
        for (group, refs) in pages {
            let refs = refs as f64;
            match refs * one_in > all * HOT_PART {
                true => hot += refs,
                false => {
                    sums[group] += refs;
                    squares += refs * refs;
                }
            }
        }
        let colours = f64::from(groups) * one_in;
        // Each page is drawn by itself (Horvitz and Thompson): fewer than expected are no surprise.
        let by_chance = SURPRISE * (one_in * (one_in - 1.0) * squares).sqrt();
        let high = hot + colours * mean(&sums) + by_chance.max(colours * Sample::plain(colours).half(&sums));
        if hot > 0.0 {
            sums.clear();
        }
        References { unlike: (all - high).max(0.0), sums, all }
    }
    /// References that are more than those to pages like the drawn ones can be: to a few pages that are used much.
    pub fn unlike(&self) -> f64 {
        self.unlike
    }
}

/// A quantity that is known of all colours: the sum, and the values of those in the sample.
pub type Known = (f64, Vec<f64>);

impl Sample {
    /// A sample of pages that cost so much each, beside which it is known how many references there are: of `n` alike ones (`1 / n`
    /// being the sum of squared shares) none shows what up to `3 / n` of all have, with 95 % confidence (J. A. Hanley and
    /// A. Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, JAMA 249, 1983). References of which the sample shows none
    /// may cost anything. What is certain is beside the sample.
    pub fn of_pages(colours: usize, pages: &[(f64, f64)], references: &References, certain: Certain) -> Sample {
        let sum: f64 = pages.iter().map(|(cost, _)| cost).sum();
        let squares: f64 = pages.iter().map(|(cost, _)| cost * cost).sum();
        let unseen = if sum > 0.0 { (UNSEEN_OF_ALIKE * squares / (sum * sum)).min(1.0) } else { 1.0 };
        let unlike = references.unlike;
        let scale = Scale::of(pages, references, sum, squares);
        Sample { missing: unlike, surprising: unlike, unseen, certain, scale, ..Sample::plain(colours as f64) }
    }

    /// A sample that surprises nobody.
    fn plain(colours: f64) -> Sample {
        let certain = Certain::default();
        Sample { colours, under: 1.0, over: 1.0, missing: 0.0, surprising: 0.0, unseen: 0.0, certain, scale: None }
    }

    /// Values of the sample, and of what is certain.
    fn split<'v>(&self, values: &'v [f64]) -> (&'v [f64], &'v [f64]) {
        values.split_at(values.len() - self.certain.refs.len().min(values.len()))
    }

    /// A sample in which accesses and hand-overs of lines are known of all colours.
    pub fn new(colours: usize, accesses: &Known, handovers: &Known) -> Sample {
        let mut sample = Sample::plain(colours as f64);
        let factor = accesses.0 / (sample.colours * mean(&accesses.1));
        if factor > 1.0 {
            sample.under = factor;
        } else if factor < 1.0 {
            sample.over = factor;
        }
        sample.missing = handovers.0 - sample.colours * mean(&handovers.1);
        let half_passed = sample.colours * sample.half(&handovers.1);
        sample.surprising = sample.missing.signum() * (sample.missing.abs() - half_passed).max(0.0);
        sample
    }

    /// Whether the sample is all there is.
    fn is_whole(&self, values: &[f64]) -> bool {
        values.len() as f64 >= self.colours
    }

    /// Half of the interval of a mean of these values.
    fn half(&self, values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let mean = mean(values);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let spread = (variance / n * (1.0 - n / self.colours)).sqrt();
        // Values that agree say nothing without a second one; without it the factor is infinite, and their product no number.
        two_sided_95(values.len().saturating_sub(1)) * spread.max(f64::MIN_POSITIVE)
    }

    /// The sum over all colours of what the sample is of, as a ratio estimator has it, and half of its interval. References of another kind
    /// that the sample does not show are a bias of it.
    fn scaled(&self, values: &[f64]) -> Option<(f64, f64)> {
        let Scale { sums, all, by_page } = self.scale.as_ref()?;
        let refs = sums.iter().sum::<f64>();
        let each = values.iter().sum::<f64>() / refs;
        let residuals: Vec<f64> = values.iter().zip(sums).map(|(value, refs)| value - each * refs).collect();
        let spread = all / refs * sums.len() as f64 * self.half(&residuals);
        Some((each * all, spread.max(NORMAL_95 * each * all * by_page)))
    }

    /// The likeliest sum over all colours of what the sample is of.
    fn middle(&self, values: &[f64]) -> f64 {
        self.scaled(values).map_or(self.colours * mean(values), |(estimate, _)| estimate)
    }

    /// The sum over all colours of what is `values` in those of the sample, none of it below 0; a hand-over costs `each` at most.
    pub fn total(&self, values: &[f64], each: f64) -> Interval {
        let seen: f64 = values.iter().sum();
        let (values, certain) = self.split(values);
        if self.is_whole(values) {
            return Interval { low: seen, high: seen };
        }
        // Nothing seen says nothing of what is there.
        if seen == 0.0 && self.under > 1.0 {
            return Interval { low: 0.0, high: f64::INFINITY };
        }
        let (estimate, spread) = (self.colours * mean(values), self.colours * self.half(values));
        // Pages are drawn each by itself (Horvitz and Thompson for Poisson sampling): how many are is left to chance, too, which the
        // groups of one draw may hide.
        let half = spread.max(NORMAL_95 * estimate * (self.unseen / UNSEEN_OF_ALIKE).sqrt());
        let (low, high) = ((estimate * self.over).min(estimate - half), (estimate * self.under).max(estimate + half));
        let (more, less) = (self.surprising.max(0.0) * each, (-self.surprising).max(0.0) * each);
        let scaled = self.scaled(values).map(|(estimate, half)| (estimate - half, estimate + half));
        let (low, high) = scaled.map_or((low, high), |(least, most)| (low.min(least), high.max(most)));
        let (low, high) = (low - self.unseen * estimate, high + self.unseen * estimate);
        let sure = certain.iter().sum::<f64>();
        let before = 2.0 * self.certain.before(certain, estimate + sure);
        Interval { low: (low - less + sure).max(seen), high: high + more + sure + before }
    }

    /// The share of one sum over all colours in another that is no less in any; what the sample does not show may have any share. 0 to
    /// infinity if the sample shows nothing.
    pub fn share(&self, part: &[f64], whole: &[f64], each: f64) -> Interval {
        let Interval { low, high } = self.ratio(part, whole, (each, each));
        Interval { low, high: if high.is_finite() { high.min(1.0) } else { high } }
    }

    /// The ratio of two sums over all colours, where a hand-over costs the one and the other so much at most. 0 to infinity if the
    /// sample shows nothing.
    pub fn ratio(&self, part: &[f64], whole: &[f64], (each_part, each_whole): (f64, f64)) -> Interval {
        let of = whole.iter().sum::<f64>();
        if of <= 0.0 || !of.is_finite() {
            return Interval { low: 0.0, high: f64::INFINITY };
        }
        if self.is_whole(whole) {
            let ratio = part.iter().sum::<f64>() / of;
            return Interval { low: ratio, high: ratio };
        }
        let (part, part_sure) = self.split(part);
        let (whole, whole_sure) = self.split(whole);
        let of_sample = self.middle(whole);
        let all = of_sample + whole_sure.iter().sum::<f64>();
        let ratio = (self.middle(part) + part_sure.iter().sum::<f64>()) / all;
        let residuals: Vec<f64> = part.iter().zip(whole).map(|(p, w)| p - ratio * w).collect();
        let times = if of_sample > 0.0 { of_sample / mean(whole) } else { self.colours };
        let half = times * self.half(&residuals) / all;
        let (low, high) = ((ratio - half).max(0.0), ratio + half);
        // What is not shown, and what is shown too often, as shares of what is shown. A ratio is of what was drawn, and its variance small where one
        // colour is most of both sums: all that is missing counts here, whether or not it is surprising.
        let (missing, surplus) =
            (self.missing.max(0.0) * each_whole / all, (-self.missing).max(0.0) * each_whole / all);
        let (more, less) = (self.under - 1.0 + missing, 1.0 - self.over + surplus);
        let dear =
            (more * high.max(1.0)).max((self.under - 1.0) * high.max(1.0) + self.surprising.max(0.0) * each_part / all);
        let rest = (1.0 - less).max(0.0);
        let low = (low / (1.0 + more)).min((low - less * high.max(1.0)).max(0.0) / rest.max(f64::MIN_POSITIVE));
        let high = (high + dear).max(high / rest);
        // The kinds that are not shown, and what was certain too late: of whatever ratio.
        let unseen = (self.unseen * of_sample + self.certain.before(whole_sure, all)) / all;
        Interval { low: low * (1.0 - unseen).max(0.0), high: high + unseen * high.max(1.0) }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    fn plain(colours: usize) -> Sample {
        Sample::plain(colours as f64)
    }

    #[test]
    fn all_colours_say_it_exactly() {
        let whole = Sample::new(3, &(60.0, vec![10.0, 20.0, 30.0]), &(0.0, vec![0.0; 3]));
        assert_eq!(whole.total(&[1.0, 2.0, 6.0], 9.0), Interval { low: 9.0, high: 9.0 });
        assert_eq!(whole.share(&[1.0, 2.0, 6.0], &[6.0, 6.0, 6.0], 9.0), Interval { low: 0.5, high: 0.5 });
    }

    #[test]
    fn one_colour_and_no_cost_say_nothing() {
        assert_eq!(plain(16).total(&[5.0], 1.0), Interval { low: 5.0, high: f64::INFINITY });
        assert_eq!(plain(16).share(&[0.0, 0.0], &[0.0, 0.0], 1.0), Interval { low: 0.0, high: f64::INFINITY });
    }

    /// Mean 2, standard deviation 1, t 4.303, half of the colours: a total of 12 give or take 6 * 4.303 * sqrt(1 / 3 * 1 / 2).
    #[test]
    fn a_total_by_hand() {
        let found = plain(6).total(&[1.0, 2.0, 3.0], 0.0);
        assert!((found.high - 12.0 - 10.540).abs() < 1e-3, "{found:?}");
        assert!((found.low - 6.0).abs() < 1e-9, "what was seen is certain: {found:?}");
    }

    #[test]
    fn what_the_sample_does_not_show_widens_everything() {
        // Of 1,000 accesses the sample shows ten, and no hand-over of 7.
        let sample = Sample::new(4, &(1000.0, vec![3.0, 3.0, 4.0]), &(7.0, vec![0.0; 3]));
        let total = sample.total(&[1.0, 1.0, 1.0], 100.0);
        assert!(total.high >= 4.0 * 60.0 + 700.0, "{total:?}");
        let share = sample.share(&[0.5, 0.5, 0.5], &[1.0, 1.0, 1.0], 100.0);
        assert!(share.low < 0.02 && share.high > 0.98, "{share:?}");
        let ratio = sample.ratio(&[0.5, 0.5, 0.5], &[1.0, 1.0, 1.0], (100.0, 0.0));
        assert!(ratio.high >= 700.0 / 4.0, "{ratio:?}");
    }

    /// Three pages that are alike may be all that is alike.
    #[test]
    fn few_pages_say_little_however_alike_they_are() {
        let of = |pages: usize| {
            Sample::of_pages(1024, &vec![(5.0, 1.0); pages], &References::default(), Certain::default())
                .share(&[1.0; 4], &[1.0; 4], 0.0)
        };
        assert_eq!((of(3), of(0).low), (Interval { low: 0.0, high: 1.0 }, 0.0));
        assert!((of(300).low - 0.99).abs() < 1e-9, "{:?}", of(300));
    }

    /// Sixteen groups of ten pages, one in four: 6,400 references are what 40 pages like them have, give or take thrice the root of 4 * 3 * 160 * 10^2
    /// or 1,315; 20,000 are not.
    #[test]
    fn references_that_no_drawn_page_is_like_may_cost_anything() {
        let of = |all, extra: &[u64]| {
            let pages = (0..160).map(|page| (page % 16, 10)).chain(extra.iter().map(|refs| (0, *refs)));
            References::new(pages, (16, 4), all)
        };
        assert!(of(7_700, &[]).unlike < 1.0);
        assert!((of(20_000, &[]).unlike - 12_285.0).abs() < 1.0);
        assert!((of(20_000, &[2_000]).unlike - 10_285.0).abs() < 1.0, "a page that is used much was drawn, once");
        let sample = Sample::of_pages(64, &[(5.0, 10.0); 160], &of(20_000, &[]), Certain::default());
        let (total, share) = (sample.total(&[50.0; 16], 2.0), sample.share(&[25.0; 16], &[50.0; 16], 2.0));
        assert!(total.low < 3_200.0 && total.high > 3_200.0 + 24_570.0, "{total:?}");
        assert!(share.low < 1_600.0 / 27_770.0 && share.high > 26_170.0 / 27_770.0, "{share:?}");
    }

    /// Sixteen groups that cost 10 each, of 64, and two strata: 900 of 90 references and 10 unseen ones, 60 of 60.
    #[test]
    fn what_is_certain_is_added_and_scaled_by_nothing_but_what_was_left_out_before() {
        let certain = Certain { refs: vec![(90, 10), (60, 0)], all: 1600 };
        let pages = vec![(1.0, 1.0); 1_000_000];
        let sample = Sample::of_pages(64, &pages, &References::default(), certain);
        let values: Vec<f64> = std::iter::repeat_n(10.0, 16).chain([900.0, 60.0]).collect();
        let total = sample.total(&values, 5.0);
        assert!((total.low / 1600.0 - 1.0).abs() < 0.01, "{total:?}");
        assert!((total.high / (1600.0 + 2.0 * 100.0) - 1.0).abs() < 0.01, "{total:?}");
        let part: Vec<f64> = std::iter::repeat_n(5.0, 16).chain([900.0, 0.0]).collect();
        let (share, ratio) = (sample.share(&part, &values, 5.0), (320.0 + 900.0) / 1600.0);
        assert!(share.low < ratio && share.low > ratio - 0.07, "{share:?}");
        assert!(share.high > ratio && share.high < ratio + 0.07, "{share:?}");
    }

    /// Pages that cost 2 a reference, of which half as many references were drawn as there are in proportion.
    #[test]
    fn totals_hold_what_references_say_where_costs_follow_them() {
        let pages: Vec<(f64, f64)> = (0..160).map(|page| f64::from(page % 7 + 1)).map(|r| (2.0 * r, r)).collect();
        let refs = pages.iter().enumerate().map(|(i, (_, refs))| (i % 16, *refs as u64));
        let drawn: f64 = pages.iter().map(|(_, refs)| refs).sum();
        let references = References::new(refs, (16, 16), (drawn * 8.0) as u64);
        let sample = Sample::of_pages(256, &pages, &references, Certain::default());
        let values: Vec<f64> = references.sums.iter().map(|refs| refs * 2.0).collect();
        let total = sample.total(&values, 9.0);
        let true_total = drawn * 16.0; // of twice as many pages, what is drawn would say
        assert!(total.low < true_total && 2.0 * true_total < total.high && total.high < 2.8 * true_total, "{total:?}");
    }

    #[test]
    fn nothing_seen_says_nothing() {
        let sample = Sample::new(16, &(1.0, vec![0.0; 4]), &(0.0, vec![0.0; 4]));
        assert_eq!(sample.total(&[0.0; 4], 1.0), Interval { low: 0.0, high: f64::INFINITY });
        let empty = Sample::new(16, &(0.0, vec![0.0; 4]), &(0.0, vec![0.0; 4]));
        assert!(empty.total(&[0.0; 4], 1.0).high < 1e-9);
    }

    #[test]
    fn a_few_handovers_of_little_cost_change_little() {
        let sample = Sample::new(16, &(1600.0, vec![100.0; 4]), &(8.0, vec![0.0; 4]));
        let share = sample.share(&[3_000.0; 4], &[10_000.0; 4], 1.0);
        assert!(share.high - share.low < 1e-3 && share.low <= 0.3 && 0.3 <= share.high, "{share:?}");
        let total = sample.total(&[10_000.0; 4], 1.0);
        assert!((total.high - 160_008.0).abs() < 1e-6 && (total.low - 160_000.0).abs() < 1e-6, "{total:?}");
    }

    #[test]
    fn what_it_shows_too_often_widens_everything() {
        let sample = Sample::new(4, &(10.0, vec![4.0, 4.0]), &(0.0, vec![1.0, 1.0]));
        let total = sample.total(&[2.0, 2.0], 0.5);
        assert!(total.low <= 8.0 * 10.0 / 16.0 && total.high >= 8.0, "{total:?}");
        let share = sample.share(&[0.5, 0.5], &[1.0, 1.0], 0.0);
        assert!(share.low <= 0.3 && share.high >= 0.7, "{share:?}");
    }

    /// Nineteen intervals in twenty hold the truth.
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = Rng::new(3);
        let (mut totals, mut ratios, rounds) = (0, 0, 2_000);
        for _ in 0..rounds {
            let whole: Vec<f64> = (0..16).map(|_| 100.0 + rng.below(50) as f64 + rng.below(50) as f64).collect();
            let part: Vec<f64> = whole.iter().map(|w| w * (0.4 + rng.below(100) as f64 / 1000.0)).collect();
            // The values are drawn independently, so the first four are as good as any.
            let (sample, truth) = (plain(16), part.iter().sum::<f64>());
            let (total, ratio) = (sample.total(&part[..4], 0.0), sample.share(&part[..4], &whole[..4], 0.0));
            totals += i32::from(total.low <= truth && truth <= total.high);
            let truth = truth / whole.iter().sum::<f64>();
            ratios += i32::from(ratio.low <= truth && truth <= ratio.high);
        }
        assert!(totals >= rounds * 93 / 100 && totals < rounds * 98 / 100, "{totals} of {rounds}");
        assert!(ratios >= rounds * 92 / 100 && ratios < rounds * 98 / 100, "{ratios} of {rounds}");
    }
}
