//! Little-endian numbers, LEB128 and zigzag: what every file of the dataset is made of.

/// Why a parse stopped: where inside the parsed bytes, and what was wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte offset inside the bytes given to the parser.
    pub offset: usize,
    /// What was expected and found.
    pub what: String,
    /// The version found, if the only thing wrong is that it is newer than this build.
    pub newer: Option<u32>,
}

impl Fault {
    pub(crate) fn new(offset: usize, what: impl Into<String>) -> Fault {
        Fault { offset, what: what.into(), newer: None }
    }
    /// The error of the file `name` in which the parsed bytes began at `base`.
    pub fn into_error(self, name: &str, base: u64, known: u32) -> crate::TraceError {
        let name = name.to_owned();
        match self.newer {
            Some(found) => crate::TraceError::Newer { name, found, known },
            None => crate::TraceError::Damaged { name, offset: base + self.offset as u64, what: self.what },
        }
    }
}

/// Appends `v` in LEB128, 1 to 10 bytes.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, v: u64) {
    if v < 0x80 {
        out.push(v as u8);
    } else if v < 1 << 56 {
        put_seven_a_byte(out, v);
    } else {
        put_long(out, v);
    }
}

/// Appends `v`, which has at most 56 bits, in LEB128: its groups of seven bits are moved apart all at once, since how many there are is hard to
/// predict for processors.
#[inline]
fn put_seven_a_byte(out: &mut Vec<u8>, v: u64) {
    let v = (v & 0x0fff_ffff) | (v & 0x00ff_ffff_f000_0000) << 4;
    let v = (v & 0x0000_3fff_0000_3fff) | (v & 0x0fff_c000_0fff_c000) << 2;
    let v = (v & 0x007f_007f_007f_007f) | (v & 0x3f80_3f80_3f80_3f80) << 1;
    let last = (63 - v.leading_zeros()) / 8;
    let more = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * last));
    let end = out.len() + last as usize + 1;
    out.extend_from_slice(&(v | more).to_le_bytes());
    out.truncate(end);
}

#[cold]
fn put_long(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Small magnitudes of either sign become small numbers.
#[inline]
pub(crate) const fn zigzag(v: u64) -> u64 {
    (v << 1) ^ (((v as i64) >> 63) as u64)
}

/// Inverse of [`zigzag`].
#[inline]
pub(crate) const fn unzigzag(v: u64) -> u64 {
    (v >> 1) ^ (v & 1).wrapping_neg()
}

/// A cursor over bytes that may be anything.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }
    /// A fault at the current position.
    #[cold]
    pub(crate) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.at, what)
    }
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Fault> {
        let Some(&b) = self.bytes.get(self.at) else { return Err(self.fault("the data ends early")) };
        self.at += 1;
        Ok(b)
    }
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        if n > self.remaining() {
            return Err(self.fault(format!("{n} bytes expected, {} left", self.remaining())));
        }
        let taken = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(taken)
    }
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.long_varint(first) }
    }
    fn long_varint(&mut self, first: u8) -> Result<u64, Fault> {
        let mut v = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let b = self.byte()?;
            let low = u64::from(b & 0x7f);
            if (low << shift) >> shift != low {
                break;
            }
            v |= low << shift;
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(self.fault("a number longer than 64 bits"))
    }
    /// A number that must not exceed `limit`.
    pub(crate) fn bounded(&mut self, limit: u64, what: &str) -> Result<u64, Fault> {
        let v = self.varint()?;
        if v > limit { Err(self.fault(format!("{what} is {v}, at most {limit} possible"))) } else { Ok(v) }
    }
    /// A length-prefixed piece.
    pub(crate) fn section(&mut self) -> Result<&'a [u8], Fault> {
        let n = self.bounded(self.remaining() as u64, "length of a section")? as usize;
        self.take(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_overlong_ones_are_refused() {
        let mut values = vec![0, 1, 127, 128, u64::MAX, u64::MAX - 1, 1 << 63];
        let mut rng = homenode_base::Rng::new(3);
        values.extend((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]));
        values.extend((0..1000).map(|_| rng.next_u64() >> rng.below(64)));
        let mut out = Vec::new();
        for &v in &values {
            let (mut slow, begin) = (Vec::new(), out.len());
            put_varint(&mut out, v);
            put_long(&mut slow, v);
            assert_eq!(out[begin..], slow);
        }
        let mut r = Reader::new(&out);
        for v in values {
            assert_eq!(r.varint(), Ok(v));
            assert_eq!(unzigzag(zigzag(v)), v);
        }
        assert!(r.is_empty() && r.byte().is_err());
        assert!(Reader::new(&[0xff; 11]).varint().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint().is_err());
    }
}
