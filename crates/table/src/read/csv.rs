//! Reading comma-separated values (RFC 4180; lines may end with a line feed alone).
use super::words::{Recent, Words};
use super::{BATCH_ROWS, Batch, Cells, ReadError};
use std::io::{BufRead, ErrorKind};
use std::ops::Range;

/// Longest line, quoted line ends included.
const LINE_MAX: usize = 1 << 20;
/// Most columns.
const COLUMNS_MAX: usize = 1024;
/// Mark of UTF-8 that some programs put first.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads records.
#[derive(Debug)]
pub(super) struct Lines<R> {
    text: R,
    /// Cells of the record, without their quotes, one after the other; with what stands between them if nothing is quoted.
    record: Vec<u8>,
    /// Where in it each cell ends.
    ends: Vec<usize>,
    /// Bytes between two cells.
    between: usize,
    /// Cells that every record must have; as many as there are names if `None`.
    pub(super) enough: Option<usize>,
    /// The line that is read next, from 1.
    line: u64,
    /// The last words of each column.
    recent: Vec<Recent>,
}

/// Where in a cell the reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before its first byte.
    Begin,
    Plain,
    Quoted,
    /// Behind a quote within quotes: its end, or the first of two.
    Quote,
    /// Behind a carriage return, which only a line end may follow.
    Return,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(text: R) -> Lines<R> {
        let (record, ends, between, enough, recent) = Default::default();
        Lines { text, record, ends, between, enough, line: 1, recent }
    }

    /// The names in the first line.
    pub(super) fn names(&mut self) -> Result<Vec<String>, ReadError> {
        self.next()?.ok_or_else(|| ReadError::new("it has no line with the names of its columns"))?;
        let name = |i: usize| {
            let bytes = self.cell(i);
            let bytes = if i == 0 { bytes.strip_prefix(MARK).unwrap_or(bytes) } else { bytes };
            String::from_utf8_lossy(bytes).trim().to_owned()
        };
        Ok((0..self.ends.len()).map(name).collect())
    }

    fn cell(&self, column: usize) -> &[u8] {
        &self.record[self.range(column)]
    }
    fn range(&self, column: usize) -> Range<usize> {
        let from = column.checked_sub(1).map_or(0, |before| self.ends[before] + self.between);
        from..self.ends[column]
    }

    /// Reads up to [`BATCH_ROWS`] rows.
    pub(super) fn batch(
        &mut self,
        batch: &mut Batch,
        places: &[Option<usize>],
        names: &[String],
        words: &mut Words,
    ) -> Result<(), ReadError> {
        self.recent.resize(names.len(), Recent::default());
        while batch.rows < BATCH_ROWS {
            let Some(line) = self.next()? else { break };
            if self.ends.len() == 1 && self.record.is_empty() {
                continue; // An empty line.
            }
            if self.ends.len() != names.len() && self.enough.is_none_or(|enough| self.ends.len() < enough) {
                let (cells, columns) = (self.ends.len(), names.len());
                return Err(told(line, &format!("it has {cells} cells, and the first line {columns}")));
            }
            for (cells, place) in batch.columns.iter_mut().zip(places) {
                let Some(place) = *place else { continue };
                if let Some(why) = self.take(place, cells, words)? {
                    let shown: String = String::from_utf8_lossy(self.cell(place)).chars().take(40).collect();
                    let why = format!("line {line}, column {}: '{shown}' is {why}", names[place]);
                    return Err(ReadError::new(why));
                }
            }
            batch.lines.push(line);
            batch.rows += 1;
        }
        Ok(())
    }

    /// Adds a cell of the record to those of its column. What it is, if it is not what it should be.
    #[inline]
    fn take(&mut self, place: usize, to: &mut Cells, words: &mut Words) -> Result<Option<&'static str>, ReadError> {
        let range = self.range(place);
        let cell = &self.record[range];
        match to {
            Cells::Missing => {}
            Cells::Counts(all) if cell.is_empty() => all.push(None),
            Cells::Words(all) if cell.is_empty() => all.push(None),
            Cells::Counts(all) => match number(cell) {
                Some(n) => all.push(Some(n)),
                None => return Ok(Some("no whole number from 0 to 2^64 - 1 (decimal, or hexadecimal behind 0x)")),
            },
            Cells::Words(all) => match self.recent[place].number(cell, words)? {
                Some(n) => all.push(Some(n)),
                None => return Ok(Some("no UTF-8")),
            },
        }
        Ok(None)
    }

    /// Reads the next record and says in which line it begins; `None` at the end.
    fn next(&mut self) -> Result<Option<u64>, ReadError> {
        let begin = self.line;
        self.record.clear();
        self.ends.clear();
        if self.plain() {
            return Ok(Some(begin));
        }
        (self.between, self.line) = (0, begin);
        self.ends.clear();
        let (mut at, mut read) = (At::Begin, 0_usize);
        loop {
            let piece = match self.text.fill_buf() {
                Ok(piece) => piece,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(ReadError::new(format!("line {}: it cannot be read: {e}", self.line))),
            };
            if piece.is_empty() {
                return self.ended(at, read, begin);
            }
            let mut used = 0;
            let mut whole = false;
            for &byte in piece {
                used += 1;
                self.line += u64::from(byte == b'\n');
                whole = step(&mut at, byte, &mut self.record, &mut self.ends).map_err(|why| told(begin, why))?;
                if whole {
                    break;
                }
            }
            self.text.consume(used);
            read += used;
            if read > LINE_MAX || self.ends.len() > COLUMNS_MAX {
                let why = format!("it is longer than {LINE_MAX} bytes, or has more than {COLUMNS_MAX} cells");
                return Err(told(begin, &why));
            }
            if whole {
                return Ok(Some(begin));
            }
        }
    }

    /// Takes the next line if it is at hand and nothing in it is quoted.
    #[inline]
    fn plain(&mut self) -> bool {
        let Ok(piece) = self.text.fill_buf() else { return false };
        let piece = &piece[..piece.len().min(LINE_MAX)];
        let Some(length) = plain_line(piece, self.enough.unwrap_or(usize::MAX), &mut self.ends) else { return false };
        if self.ends.len() > COLUMNS_MAX {
            return false;
        }
        self.record.extend_from_slice(&piece[..length]);
        self.text.consume(length + 1);
        (self.between, self.line) = (1, self.line + 1);
        true
    }

    /// The end of the text.
    fn ended(&mut self, at: At, read: usize, begin: u64) -> Result<Option<u64>, ReadError> {
        match at {
            _ if read == 0 => Ok(None),
            At::Quoted => Err(told(begin, "a quote has no end")),
            _ => {
                self.ends.push(self.record.len());
                Ok(Some(begin))
            }
        }
    }
}

