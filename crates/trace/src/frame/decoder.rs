//! Bytes to references. The bytes may be anything: every index, length and count is checked before use.
use super::columns::Extras;
use super::predict::{self, Entry};
use super::{BATCH_REFS_MAX, Batch, FRAME_BATCHES_MAX, FRAME_REFS_MAX, Key};
use crate::bytes::{Fault, Reader, unzigzag};
use crate::columns::Column;
use crate::framing::{HEADER_BYTES, Header, Kind};
use crate::record::{Columns, Op, Ref};
use crate::sample::Sample;

/// A decoded frame, reusable: decoding into it again keeps the allocations. After an error its content is unspecified.
#[derive(Clone, Debug, Default)]
pub struct DecodedFrame {
    /// Dataset-wide thread id.
    pub thread: u32,
    /// Ordinal of the first reference in its thread.
    pub first_ref: u64,
    /// Address of each reference.
    pub addr: Vec<u64>,
    /// Index into `keys` of each reference.
    pub key: Vec<u16>,
    /// What the keys stand for.
    pub keys: Vec<Key>,
    /// Program counters that `Key::site` indexes, each once.
    pub pcs: Vec<u64>,
    /// Batches, which cover the references exactly.
    pub batches: Vec<Batch>,
    /// Stamp after the last reference.
    pub end: u64,
    extras: Extras,
    entries: Vec<Entry>,
    pc_index: hashbrown::HashMap<u64, u32>,
    raw: Vec<u8>,
}

impl DecodedFrame {
    /// Number of references.
    pub fn len(&self) -> usize {
        self.addr.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addr.is_empty()
    }
    /// The `i`-th reference, its site an index into `pcs`; panics if out of range, as slices do.
    pub fn get(&self, i: usize) -> Ref {
        let k = self.keys[usize::from(self.key[i])];
        Ref { addr: self.addr[i], size: k.size, op: k.op, site: k.site }
    }
    /// Replaces the content of `out` by all references, their sites indexing `pcs`.
    pub fn columns(&self, out: &mut Columns) {
        out.clear();
        out.addr.extend_from_slice(&self.addr);
        out.size.extend(self.key.iter().map(|&k| self.keys[usize::from(k)].size));
        out.op.extend(self.key.iter().map(|&k| self.keys[usize::from(k)].op));
        out.site.extend(self.key.iter().map(|&k| self.keys[usize::from(k)].site));
    }

    /// What is known beside the references: empty in exact recordings, else one for each.
    pub fn samples(&self) -> &[Sample] {
        &self.extras.samples
    }
    /// What a column that samples do not have says about each reference; empty if the frame does not have it.
    pub fn column(&self, column: &Column) -> &[u64] {
        self.extras.alone(column)
    }
    /// Replaces the content of `out` by the values of any column; empty if the frame does not have it.
    pub fn values(&self, column: &Column, out: &mut Vec<u64>) {
        self.extras.values(column, self.addr.len(), out);
    }
    /// How many columns the frame has that this build does not know, and has skipped.
    pub fn unknown_columns(&self) -> u32 {
        self.extras.unknown
    }

    fn clear(&mut self) {
        self.addr.clear();
        self.key.clear();
        self.keys.clear();
        self.pcs.clear();
        self.batches.clear();
        self.extras.clear();
        self.entries.clear();
        self.pc_index.clear();
    }
}

/// Decodes the frame at the start of `bytes` into `out` and returns its length in bytes.
pub fn decode_frame(bytes: &[u8], out: &mut DecodedFrame) -> Result<usize, Fault> {
    out.clear();
    let header = header(bytes)?;
    let mut scratch = std::mem::take(&mut out.raw);
    let decoded = header.open(bytes, &mut scratch).and_then(|raw| payload(raw, &header, out));
    out.raw = scratch;
    decoded.map(|()| header.total_len())
}

/// The program counters of the frame at the start of `bytes`, without decoding its references.
pub fn frame_sites(bytes: &[u8], out: &mut DecodedFrame) -> Result<usize, Fault> {
    out.clear();
    let header = header(bytes)?;
    let mut scratch = std::mem::take(&mut out.raw);
    let decoded = header.open(bytes, &mut scratch).and_then(|raw| keys(&mut Reader::new(raw), &header, out));
    out.raw = scratch;
    decoded.map(|()| header.total_len())
}

