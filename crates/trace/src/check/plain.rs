//! A second decoder, written from `docs/format.md` with nothing of the first: no tables shared, one reference at a time.
//! It is the oracle of the fast one, in tests and in every `homenode check`. Which columns there are, and how large their
//! values, it takes from the family; how they are coded, from the page.
use crate::columns::{ALL, Column};
use crate::frame::DecodedFrame;
use crate::framing::Header;

/// A reference: address, bytes, code of the operation, program counter.
pub type PlainRef = (u64, u32, u8, u64);

/// What a frame holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainFrame {
    /// References in order.
    pub refs: Vec<PlainRef>,
    /// (references, begin stamp) of every batch.
    pub batches: Vec<(u64, u64)>,
    /// Stamp after the last reference.
    pub end: u64,
    /// Number and values of each known column that the frame has, as they stand in it.
    pub columns: Vec<(u32, Vec<u64>)>,
}

impl PlainFrame {
    /// The values of a column, 0 for each reference if it is not there.
    pub fn column(&self, column: &Column) -> Vec<u64> {
        let own = self.columns.iter().find(|c| c.0 == column.number);
        own.map_or_else(|| vec![0; self.refs.len()], |c| c.1.clone())
    }
    /// Whether the other decoder found the same in every column.
    pub fn same_columns(&self, other: &DecodedFrame) -> bool {
        let mut values = Vec::new();
        ALL.iter().all(|column| {
            other.values(column, &mut values);
            if values.is_empty() {
                values.resize(self.refs.len(), 0);
            }
            self.column(column) == values
        })
    }
}

/// The state of one key.
#[derive(Clone, Copy, Default)]
struct Memory {
    last: u64,
    stride: u64,
    deviation: u64,
    relative: u64,
    next: usize,
    alternative: usize,
    broke: bool,
    strayed: bool,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&b, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(b)
    }
    fn number(&mut self) -> Option<u64> {
        let mut v = 0u128;
        for shift in (0..70).step_by(7) {
            let b = self.byte()?;
            v |= u128::from(b & 127) << shift;
            if b < 128 {
                return u64::try_from(v).ok();
            }
        }
        None
    }
    fn signed(&mut self) -> Option<u64> {
        let v = self.number()?;
        Some(if v % 2 == 0 { v / 2 } else { !(v / 2) })
    }
    fn part(&mut self) -> Option<Bytes<'a>> {
        let n = usize::try_from(self.number()?).ok()?;
        let (part, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(Bytes(part))
    }
}

/// Decodes the uncompressed payload of a frame with this header; `None` if it is not one.
pub fn decode(payload: &[u8], header: &Header) -> Option<PlainFrame> {
    let (mut r, count) = (Bytes(payload), header.count as usize);
    let keys = r.number().filter(|&n| n <= count as u64)?;
    let mut pc = 0u64;
    let mut pcs = Vec::new();
    for _ in 0..keys {
        pc = pc.wrapping_add(r.signed()?);
        pcs.push(pc);
    }
    let metas = (0..keys).map(|_| r.number().filter(|&m| m < 1 << 34)).collect::<Option<Vec<u64>>>()?;
    let mut frame = PlainFrame::default();
    batches(&mut r, count as u64, &mut frame)?;
    let columns = (r.part()?, r.part()?, r.part()?);
    let made = references(columns, count, keys as usize)?;
    let of_key = |(addr, key): (u64, usize)| (addr, (metas[key] / 4) as u32, (metas[key] % 4) as u8, pcs[key]);
    frame.refs = made.into_iter().map(of_key).collect();
    match header.version {
        2 => {
            for column in ALL.iter().filter(|c| c.number <= 4) {
                frame.columns.push((column.number, values(&mut r, count, column)?));
            }
        }
        3 => frame.columns = sections(&mut r, count, header.sampled())?,
        _ => {}
    }
    r.0.is_empty().then_some(frame)
}

/// Columns 1 to 4 are those of samples; a frame of samples has column 1, and another none of them.
fn sections(r: &mut Bytes<'_>, count: usize, sampled: bool) -> Option<Vec<(u32, Vec<u64>)>> {
    let columns = r.number()?;
    let (mut before, mut made) = (0, Vec::new());
    for _ in 0..columns {
        let (number, version) = (r.number().filter(|n| *n > before)?, r.number()?);
        before = number;
        let mut part = r.part()?;
        let known = ALL.iter().find(|c| u64::from(c.number) == number && u64::from(c.version) == version);
        let Some(column) = known else { continue };
        if number <= 4 && !sampled {
            return None;
        }
        made.push((column.number, values(&mut part, count, column)?));
        if !part.0.is_empty() {
            return None;
        }
    }
    (!sampled || made.iter().any(|c| c.0 == 1)).then_some(made)
}

