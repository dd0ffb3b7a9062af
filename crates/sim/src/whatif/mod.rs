//! What-if: a change to the program as a transform of its trace, replayed through the same filter and engine.
//!
//! There is no formula for the worth of a change. Whoever wants to know it replays the trace as the changed program would
//! have made it. Transforms compose: they are applied to each reference in the order of [`Transform`]'s variants, first
//! *who* references, then *where*; what concerns the placement alone is left to the engine.
mod attribute;
mod copies;
mod pad;
mod placed;
mod together;
mod young;

use crate::SimError;
use crate::engine::Setup;
use crate::evaluation::Totals;
use crate::replay::Replay;
use crate::seat::{Seat, salt};
use attribute::Attribution;
use copies::Copies;
use homenode_analysis::{Making, Remedy};
use homenode_base::TotalCost;
use homenode_machine::Location;
use homenode_placement::Tally;
use homenode_trace::Merged;
use pad::Padding;
use placed::PlacedLane;

/// One change. Addresses and block numbers are flat (of one address space: as recorded).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// What initialises each block is done by the thread given for it: what a parallel initialisation would do. A
    /// reference initialises if the block's first thread makes it before any other thread has touched the block, or if
    /// it is a plain write to words that nobody has touched.
    InitialiseInParallel {
        /// (block number, thread that uses it).
        blocks: Vec<(u64, u32)>,
    },
    /// Array elements move apart into memory of their own: element `i` of the array at `addr` lies at
    /// `fresh + i * to_bytes`. Bytes outside the elements stay where they are.
    PadElements {
        /// (address of the first element, number of elements).
        arrays: Vec<(u64, u64)>,
        /// Stride today, at least 1.
        element_bytes: u64,
        /// Stride afterwards, at least `element_bytes`.
        to_bytes: u64,
    },
    /// These blocks live at these places instead of where they are first touched.
    Rehome {
        /// (block number, home).
        homes: Vec<(u64, Location)>,
    },
    /// Each node that uses these blocks has a copy of its own, the home's node the original; reads go to the reader's copy,
    /// writes after the initialisation to all. What making the copies costs is part of the replay.
    CopyPerNode {
        /// Block numbers, ascending.
        blocks: Vec<u64>,
        /// The thread that makes the copy, one for each node that gets one.
        makers: Vec<u32>,
        /// How.
        making: Making,
    },
}

impl From<&Remedy> for Transform {
    fn from(remedy: &Remedy) -> Transform {
        match remedy.clone() {
            Remedy::InitialiseInParallel { blocks } => Transform::InitialiseInParallel { blocks },
            Remedy::PadElements { arrays, element_bytes, to_bytes } => {
                Transform::PadElements { arrays, element_bytes, to_bytes }
            }
            Remedy::CopyPerNode { blocks, makers, making } => Transform::CopyPerNode { blocks, makers, making },
        }
    }
}

/// The transforms of one what-if that change references. Its input has addresses as recorded, its output flat ones.
#[derive(Clone, Debug)]
struct Rewriter {
    salts: Vec<u64>,
    attribution: Attribution,
    copies: Vec<Copies>,
    padding: Vec<Padding>,
}

impl Rewriter {
    fn new(transforms: &[Transform], setup: Setup<'_>) -> Rewriter {
        let (mut initialised, mut copies, mut padding) = (Vec::<(u64, u32)>::new(), Vec::new(), Vec::new());
        for transform in transforms {
            match transform {
                Transform::InitialiseInParallel { blocks } => initialised.extend(blocks.iter().copied()),
                Transform::PadElements { arrays, element_bytes, to_bytes } => {
                    padding.push(Padding::new(arrays, *element_bytes, *to_bytes, padding.len() as u32));
                }
                Transform::CopyPerNode { blocks, makers, making } => {
                    copies.push(Copies::new(blocks, makers, *making, setup, copies.len() as u32));
                }
                Transform::Rehome { .. } => {}
            }
        }
        // Without simulated caches it does not matter what is done at the same time.
        let caches = setup.machine.caches.as_ref().filter(|_| setup.options.sampled.is_none());
        let line_shift = caches.map(|c| c.line_bytes.trailing_zeros());
        initialised.retain(|(_, user)| (*user as usize) < setup.seats.len());
        Rewriter {
            salts: setup.seats.iter().map(|s| salt(s.space)).collect(),
            attribution: Attribution::new(&initialised, setup.block_bytes.trailing_zeros(), line_shift),
            copies,
            padding,
        }
    }

    /// The references that the changed program makes instead of these; `out` is cleared first.
    fn rewrite(&mut self, refs: &[Merged], out: &mut Vec<Merged>) {
        out.clear();
        let Rewriter { salts, attribution, copies, padding } = self;
        for r in refs {
            let salt = salts.get(r.thread as usize).copied().unwrap_or(0);
            let flat = Merged { addr: r.addr ^ salt, ..*r };
            attribution.push(flat, &mut |r| place(copies, padding, r, out));
        }
    }

    /// What was held back of them; `out` is cleared first.
    fn finish(&mut self, out: &mut Vec<Merged>) {
        out.clear();
        let Rewriter { attribution, copies, padding, .. } = self;
        attribution.finish(&mut |r| place(copies, padding, r, out));
    }
}

/// Where a reference goes: to the copy that it is meant for, else to where padding has moved it.
#[inline]
fn place(copies: &mut [Copies], padding: &[Padding], r: Merged, out: &mut Vec<Merged>) {
    match copies {
        [] => pad::pad(padding, r, &mut |r| out.push(r)),
        [first, rest @ ..] => first.push(r, &mut |r| place(rest, padding, r, out)),
    }
}

/// One what-if: the program with these changes, under first touch.
pub struct WhatIf<'m> {
    rewriter: Rewriter,
    replay: Replay<'m, PlacedLane<'m>, ()>,
    rewritten: Vec<Merged>,
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
}

impl<'m> WhatIf<'m> {
    /// A replay of the program with these changes; with none, it is first touch as recorded.
    ///
    /// # Errors
    /// As [`Engine::new`](crate::Engine::new).
    pub fn new(setup: Setup<'m>, transforms: &[Transform]) -> Result<WhatIf<'m>, SimError> {
        // The rewritten references have flat addresses already.
        let seats: Vec<Seat> = setup.seats.iter().map(|seat| Seat { space: 0, ..*seat }).collect();
        let lane = PlacedLane::new(transforms, setup.machine, setup.block_bytes)?;
        let flat = Setup { seats: &seats, ..setup };
        Ok(WhatIf {
            rewriter: Rewriter::new(transforms, setup),
            replay: Replay::new(flat, setup.machine, lane, ())?,
            rewritten: Vec::new(),
        })
    }
    /// The next references of the recorded program, in merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        self.rewriter.rewrite(refs, &mut self.rewritten);
        self.replay.refs(&self.rewritten);
    }
    /// Ends the replay.
    ///
    /// # Errors
    /// As [`Engine::finish`](crate::Engine::finish).
    pub fn finish(mut self) -> Result<Predicted, SimError> {
        self.rewriter.finish(&mut self.rewritten);
        self.replay.refs(&self.rewritten);
        let done = self.replay.finish()?;
        Ok(Predicted { tally: done.lanes.tally, totals: done.totals })
    }
}
