//! The predictions that encoder and decoder make alike. Everything here is deterministic in the references seen so far.
//!
//! A token byte stands for one reference that was not wholly predicted: bits 0-1 say how its key is given
//! ([`SITE_NEXT`]...), bits 2-3 how its address is given ([`ADDR_STRIDE`]...), bits 4-7 how many predicted references
//! came before it, [`RUN_LONG`] meaning that 15 more than the number that follows came before it.

use homenode_base::ring::W0_ADDR_MASK;

/// The key that followed the previous key last time.
pub(super) const SITE_NEXT: u8 = 0;
/// The key that followed it before that.
pub(super) const SITE_ALTERNATIVE: u8 = 1;
/// A key used before: its index follows in the column of keys.
pub(super) const SITE_EXPLICIT: u8 = 2;
/// The first use of the next key of the key table.
pub(super) const SITE_NEW: u8 = 3;

/// Last address of the key plus its stride.
pub(super) const ADDR_STRIDE: u8 = 0;
/// As [`ADDR_STRIDE`] plus the deviation of the key's previous break: the end of a row, seen before.
pub(super) const ADDR_BREAK: u8 = 1;
/// At the same distance from the reference before it as at the key's previous break: read-modify-write of an
/// unpredictable word, fields of one record.
pub(super) const ADDR_RELATIVE: u8 = 2;
/// Difference to the key's last address follows in the column of addresses.
pub(super) const ADDR_EXPLICIT: u8 = 3;

/// Run nibble: 15 or more; the excess follows.
pub(super) const RUN_LONG: u64 = 15;

/// What is remembered of one key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) pc: u64,
    /// Size and operation, see [`meta`].
    pub(super) meta: u64,
    pub(super) last: u64,
    pub(super) stride: u64,
    pub(super) deviation: u64,
    pub(super) relative: u64,
    pub(super) next: u16,
    pub(super) alternative: u16,
    /// The last address did not follow the stride: a second miss in a row makes a new stride, a single one is a break.
    pub(super) addr_missed: bool,
    /// The last successor was not `next`; likewise.
    pub(super) next_missed: bool,
    /// The key belongs to a linked block, and is not its last one; only encoders know.
    pub(super) is_inner: bool,
}

/// Size and operation in one word.
#[inline]
pub(super) const fn meta(size: u32, op: crate::record::Op) -> u64 {
    (size as u64) << 2 | op as u64
}

impl Entry {
    /// A key first used after a reference to `previous`. It is its own successor until proved otherwise.
    pub(super) fn new(pc: u64, meta: u64, own: u16, previous: u64) -> Entry {
        let (addr_missed, next_missed) = (true, true);
        Entry { pc, meta, last: previous, next: own, alternative: own, addr_missed, next_missed, ..Entry::default() }
    }
    /// Whether the key's references are spins.
    pub(super) fn is_spin(&self) -> bool {
        self.meta & 3 == crate::record::Op::Spin as u64
    }
    #[inline]
    pub(super) fn by_stride(&self) -> u64 {
        self.last.wrapping_add(self.stride)
    }
    /// Whether the last address and the stride are these, and `n` of that, which is less than 2^15, lead to addresses that slots can hold.
    #[inline]
    pub(super) fn repeats(&self, n: usize, last: u64, stride: u64) -> bool {
        let step = stride as i64;
        // No product or sum overflows where the step is no longer than addresses are.
        let end = (last as i64).wrapping_add(step.wrapping_mul(n as i64)) as u64;
        (self.last ^ last) | (self.stride ^ stride) | (end | step.unsigned_abs()) & !W0_ADDR_MASK == 0
    }
    #[inline]
    pub(super) fn by_break(&self) -> u64 {
        self.by_stride().wrapping_add(self.deviation)
    }
    #[inline]
    pub(super) fn by_relative(&self, previous: u64) -> u64 {
        previous.wrapping_add(self.relative)
    }
    /// Takes note of an address that the stride did not predict.
    #[inline]
    pub(super) fn learn_addr(&mut self, addr: u64, previous: u64) {
        self.deviation = addr.wrapping_sub(self.by_stride());
        self.relative = addr.wrapping_sub(previous);
        if self.addr_missed {
            self.stride = addr.wrapping_sub(self.last);
        }
        self.addr_missed = true;
        self.last = addr;
    }
    /// Takes note of an address that the stride predicted.
    #[inline]
    pub(super) fn confirm_addr(&mut self, addr: u64) {
        self.last = addr;
        self.addr_missed = false;
    }
    /// Takes note of a successor that was not `next`.
    #[inline]
    pub(super) fn learn_next(&mut self, key: u16) {
        if self.next_missed {
            self.alternative = self.next;
            self.next = key;
        } else {
            self.alternative = key;
        }
        self.next_missed = true;
    }
}
