//! Where the cost of references goes: overhead of moves, data, remote references (Bolosky 1993, figures 7.2 to 7.5).
use super::component::MoveCost;
use homenode_placement::Solved;
use serde::{Deserialize, Serialize};

/// Mean cost per reference in parts: `near + overhead + data + remote` is the whole. On machines that can reference other
/// nodes the source's figures leave open where that goes; here it is a third part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct McprParts {
    /// What every reference costs if all are local.
    pub near: f64,
    /// Overhead of moves and copies.
    pub overhead: f64,
    /// Data of moves and copies.
    pub data: f64,
    /// What references to other nodes cost beyond local ones.
    pub remote: f64,
}

impl McprParts {
    /// The parts of an optimum over this many references, on a machine without global memory whose moves cost `cost` at
    /// `block_words` and whose local references cost `near`. `None` without references, or if its movement is not
    /// what its moves and copies cost.
    pub fn of(solved: &Solved, references: u64, near: i64, cost: MoveCost, block_words: u64) -> Option<McprParts> {
        let times = i128::from(solved.moves) + i128::from(solved.copies);
        if references == 0 || solved.movement.0 != times * cost.of_words(block_words) {
            return None;
        }
        let all = i128::from(references);
        let per = |cost: i128| cost as f64 / all as f64;
        let served = (solved.cost - solved.movement).0;
        Some(McprParts {
            near: near as f64,
            overhead: per(times * i128::from(cost.overhead)),
            data: per(times * i128::from(cost.per_word) * i128::from(block_words)),
            remote: per(served - all * i128::from(near)),
        })
    }
    /// The parts if references cost `above` local ones beyond themselves, which cost 1, and blocks moved so often; the rest
    /// of `above` goes to remote references. `None` without references.
    pub fn counted(above: i128, moves: u64, references: u64, cost: MoveCost, block_words: u64) -> Option<McprParts> {
        let per = |cost: i128| cost as f64 / references as f64;
        let moves = i128::from(moves);
        (references > 0).then(|| McprParts {
            near: 1.0,
            overhead: per(moves * i128::from(cost.overhead)),
            data: per(moves * i128::from(cost.per_word) * i128::from(block_words)),
            remote: per(above - moves * cost.of_words(block_words)),
        })
    }
    /// The whole.
    pub fn mcpr(&self) -> f64 {
        self.near + self.overhead + self.data + self.remote
    }
}