fn told(line: u64, why: &str) -> ReadError {
    ReadError::new(format!("line {line}: {why}"))
}

/// Takes one byte. Whether it ends the record.
fn step(at: &mut At, byte: u8, record: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<bool, &'static str> {
    match (*at, byte) {
        (At::Quoted, b'"') => *at = At::Quote,
        (At::Begin, b'"') => *at = At::Quoted,
        (At::Quote, b'"') => {
            record.push(b'"');
            *at = At::Quoted;
        }
        (At::Quoted, byte) => record.push(byte),
        (At::Return, byte) if byte != b'\n' => return Err("a carriage return that ends no line"),
        (_, b',') => {
            ends.push(record.len());
            *at = At::Begin;
        }
        (_, b'\n') => {
            ends.push(record.len());
            *at = At::Begin;
            return Ok(true);
        }
        (_, b'\r') => *at = At::Return,
        (At::Quote, _) => return Err("something follows the quote that ends a cell"),
        (At::Plain, b'"') => return Err("a quote within a cell that does not begin with one"),
        (_, byte) => {
            record.push(byte);
            *at = At::Plain;
        }
    }
    Ok(false)
}

/// Bytes whose highest bit is set in `word` as that of each byte below `limit`, and perhaps of some behind the first of these that are not.
const fn below(word: u64, limit: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    word.wrapping_sub(ONES * limit as u64) & !word & (ONES << 7)
}

/// The length of a line without quotes and carriage returns, and where its cells end, of those behind the first `enough` only the last;
/// `None` if it is none, or its end is not at hand.
#[inline]
fn plain_line(piece: &[u8], enough: usize, ends: &mut Vec<usize>) -> Option<usize> {
    let (words, rest) = piece.as_chunks::<8>();
    // What ends a cell, and what makes it another kind of line, is not above a comma; few other bytes are.
    let mut limit = b'-';
    for (i, word) in words.iter().enumerate() {
        let mut low = below(u64::from_le_bytes(*word), limit);
        while low != 0 {
            let at = 8 * i + (low.trailing_zeros() / 8) as usize;
            low &= low - 1;
            let byte = piece[at];
            if byte == b',' {
                if ends.len() < enough {
                    ends.push(at);
                    continue;
                }
                // Further commas need not be seen.
                limit = b'#';
            } else if byte == b'\n' {
                ends.push(at);
                return Some(at);
            } else if byte == b'"' || byte == b'\r' {
                return None;
            }
        }
    }
    for (at, &byte) in (piece.len() - rest.len()..).zip(rest) {
        match byte {
            b',' if ends.len() < enough => ends.push(at),
            b'\n' => {
                ends.push(at);
                return Some(at);
            }
            b'"' | b'\r' => return None,
            _ => {}
        }
    }
    None
}

/// Digits of a decimal number that never is too large.
const DIGITS_SURE: usize = 19;

/// A whole number.
#[inline]
fn number(cell: &[u8]) -> Option<u64> {
    if (1..=DIGITS_SURE).contains(&cell.len()) {
        let (mut n, mut wrong) = (0_u64, false);
        for &byte in cell {
            let digit = byte.wrapping_sub(b'0');
            wrong |= digit > 9;
            n = n.wrapping_mul(10).wrapping_add(digit.into());
        }
        if !wrong {
            return Some(n);
        }
    }
    any_number(cell)
}

#[cold]
fn any_number(cell: &[u8]) -> Option<u64> {
    let (digits, radix) = match cell {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |n, &d| {
        let d = char::from(d).to_digit(radix)?;
        n.checked_mul(radix.into())?.checked_add(d.into())
    })
}
