//! What huge pages would do to a plan made for small ones.
use super::decide::Judge;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{Location, ThreadMap};
use homenode_placement::assign::{SplitTerms, split};
use homenode_placement::counts::{Counts, PageKey};
use std::collections::BTreeMap;

/// Usual size of a huge page.
const HUGE: u64 = 2 << 20;

/// A sentence about the huge pages that hold small pages with different homes, if there are some. Splitting is charged
/// as copying those small pages that go elsewhere; what it costs in translations is not known here and said so.
pub(super) fn note(counts: &Counts, judge: &Judge<'_>, map: &ThreadMap) -> Option<String> {
    if counts.page_bytes() >= HUGE || judge.machine.nodes() < 2 {
        return None;
    }
    let node_of = |t: homenode_base::ThreadId| map.seats().get(t.index()).map_or(NodeId(u16::MAX), |s| s.node);
    let by = (HUGE / counts.page_bytes()).trailing_zeros();
    let mut huge: BTreeMap<PageKey, (Vec<Vec<TotalCost>>, u64)> = BTreeMap::new();
    for (key, uses) in counts.sorted() {
        let entry = huge.entry(PageKey { space: key.space, page: key.page >> by }).or_default();
        entry.0.push(judge.distances.costs(&uses.by_node(judge.machine.nodes(), node_of)));
        entry.1 = entry.1.saturating_add(uses.total());
    }
    let copy = judge.machine.copy_cost(counts.page_bytes(), Location::Node(NodeId(0)), Location::Node(NodeId(1)));
    let (mut whole, mut apart, mut pays) = (TotalCost::ZERO, TotalCost::ZERO, 0);
    for (prices, uses) in huge.values() {
        let free = split(prices, *uses, SplitTerms::default())?;
        let moved = free.homes.iter().filter(|k| **k != free.whole_home).count() as i64;
        let terms = SplitTerms { once: Cost(copy.0.saturating_mul(moved)), per_use: Cost::ZERO };
        let found = split(prices, *uses, terms)?;
        whole += found.whole;
        apart += found.whole - TotalCost(found.gain.0.max(0));
        pays += u64::from(found.gain > TotalCost::ZERO);
    }
    let more = 100.0 * (whole.ratio_to(apart) - 1.0);
    let (total, size) = (huge.len(), HUGE >> 20);
    (pays > 0).then(|| {
        format!(
            "if the kernel backs this memory with {size} MiB pages, splitting pays for {pays} of {total} after copying \
             (left whole, memory accesses cost {more:.1} % more); longer translations are not counted"
        )
    })
}
