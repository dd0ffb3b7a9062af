//! What-if: a change to the program as a transform of its trace, replayed through the same filter and engine.
//!
//! There is no formula for the worth of a change. Whoever wants to know it replays the trace as the changed program would
//! have made it. Transforms compose: they are applied to each reference in the order of [`Transform`]'s variants, first
//! *who* references, then *where*; what concerns the placement alone is left to the engine.
mod attribute;
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
use crate::front::Front;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::split::for_pieces;
use attribute::Attribution;
use copies::Copies;
use gather::Gathered;
use homenode_analysis::{BlockReference, Locked, Transform};
use homenode_base::TotalCost;
use homenode_base::spaces::tag;
use homenode_placement::Tally;
use homenode_threads::ThreadBinding;
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
    rewriter: Rewriter,
    replay: Replay<'m, PlacedConsumer<'m>, ()>,
    /// What is replayed, if it is not all.
    part: Option<Part>,
}

/// Blocks of some [colours](crate::colours).
struct Part {
    /// Of a block's number, what says whether the block is replayed: it must be `colour`.
    mask: u64,
    colour: u64,
    block_shift: u32,
    front: Front,
}

impl Part {
    /// The next reference, which has moved to this address.
    #[inline]
    fn moved(&mut self, r: &Merged, addr: u64, mut each: impl FnMut(&BlockReference)) {
        let Part { mask, colour, block_shift, front } = self;
        let Some((_, t)) = front.reference(r) else { return };
        for_pieces(addr, r.size, *block_shift, |piece| {
            if piece.addr >> *block_shift & *mask == *colour {
                let (number, site, thread, op) = (t.0, r.site, r.thread, r.op);
                let (addr, size) = (piece.addr, (piece.last - piece.addr) as u32 + 1);
                let locked = Locked::default();
                each(&BlockReference { addr, number, locked, size, site, thread, op, begins: true });
            }
        });
    }
}

/// What replays the changed program, and which part of it.
struct Replayed<'r, 'm> {
    replay: &'r mut Replay<'m, PlacedConsumer<'m>, ()>,
    part: &'r mut Option<Part>,
}

impl Replayed<'_, '_> {
    #[inline(never)]
    fn reference(&mut self, r: &Merged) {
        self.moved(r, r.addr);
    }
    /// The next reference, which has moved to this address.
    #[inline(always)]
    fn moved(&mut self, r: &Merged, addr: u64) {
        match self.part {
            None => self.replay.moved(r, addr),
            Some(part) => part.moved(r, addr, |r| self.replay.block_reference(r)),
        }
    }
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
        WhatIf::of_colour(setup, transforms, (1, 0))
    }
    /// A replay of the program's blocks of one colour, of so many, with changes of these blocks that give them other homes or users:
    /// [`WhatIf::refs`] is to be told of references to them alone.
    ///
    /// # Errors
    /// As [`WhatIf::new`].
    pub(crate) fn of_colour(
        setup: Setup<'m>,
        transforms: &[Transform],
        part: (u64, u64),
    ) -> Result<WhatIf<'m>, SimError> {
        // The rewritten references have flat addresses already.
        let bindings: Vec<ThreadBinding> =
            setup.bindings.iter().map(|binding| ThreadBinding { space: 0, ..*binding }).collect();
        let consumer = PlacedConsumer::new(transforms, setup.machine, setup.block_bytes)?;
        let flat = Setup { bindings: &bindings, ..setup };
        Ok(WhatIf {
            rewriter: Rewriter::new(transforms, setup, part),
            replay: Replay::new(flat, (setup.machine, setup.waits), consumer, ())?,
            part: None,
        })
    }
    /// Replays in so many parts, a power of two not above [`colours`](crate::colours::colours): what all of them predict together is
    /// what one replay of all predicts.
    ///
    /// # Errors
    /// As [`WhatIf::new`].
    pub(crate) fn parts(setup: Setup<'m>, transforms: &[Transform], parts: u64) -> Result<Vec<WhatIf<'m>>, SimError> {
        let bindings: Vec<ThreadBinding> = setup.bindings.iter().map(|b| ThreadBinding { space: 0, ..*b }).collect();
        let block_shift = setup.block_bytes.trailing_zeros();
        let part = |colour| Part { mask: parts - 1, colour, block_shift, front: Front::new(&bindings) };
        let run = |colour| {
            let part = (parts > 1).then(|| part(colour));
            Ok(WhatIf { part, ..WhatIf::new(setup, transforms)? })
        };
        (0..parts).map(run).collect()
    }
    /// The next references of the recorded program, in merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        let WhatIf { rewriter, replay, part } = self;
        let mut replayed = Replayed { replay, part };
        for r in refs {
            let space_tag = rewriter.space_tags.get(r.thread as usize).copied().unwrap_or(0);
            match rewriter.only_moves(r, r.addr ^ space_tag) {
                Some(addr) => replayed.moved(r, addr),
                None => rewriter.rewrite(r, space_tag, &mut |r| replayed.reference(r)),
            }
        }
    }
    /// Ends the replay.
    ///
    /// # Errors
    /// As [`Engine::finish`](crate::Engine::finish).
    pub fn finish(mut self) -> Result<Predicted, SimError> {
        let WhatIf { rewriter, replay, part } = &mut self;
        let mut replayed = Replayed { replay, part };
        rewriter.finish(&mut |r| replayed.reference(r));
        let mut done = self.replay.finish()?;
        if let Some(part) = self.part.filter(|part| part.colour == 0) {
            part.front.finish(&mut done.totals);
        }
        Ok(Predicted { tally: done.consumers.finish(), totals: done.totals })
    }
}
