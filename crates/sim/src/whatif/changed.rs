//! The changed program, replayed, and somebody who watches.
use super::{PlacedConsumer, Predicted, Rewriter};
use crate::SimError;
use crate::front::Front;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::split::for_pieces;
use homenode_analysis::{BlockReference, Locked, Transform};
use homenode_threads::ThreadBinding;
use homenode_trace::Merged;

/// The program with some changes, under first touch.
pub(crate) struct Changed<'m, O> {
    rewriter: Rewriter,
    replay: Replay<'m, PlacedConsumer<'m>, O>,
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
struct Replayed<'r, 'm, O> {
    replay: &'r mut Replay<'m, PlacedConsumer<'m>, O>,
    part: &'r mut Option<Part>,
}

impl<O: Observer> Replayed<'_, '_, O> {
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

impl<'m, O: Observer> Changed<'m, O> {
    /// Of the whole program, of which there is one part, or of its blocks of one colour, of so many, with changes of these blocks that give
    /// them other homes or users: [`Changed::refs`] is to be told of references to them alone.
    ///
    /// # Errors
    /// As [`Engine::new`](crate::Engine::new).
    pub(crate) fn new(
        setup: Setup<'m>,
        transforms: &[Transform],
        part: (u64, u64),
        observer: O,
    ) -> Result<Changed<'m, O>, SimError> {
        // The rewritten references have flat addresses already.
        let bindings: Vec<ThreadBinding> =
            setup.bindings.iter().map(|binding| ThreadBinding { space: 0, ..*binding }).collect();
        let consumer = PlacedConsumer::new(transforms, setup.machine, setup.block_bytes)?;
        let flat = Setup { bindings: &bindings, ..setup };
        Ok(Changed {
            rewriter: Rewriter::new(transforms, setup, part),
            replay: Replay::new(flat, (setup.machine, setup.waits), consumer, observer)?,
            part: None,
        })
    }
    /// The next references of the recorded program, in merged order.
    pub(crate) fn refs(&mut self, refs: &[Merged]) {
        let Changed { rewriter, replay, part } = self;
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
    pub(crate) fn finish(mut self) -> Result<(Predicted, O), SimError> {
        let Changed { rewriter, replay, part } = &mut self;
        let mut replayed = Replayed { replay, part };
        rewriter.finish(&mut |r| replayed.reference(r));
        let mut done = self.replay.finish()?;
        if let Some(part) = self.part.filter(|part| part.colour == 0) {
            part.front.finish(&mut done.totals);
        }
        Ok((Predicted { tally: done.consumers.finish(), totals: done.totals }, done.observer))
    }
}

impl<'m> Changed<'m, ()> {
    /// Replays in so many parts, a power of two not above [`colours`](crate::colours::colours): what all of them predict together is
    /// what one replay of all predicts.
    ///
    /// # Errors
    /// As [`Changed::new`].
    pub(crate) fn parts(
        setup: Setup<'m>,
        transforms: &[Transform],
        parts: u64,
    ) -> Result<Vec<Changed<'m, ()>>, SimError> {
        let bindings: Vec<ThreadBinding> = setup.bindings.iter().map(|b| ThreadBinding { space: 0, ..*b }).collect();
        let block_shift = setup.block_bytes.trailing_zeros();
        let part = |colour| Part { mask: parts - 1, colour, block_shift, front: Front::new(&bindings) };
        let run = |colour| {
            let part = (parts > 1).then(|| part(colour));
            Ok(Changed { part, ..Changed::new(setup, transforms, (1, 0), ())? })
        };
        (0..parts).map(run).collect()
    }
}