fn values(r: &mut Bytes<'_>, count: usize, column: &Column) -> Option<Vec<u64>> {
    runs(r, count).filter(|values| values.iter().all(|v| *v <= column.max))
}

fn runs(r: &mut Bytes<'_>, count: usize) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    while values.len() < count {
        let head = r.number()?;
        let n = head / 2;
        if n == 0 || n > (count - values.len()) as u64 {
            return None;
        }
        let equal = if head % 2 == 1 { Some(r.number()?) } else { None };
        for _ in 0..n {
            values.push(match equal {
                Some(value) => value,
                None => r.number()?,
            });
        }
    }
    Some(values)
}

fn batches(r: &mut Bytes<'_>, count: u64, frame: &mut PlainFrame) -> Option<()> {
    let batches = r.number().filter(|&n| n <= 65_536)? as usize;
    while frame.batches.len() < batches {
        let (refs, times) = (r.number().filter(|&n| n <= 128)?, r.number()?);
        if times == 0 || times > (batches - frame.batches.len()) as u64 {
            return None;
        }
        (0..times).for_each(|_| frame.batches.push((refs, 0)));
    }
    let mut stamp = 0u64;
    for b in &mut frame.batches {
        stamp = stamp.wrapping_add(r.signed()?);
        b.1 = stamp;
    }
    frame.end = stamp.wrapping_add(r.signed()?);
    (frame.batches.iter().map(|b| b.0).sum::<u64>() == count).then_some(())
}

fn references(columns: (Bytes<'_>, Bytes<'_>, Bytes<'_>), count: usize, keys: usize) -> Option<Vec<(u64, usize)>> {
    let (mut tokens, mut explicit_keys, mut addrs) = columns;
    let mut memory: Vec<Memory> = Vec::new();
    let mut made: Vec<(u64, usize)> = Vec::new();
    let mut pending: Option<(u64, u8)> = None;
    while made.len() < count {
        if pending.is_none() && !tokens.0.is_empty() {
            let token = tokens.byte()?;
            let run = u64::from(token / 16);
            pending = Some((if run == 15 { tokens.number()?.checked_add(15)? } else { run }, token % 16));
        }
        let token = match &mut pending {
            Some((0, token)) => Some(*token),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if token.is_some() {
            pending = None;
        }
        let (before, current) = made.last().map_or((0, None), |&(a, k)| (a, Some(k)));
        let key = pick_key(token.unwrap_or(0) % 4, current, before, &mut memory, &mut explicit_keys)?;
        let addr = pick_addr(token.unwrap_or(0) / 4, memory.get_mut(key)?, before, &mut addrs)?;
        made.push((addr, key));
    }
    let used_up = tokens.0.is_empty() && explicit_keys.0.is_empty() && addrs.0.is_empty() && pending.is_none();
    (used_up && memory.len() == keys).then_some(made)
}

fn pick_key(
    how: u8,
    current: Option<usize>,
    before: u64,
    memory: &mut Vec<Memory>,
    explicit: &mut Bytes<'_>,
) -> Option<usize> {
    let known = memory.len();
    let key = match how {
        0 => memory.get(current?)?.next,
        1 => memory.get(current?)?.alternative,
        2 => explicit.number().filter(|&k| k < known as u64)? as usize,
        _ => known,
    };
    if how == 3 {
        let fresh =
            Memory { last: before, next: key, alternative: key, broke: true, strayed: true, ..Memory::default() };
        memory.push(fresh);
    }
    let from = memory.get_mut(current.unwrap_or(key))?;
    if how == 0 {
        from.strayed = false;
    } else if from.strayed {
        (from.alternative, from.next) = (from.next, key);
    } else {
        (from.alternative, from.strayed) = (key, true);
    }
    Some(key)
}

fn pick_addr(how: u8, m: &mut Memory, before: u64, addrs: &mut Bytes<'_>) -> Option<u64> {
    let straight = m.last.wrapping_add(m.stride);
    let addr = match how {
        0 => straight,
        1 => straight.wrapping_add(m.deviation),
        2 => before.wrapping_add(m.relative),
        _ => m.last.wrapping_add(addrs.signed()?),
    };
    if how == 0 {
        m.broke = false;
    } else {
        (m.deviation, m.relative) = (addr.wrapping_sub(straight), addr.wrapping_sub(before));
        if m.broke {
            m.stride = addr.wrapping_sub(m.last);
        }
        m.broke = true;
    }
    m.last = addr;
    Some(addr)
}
