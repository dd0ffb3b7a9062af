//! Whether a huge page should be split into small ones that live in different places.
use homenode_base::{Cost, TotalCost};

/// What splitting costs, in the unit of the prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitTerms {
    /// Once: taking the mapping apart, and copying what goes elsewhere.
    pub once: Cost,
    /// More per use afterwards, for the translations that no longer fit (0 = unknown).
    pub per_use: Cost,
}

/// Both ways of placing one huge page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Best home of the whole.
    pub whole_home: usize,
    /// Price of the whole at that home.
    pub whole: TotalCost,
    /// Best home of each small page.
    pub homes: Vec<usize>,
    /// Prices of the small pages together, without what splitting costs.
    pub split: TotalCost,
    /// What splitting gains after its costs; negative if it does not pay.
    pub gain: TotalCost,
}

/// Compares the best home of a huge page with the best homes of its small pages: `prices` names the price of each at each
/// home, `uses` how often the whole is used. `None` without a page or a home. Equal prices go to the lowest home, the home
/// of the whole before that.
pub fn split(prices: &[Vec<TotalCost>], uses: u64, terms: SplitTerms) -> Option<Split> {
    let homes = prices.iter().map(Vec::len).min().filter(|n| *n > 0)?;
    let sum = |k: usize| -> TotalCost { prices.iter().map(|p| p[k]).sum() };
    let whole_home = (0..homes).min_by_key(|k| sum(*k))?;
    let best = |p: &Vec<TotalCost>| (0..homes).min_by_key(|k| (p[*k], *k != whole_home, *k)).unwrap_or(whole_home);
    let own: Vec<usize> = prices.iter().map(best).collect();
    let apart: TotalCost = prices.iter().zip(&own).map(|(p, k)| p[*k]).sum();
    let whole = sum(whole_home);
    let gain = whole - apart - TotalCost::from(terms.once) - terms.per_use.times(uses);
    Some(Split { whole_home, whole, homes: own, split: apart, gain })
}
