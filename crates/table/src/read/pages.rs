//! Headers of pages, looked at before the library of Parquet sees them: it takes as much memory as they claim.
//!
//! A header is a structure of Thrift's compact protocol: fields with their numbers and types, of which four matter here.
use super::{Contents, ReadError};
use std::ops::Range;

/// Most bytes of a page, packed or unpacked. Common writers begin a new one after 1 MiB.
pub(super) const PAGE_MAX: u64 = 64 << 20;
/// Most bytes of the largest pages and the dictionaries of all columns that are read at the same time.
pub(super) const PAGES_MAX: u64 = 256 << 20;
/// What a value of a dictionary takes in memory, and the least that it takes in its page.
const VALUE_BYTES: u64 = 32;
const VALUE_PACKED: u64 = 4;
/// Longest header; those of words hold the smallest and largest one.
const HEADER_MAX: usize = 1 << 20;
/// Bytes in which most headers end.
const HEADER_USUAL: usize = 256;
/// Deepest structure within structures.
const DEPTH_MAX: u32 = 16;

/// Types of fields.
const BOOLEANS: [u8; 2] = [1, 2];
const BYTE: u8 = 3;
const INTEGERS: [u8; 3] = [4, 5, 6];
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LISTS: [u8; 2] = [9, 10];
const MAP: u8 = 11;
const STRUCTURE: u8 = 12;
/// Fields of a header.
const UNPACKED: u64 = 2;
const PACKED: u64 = 3;
const DICTIONARY: u64 = 7;
/// A field of the header of a dictionary.
const VALUES: u64 = 1;

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    /// The header goes on behind the bytes at hand.
    Short,
    Damaged,
}

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    /// Bytes of the page, unpacked and as they are in the file.
    unpacked: Option<u64>,
    packed: Option<u64>,
    /// Values of a dictionary.
    values: Option<u64>,
}

/// Reads the compact protocol.
struct Thrift<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, Bad> {
        let byte = *self.bytes.get(self.at).ok_or(Bad::Short)?;
        self.at += 1;
        Ok(byte)
    }
    fn varint(&mut self) -> Result<u64, Bad> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(Bad::Damaged)
    }
    /// A number that is not negative: numbers are doubled, negative ones odd.
    fn count(&mut self) -> Result<u64, Bad> {
        let n = self.varint()?;
        if n % 2 == 0 { Ok(n / 2) } else { Err(Bad::Damaged) }
    }
    fn pass(&mut self, bytes: u64) -> Result<(), Bad> {
        let left = (self.bytes.len() - self.at) as u64;
        if bytes > left {
            return Err(if bytes > HEADER_MAX as u64 { Bad::Damaged } else { Bad::Short });
        }
        self.at += bytes as usize;
        Ok(())
    }
    /// All fields of a structure, whose numbers and types are handed on; what is not taken there is passed over.
    fn fields(&mut self, depth: u32, take: &mut dyn FnMut(&mut Self, u64, u8) -> Result<bool, Bad>) -> Result<(), Bad> {
        let mut number = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            let (step, kind) = (u64::from(head >> 4), head & 0xf);
            number = if step > 0 { number + step } else { self.varint()? / 2 };
            if !take(self, number, kind)? {
                self.skip(kind, depth, true)?;
            }
        }
    }
    /// Passes over a value; a boolean that is a field stands in its type.
    fn skip(&mut self, kind: u8, depth: u32, field: bool) -> Result<(), Bad> {
        let depth = depth.checked_sub(1).ok_or(Bad::Damaged)?;
        match kind {
            k if BOOLEANS.contains(&k) => {
                if field {
                    Ok(())
                } else {
                    self.pass(1)
                }
            }
            BYTE => self.pass(1),
            k if INTEGERS.contains(&k) => self.varint().map(|_| ()),
            DOUBLE => self.pass(8),
            BINARY => {
                let bytes = self.varint()?;
                self.pass(bytes)
            }
            k if LISTS.contains(&k) => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                (0..n).try_for_each(|_| self.skip(head & 0xf, depth, false))
            }
            MAP => {
                let n = self.varint()?;
                let kinds = if n > 0 { self.byte()? } else { 0 };
                (0..n).try_for_each(|_| {
                    self.skip(kinds >> 4, depth, false)?;
                    self.skip(kinds & 0xf, depth, false)
                })
            }
            STRUCTURE => self.fields(depth, &mut |_, _, _| Ok(false)),
            _ => Err(Bad::Damaged),
        }
    }
}

