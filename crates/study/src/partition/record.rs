//! One access as a partition keeps it: one to five 32-bit words.
use homenode_machine::AccessClass;
use homenode_placement::AccessKind;

/// What an access is, as a code of three bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Read = 0,
    Write = 1,
    WriteBack = 2,
    FreeRead = 3,
    FreeWrite = 4,
    /// Of this word and the next one: what an eight-byte reference is on machines with words of four.
    ReadTwo = 5,
    WriteTwo = 6,
}

/// Bits of a code.
pub(crate) const CODE_BITS: u32 = 3;
/// Codes of single accesses; the others stand for two of them.
pub(crate) const SINGLE: usize = 5;

/// Kind and class of a single access, by code.
pub(crate) const MEANING: [(AccessKind, AccessClass); SINGLE] = [
    (AccessKind::Read, AccessClass::Read),
    (AccessKind::Write, AccessClass::Write),
    (AccessKind::Write, AccessClass::WriteBack),
    (AccessKind::Read, AccessClass::Free),
    (AccessKind::Write, AccessClass::Free),
];

/// The code of a single access.
#[cfg(test)]
pub(crate) fn code(kind: AccessKind, class: AccessClass) -> Code {
    match (kind, class.at_latency()) {
        (AccessKind::Read, AccessClass::Free) => Code::FreeRead,
        (AccessKind::Write, AccessClass::Free) => Code::FreeWrite,
        (AccessKind::Read, _) => Code::Read,
        (AccessKind::Write, AccessClass::WriteBack) => Code::WriteBack,
        (AccessKind::Write, _) => Code::Write,
    }
}

/// A single access, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Unit in the region.
    pub(crate) unit: u32,
    /// Thread, or node where the stream is one of cache events.
    pub(crate) by: u32,
    /// Below [`SINGLE`].
    pub(crate) code: u8,
    /// Number of accesses.
    pub(crate) weight: u32,
    /// Virtual time; 0 where it is not kept.
    pub(crate) t: u64,
}

/// How the records of a stream are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// A unit is `1 << unit_shift` bytes.
    pub(crate) unit_shift: u32,
    /// A region is `1 << region_shift` bytes.
    pub(crate) region_shift: u32,
    /// Whether threads have a word of their own.
    pub(crate) wide: bool,
    /// Whether weights are kept (else all are 1).
    pub(crate) weighted: bool,
    /// Whether times are kept.
    pub(crate) timed: bool,
}

