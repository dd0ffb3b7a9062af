//! What-if: a change to the program as a transform of its trace, replayed through the same filter and engine.
//!
//! There is no formula for the worth of a change. Whoever wants to know it replays the trace as the changed program would
//! have made it. Transforms compose: they are applied to each reference in the order of [`Transform`]'s variants, first
//! *who* references, then *where*; what concerns the placement alone is left to the engine.
mod attribute;
mod changed;
mod copies;
mod gather;
mod moves;
mod pad;
mod placed;
#[cfg(test)]
mod rewrite_tests;
mod together;
mod units;
mod young;

use crate::SimError;
use crate::evaluation::Totals;
use crate::setup::Setup;
use attribute::Attribution;
pub(crate) use changed::Changed;
use copies::Copies;
use gather::Gathered;
use homenode_analysis::Transform;
use homenode_base::TotalCost;
use homenode_base::spaces::tag;
use homenode_placement::Tally;
use homenode_trace::Merged;
use moves::{Move, Regrouped};
use pad::Padding;
pub(crate) use placed::PlacedConsumer;

/// The transforms of one what-if that change references. Its input has addresses as recorded, its output flat ones.
#[derive(Clone, Debug)]
struct Rewriter {
    space_tags: Vec<u64>,
    /// By thread.
    cpus: Vec<u16>,
    attribution: Attribution,
    gathered: Vec<Gathered>,
    copies: Vec<Copies>,
    moves: Vec<Move>,
}