fn header(bytes: &[u8]) -> Result<Header, Fault> {
    let header = Header::parse(bytes, Kind::Refs)?;
    if header.count as usize > FRAME_REFS_MAX {
        return Err(Fault::new(12, format!("{} references in a frame", header.count)));
    }
    Ok(header)
}

fn payload(raw: &[u8], header: &Header, out: &mut DecodedFrame) -> Result<(), Fault> {
    // Offsets of faults inside the payload count uncompressed bytes, the best that can be said.
    (out.thread, out.first_ref) = (header.thread, header.first);
    let mut r = Reader::new(raw);
    keys(&mut r, header, out)
        .and_then(|()| batches(&mut r, header, out))
        .and_then(|()| references(&mut r, header, out))
        .and_then(|()| out.extras.read(&mut r, header, out.addr.len()))
        .and_then(|()| if r.is_empty() { Ok(()) } else { Err(r.fault("bytes after the last column")) })
        .map_err(|f| Fault { offset: f.offset + HEADER_BYTES, ..f })
}

fn keys(r: &mut Reader<'_>, header: &Header, out: &mut DecodedFrame) -> Result<(), Fault> {
    let n = r.bounded(u64::from(header.count), "number of keys")? as usize;
    let mut pc = 0u64;
    for _ in 0..n {
        pc = pc.wrapping_add(unzigzag(r.varint()?));
        out.entries.push(Entry { pc, ..Entry::default() });
    }
    for e in &mut out.entries {
        e.meta = r.bounded(predict::meta(u32::MAX, Op::Spin), "size and operation of a key")?;
        let pcs = &mut out.pcs;
        let site = *out.pc_index.entry(e.pc).or_insert_with(|| {
            pcs.push(e.pc);
            pcs.len() as u32 - 1
        });
        let op = Op::ALL[(e.meta & 3) as usize];
        out.keys.push(Key { site, size: (e.meta >> 2) as u32, op });
    }
    Ok(())
}

fn batches(r: &mut Reader<'_>, header: &Header, out: &mut DecodedFrame) -> Result<(), Fault> {
    let n = r.bounded(FRAME_BATCHES_MAX as u64, "number of batches")?;
    let mut refs_left = u64::from(header.count);
    while (out.batches.len() as u64) < n {
        let refs = r.bounded(BATCH_REFS_MAX as u64, "length of a batch")?;
        let times = r.bounded(n - out.batches.len() as u64, "number of equal batches")?;
        if times == 0 || refs * times > refs_left {
            return Err(r.fault("batches hold another number of references than the frame"));
        }
        refs_left -= refs * times;
        let batch = Batch { refs: refs as u32, begin: 0 };
        out.batches.resize(out.batches.len() + times as usize, batch);
    }
    if refs_left != 0 {
        return Err(r.fault("batches hold fewer references than the frame"));
    }
    let mut stamp = 0u64;
    for b in &mut out.batches {
        stamp = stamp.wrapping_add(unzigzag(r.varint()?));
        b.begin = stamp;
    }
    out.end = stamp.wrapping_add(unzigzag(r.varint()?));
    Ok(())
}

fn references(r: &mut Reader<'_>, header: &Header, out: &mut DecodedFrame) -> Result<(), Fault> {
    let count = header.count as usize;
    let tokens = Reader::new(r.section()?);
    let keys = Reader::new(r.section()?);
    let addrs = Reader::new(r.section()?);
    out.addr.resize(count, 0);
    out.key.resize(count, 0);
    let mut d = Replay { tokens, keys, addrs, entries: &mut out.entries, used: 0, current: 0, next: 0 };
    let mut done = 0;
    while !d.tokens.is_empty() {
        done = d.token(done, &mut out.addr, &mut out.key)?;
    }
    if done < count && d.used == 0 {
        return Err(d.tokens.fault("a frame cannot begin with a prediction"));
    }
    d.run(&mut out.addr[done..], &mut out.key[done..]);
    if !d.keys.is_empty() || !d.addrs.is_empty() || d.used != d.entries.len() {
        return Err(d.keys.fault("columns longer than the tokens need"));
    }
    Ok(())
}

