//! What the last level costs: the same loads as of memory, over a footprint that the private cache does not hold and the last level does.
use super::Effort;
use super::bandwidth::{self, Direction, read_pass};
use super::latency;
use super::memory::Chain;
use std::hint::black_box;

/// Samples of one pair of a processor and the memory whose lines its last level holds.
#[derive(Default)]
pub(super) struct HitSamples {
    /// Picoseconds a load that depends on the one before.
    pub(super) waited: Vec<f64>,
    /// Picoseconds a load at random that depends on no other.
    pub(super) overlapped: Vec<f64>,
    /// Picoseconds a line of a processor that reads in order.
    pub(super) streamed: Vec<f64>,
}

/// Measures on one processor with nobody else at work; before each quantity everything is read once.
pub(super) fn measure(chain: &mut Chain, cpu: u32, effort: Effort) -> HitSamples {
    let warm = |chain: &Chain| _ = black_box(read_pass(chain.words()));
    let waited = latency::walked(chain, cpu, effort, warm);
    let overlapped = latency::scattered(chain, cpu, effort, warm);
    let streamed = bandwidth::warm(chain.words_mut(), cpu, Direction::Read, effort);
    let streamed = streamed.into_iter().map(bandwidth::line_ps).collect();
    HitSamples { waited, overlapped, streamed }
}
