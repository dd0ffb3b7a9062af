//! The best that could have been done: exact, off line, two states a page and processor, constant work a reference.
//!
//! Copies are made at reads by the reader, a write costs a packet for each other holder, the master copy is always current,
//! and copies may be given up at any time for nothing. Then what one processor holds changes nothing for another, and the
//! cheapest behaviour is found for each page and processor by itself; `docs/design/coherence.md` has the proof. All six
//! protocols, whatever their parameters, are behaviours of this kind: none costs less.
use crate::effects::{Effect, WORD_BYTES};
use crate::history::{History, Turn};
use homenode_base::TotalCost;
use homenode_machine::Coherence;
use homenode_placement::{Access, AccessKind, Step};

/// More than any sum reaches: 2^40 references of 10^12 each are less than 2^80.
const NEVER: i128 = 1 << 100;

/// Least cost of one page and processor so far.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// Without a copy now. Never more than `with`: a copy can be given up.
    without: i128,
    /// With a copy now.
    with: i128,
    /// Writes of the page by anybody that are accounted for.
    writes: u64,
    touched: bool,
}

const UNTOUCHED: Pair = Pair { without: 0, with: NEVER, writes: 0, touched: false };

/// The optimum for pages of one size.
#[derive(Clone, Debug)]
pub struct Optimum {
    local: i128,
    remote_read: i128,
    remote_write: i128,
    update: i128,
    fetch: i128,
    pairs: Vec<Pair>,
    /// Processors of the page at hand.
    touched: Vec<u16>,
}

impl Optimum {
    /// For prices of a valid machine (neither a remote read nor a copy costs less than `local`), with pages of so many bytes.
    pub fn new(prices: &Coherence, page_bytes: u64) -> Optimum {
        let price = |effect: Effect| i128::from(effect.price(prices, page_bytes.max(WORD_BYTES)).0);
        Optimum {
            local: price(Effect::Local),
            remote_read: price(Effect::RemoteRead),
            remote_write: price(Effect::RemoteWrite),
            update: price(Effect::Update),
            fetch: price(Effect::Fetch),
            pairs: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Cost of the optimum for the whole history of a page.
    pub fn page(&mut self, steps: &[Step]) -> TotalCost {
        let mut writes = 0u64;
        steps.iter().for_each(|step| self.step(&step.access, &mut writes));
        self.sum()
    }

    /// Cost of the optimum for the whole history of a page in turns.
    pub fn turns(&mut self, history: &History<'_>) -> TotalCost {
        let mut writes = 0u64;
        for turn in history.turns {
            // Where a packet costs less than a local write, a copy may be worth giving up within a turn.
            if self.remote_write < self.local {
                history.steps[turn.steps.clone()].iter().for_each(|step| self.step(&step.access, &mut writes));
            } else {
                self.turn(turn, &mut writes);
            }
        }
        self.sum()
    }

    #[inline]
    fn step(&mut self, access: &Access, writes: &mut u64) {
        let weight = i128::from(access.weight);
        let pair = self.pair(access.node.0);
        let mut now = self.pairs[pair];
        // Each write of others since then was a packet to the copy.
        now.with += i128::from(*writes - now.writes) * self.update;
        match access.kind {
            AccessKind::Read => {
                let fetched = now.without + self.fetch + (weight - 1) * self.local;
                now.with = (now.with + weight * self.local).min(fetched);
                now.without = (now.without + weight * self.remote_read).min(now.with);
            }
            AccessKind::Write => {
                *writes += u64::from(access.weight);
                now.with += weight * self.local;
                now.without = (now.without + weight * self.remote_write).min(now.with);
            }
        }
        now.writes = *writes;
        self.pairs[pair] = now;
    }

    /// A turn: nothing remote is cheaper than what is local, so a copy is made at the first read or not, and given up at the end.
    #[inline]
    fn turn(&mut self, turn: &Turn, writes: &mut u64) {
        let pair = self.pair(turn.node.0);
        let now = &mut self.pairs[pair];
        let [all, reads, wrote, lead] = [turn.accesses(), turn.reads, turn.writes, turn.lead].map(i128::from);
        now.with += i128::from(*writes - now.writes) * self.update + all * self.local;
        if reads > 0 {
            let fetched = lead * self.remote_write + self.fetch + (all - lead - 1) * self.local;
            now.with = now.with.min(now.without + fetched);
        }
        now.without = (now.without + reads * self.remote_read + wrote * self.remote_write).min(now.with);
        *writes += turn.writes;
        now.writes = *writes;
    }

    /// Over the processors of the page, which begin anew.
    fn sum(&mut self) -> TotalCost {
        let Optimum { pairs, touched, .. } = self;
        let take = |node: u16| std::mem::replace(&mut pairs[usize::from(node)], UNTOUCHED).without;
        TotalCost(touched.drain(..).map(take).sum())
    }

    #[inline]
    fn pair(&mut self, node: u16) -> usize {
        let at = usize::from(node);
        if self.pairs.len() <= at {
            self.pairs.resize(at + 1, UNTOUCHED);
        }
        if !std::mem::replace(&mut self.pairs[at].touched, true) {
            self.touched.push(node);
        }
        at
    }
}