impl Format {
    /// The shortest one for `threads` threads.
    pub(crate) fn new(unit_shift: u32, region_shift: u32, threads: usize, weighted: bool, timed: bool) -> Format {
        let mut format = Format { unit_shift, region_shift, wide: false, weighted, timed };
        format.wide = threads as u64 > 1 << (32 - format.thread_shift());
        format
    }
    /// Bits of a unit number.
    pub(crate) const fn unit_bits(&self) -> u32 {
        self.region_shift - self.unit_shift
    }
    /// Units of a region.
    pub(crate) const fn units(&self) -> usize {
        1 << self.unit_bits()
    }
    /// Where the thread begins in the first word.
    pub(crate) const fn thread_shift(&self) -> u32 {
        self.unit_bits() + CODE_BITS
    }
    /// 32-bit words of a record.
    pub(crate) const fn words(&self) -> usize {
        1 + self.wide as usize + self.weighted as usize + 2 * self.timed as usize
    }
    /// The first word where threads fit into it, and the only one where nothing else is kept.
    #[inline]
    pub(crate) const fn first(&self, unit: u32, code: Code, by: u32) -> u32 {
        unit | (code as u32) << self.unit_bits() | by << self.thread_shift()
    }
    /// The first word for a code as a number, where nothing is known to be in range.
    #[inline(always)]
    pub(crate) const fn word(&self, unit: u32, code: u32, by: u32) -> u32 {
        unit | code.unbounded_shl(self.unit_bits()) | by.unbounded_shl(self.thread_shift())
    }
    /// Appends a record in its general form.
    pub(crate) fn put(&self, into: &mut Vec<u32>, unit: u32, code: Code, by: u32, weight: u32, t: u64) {
        into.push(self.first(unit, code, if self.wide { 0 } else { by }));
        if self.wide {
            into.push(by);
        }
        if self.weighted {
            into.push(weight);
        }
        if self.timed {
            into.extend([t as u32, (t >> 32) as u32]);
        }
    }
    /// Calls `each(access, whether it is two)` with every access in `words`, whole records in order; accesses of two units
    /// are given at once where the first one is even. Codes and units that do not exist (hostile) are left out.
    #[inline]
    pub(crate) fn for_each_pair(&self, words: &[u32], mut each: impl FnMut(Record, bool)) {
        self.decode(words, |r, two| {
            let pair = two && r.unit.is_multiple_of(2);
            each(r, pair);
            if two && !pair {
                each(Record { unit: r.unit + 1, ..r }, false);
            }
        });
    }
    #[inline(always)]
    fn decode(&self, words: &[u32], mut each: impl FnMut(Record, bool)) {
        if self.words() == 1 {
            for word in words {
                let by = word.unbounded_shr(self.thread_shift());
                self.expand(*word, Record { by, ..ONE }, &mut each);
            }
            return;
        }
        for record in words.chunks_exact(self.words()) {
            let mut rest = record[1..].iter().copied();
            let mut next = |there: bool, otherwise: u32| if there { rest.next().unwrap_or(0) } else { otherwise };
            let by = next(self.wide, record[0].unbounded_shr(self.thread_shift()));
            let weight = next(self.weighted, 1);
            let (low, high) = (next(self.timed, 0), next(self.timed, 0));
            let t = u64::from(low) | u64::from(high) << 32;
            self.expand(record[0], Record { by, weight, t, ..ONE }, &mut each);
        }
    }
    #[inline(always)]
    fn expand(&self, word: u32, rest: Record, each: &mut impl FnMut(Record, bool)) {
        let unit = word & (self.units() as u32 - 1);
        let code = (word >> self.unit_bits()) as u8 & 7;
        if usize::from(code) < SINGLE {
            return each(Record { unit, code, ..rest }, false);
        }
        if code < 7 && (unit as usize + 1) < self.units() {
            each(Record { unit, code: code - Code::ReadTwo as u8, ..rest }, true);
        }
    }
}

const ONE: Record = Record { unit: 0, by: 0, code: 0, weight: 1, t: 0 };

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    /// Calls `each` with every access of one unit.
    fn for_each(format: &Format, words: &[u32], mut each: impl FnMut(Record)) {
        format.for_each_pair(words, |r, pair| {
            each(r);
            if pair {
                each(Record { unit: r.unit + 1, ..r });
            }
        });
    }

    #[test]
    fn records_come_back_in_every_format() {
        let mut rng = Rng::new(1);
        for case in 0..64u32 {
            let (weighted, timed) = (case & 1 > 0, case & 2 > 0);
            let threads = [1, 8, 300, 40_000][case as usize / 4 % 4];
            let format = Format::new(rng.below(4) as u32, 16 + rng.below(6) as u32, threads, weighted, timed);
            let (mut words, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..200 {
                let unit = rng.below(format.units() as u64) as u32;
                let by = rng.below(threads as u64) as u32;
                let weight = if weighted { rng.next_u64() as u32 } else { 1 };
                let t = if timed { rng.next_u64() } else { 0 };
                let (kind, class) = MEANING[rng.below(5) as usize];
                let code = code(kind, class);
                format.put(&mut words, unit, code, by, weight, t);
                expected.push(Record { unit, by, code: code as u8, weight, t });
            }
            assert_eq!(words.len(), 200 * format.words());
            let mut got = Vec::new();
            for_each(&format, &words, |r| got.push(r));
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn pairs_are_two_accesses_and_nonsense_is_left_out() {
        let format = Format::new(2, 16, 8, false, false);
        let last = format.units() as u32 - 1;
        let words = [
            format.first(4, Code::WriteTwo, 3),
            format.first(last, Code::ReadTwo, 1),
            7 << format.unit_bits(),
            format.first(last, Code::Read, 7),
        ];
        let mut got = Vec::new();
        for_each(&format, &words, |r| got.push((r.unit, r.code, r.by)));
        assert_eq!(got, [(4, 1, 3), (5, 1, 3), (last, 0, 7)]);
    }
}
