//! False sharing as a component of cost (Bolosky 1993, section 7.1.6), on machines without remote references and global
//! memory.
//!
//! A block of s words costs o + b s to move. Let Phi_s be the moves of such blocks under the optimum, Phi_1 those of
//! blocks of one word, F what fragmentation costs. What false sharing costs is then (o + b s)(Phi_s - Phi_1 / s) -
//! (1 + o / (b s)) F, which is equation 7.13 with its terms collected. F cannot be measured, so there are bounds: F = 0
//! gives the upper one (7.14); the lower one, (o + b s)(Phi_s - Phi_1) if that is positive, follows from 7.6 and 7.11, since
//! lost grouping never costs less than nothing saved.

/// What a move of a block costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveCost {
    /// Per move (o): latency, trap, decision.
    pub overhead: i64,
    /// Per word (b), above 0.
    pub per_word: i64,
}

impl MoveCost {
    /// o + b s.
    pub fn of_words(&self, words: u64) -> i128 {
        i128::from(self.overhead) + i128::from(self.per_word) * i128::from(words)
    }
}

/// The moves of one block size beside those of single words. Values are exact: fractions come as (numerator,
/// denominator), where the denominator is `block_words` or `per_word * block_words`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Cost of a move.
    pub cost: MoveCost,
    /// Words of a block (s).
    pub block_words: u64,
    /// Moves of blocks (Phi_s).
    pub block_moves: u64,
    /// Moves of single words (Phi_1).
    pub word_moves: u64,
}

/// The parts of a difference in cost between blocks and single words, for a known fragmentation. All are multiplied by
/// [`Split::scale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// What every other field is to be divided by.
    pub scale: i128,
    /// False sharing (S).
    pub false_sharing: i128,
    /// Of it, overhead of moves (S_o).
    pub overhead: i128,
    /// Of it, transferred data (S_d).
    pub data: i128,
    /// Fragmentation (F).
    pub fragmentation: i128,
    /// Lost grouping (Gamma), at most 0 where the assumed fragmentation is possible.
    pub grouping: i128,
}

impl Component {
    fn signed(&self) -> (i128, i128, i128) {
        (self.block_words.into(), self.block_moves.into(), self.word_moves.into())
    }
    /// Upper bound of false sharing (equation 7.14) times `block_words`.
    pub fn upper_scaled(&self) -> i128 {
        let (s, block, word) = self.signed();
        self.cost.of_words(self.block_words) * (s * block - word)
    }
    /// Upper bound, for display.
    pub fn upper(&self) -> f64 {
        self.upper_scaled() as f64 / self.block_words as f64
    }
    /// Lower bound.
    pub fn lower(&self) -> i128 {
        let (_, block, word) = self.signed();
        (self.cost.of_words(self.block_words) * (block - word)).max(0)
    }
    /// Cost at this block size less cost at one word (7.2): the first of the rejected definitions, section 7.1.1. It is
    /// negative wherever grouping saves more than false sharing and fragmentation cost.
    pub fn one_word_difference(&self) -> i128 {
        let (_, block, word) = self.signed();
        self.cost.of_words(self.block_words) * block - self.cost.of_words(1) * word
    }
    /// The parts if fragmentation costs this much (7.5 to 7.13).
    pub fn split(&self, fragmentation: i128) -> Split {
        let (s, block, word) = self.signed();
        let (o, b) = (i128::from(self.cost.overhead), i128::from(self.cost.per_word));
        let scale = b * s;
        let data = b * (s * block - word) - fragmentation;
        let overhead_scaled = o * data;
        Split {
            scale,
            false_sharing: overhead_scaled + scale * data,
            overhead: overhead_scaled,
            data: scale * data,
            fragmentation: scale * fragmentation,
            grouping: scale * o * (block - word) - overhead_scaled,
        }
    }
}

/// The ratio test of section 7.2: a block 2^k times smaller cuts the transferred data at most 2^k times unless there is
/// false sharing. `large` and `small` are (block bytes, moves). `true` proves false sharing at the larger size; `false`
/// proves nothing. Data per move is proportional to the block, so this says that more moves happen at the larger size.
pub fn ratio_proves(large: (u64, u64), small: (u64, u64)) -> bool {
    large.0 > small.0 && large.1 > small.1
}

/// Transferred data of the larger size over that of the smaller; `None` if the smaller transfers nothing.
pub fn data_ratio(large: (u64, u64), small: (u64, u64)) -> Option<f64> {
    (small.1 > 0).then(|| (large.0 as f64 * large.1 as f64) / (small.0 as f64 * small.1 as f64))
}
