//! One block for each thread: the units of an object move so that those of one thread follow each other.
use super::units::Units;
use crate::split::Pieces;
use homenode_base::spaces::tag;
use homenode_trace::Merged;

/// Address spaces that no process of a dataset uses, nor any other change of a what-if.
const GATHER_SPACES: u32 = (1 << 16) + (1 << 14);

/// One [`OneBlockPerThread`](super::Transform::OneBlockPerThread).
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    /// Unit to its new address.
    fresh: Units<u64>,
    shift: u32,
}

impl Gathered {
    /// The units of a thread lie in the order given; each thread's begin at a multiple of `block_bytes`. `area` numbers the
    /// transforms of one what-if: each has fresh memory of its own.
    pub(super) fn new(units: &[(u64, u32)], shift: u32, block_bytes: u64, area: u32) -> Gathered {
        let mut sorted: Vec<(u32, u64)> = units.iter().map(|&(unit, thread)| (thread, unit)).collect();
        sorted.sort_by_key(|unit| unit.0);
        let mut next = tag(GATHER_SPACES + area);
        let mut places = Vec::with_capacity(sorted.len());
        for thread in sorted.chunk_by(|a, b| a.0 == b.0) {
            next = next.next_multiple_of(block_bytes);
            for (_, unit) in thread {
                places.push((*unit, next));
                next += 1 << shift;
            }
        }
        let mut fresh = Units::default();
        fresh.add(places.into_iter());
        Gathered { fresh, shift }
    }

    /// Moves one reference, in pieces per unit.
    #[inline]
    pub(super) fn push(&self, r: &Merged, out: &mut impl FnMut(&Merged)) {
        let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
        let (from, to) = (r.addr >> self.shift, last >> self.shift);
        let hull = self.fresh.hull();
        if last >= r.addr && (to < hull.0 || from > hull.1) {
            return out(r);
        }
        if from == to {
            let within = r.addr & ((1 << self.shift) - 1);
            return out(&Merged { addr: self.fresh.get(from).map_or(r.addr, |to| to + within), ..*r });
        }
        for piece in Pieces::new(r.addr, r.size, self.shift) {
            let within = piece.addr & ((1 << self.shift) - 1);
            let addr = self.fresh.get(piece.addr >> self.shift).map_or(piece.addr, |to| to + within);
            out(&Merged { addr, ..piece.of(r) });
        }
    }
}
