//! The pages of a recording of some: which there are, in what caches they are replayed, and where they lie there.
use crate::SimError;
use crate::front::Front;
use crate::split::Pieces;
use homenode_base::pages::Drawn;
use homenode_base::spaces::unflatten;
use homenode_machine::{CacheGeometry, Machine};
use homenode_threads::ThreadBinding;
use homenode_trace::manifest::CertainPages;
use homenode_trace::order::Stream;
use homenode_trace::{Merged, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// Groups of pages: enough that the spread of their sums is known, few enough that each has many pages.
pub(super) const GROUPS: u32 = 16;

/// Capacities at which a miniature cache is tried, beside what is in proportion to the pages: as far as these differ, what caches barely
/// hold decides, and no miniature is right.
pub(super) const CAPACITIES: [f64; 3] = [1.0, 0.8, 1.25];

/// How much fewer and more pages may have been drawn than one in so many, as far as capacities follow their references.
const PART_OF_DRAWN: (f64, f64) = (0.8, 1.25);

/// Pages drawn for a recording, and those that it has besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDraw {
    /// Which pages.
    pub drawn: Drawn,
    /// References to other pages that the recording does not have.
    pub left_out: u64,
    /// Buckets of pages that it has whether they were drawn or not, ascending.
    pub certain: Vec<CertainPages>,
    /// Bytes by which addresses are displaced before their pages are drawn, a multiple of the page's: of a whole recording, each
    /// displacement draws other pages. 0 for what the recorder drew.
    pub displaced: u64,
}

/// Pages that were drawn and pages that are certain are looked at apart.
pub(super) const LOTS: usize = 2;

impl PageDraw {
    /// What the recorder drew.
    pub fn recorded(drawn: Drawn, left_out: u64) -> PageDraw {
        PageDraw { drawn, left_out, certain: Vec::new(), displaced: 0 }
    }
    /// Which lot has the page of an address, and which of its groups.
    #[inline]
    pub(super) fn group(&self, flat: u64) -> Option<(usize, usize)> {
        let addr = unflatten(flat).1.wrapping_add(self.displaced);
        if !self.certain.is_empty()
            && let Ok(number) = self.certain.binary_search_by_key(&self.drawn.bucket(addr), |c| c.bucket)
        {
            return Some((1, number));
        }
        self.drawn.group(addr, GROUPS).map(|group| (0, group))
    }
    /// So many groups has a lot.
    pub(super) fn groups(&self, lot: usize) -> usize {
        if lot == 0 { GROUPS as usize } else { self.certain.len() }
    }
    /// By lot, the machine with caches of the capacities that are tried. Those of drawn pages are in proportion to the references that they have
    /// of all but those to certain ones, as far as that is not too unlike one in so many: pages are often as many more, or fewer.
    pub(super) fn machines(&self, machine: &Machine, census: &Census) -> [[Machine; CAPACITIES.len()]; LOTS] {
        let before: u64 = self.certain.iter().map(|c| c.left_out).sum();
        let rest = (census.all + self.left_out).saturating_sub(before + census.refs(1)) as f64;
        let share = census.refs(0) as f64 / rest.max(1.0);
        let one_in = f64::from(self.drawn.one_in());
        let part = (share * one_in).clamp(PART_OF_DRAWN.0, PART_OF_DRAWN.1) / one_in;
        [part, 1.0].map(|part| CAPACITIES.map(|capacity| smaller(machine, part * capacity)))
    }
    /// For how many references one to a page of a lot stands.
    pub(super) fn stands_for(&self, lot: usize) -> u32 {
        if lot == 0 { self.drawn.one_in() } else { 1 }
    }
}

/// The machine with caches of such a part of the sets; where that is less than one set, of fewer ways.
fn smaller(machine: &Machine, part: f64) -> Machine {
    let mut small = machine.clone();
    if let Some(caches) = &mut small.sections.caches {
        let line_bytes = u64::from(caches.line_bytes);
        let shrink = |g: &mut CacheGeometry| {
            let sets = (g.bytes / (u64::from(g.ways) * line_bytes).max(1)) as f64 * part;
            if sets < 1.0 {
                g.ways = (f64::from(g.ways) * sets).ceil().max(1.0) as u32;
            }
            g.bytes = (sets as u64).max(1) * u64::from(g.ways) * line_bytes;
        };
        shrink(&mut caches.private);
        shrink(&mut caches.shared);
    }
    small
}

