//! Slots of the recorder's rings that hold whole references.
use super::RawRef;
use crate::record::Op;
use homenode_base::ring::{W0_ADDR_MASK, W0_BLOCK, W0_EVENT, W0_OP_SHIFT, W0_SIZE_SHIFT, W1_PC_MASK};

/// Bits of a slot's first word that tell size and operation.
const META: u64 = 15 << W0_SIZE_SHIFT | 3 << W0_OP_SHIFT;
/// Size code of the largest reference that one slot holds.
const CODE_MAX: u64 = 6;

impl RawRef {
    /// The reference in a slot that holds a whole one; `None` for events, for blocks, and for ranges, whose length stands in the next slot.
    #[inline]
    pub fn of_slot(&[w0, w1]: &[u64; 2]) -> Option<RawRef> {
        let code = w0 >> W0_SIZE_SHIFT & 15;
        (w0 & (W0_EVENT | W0_BLOCK) == 0 && code <= CODE_MAX).then(|| RawRef {
            addr: w0 & W0_ADDR_MASK,
            size: 1 << code,
            op: Op::ALL[(w0 >> W0_OP_SHIFT & 3) as usize],
            pc: w1 & W1_PC_MASK,
        })
    }
}

/// Address of the reference in a slot.
#[inline]
pub(super) const fn addr(slot: &[u64; 2]) -> u64 {
    slot[0] & W0_ADDR_MASK
}

/// Whether the reference in a slot is a spin.
pub(super) const fn is_spin(slot: &[u64; 2]) -> bool {
    slot[0] >> W0_OP_SHIFT & 3 == Op::Spin as u64
}

/// The slot of a reference without what is no part of the reference.
#[inline]
pub(super) const fn clean(slot: &[u64; 2]) -> [u64; 2] {
    [slot[0] & (W0_ADDR_MASK | META), slot[1] & W1_PC_MASK]
}

/// 0 for each word that is the one before plus its step. An address that grows into the bits above it is not: the one that
/// it should be is none that a slot can hold.
#[inline(always)]
pub(super) fn difference(now: &[u64; 2], before: &[u64; 2], steps: &[u64; 2]) -> [u64; 2] {
    let word = |i: usize| now[i] ^ before[i].wrapping_add(steps[i]) | (now[i] ^ before[i]) & !W0_ADDR_MASK;
    [word(0), word(1)]
}

/// Whether all slots `now` are those `before` plus the steps, see [`difference`].
#[inline(always)]
pub(super) fn are_as_expected<const N: usize>(
    now: &[[u64; 2]; N],
    before: &[[u64; 2]; N],
    steps: &[[u64; 2]; N],
) -> bool {
    // Compilers take word by word here unless told otherwise. Every processor of this kind has it, so nothing is asked when it runs.
    #[cfg(target_arch = "x86_64")]
    if let Some(sse2) = pulp::core_arch::x86::Sse2::try_new() {
        let (mut wrong, mut changed) = (sse2._mm_setzero_si128(), sse2._mm_setzero_si128());
        for i in 0..N {
            let (now, before, step) = (pulp::cast(now[i]), pulp::cast(before[i]), pulp::cast(steps[i]));
            wrong = sse2._mm_or_si128(wrong, sse2._mm_xor_si128(now, sse2._mm_add_epi64(before, step)));
            changed = sse2._mm_or_si128(changed, sse2._mm_xor_si128(now, before));
        }
        let above = pulp::cast([!W0_ADDR_MASK; 2]);
        let wrong: [u64; 2] = pulp::cast(sse2._mm_or_si128(wrong, sse2._mm_and_si128(changed, above)));
        return wrong[0] | wrong[1] == 0;
    }
    (0..N).all(|i| difference(&now[i], &before[i], &steps[i]) == [0; 2])
}

/// The slot of a reference with this `meta` (of `predict`), or `None` if no single slot holds it.
pub(super) fn of(addr: u64, meta: u64, pc: u64) -> Option<[u64; 2]> {
    let size = meta >> 2;
    let fits = size.is_power_of_two() && size <= 1 << CODE_MAX && addr <= W0_ADDR_MASK && pc <= W1_PC_MASK;
    fits.then(|| [addr | u64::from(size.trailing_zeros()) << W0_SIZE_SHIFT | (meta & 3) << W0_OP_SHIFT, pc])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::predict::meta;
    use homenode_base::Rng;

    #[test]
    fn slots_are_compared_at_once_as_word_by_word() {
        let mut rng = Rng::new(7);
        let mut outcomes = [0; 2];
        for _ in 0..20_000 {
            let before: [[u64; 2]; 3] = std::array::from_fn(|_| [rng.next_u64(), rng.next_u64()]);
            let steps: [[u64; 2]; 3] = std::array::from_fn(|_| [rng.below(64), rng.next_u64() >> rng.below(64)]);
            let mut now: [[u64; 2]; 3] =
                std::array::from_fn(|i| std::array::from_fn(|j| before[i][j].wrapping_add(steps[i][j])));
            if rng.below(2) == 0 {
                now[rng.below(3) as usize][rng.below(2) as usize] ^= 1 << rng.below(64);
            }
            let slow = (0..3).all(|i| difference(&now[i], &before[i], &steps[i]) == [0; 2]);
            assert_eq!(are_as_expected(&now, &before, &steps), slow);
            outcomes[usize::from(slow)] += 1;
        }
        assert!(outcomes.iter().all(|n| *n > 1000), "{outcomes:?}");
    }

    #[test]
    fn slots_of_references_hold_them_and_nothing_else() {
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let slot = [rng.next_u64(), rng.next_u64()];
            let Some(r) = RawRef::of_slot(&slot) else { continue };
            assert_eq!(of(r.addr, meta(r.size, r.op), r.pc), Some(clean(&slot)));
            assert_eq!((RawRef::of_slot(&clean(&slot)), addr(&slot)), (Some(r), r.addr));
        }
        for (addr, size, pc) in [(0, 0, 0), (0, 3, 0), (0, 128, 0), (1 << 48, 8, 0), (0, 8, 1 << 48), (0, u32::MAX, 0)]
        {
            assert_eq!(of(addr, meta(size, Op::Read), pc), None);
        }
    }
}
