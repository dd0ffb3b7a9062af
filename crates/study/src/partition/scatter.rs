//! The short way from references to records: machines without caches that all have words of one size, exact recordings,
//! and records of one word. Records wait in a line per region, as long as no other region needs the line, and go to the
//! buffer of their region together.
use super::fill::{Buffers, Slots};
use super::record::{Code, Format};
use homenode_sim::Pieces;
use homenode_trace::{Merged, Op};

/// Lines, as a power of two: together about as large as a first-level cache.
const LINE_BITS: u32 = 8;
/// Records in a line.
const LINE_WORDS: usize = 32;

/// Whose records are in a line, and how many.
#[derive(Clone, Copy)]
struct Owner {
    number: u64,
    slot: u32,
    filled: u32,
}

/// No region has this number: regions are larger than a byte.
const NOBODY: Owner = Owner { number: u64::MAX, slot: 0, filled: 0 };

/// All lines of a partitioner with one stream.
pub(super) struct Scatter {
    format: Format,
    region_shift: u32,
    spins: bool,
    owners: Box<[Owner; 1 << LINE_BITS]>,
    lines: Box<[[u32; LINE_WORDS]; 1 << LINE_BITS]>,
}

impl Scatter {
    /// `format` is one of records of one word. `spins`: whether they are charged.
    pub(super) fn new(format: Format, region_shift: u32, spins: bool) -> Scatter {
        let (owners, lines) = (Box::new([NOBODY; 1 << LINE_BITS]), Box::new([[0; LINE_WORDS]; 1 << LINE_BITS]));
        Scatter { format, region_shift, spins, owners, lines }
    }

    /// Takes references and returns how many, spins included; those of threads that the dataset does not have are hostile and left out.
    pub(super) fn refs(
        &mut self,
        refs: &[Merged],
        space_tags: &[u64],
        slots: &mut Slots,
        buffers: &mut Buffers,
    ) -> u64 {
        let Format { unit_shift, .. } = self.format;
        let mask = self.format.units() as u64 - 1;
        let mut taken = 0u64;
        for r in refs {
            let Some(&space_tag) = space_tags.get(r.thread as usize) else { continue };
            taken = taken.wrapping_add(r.weight.into());
            if r.op == Op::Spin && !self.spins {
                continue;
            }
            // The space_tag leaves the bits below 2^32 as they are, so that words can be counted in flat addresses; what wraps
            // past the last address is of many words here.
            let last = r.addr.wrapping_add(u64::from(r.size).max(1) - 1);
            let more = (last >> unit_shift).wrapping_sub(r.addr >> unit_shift);
            let flat = r.addr ^ space_tag;
            let unit = flat >> unit_shift & mask;
            if more > 1 || (more == 1 && unit == mask) {
                self.long(r, space_tag, slots, buffers);
                continue;
            }
            let code = u32::from(r.op.writes()) + if more == 1 { Code::ReadTwo as u32 } else { 0 };
            self.put(flat, self.format.word(unit as u32, code, r.thread), slots, buffers);
        }
        taken
    }

    /// A reference of more words than a record can be of.
    #[inline(never)]
    fn long(&mut self, r: &Merged, space_tag: u64, slots: &mut Slots, buffers: &mut Buffers) {
        let mask = self.format.units() as u64 - 1;
        for piece in Pieces::new(r.addr, r.size, self.format.unit_shift) {
            let flat = piece.addr ^ space_tag;
            let unit = flat >> self.format.unit_shift & mask;
            self.put(flat, self.format.word(unit as u32, r.op.writes().into(), r.thread), slots, buffers);
        }
    }

    #[inline(always)]
    fn put(&mut self, flat: u64, word: u32, slots: &mut Slots, buffers: &mut Buffers) {
        let number = flat >> self.region_shift;
        // Neighbouring regions must not meet, and neither must those at distances of powers of two.
        let at = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LINE_BITS)) as usize;
        if self.owners[at].number != number {
            self.turn(at, number, slots, buffers);
        }
        let owner = &mut self.owners[at];
        self.lines[at][owner.filled as usize % LINE_WORDS] = word;
        owner.filled += 1;
        if owner.filled as usize == LINE_WORDS {
            buffers.line(owner.slot, &self.lines[at]);
            owner.filled = 0;
        }
    }

    /// Gives a line to another region.
    #[inline(never)]
    fn turn(&mut self, at: usize, number: u64, slots: &mut Slots, buffers: &mut Buffers) {
        let Owner { slot, filled, .. } = self.owners[at];
        buffers.line(slot, &self.lines[at][..filled as usize]);
        self.owners[at] = Owner { number, slot: slots.slot(number), filled: 0 };
    }

    /// Empties all lines.
    pub(super) fn finish(&mut self, buffers: &mut Buffers) {
        for (owner, line) in self.owners.iter_mut().zip(&self.lines[..]) {
            buffers.line(owner.slot, &line[..owner.filled as usize]);
            *owner = NOBODY;
        }
    }
}