/// The header that `bytes` begin with, and its length.
fn header(bytes: &[u8]) -> Result<(Header, usize), Bad> {
    let (mut thrift, mut header) = (Thrift { bytes, at: 0 }, Header::default());
    let once = |place: &mut Option<u64>, n: u64| if place.replace(n).is_none() { Ok(true) } else { Err(Bad::Damaged) };
    thrift.fields(DEPTH_MAX, &mut |thrift, number, kind| match (number, kind) {
        (UNPACKED, k) if INTEGERS.contains(&k) => once(&mut header.unpacked, thrift.count()?),
        (PACKED, k) if INTEGERS.contains(&k) => once(&mut header.packed, thrift.count()?),
        (DICTIONARY, STRUCTURE) => {
            thrift.fields(DEPTH_MAX, &mut |thrift, number, kind| match (number, kind) {
                (VALUES, k) if INTEGERS.contains(&k) => once(&mut header.values, thrift.count()?),
                _ => Ok(false),
            })?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok((header, thrift.at))
}

/// Looks at the headers of all pages in a part of a file: the chunk of a column. Returns what its largest page and its dictionary
/// will take in memory, in bytes.
///
/// # Errors
/// A header is damaged, or claims more than [`PAGE_MAX`] or more values than there can be.
pub(super) fn check(file: &dyn Contents, chunk: Range<u64>, column: &str) -> Result<u64, ReadError> {
    let damaged = |why: &str| ReadError::new(format!("it is damaged: the header of a page of column {column} {why}"));
    let (mut at, mut largest, mut window) = (chunk.start, 0, Vec::new());
    while at < chunk.end {
        let (header, bytes) = read(file, at..chunk.end, &mut window)
            .map_err(|e| ReadError::new(format!("it cannot be read: {e}")))?
            .map_err(|_| damaged("cannot be understood"))?;
        let (Some(unpacked), Some(packed)) = (header.unpacked, header.packed) else {
            return Err(damaged("does not say how long the page is"));
        };
        if unpacked.max(packed) > PAGE_MAX {
            return Err(ReadError::new(format!(
                "a page of column {column} claims {} bytes, more than {PAGE_MAX}: write it with smaller pages",
                unpacked.max(packed)
            )));
        }
        let values = header.values.unwrap_or(0);
        if values > unpacked / VALUE_PACKED {
            return Err(damaged(&format!("claims {values} values in {unpacked} bytes")));
        }
        largest = largest.max(unpacked + packed).max(unpacked + values * VALUE_BYTES);
        at += bytes as u64 + packed;
    }
    if at > chunk.end { Err(damaged("claims more than there is")) } else { Ok(largest) }
}

/// The header at a place, and its length.
fn read(file: &dyn Contents, part: Range<u64>, window: &mut Vec<u8>) -> std::io::Result<Result<(Header, usize), Bad>> {
    let left = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
    let mut most = HEADER_USUAL.min(left);
    loop {
        window.resize(most, 0);
        let mut filled = 0;
        while filled < most {
            match file.read_at(part.start + filled as u64, &mut window[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        match header(&window[..filled]) {
            Err(Bad::Short) if filled == most && most < left.min(HEADER_MAX) => most = left.min(HEADER_MAX),
            found => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header that claims these bytes, with a dictionary of so many values.
    fn made(unpacked: u64, packed: u64, values: u64) -> Vec<u8> {
        let number = |mut n: u64, out: &mut Vec<u8>| {
            n *= 2;
            while n > 0x7f {
                out.push(n as u8 | 0x80);
                n >>= 7;
            }
            out.push(n as u8);
        };
        let mut out = vec![0x15, 4, 0x15];
        number(unpacked, &mut out);
        out.push(0x15);
        number(packed, &mut out);
        out.extend([0x4c, 0x15]);
        number(values, &mut out);
        out.extend([0x15, 0, 0, 0]);
        out
    }

    fn said(bytes: Vec<u8>) -> String {
        let end = bytes.len() as u64;
        check(&bytes, 0..end, "n").unwrap_err().to_string()
    }

    #[test]
    fn what_a_header_claims_is_bounded() {
        let page = [made(100, 3, 25), vec![1, 2, 3]].concat();
        assert_eq!(
            header(&page),
            Ok((Header { unpacked: Some(100), packed: Some(3), values: Some(25) }, page.len() - 3))
        );
        let two = page.repeat(2);
        assert_eq!(check(&two, 0..two.len() as u64, "n"), Ok(100 + 25 * VALUE_BYTES));
        assert!(said([made(0x7fff_ffff, 3, 1), vec![1, 2, 3]].concat()).contains("claims 2147483647 bytes"));
        assert!(said([made(100, 3, 26), vec![1, 2, 3]].concat()).contains("26 values in 100 bytes"));
        assert!(said([made(100, 4, 25), vec![1, 2, 3]].concat()).contains("more than there is"));
        assert!(said(vec![0]).contains("how long"));
    }

    #[test]
    fn headers_that_make_no_sense_are_refused() {
        for bad in [
            &[0x15][..],
            &[0x25, 1, 0],                                                    // A negative size.
            &[0x15, 4, 0x08, 2, 2, 0],                                        // A field again.
            &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0], // A text without end.
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f],                      // A list likewise.
            &[0x1d, 0],                                                       // A type that there is not.
            &[0x1c; 64],                                                      // Structures in structures.
        ] {
            let end = bad.len() as u64;
            assert!(check(&bad.to_vec(), 0..end, "n").is_err(), "{bad:x?}");
        }
        // A longer one is read whole.
        let text = [&[0x15, 0, 0x15, 2, 0x15, 0, 0x28, 0x80, 0x08][..], &[b'a'; 1024], &[0]].concat();
        assert_eq!(check(&text, 0..text.len() as u64, "n"), Ok(1));
    }
}
