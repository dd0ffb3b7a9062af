//! The short way from references to records: machines without caches that all have words of one size, or count references by
//! their first byte; exact recordings; and records of one word, or one and a time. Records wait in a line per region, as long as no other region needs the line, and go to the
//! buffer of their region together.
use super::fill::{Buffers, Slots};
use super::record::{Code, Format};
use homenode_sim::Pieces;
use homenode_trace::{Merged, Op};

/// Lines, as a power of two: together about as large as a first-level cache.
const LINE_BITS: u32 = 8;
/// Words in a line.
const LINE_WORDS: usize = 32;

/// Words of a record with a time.
const TIMED_WORDS: usize = 3;

/// Whose records are in a line, and how many words.
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
    /// Whether a reference is one access of its first byte.
    first_byte: bool,
    /// References so far, without spins, if records have times.
    time: u64,
    owners: Box<[Owner; 1 << LINE_BITS]>,
    lines: Box<[[u32; LINE_WORDS]; 1 << LINE_BITS]>,
}

impl Scatter {
    /// `format` is one of records of a word, or of a word and a time. `spins`: whether they are charged. `first_byte`: whether
    /// a reference is one access of its first byte.
    pub(super) fn new(format: Format, region_shift: u32, spins: bool, first_byte: bool) -> Scatter {
        let (owners, lines) = (Box::new([NOBODY; 1 << LINE_BITS]), Box::new([[0; LINE_WORDS]; 1 << LINE_BITS]));
        Scatter { format, region_shift, spins, first_byte, time: 0, owners, lines }
    }

    /// Takes references and returns how many, spins included; those of threads that the dataset does not have are hostile and left out.
    pub(super) fn refs(
        &mut self,
        refs: &[Merged],
        space_tags: &[u64],
        slots: &mut Slots,
        buffers: &mut Buffers,
    ) -> u64 {
        match (self.format.timed, self.first_byte) {
            (false, false) => self.all::<1, false>(refs, space_tags, slots, buffers),
            (false, true) => self.all::<1, true>(refs, space_tags, slots, buffers),
            (true, false) => self.all::<TIMED_WORDS, false>(refs, space_tags, slots, buffers),
            (true, true) => self.all::<TIMED_WORDS, true>(refs, space_tags, slots, buffers),
        }
    }

    fn all<const WORDS: usize, const FIRST_BYTE: bool>(
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
            // Time is that of the first reference it stands for; spins take none.
            let mut t = self.time;
            if r.op != Op::Spin {
                t = t.wrapping_add(1);
                self.time = self.time.wrapping_add(r.weight.into());
            } else if !self.spins {
                continue;
            }
            // The space_tag leaves the bits below 2^32 as they are, so that words can be counted in flat addresses; what wraps
            // past the last address is of many words here.
            let last = if FIRST_BYTE { r.addr } else { r.addr.wrapping_add(u64::from(r.size).max(1) - 1) };
            let more = (last >> unit_shift).wrapping_sub(r.addr >> unit_shift);
            let flat = r.addr ^ space_tag;
            let unit = flat >> unit_shift & mask;
            if more > 1 || (more == 1 && unit == mask) {
                self.long::<WORDS>(r, t, space_tag, slots, buffers);
                continue;
            }
            let code = u32::from(r.op.writes()) + if more == 1 { Code::ReadTwo as u32 } else { 0 };
            self.put::<WORDS>(flat, self.format.word(unit as u32, code, r.thread), t, slots, buffers);
        }
        taken
    }

    /// A reference of more words than a record can be of.
    #[inline(never)]
    fn long<const WORDS: usize>(
        &mut self,
        r: &Merged,
        t: u64,
        space_tag: u64,
        slots: &mut Slots,
        buffers: &mut Buffers,
    ) {
        let mask = self.format.units() as u64 - 1;
        for piece in Pieces::new(r.addr, r.size, self.format.unit_shift) {
            let flat = piece.addr ^ space_tag;
            let unit = flat >> self.format.unit_shift & mask;
            let word = self.format.word(unit as u32, r.op.writes().into(), r.thread);
            self.put::<WORDS>(flat, word, t, slots, buffers);
        }
    }

    #[inline(always)]
    fn put<const WORDS: usize>(&mut self, flat: u64, word: u32, t: u64, slots: &mut Slots, buffers: &mut Buffers) {
        let number = flat >> self.region_shift;
        // Neighbouring regions must not meet, and neither must those at distances of powers of two.
        let at = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LINE_BITS)) as usize;
        if self.owners[at].number != number {
            self.turn(at, number, slots, buffers);
        }
        let owner = &mut self.owners[at];
        let record = [word, t as u32, (t >> 32) as u32];
        // As many whole records as there is room for.
        let most = LINE_WORDS / WORDS * WORDS;
        let from = (owner.filled as usize).min(most - WORDS);
        self.lines[at][from..from + WORDS].copy_from_slice(&record[..WORDS]);
        owner.filled += WORDS as u32;
        if owner.filled as usize == most {
            buffers.line(owner.slot, &self.lines[at][..most]);
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
