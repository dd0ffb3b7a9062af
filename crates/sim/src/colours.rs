//! Colours of blocks (page colours, where a block is a page): the bits of a block's number that choose the sets of all caches
//! in which its lines can be.
//!
//! Lines of different colours never meet in a set, and policies, bounds and patterns know single blocks; so the blocks of one
//! colour are a world of their own, and all of them together are replayed by as many replays as there are colours, or fewer.
use crate::setup::{MissModel, Setup};
use homenode_machine::{CacheGeometry, Machine};

/// Colours at most: more do not divide the work any better.
const COLOURS_MAX: u64 = 64;

/// How many colours blocks have, a power of two: 1 if they cannot be replayed apart. Samples are few; which misses overlap,
/// and when busy waiting is charged, depends on blocks of all colours.
pub(crate) fn colours(setup: &Setup<'_>) -> u64 {
    let options = setup.options;
    if options.sampled.is_some() || options.charge_spins || options.model == MissModel::Overlap {
        return 1;
    }
    in_caches(setup.machine, setup.block_bytes).clamp(1, COLOURS_MAX)
}

/// Colours that the caches of a machine tell apart. The set of a line is its number modulo the number of sets, so numbers
/// agree modulo the power of two in that; without caches every block is a world of its own.
fn in_caches(machine: &Machine, block_bytes: u64) -> u64 {
    let Some(caches) = &machine.sections.caches else { return COLOURS_MAX };
    let line_bytes = u64::from(caches.line_bytes).max(1);
    let sets = |g: &CacheGeometry| (g.bytes / (u64::from(g.ways) * line_bytes).max(1)).max(1);
    let together = |g: &CacheGeometry| 1 << sets(g).trailing_zeros();
    let lines: u64 = together(&caches.private).min(together(&caches.shared));
    lines / (block_bytes / line_bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::models;

    #[test]
    fn colours_are_what_the_set_bits_leave_above_a_block() {
        let two_socket = models::find("two-socket").unwrap();
        let caches = two_socket.sections.caches.clone().unwrap();
        let sets = caches.private.bytes / u64::from(caches.private.ways) / u64::from(caches.line_bytes);
        assert_eq!(in_caches(&two_socket, 4096), sets / 64);
        assert_eq!(in_caches(&two_socket, 1 << 30), 0, "one: blocks are larger than the sets");
        assert_eq!(in_caches(&models::find("butterfly").unwrap(), 4096), COLOURS_MAX);
        let mut odd = two_socket;
        let caches = odd.sections.caches.as_mut().unwrap();
        caches.shared.bytes = 64 * u64::from(caches.shared.ways) * 64 * 3;
        assert_eq!(in_caches(&odd, 1024), 4, "an odd number of parts has the power of two that is in it");
    }
}
