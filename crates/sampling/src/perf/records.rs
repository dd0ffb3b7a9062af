//! The records of a perf ring or file, as perf_event_open(2) lays them out: cutting bytes into records and a record into
//! fields. Pure; nothing here trusts a length.
use super::wire::Cursor;
use homenode_sys::perf::Attr;
use homenode_sys::perf::attr::{flag, sample};

/// Kinds of records.
pub mod kind {
    /// A mapping of code.
    pub const MMAP: u32 = 1;
    /// Records lost.
    pub const LOST: u32 = 2;
    /// A name was given.
    pub const COMM: u32 = 3;
    /// A thread ended.
    pub const EXIT: u32 = 4;
    /// The kernel cut the rate.
    pub const THROTTLE: u32 = 5;
    /// A thread was made.
    pub const FORK: u32 = 7;
    /// A sample.
    pub const SAMPLE: u32 = 9;
    /// A mapping with inode and protection.
    pub const MMAP2: u32 = 10;
    /// AUX data was written.
    pub const AUX: u32 = 11;
    /// Samples lost.
    pub const LOST_SAMPLES: u32 = 13;
}

/// `branch_sample_type`: branch stacks begin with an index.
const BRANCH_HW_INDEX: u64 = 1 << 17;
/// `branch_sample_type`: branch stacks end with one counter word per entry.
const BRANCH_COUNTERS: u64 = 1 << 19;

/// What decides which fields a record has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Fields of samples: [`Attr::sample_type`].
    pub sample_type: u64,
    /// [`Attr::read_format`].
    pub read_format: u64,
    /// [`Attr::branch_sample_type`].
    pub branch_sample_type: u64,
    /// [`Attr::regs_user`].
    pub regs_user: u64,
    /// [`Attr::regs_intr`].
    pub regs_intr: u64,
    /// Whether other records end with thread, time and identity.
    pub sample_id_all: bool,
}

impl Layout {
    /// The layout that the kernel uses for an event.
    pub fn of(attr: &Attr) -> Layout {
        Layout {
            sample_type: attr.sample_type,
            read_format: attr.read_format,
            branch_sample_type: attr.branch_sample_type,
            regs_user: attr.regs_user,
            regs_intr: attr.regs_intr,
            sample_id_all: attr.flags & flag::SAMPLE_ID_ALL != 0,
        }
    }
    #[inline]
    fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// One of [`kind`], or one not known here.
    pub kind: u32,
    /// Flags; the low three bits say in which mode the processor was.
    pub misc: u16,
    /// What follows the header.
    pub body: &'a [u8],
}

/// Cuts the first record off `bytes`. `None` at the end, and where a header contradicts what is there (whatever follows
/// then cannot be found either; [`Records::rest`] tells the two apart).
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// The records of these bytes.
    pub fn new(bytes: &'a [u8]) -> Records<'a> {
        Records { rest: bytes }
    }
    /// Bytes that were not cut into records; empty after the last record of sound input.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;
    #[inline]
    fn next(&mut self) -> Option<Record<'a>> {
        let mut cursor = Cursor(self.rest);
        let (kind, misc, size) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
        let body = cursor.take(usize::from(size).checked_sub(8)?)?;
        self.rest = cursor.0;
        Some(Record { kind, misc, body })
    }
}

/// Registers recorded with a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers<'a> {
    /// 1 = 32-bit, 2 = 64-bit program; never 0.
    pub abi: u64,
    /// Which registers: bit i set = the next word is register i of the architecture's perf_regs.h.
    pub mask: u64,
    words: &'a [u8],
}

impl Registers<'_> {
    /// Value of register `number`, if recorded.
    pub fn get(&self, number: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(number)?;
        if self.mask & bit == 0 {
            return None;
        }
        let place = (self.mask & (bit - 1)).count_ones() as usize * 8;
        Cursor(self.words.get(place..)?).u64()
    }
}

/// Fields of a sample; what the event does not record is 0 or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// Identity of the event.
    pub id: u64,
    /// Program counter.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the event's clock.
    pub time: u64,
    /// Data address.
    pub addr: u64,
    /// Processor.
    pub cpu: Option<u32>,
    /// Events since the previous sample.
    pub period: u64,
    /// Latency word: low half cycles of the access.
    pub weight: u64,
    /// Where the data came from, as the kernel encodes it.
    pub data_src: u64,
    /// Registers of user space.
    pub regs_user: Option<Registers<'a>>,
    /// Registers at the interrupt.
    pub regs_intr: Option<Registers<'a>>,
}

