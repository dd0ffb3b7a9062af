//! The cost of the optimum on many machines at once: one machine a lane, vectors chosen at run time.
//!
//! What is computed is the *excess* of docs/design/optimum.md, section 2: beyond what every access costs at home, which a
//! count of accesses gives. The algorithms are those of sections 3 and 4 (Bolosky 1993, section 4.2, corrected; constant
//! time per access): at a write only the nodes that read since the last one, and the writer, are touched; all others pay
//! the same, which one offset holds.
//!
//! **Numbers.** Values are relative to an offset per lane, in 32 bits where K, more than any detour that avoids an excess
//! ([`limit`]), is at most 2^26, else in 64 bits where it is at most 2^56. Let B be the least value of a node. A step
//! lowers B by at most 2 K (a share R <= K/2 at most, an excess at most K), and no value exceeds the first B by more than
//! 2 K (only that of global memory can grow, to at most B + K). So after s steps all values lie between -2 K s and 2 K,
//! and the offset has grown by at most 2 K a step. After so many steps that 2 K s could pass 2^29 (2^61), B goes
//! into a sum of 64 (128) bits, values become min(value, B + R) - B, which lies between 0 and K (whoever is dearer than a
//! move from the best may as well have made that move), and the count starts again. Products of counts and costs are
//! formed after capping the count where the product has passed the cap, and stay below 2 K. The result of a block
//! is at most 2^31 in 32 bits; results of fewer than 2^32 blocks are added up in 64 bits before they go into sums of 128,
//! others go there at once. Nothing wraps, so the wrapping operations that the vector loops use are exact.
mod lanes;
mod machines;
mod replication;
mod solo;
mod vectors;

pub(crate) use lanes::Parameters;
use lanes::{Machines, Num, WIDTH};
pub(crate) use machines::{WithReplication, WithoutReplication};
pub use vectors::Vectors;

/// More than the detour that avoids paying for one access from afar (docs/design/optimum.md, section 2).
pub(crate) fn limit(nodes: usize, dearest_movement: i64) -> i64 {
    (nodes as i64 + 2) * dearest_movement + 1
}
