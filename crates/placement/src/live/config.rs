//! What can be set.
use serde::{Deserialize, Serialize};

/// Settings of the live loop. The defaults are those of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Length of a window unless markers end it, in nanoseconds, at least 1.
    pub window_ns: u64,
    /// Most time for deciding, per mille of one processor.
    pub decide_per_mille: u32,
    /// Most time for moving, per mille of the time that passes.
    pub move_per_mille: u32,
    /// Windows with use, running, in which the policy must propose the same for a page. 1 for a policy that waits by itself.
    pub hysteresis: u32,
    /// Moves that a page may make at once. One more is earned in a fifth of [`Config::defrost_after_ns`]; twice that for each time
    /// that all were used up.
    pub moves_per_page: u32,
    /// A page that is to move again within this time is frozen instead (PLATINUM's t1), in nanoseconds.
    pub freeze_within_ns: u64,
    /// How long it stays frozen at most (PLATINUM's t2), in nanoseconds: the first time for t1, then twice as long each time.
    pub defrost_after_ns: u64,
    /// Windows that a placement is expected to be of use, until the candidate has lasted longer.
    pub horizon_windows: u32,
    /// Memory accesses that one unit of evidence stands for.
    pub accesses_per_unit: u32,
    /// Whether evidence comes round: a page is asked about now and then, and when is not up to the program. Then windows
    /// without evidence of a page say nothing of it, and are not counted for it.
    #[serde(default)]
    pub comes_round: bool,
    /// Whether samples speak for the pages around them that were not sampled.
    #[serde(default)]
    pub neighbours: bool,
    /// Small pages to be left free on every node.
    pub reserve_pages: u64,
    /// Pages looked at in one window at most, the most used first; falls by itself if deciding takes too long.
    pub most_pages: usize,
    /// Samples a second that are wanted where there is time for them.
    pub full_rate_per_s: u64,
    /// What moving a small page takes until it has been measured, in nanoseconds.
    pub first_move_ns: u64,
    /// Virtual time of one window, as the policy counts it.
    pub ticks_per_window: u64,
}

impl Default for Config {
    fn default() -> Config {
        const SECOND: u64 = 1_000_000_000;
        Config {
            window_ns: SECOND,
            decide_per_mille: 10,
            move_per_mille: 100,
            hysteresis: 2,
            moves_per_page: 2,
            freeze_within_ns: 8 * SECOND,
            defrost_after_ns: 60 * SECOND,
            horizon_windows: 10,
            accesses_per_unit: 1,
            comes_round: false,
            neighbours: false,
            reserve_pages: 4096,
            most_pages: 262_144,
            full_rate_per_s: 20_000,
            first_move_ns: 10_000,
            ticks_per_window: 100_000,
        }
    }
}