/// The fields of a sample record. `None` if the body is too short for what the layout promises.
#[inline]
pub fn fields<'a>(body: &'a [u8], layout: &Layout) -> Option<Fields<'a>> {
    let mut c = Cursor(body);
    let mut f = Fields::default();
    fixed(&mut c, layout, &mut f)?;
    let variable =
        sample::READ | sample::CALLCHAIN | sample::RAW | sample::BRANCH_STACK | sample::REGS_USER | sample::STACK_USER;
    if layout.has(variable) {
        skip_variable(&mut c, layout, &mut f)?;
    }
    if layout.has(sample::WEIGHT | sample::WEIGHT_STRUCT) {
        f.weight = c.u64()?;
    }
    if layout.has(sample::DATA_SRC) {
        f.data_src = c.u64()?;
    }
    if layout.has(sample::TRANSACTION) {
        c.u64()?;
    }
    if layout.has(sample::REGS_INTR) {
        f.regs_intr = registers(&mut c, layout.regs_intr)?;
    }
    Some(f)
}

/// The fields of fixed size that come first.
#[inline]
fn fixed(c: &mut Cursor<'_>, layout: &Layout, f: &mut Fields<'_>) -> Option<()> {
    if layout.has(sample::IDENTIFIER) {
        f.id = c.u64()?;
    }
    if layout.has(sample::IP) {
        f.ip = c.u64()?;
    }
    if layout.has(sample::TID) {
        (f.pid, f.tid) = c.pair()?;
    }
    if layout.has(sample::TIME) {
        f.time = c.u64()?;
    }
    if layout.has(sample::ADDR) {
        f.addr = c.u64()?;
    }
    if layout.has(sample::ID) {
        f.id = c.u64()?;
    }
    if layout.has(sample::STREAM_ID) {
        c.u64()?;
    }
    if layout.has(sample::CPU) {
        f.cpu = Some(c.pair()?.0);
    }
    if layout.has(sample::PERIOD) {
        f.period = c.u64()?;
    }
    Some(())
}

/// The fields whose size stands in the record: passed over, but for the registers.
fn skip_variable<'a>(c: &mut Cursor<'a>, layout: &Layout, f: &mut Fields<'a>) -> Option<()> {
    if layout.has(sample::READ) {
        skip_read(c, layout.read_format)?;
    }
    if layout.has(sample::CALLCHAIN) {
        let depth = c.u64()?;
        c.skip_words(depth)?;
    }
    if layout.has(sample::RAW) {
        let bytes = c.u32()?;
        c.take64(bytes.into())?;
    }
    if layout.has(sample::BRANCH_STACK) {
        let entries = c.u64()?;
        let each = if layout.branch_sample_type & BRANCH_COUNTERS != 0 { 4 } else { 3 };
        let index = u64::from(layout.branch_sample_type & BRANCH_HW_INDEX != 0);
        c.skip_words(entries.checked_mul(each)?.checked_add(index)?)?;
    }
    if layout.has(sample::REGS_USER) {
        f.regs_user = registers(c, layout.regs_user)?;
    }
    if layout.has(sample::STACK_USER) {
        let bytes = c.u64()?;
        c.take64(bytes)?;
        if bytes > 0 {
            c.u64()?;
        }
    }
    Some(())
}

/// Counter values: one, or a group of them.
fn skip_read(c: &mut Cursor<'_>, format: u64) -> Option<()> {
    const TIMES: u64 = 1 | 2;
    const ID: u64 = 4;
    const GROUP: u64 = 8;
    const LOST: u64 = 16;
    let times = u64::from((format & TIMES).count_ones());
    let each = 1 + u64::from((format & (ID | LOST)).count_ones());
    if format & GROUP == 0 {
        return c.skip_words(times + each);
    }
    let counters = c.u64()?;
    c.skip_words(counters.checked_mul(each)?.checked_add(times)?)
}

fn registers<'a>(c: &mut Cursor<'a>, mask: u64) -> Option<Option<Registers<'a>>> {
    let abi = c.u64()?;
    if abi == 0 {
        return Some(None);
    }
    let words = c.take64(u64::from(mask.count_ones()) * 8)?;
    Some(Some(Registers { abi, mask, words }))
}

/// Thread, time and identity at the end of a record that is no sample; zeros if the layout has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Nanoseconds of the event's clock.
    pub time: u64,
    /// Identity of the event.
    pub id: u64,
    /// Bytes at the end of the body that it takes.
    pub bytes: usize,
}

/// Reads the trailer of a body. `None` if the body is shorter than it.
pub fn trailer(body: &[u8], layout: &Layout) -> Option<Trailer> {
    if !layout.sample_id_all {
        return Some(Trailer::default());
    }
    let all = [sample::TID, sample::TIME, sample::ID, sample::STREAM_ID, sample::CPU, sample::IDENTIFIER];
    let bytes = all.iter().filter(|&&f| layout.has(f)).count() * 8;
    let mut c = Cursor(&body[body.len().checked_sub(bytes)?..]);
    let mut t = Trailer { bytes, ..Trailer::default() };
    for field in all {
        if layout.has(field) {
            let word = c.u64()?;
            match field {
                sample::TIME => t.time = word,
                sample::ID | sample::IDENTIFIER => t.id = word,
                _ => {}
            }
        }
    }
    Some(t)
}