/// What a stream has, counted before it is replayed.
pub(super) struct Census {
    /// By lot, references by page.
    pub(super) pages: [HashMap<u64, u64>; LOTS],
    /// References to any page.
    pub(super) all: u64,
}

impl Census {
    pub(super) fn new(
        stream: &mut dyn Stream,
        (bindings, shift): (&[ThreadBinding], u32),
        draw: &PageDraw,
    ) -> Result<Census, SimError> {
        let (mut front, mut pages) = (Front::new(bindings), [HashMap::new(), HashMap::new()]);
        // References to the last page, of its lot, that are not in its count yet.
        let (mut last, mut of, mut run) = (u64::MAX, 0, 0);
        while let Some(piece) = stream.pull()? {
            for r in piece.refs {
                let mut begins = true;
                pieces(&mut front, draw, shift, r, |lot, addr, _| {
                    let page = addr & !(draw.drawn.page_bytes() - 1);
                    if page != last {
                        if last != u64::MAX {
                            *pages[of].entry(last).or_default() += run;
                        }
                        (last, of, run) = (page, lot, 0);
                    }
                    run += u64::from(begins);
                    begins = false;
                });
            }
        }
        if last != u64::MAX {
            *pages[of].entry(last).or_default() += run;
        }
        Ok(Census { pages, all: front.time })
    }
    pub(super) fn refs(&self, lot: usize) -> u64 {
        self.pages[lot].values().sum()
    }
}

/// Pages of a lot side by side in the order of their addresses: as arrays fill the sets of a cache evenly, and those of their pages that
/// were drawn at random would not.
pub(super) struct Together {
    pub(super) draw: Arc<PageDraw>,
    lot: usize,
    /// By their number, the flat addresses of pages, ascending.
    pub(super) pages: Vec<u64>,
}

impl Together {
    pub(super) fn new(draw: &Arc<PageDraw>, lot: usize, counts: &HashMap<u64, u64>) -> Together {
        let mut pages: Vec<u64> = counts.keys().copied().collect();
        pages.sort_unstable();
        Together { draw: draw.clone(), lot, pages }
    }
    pub(super) fn bytes(&self) -> u64 {
        self.draw.drawn.page_bytes()
    }
    pub(super) fn groups(&self) -> usize {
        self.draw.groups(self.lot)
    }
    /// The flat address of one among the pages side by side.
    pub(super) fn flat(&self, addr: u64) -> u64 {
        let (number, offset) = (addr / self.bytes(), addr % self.bytes());
        self.pages.get(number as usize).copied().unwrap_or(0) | offset
    }
    /// The number that a block has among the pages side by side, if its page is one of them.
    pub(super) fn block(&self, number: u64, block_shift: u32) -> Option<u64> {
        let addr = number << block_shift;
        let offset = addr & (self.bytes() - 1);
        let page = self.pages.binary_search(&(addr - offset)).ok()?;
        Some((page as u64 * self.bytes() + offset) >> block_shift)
    }
    /// The group of an address among the pages side by side.
    pub(super) fn group(&self, addr: u64) -> usize {
        self.draw.group(self.flat(addr)).map_or(0, |(_, group)| group)
    }
}

/// Calls `each` with the lots and flat addresses of a reference's parts in pages that count, block by block, and so many bytes beyond each.
#[inline]
pub(super) fn pieces(
    front: &mut Front,
    draw: &PageDraw,
    shift: u32,
    r: &Merged,
    mut each: impl FnMut(usize, u64, u64),
) {
    let Some((place, _)) = front.reference(r) else { return };
    if r.op == Op::Spin {
        return;
    }
    for piece in Pieces::new(r.addr, r.size, shift) {
        let flat = piece.addr ^ place.space_tag;
        if let Some((lot, _)) = draw.group(flat) {
            each(lot, flat, piece.last - piece.addr);
        }
    }
}
