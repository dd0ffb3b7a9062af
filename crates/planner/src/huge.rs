//! Huge pages: where the recording knows of some, their parts live together unless splitting pays; where it knows of
//! none, what they would do to a plan made for small pages.
use crate::chooser::HomeChooser;
use crate::unit::{Unit, join};
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{Location, ThreadMap};
use homenode_placement::assign::{Split, SplitTerms, split};
use homenode_placement::counts::{Counts, PageKey};
use homenode_placement::plan::HugePages;
use homenode_trace::Manifest;
use homenode_trace::event::EventKind;
use homenode_trace::manifest::HugeRange;
use std::collections::BTreeMap;

/// Usual size of a huge page.
const HUGE: u64 = 2 << 20;
/// Largest page of any supported machine.
const LARGEST: u64 = 16 << 30;
/// Flag of mmap(2) for explicit huge pages.
const MAP_HUGETLB: u32 = 0x4_0000;
/// Where in the flags the binary logarithm of their size stands, 0 for the usual one.
const SIZE_SHIFT: u32 = 26;

/// Memory in huge pages, by address space and first byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct HugeRanges(BTreeMap<(u32, u64), (u64, u64)>);

impl HugeRanges {
    /// What the recorder saw, and what the program mapped with explicit huge pages.
    pub(crate) fn of(manifest: &Manifest, events: &homenode_trace::Events) -> HugeRanges {
        let space = |process: u32| manifest.processes.get(process as usize).map(|p| p.address_space);
        let mut known = BTreeMap::new();
        for HugeRange { process, addr, bytes, page_bytes } in &manifest.huge_pages {
            known.extend(space(*process).map(|s| ((s, *addr), (addr.saturating_add(*bytes), *page_bytes))));
        }
        for event in events {
            if let EventKind::Map { addr, bytes, flags, .. } = event.kind
                && flags & MAP_HUGETLB != 0
            {
                let size = match flags >> SIZE_SHIFT & 63 {
                    0 => HUGE,
                    log => 1u64 << log,
                };
                let thread = manifest.threads.get(event.thread as usize);
                known.extend(
                    thread.and_then(|t| space(t.process)).map(|s| ((s, addr), (addr.saturating_add(bytes), size))),
                );
            }
        }
        // Sizes come from outside.
        known.retain(|_, (_, size)| size.is_power_of_two() && (HUGE..=LARGEST).contains(size));
        HugeRanges(known)
    }

    /// The huge page that holds an address wholly: first byte and size.
    fn holds(&self, space: u32, addr: u64) -> Option<(u64, u64)> {
        let ((of, from), (end, size)) = self.0.range(..=(space, addr)).next_back()?;
        let first = addr & !(size - 1);
        (*of == space && first >= *from && first.checked_add(*size)? <= *end).then_some((first, *size))
    }
}

/// Makes one unit of the small pages of each huge page, unless splitting it pays. `None` if none is known.
pub(crate) fn join_known(
    units: Vec<Unit>,
    known: &HugeRanges,
    chooser: &HomeChooser<'_>,
) -> (Vec<Unit>, Option<HugePages>) {
    let mut found = HugePages::default();
    let mut groups: BTreeMap<(u32, u64), Vec<Unit>> = BTreeMap::new();
    let mut out = Vec::with_capacity(units.len());
    for unit in units {
        let single = unit.placeable && unit.pages.len() == 1;
        let page = unit.pages.first().filter(|_| single);
        let huge = page.and_then(|p| Some((p.space, known.holds(p.space, p.page.checked_mul(chooser.page_bytes)?)?)));
        match huge.filter(|(_, (_, size))| *size > chooser.page_bytes) {
            Some((space, (first, size))) => {
                found.page_bytes = found.page_bytes.max(size);
                groups.entry((space, first)).or_default().push(unit);
            }
            None => out.push(unit),
        }
    }
    for parts in groups.into_values() {
        found.pages += 1;
        let prices: Vec<Vec<TotalCost>> = parts.iter().map(|u| chooser.distances.costs(&u.uses)).collect();
        let gain = paying(&prices, chooser).filter(|s| s.gain > TotalCost::ZERO).map(|s| s.gain);
        match gain {
            Some(gain) => {
                (found.split, found.gain) = (found.split + 1, found.gain + gain);
                out.extend(parts);
            }
            None => {
                found.whole += 1;
                out.extend(parts.into_iter().reduce(|mut whole, part| {
                    join(&mut whole, part);
                    whole
                }));
            }
        }
    }
    out.sort_by_key(|u| u.pages.first().copied());
    let some = found.pages > 0;
    (out, some.then_some(found))
}

/// Both ways of placing a huge page. Splitting is charged as copying those small pages that go elsewhere; what it costs in
/// translations is not known here and said so.
fn paying(prices: &[Vec<TotalCost>], chooser: &HomeChooser<'_>) -> Option<Split> {
    let copy = chooser.copy_cost(Location::Node(NodeId(0)), Location::Node(NodeId(1)));
    let free = split(prices, 0, SplitTerms::default())?;
    let moved = free.homes.iter().filter(|k| **k != free.whole_home).count() as i64;
    split(prices, 0, SplitTerms { once: Cost(copy.0.saturating_mul(moved)), per_use: Cost::ZERO })
}

/// A sentence about the huge pages that would hold small pages with different homes, if there are some.
pub(crate) fn note(counts: &Counts, chooser: &HomeChooser<'_>, map: &ThreadMap) -> Option<String> {
    if counts.page_bytes() >= HUGE {
        return None;
    }
    let node_of = |t: homenode_base::ThreadId| map.bindings().get(t.index()).map_or(NodeId(u16::MAX), |s| s.node);
    let by = (HUGE / counts.page_bytes()).trailing_zeros();
    let mut huge: BTreeMap<PageKey, Vec<Vec<TotalCost>>> = BTreeMap::new();
    for (key, uses) in counts.sorted() {
        let entry = huge.entry(PageKey { space: key.space, page: key.page >> by }).or_default();
        entry.push(chooser.distances.costs(&uses.by_node(chooser.machine.nodes(), node_of)));
    }
    let (mut whole, mut apart, mut pays) = (TotalCost::ZERO, TotalCost::ZERO, 0);
    for prices in huge.values() {
        let found = paying(prices, chooser)?;
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
