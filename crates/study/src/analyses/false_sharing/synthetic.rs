//! Three traces of one block, of which it is known what false sharing costs (Bolosky 1993, section 7.1.6). They have no
//! reads. With free first placement the moves are one less, or one per block and word less, than the source's closed
//! forms, which ignore initial placement.
use homenode_synthetic::{Builder, t_f, t_gamma, t_s};

/// Trace of one block, by what its moves come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntheticTrace {
    /// All processors write the first word in turn: all that the larger block costs is fragmentation.
    Fragmentation,
    /// Each word is written by one processor, in turn; the number of processors divides that of words: all false sharing.
    FalseSharing,
    /// Each processor in turn writes all words: single words lose the grouping.
    LostGrouping,
}

impl SyntheticTrace {
    /// All three.
    pub const ALL: [SyntheticTrace; 3] =
        [SyntheticTrace::Fragmentation, SyntheticTrace::FalseSharing, SyntheticTrace::LostGrouping];
    /// Name as in tables.
    pub const fn name(self) -> &'static str {
        ["T_F", "T_S", "T_Gamma"][self as usize]
    }
    /// The program: `n` writes of words of four bytes by `processors` threads in a block of `block_words`.
    pub fn program(self, processors: u32, block_words: u64, n: u64) -> Builder {
        match self {
            SyntheticTrace::Fragmentation => t_f(n, processors),
            SyntheticTrace::FalseSharing => t_s(n, processors, block_words),
            SyntheticTrace::LostGrouping => t_gamma(n, processors, block_words),
        }
    }
    /// (block moves, word moves, fragmentation) with free first placement, for at least one write and whole rounds.
    pub fn moves(self, block_words: u64, per_word: i64, n: u64) -> (u64, u64, i128) {
        match self {
            SyntheticTrace::Fragmentation => {
                let cost = i128::from(per_word) * i128::from(block_words - 1) * i128::from(n - 1);
                (n - 1, n - 1, cost)
            }
            SyntheticTrace::FalseSharing => (n - 1, 0, 0),
            SyntheticTrace::LostGrouping => (n / block_words - 1, n - block_words, 0),
        }
    }
}