impl Rewriter {
    /// Of the whole program, of which there is one part, or of a part: of so many colours, the blocks of this one.
    fn new(transforms: &[Transform], setup: Setup<'_>, part: (u64, u64)) -> Rewriter {
        // Without simulated caches it does not matter what is done at the same time.
        let caches = setup.machine.sections.caches.as_ref().filter(|_| setup.options.sampled.is_none());
        let mut attribution = Attribution::new(caches.map(|c| c.line_bytes.trailing_zeros()));
        let (mut gathered, mut copies, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        let block_shift = setup.block_bytes.trailing_zeros();
        let line_bytes = setup.machine.sections.caches.as_ref().map_or(64, |c| u64::from(c.line_bytes));
        for (transform, area) in transforms.iter().zip(0..) {
            // Threads that the dataset does not have make nothing.
            let known = |given: &[(u64, u32)]| {
                given
                    .iter()
                    .filter(|(_, t)| (*t as usize) < setup.bindings.len())
                    .copied()
                    .collect::<Vec<_>>()
                    .into_iter()
            };
            match transform {
                Transform::InitialiseInParallel { blocks } => attribution.give(known(blocks), block_shift, false),
                Transform::KeepParts { blocks } => attribution.give(known(blocks), block_shift, true),
                Transform::OneBlockPerThread { units, unit_bytes } => {
                    let shift = unit_bytes.trailing_zeros();
                    attribution.give(known(units), shift, false);
                    gathered.push(Gathered::new(units, shift, setup.block_bytes, gathered.len() as u32));
                }
                Transform::PadElements { arrays, element_bytes, to_bytes } => {
                    moves.push(Move::Pad(Padding::new(arrays, *element_bytes, *to_bytes, area)));
                }
                Transform::Regroup { parts, line_bytes } => {
                    moves.push(Move::Regroup(Regrouped::new(parts, *line_bytes, area)));
                }
                Transform::DealBlocks { arrays, element_bytes, line_bytes } => {
                    moves.push(Move::Deal(moves::deal(arrays, *element_bytes, *line_bytes, area)));
                }
                Transform::CopyPerProcessor { ranges } => {
                    moves.push(Move::Copy(moves::Copies::new(ranges, line_bytes, area)));
                }
                Transform::CopyPerNode { blocks, makers, making } => {
                    let area = copies.len() as u32;
                    copies.push(Copies::new(blocks, makers, *making, setup, (area, part)));
                }
                Transform::Rehome { .. } => {}
            }
        }
        Rewriter {
            space_tags: setup.bindings.iter().map(|s| tag(s.space)).collect(),
            cpus: setup.bindings.iter().map(|s| s.cpu).collect(),
            attribution,
            gathered,
            copies,
            moves,
        }
    }

    /// Where a reference to flat address `addr` goes, if no change does anything else with it; which is so of most.
    #[inline(always)]
    fn only_moves(&self, r: &Merged, addr: u64) -> Option<u64> {
        let passes = self.gathered.is_empty() && self.moves.is_empty() && self.attribution.passes(addr, r);
        match self.copies.as_slice() {
            _ if !passes => None,
            [] => Some(addr),
            [only] => only.only_moves(r, addr),
            _ => None,
        }
    }

    /// Hands on the references that the changed program makes instead of this one.
    #[inline(never)]
    fn rewrite(&mut self, r: &Merged, space_tag: u64, out: &mut impl FnMut(&Merged)) {
        let Rewriter { cpus, attribution, gathered, copies, moves, .. } = self;
        let flat = Merged { addr: r.addr ^ space_tag, ..*r };
        attribution.push(&flat, &mut |r| place(gathered, copies, moves, cpus, r, out));
    }

    /// Hands on what was held back of them.
    fn finish(&mut self, out: &mut impl FnMut(&Merged)) {
        let Rewriter { cpus, attribution, gathered, copies, moves, .. } = self;
        attribution.finish(&mut |r| place(gathered, copies, moves, cpus, r, out));
        moves.iter_mut().for_each(|m| m.finish(out));
    }
}

/// Where a reference goes: to its thread's block, to the copy that it is meant for, to where a change of layout has moved it.
fn place(
    gathered: &[Gathered],
    copies: &mut [Copies],
    moves: &mut [Move],
    cpus: &[u16],
    r: &Merged,
    out: &mut impl FnMut(&Merged),
) {
    match (gathered, copies) {
        ([], [only]) if moves.is_empty() => only.push(r, out),
        ([], []) => moves::apply(moves, r, cpus.get(r.thread as usize).copied().unwrap_or(0), out),
        ([], [first, rest @ ..]) => first.push(r, &mut |r| place(&[], rest, moves, cpus, r, out)),
        ([first, rest @ ..], copies) => first.push(r, &mut |r| place(rest, copies, moves, cpus, r, out)),
    }
}

/// One what-if: the program with these changes, under first touch.
pub struct WhatIf<'m> {
    inner: Changed<'m, ()>,
}

/// What the changed program would cost.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Placement costs.
    pub tally: Tally,
    /// What was replayed; references may have been cut into pieces.
    pub totals: Totals,
}

impl Predicted {
    /// Everything, transfers included.
    pub fn total(&self) -> TotalCost {
        self.tally.total() + self.totals.transfer_cost
    }
    /// Adds what was replayed of blocks of other colours.
    pub(crate) fn absorb(&mut self, other: &Predicted) {
        self.tally.add(&other.tally);
        self.totals.absorb(&other.totals);
    }
}

impl<'m> WhatIf<'m> {
    /// A replay of the program with these changes; with none, it is first touch as recorded.
    ///
    /// # Errors
    /// As [`Engine::new`](crate::Engine::new).
    pub fn new(setup: Setup<'m>, transforms: &[Transform]) -> Result<WhatIf<'m>, SimError> {
        Ok(WhatIf { inner: Changed::new(setup, transforms, (1, 0), ())? })
    }
    /// The next references of the recorded program, in merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        self.inner.refs(refs);
    }
    /// Ends the replay.
    ///
    /// # Errors
    /// As [`Engine::finish`](crate::Engine::finish).
    pub fn finish(self) -> Result<Predicted, SimError> {
        self.inner.finish().map(|(predicted, ())| predicted)
    }
}
