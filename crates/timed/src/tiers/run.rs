//! A policy over a recording.
use super::policies::Choice;
use super::{Dram, Recorded};
use homenode_base::TotalCost;
use homenode_placement::tiers::Moves;

/// What came of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Accesses and moves.
    pub cost: TotalCost,
    /// Moves alone.
    pub moves: TotalCost,
    /// Accesses that DRAM served.
    pub dram_accesses: u64,
    /// Pages moved into DRAM.
    pub promoted: u64,
    /// Pages moved out of it.
    pub demoted: u64,
}

/// Runs a policy with so many frames. New pages get a place at their first access, all others may move between ticks.
pub fn run(recorded: &Recorded, moves: Moves, frames: u64, choice: &Choice) -> Outcome {
    let mut dram = Dram::new(recorded.pages.len(), frames);
    let mut policy = choice.begin(&recorded.pages, dram.frames());
    let (mut saved, mut dram_accesses) = (TotalCost::ZERO, 0);
    for (tick, uses) in recorded.ticks.iter().enumerate() {
        for u in uses {
            if dram.is_new(u.page) {
                let wanted = policy.takes_new(u.page, &dram);
                dram.begin(u.page, wanted);
            }
            if dram.holds(u.page) {
                saved += u.gain;
                dram_accesses += u.accesses;
            }
            dram.touch(u.page);
        }
        // What is moved after the last access is of no use.
        if tick + 1 < recorded.ticks.len() {
            policy.tick(uses, &mut dram);
        }
        debug_assert!(dram.is_sound(), "frames are neither made nor lost");
    }
    let [promoted, demoted] = dram.moved();
    let moves = moves.promote.times(promoted) + moves.demote.times(demoted);
    Outcome { cost: recorded.in_expander - saved + moves, moves, dram_accesses, promoted, demoted }
}
