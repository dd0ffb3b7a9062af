//! Where elements lie: array elements move apart into memory of their own.
use homenode_base::spaces::tag;

/// Address spaces that no process of a dataset uses.
pub(super) const FRESH_SPACES: u32 = 1 << 16;
/// Fresh arrays start at multiples of this, so that they share nothing with each other.
const FRESH_ALIGN: u64 = 64;

#[derive(Clone, Copy, Debug)]
struct Array {
    from: u64,
    /// Last byte of the last element.
    last: u64,
    fresh: u64,
}

/// One [`PadElements`](super::Transform::PadElements).
#[derive(Clone, Debug)]
pub(crate) struct Padding {
    /// Ascending, disjoint.
    arrays: Vec<Array>,
    element_bytes: u64,
    to_bytes: u64,
}

impl Padding {
    /// `area` numbers the paddings of one what-if: each has fresh memory of its own. Arrays that are empty, overlap an
    /// earlier one or reach past the address space are left as they are.
    pub(crate) fn new(arrays: &[(u64, u64)], element_bytes: u64, to_bytes: u64, area: u32) -> Padding {
        let (element_bytes, to_bytes) = (element_bytes.max(1), to_bytes.max(element_bytes).max(1));
        let mut sorted = arrays.to_vec();
        sorted.sort_unstable();
        let mut padding = Padding { arrays: Vec::new(), element_bytes, to_bytes };
        let mut next = tag(FRESH_SPACES + area);
        for (from, elements) in sorted {
            let end = elements.checked_mul(element_bytes).and_then(|bytes| from.checked_add(bytes));
            let fresh_end = elements.checked_mul(to_bytes).and_then(|bytes| next.checked_add(bytes));
            let (Some(end), Some(fresh_end)) = (end, fresh_end) else { continue };
            if elements == 0 || padding.arrays.last().is_some_and(|a| from <= a.last) {
                continue;
            }
            padding.arrays.push(Array { from, last: end - 1, fresh: next });
            let unit = FRESH_ALIGN.max(to_bytes);
            next = fresh_end.checked_next_multiple_of(unit).unwrap_or(fresh_end);
        }
        padding
    }

    /// Where the byte at `addr` goes, and the last byte that goes there with it in one piece.
    pub(super) fn moved(&self, addr: u64) -> (u64, u64) {
        let i = self.arrays.partition_point(|a| a.last < addr);
        match self.arrays.get(i) {
            None => (addr, u64::MAX),
            Some(array) if addr < array.from => (addr, array.from - 1),
            Some(array) => {
                let offset = addr - array.from;
                let (element, within) = (offset / self.element_bytes, offset % self.element_bytes);
                (array.fresh + element * self.to_bytes + within, addr + (self.element_bytes - 1 - within))
            }
        }
    }

    #[inline]
    pub(super) fn may_hold(&self, first: u64, last: u64) -> bool {
        let (Some(a), Some(b)) = (self.arrays.first(), self.arrays.last()) else { return false };
        last < first || (last >= a.from && first <= b.last)
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::{Move, apply};
    use super::*;
    use homenode_trace::Merged;

    fn bytes(refs: &[Merged]) -> Vec<u64> {
        refs.iter().flat_map(|r| (0..u64::from(r.size)).map(|i| r.addr.wrapping_add(i))).collect()
    }

    #[test]
    fn every_byte_goes_where_the_definition_says() {
        let both = [Padding::new(&[(100, 4), (200, 2)], 8, 64, 0), Padding::new(&[(140, 3), (100, 1)], 4, 16, 1)];
        let mut padding = both.map(Move::Pad);
        let (a, b) = (tag(FRESH_SPACES), tag(FRESH_SPACES + 1));
        let expect = |addr: u64| match addr {
            100..132 => a + (addr - 100) / 8 * 64 + (addr - 100) % 8,
            200..216 => a + 256 + (addr - 200) / 8 * 64 + (addr - 200) % 8,
            140..152 => b + 64 + (addr - 140) / 4 * 16 + (addr - 140) % 4,
            _ => addr,
        };
        for from in (0..250).chain([u64::MAX - 3]) {
            for size in [1u32, 2, 8, 9, 70, 200] {
                let mut out = Vec::new();
                apply(&mut padding, &Merged { addr: from, size, ..Merged::default() }, 0, &mut |r| out.push(*r));
                let want: Vec<u64> = (0..u64::from(size)).map(|i| expect(from.wrapping_add(i))).collect();
                assert_eq!(bytes(&out), want, "{from} {size}");
            }
        }
    }

    #[test]
    fn arrays_that_make_no_sense_change_nothing() {
        let arrays = [(u64::MAX - 4, 100), (10, 0), (50, u64::MAX)];
        let padding = [Padding::new(&arrays, 8, 64, 0), Padding::new(&[(0, 4)], 0, 0, 1)];
        for addr in [0, 10, 50, u64::MAX - 4] {
            let mut out = Vec::new();
            apply(&mut [Move::Pad(padding[0].clone())], &Merged { addr, size: 4, ..Merged::default() }, 0, &mut |r| {
                out.push(*r)
            });
            assert_eq!(bytes(&out), (0..4).map(|i| addr.wrapping_add(i)).collect::<Vec<_>>());
        }
        assert_eq!((padding[1].element_bytes, padding[1].to_bytes), (1, 1));
    }
}
