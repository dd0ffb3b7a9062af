//! False sharing by intervals in which copies may diverge (Bolosky 1993, sections 7.1.2 to 7.1.4).
//!
//! In an interval of a block nobody reads a word that somebody else wrote in it; every user may then work on a copy of its
//! own, and the copies are merged at the end. What the best choice of intervals saves is false sharing by that
//! definition, and no tractable way to that choice is known. Any choice gives a lower bound. Here: intervals as long as
//! they can be, one after the other, each taken if it costs less than keeping the copies equal.
use super::super::{AnalysisError, input};
use super::moves::{Holders, Place, powers_of_two};
use hashbrown::HashMap;
use homenode_base::{NodeId, NodeSet};
use homenode_placement::Start;
use homenode_sim::ThreadBinding;
use homenode_trace::{Merged, Op};

/// Who wrote a word in the running interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    One(NodeId),
    Several,
}

/// The interval that is running, and what it would have cost either way.
#[derive(Clone, Debug, Default)]
struct Running {
    users: NodeSet,
    writers: NodeSet,
    last_writer: Option<NodeId>,
    words: HashMap<u64, Writer>,
    /// Copies brought if copies may diverge: users that did not hold the block when it began.
    fetched: u64,
    /// Moves if they may not.
    moves: u64,
}

/// One block.
#[derive(Clone, Debug, Default)]
struct Block {
    /// With coherence all the time.
    coherent: Holders,
    moves: u64,
    /// Under the chosen intervals: holders at the beginning of the running one, and now if it is not taken.
    before: Holders,
    now: Holders,
    running: Running,
    chosen: Chosen,
    /// Somebody read what somebody else wrote, so that the whole history is not one interval.
    violated: bool,
    users: NodeSet,
    written: bool,
}

/// What the chosen intervals cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Chosen {
    moves: u64,
    merges: u64,
    intervals: u64,
}

/// Counts of all blocks of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// Moves with coherence all the time.
    pub moves: u64,
    /// Moves if the chosen intervals are taken.
    pub chosen_moves: u64,
    /// Copies merged at the ends of the chosen intervals, the one that the others are merged into not counted.
    pub merges: u64,
    /// Intervals chosen.
    pub intervals: u64,
    /// Moves that full duration saves (section 7.1.4): of blocks whose whole history is one interval, all but the first
    /// copy of each further user.
    pub full_duration_saved: u64,
    /// Blocks whose whole history is one interval.
    pub full_duration_blocks: u64,
}

impl IntervalCounts {
    /// Lower bound of false sharing, given what a move and the merging of a copy cost; at least 0.
    pub fn lower(&self, move_cost: i128, merge_cost: i128) -> i128 {
        let saved = i128::from(self.moves) - i128::from(self.chosen_moves);
        (saved * move_cost - i128::from(self.merges) * merge_cost).max(0)
    }
}

/// The accumulator for one block size.
#[derive(Clone, Debug)]
pub struct Intervals<'a> {
    bindings: &'a [ThreadBinding],
    start: Start,
    word_bytes: u64,
    block_bytes: u64,
    /// Cost of merging a copy over that of a move: an interval is taken if it saves.
    merge_per_move: (u64, u64),
    blocks: HashMap<Place, Block>,
}

impl<'a> Intervals<'a> {
    /// Nothing seen. An interval is taken if its moves and merges cost less than the moves without it, where a merge costs
    /// `merge_per_move.0 / merge_per_move.1` moves.
    ///
    /// # Errors
    /// Block or word is no power of two.
    pub fn new(
        block_words: u64,
        word_bytes: u64,
        merge_per_move: (u64, u64),
        start: Start,
        bindings: &'a [ThreadBinding],
    ) -> Result<Intervals<'a>, AnalysisError> {
        powers_of_two(block_words, word_bytes)?;
        let block_bytes = block_words * word_bytes;
        Ok(Intervals { bindings, start, word_bytes, block_bytes, merge_per_move, blocks: HashMap::new() })
    }
    /// Sums over all blocks. The running intervals are closed first.
    pub fn finish(mut self) -> IntervalCounts {
        let mut sum = IntervalCounts::default();
        for block in self.blocks.values_mut() {
            block.close(self.merge_per_move);
            sum.moves += block.moves;
            sum.chosen_moves += block.chosen.moves;
            sum.merges += block.chosen.merges;
            sum.intervals += block.chosen.intervals;
            let users = block.users.len() as u64;
            if !block.violated && block.written && users > 1 {
                sum.full_duration_blocks += 1;
                sum.full_duration_saved += block.moves.saturating_sub(users - 1);
            }
        }
        sum
    }
}

impl Running {
    /// Whether reading this word now reads what somebody else wrote.
    fn violated(&self, word: u64, node: NodeId) -> bool {
        self.words.get(&word).is_some_and(|w| *w != Writer::One(node))
    }
    fn note_write(&mut self, word: u64, node: NodeId) {
        let writer = self.words.entry(word).or_insert(Writer::One(node));
        if *writer != Writer::One(node) {
            *writer = Writer::Several;
        }
    }
}

impl Block {
    /// Ends the running interval: takes it if that is cheaper.
    fn close(&mut self, merge_per_move: (u64, u64)) {
        let running = std::mem::take(&mut self.running);
        let merges = (running.writers.len() as u64).saturating_sub(1);
        let (per, of) = merge_per_move;
        let possible = running.users.len() > 1 && !running.writers.is_empty();
        if possible && running.fetched * of + merges * per < running.moves * of {
            self.chosen.moves += running.fetched;
            self.chosen.merges += merges;
            self.chosen.intervals += 1;
            // The merged copy stays with whoever wrote last.
            let keeper = running.last_writer.expect("an interval that saves has a writer");
            self.now.only(keeper);
        } else {
            self.chosen.moves += running.moves;
        }
        self.before = self.now.clone();
    }
    /// Notes one reference to words `from..=last`.
    fn touch(&mut self, node: NodeId, op: Op, words: std::ops::RangeInclusive<u64>, i: &Rules) {
        let (reads, writes) = (op != Op::Write, op.writes());
        if reads && words.clone().any(|w| self.running.violated(w, node)) {
            self.violated = true;
            self.close(i.merge_per_move);
        }
        self.moves += u64::from(self.coherent.touch(node, writes, i.start));
        let running = &mut self.running;
        let moved = self.now.touch(node, writes, i.start);
        running.moves += u64::from(moved);
        let free = self.users.is_empty() || (i.start == Start::FreeSet && !self.written);
        if running.users.insert(node) && !self.before.nodes().contains(node) && !free {
            running.fetched += 1;
        }
        if writes {
            running.writers.insert(node);
            running.last_writer = Some(node);
            words.for_each(|w| running.note_write(w, node));
        }
        self.written |= writes;
        self.users.insert(node);
    }
}

/// What blocks must know of their accumulator.
struct Rules {
    merge_per_move: (u64, u64),
    start: Start,
}

impl Intervals<'_> {
    /// The next references of the merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        let rules = Rules { merge_per_move: self.merge_per_move, start: self.start };
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            input::pieces(r, self.block_bytes, |block, from, last| {
                let block = self.blocks.entry((binding.space, block)).or_default();
                block.touch(binding.node, r.op, from / self.word_bytes..=last / self.word_bytes, &rules);
            });
        }
    }
}