/// The decoder's copy of the encoder's state.
struct Replay<'a> {
    tokens: Reader<'a>,
    keys: Reader<'a>,
    addrs: Reader<'a>,
    entries: &'a mut [Entry],
    /// Keys used so far; every key stored in an entry is below it.
    used: usize,
    current: u16,
    next: u16,
}

impl Replay<'_> {
    /// Decodes the run before a token and its reference, from the `done`-th on; returns how many are done then.
    #[inline]
    fn token(&mut self, done: usize, addr: &mut [u64], key: &mut [u16]) -> Result<usize, Fault> {
        let token = self.tokens.byte()?;
        let mut run = u64::from(token >> 4);
        if run == predict::RUN_LONG {
            run = run.saturating_add(self.tokens.varint()?);
        }
        if run >= (addr.len() - done) as u64 || (run > 0 && self.used == 0) {
            return Err(self.tokens.fault("a run leaves the frame"));
        }
        let end = done + run as usize;
        self.run(&mut addr[done..end], &mut key[done..end]);
        let k = self.site(token & 3)?;
        addr[end] = self.addr(k, token >> 2 & 3)?;
        key[end] = k;
        Ok(end + 1)
    }

    /// Fills both slices with predicted references. If they are not empty, a key has been used.
    #[inline]
    fn run(&mut self, addr: &mut [u64], key: &mut [u16]) {
        let (mut current, mut next) = (self.current, self.next);
        for (a, k) in addr.iter_mut().zip(key) {
            self.entries[usize::from(current)].next_missed = false;
            let e = &mut self.entries[usize::from(next)];
            let address = e.by_stride();
            e.confirm_addr(address);
            (*a, *k) = (address, next);
            current = next;
            next = e.next;
        }
        (self.current, self.next) = (current, next);
    }

    /// Address of the reference before.
    #[inline]
    fn previous(&self) -> u64 {
        self.entries[usize::from(self.current)].last
    }

    #[inline]
    fn site(&mut self, how: u8) -> Result<u16, Fault> {
        if self.used == 0 && how != predict::SITE_NEW {
            return Err(self.tokens.fault("a frame cannot begin with a known key"));
        }
        if how == predict::SITE_NEXT {
            self.entries[usize::from(self.current)].next_missed = false;
            return Ok(self.next);
        }
        let key = match how {
            predict::SITE_ALTERNATIVE => self.entries[usize::from(self.current)].alternative,
            predict::SITE_EXPLICIT => self.keys.bounded(self.used as u64 - 1, "index of a key")? as u16,
            _ => self.new_key()?,
        };
        self.entries[usize::from(self.current)].learn_next(key);
        Ok(key)
    }

    fn new_key(&mut self) -> Result<u16, Fault> {
        let previous = if self.used == 0 { 0 } else { self.previous() };
        let Some(e) = self.entries.get_mut(self.used) else {
            return Err(self.tokens.fault("more new keys than the frame has"));
        };
        // A frame has at most FRAME_REFS_MAX keys, so an index fits 16 bits.
        let own = self.used as u16;
        *e = Entry::new(e.pc, e.meta, own, previous);
        self.used += 1;
        Ok(own)
    }

    #[inline]
    fn addr(&mut self, key: u16, how: u8) -> Result<u64, Fault> {
        let previous = self.previous();
        let e = &mut self.entries[usize::from(key)];
        let address = match how {
            predict::ADDR_STRIDE => e.by_stride(),
            predict::ADDR_BREAK => e.by_break(),
            predict::ADDR_RELATIVE => e.by_relative(previous),
            _ => e.last.wrapping_add(unzigzag(self.addrs.varint()?)),
        };
        if how == predict::ADDR_STRIDE {
            e.confirm_addr(address);
        } else {
            e.learn_addr(address, previous);
        }
        (self.current, self.next) = (key, e.next);
        Ok(address)
    }
}
