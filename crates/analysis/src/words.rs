//! Who touched which word of a shared unit: one narrow code per word, kept only while it can still matter.

const NOBODY: u32 = 0;
/// Thread `t` has code `t + FIRST`.
const FIRST: u32 = 1;

/// Records of `words` codes each. Codes take two bytes until a thread beyond 65,534 shares something, then four.
#[derive(Debug)]
pub(crate) struct WordPool {
    words: usize,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    is_wide: bool,
    /// Words written, and words touched by several threads.
    masks: Vec<(u64, u64)>,
    free: Vec<u32>,
}

impl WordPool {
    pub(crate) fn new(words: usize) -> WordPool {
        WordPool { words, narrow: Vec::new(), wide: Vec::new(), is_wide: false, masks: Vec::new(), free: Vec::new() }
    }
    /// A record of untouched words.
    pub(crate) fn alloc(&mut self) -> u32 {
        if let Some(r) = self.free.pop() {
            self.masks[r as usize] = (0, 0);
            for w in 0..self.words {
                self.set(r as usize * self.words + w, NOBODY);
            }
            return r;
        }
        self.masks.push((0, 0));
        let size = self.masks.len() * self.words;
        match self.is_wide {
            true => self.wide.resize(size, NOBODY),
            false => self.narrow.resize(size, 0),
        }
        (self.masks.len() - 1) as u32
    }
    /// Gives a record back.
    pub(crate) fn release(&mut self, record: u32) {
        self.free.push(record);
    }
    /// Notes a turn of `thread`; returns whether several threads have now touched a written word.
    pub(crate) fn touch(&mut self, record: u32, thread: u32, touched: u64, written: u64) -> bool {
        // Thread ids are dense, so the code lost at the end of the range names no thread of any real dataset.
        let code = thread.saturating_add(FIRST);
        if code > u32::from(u16::MAX) {
            self.widen();
        }
        let base = record as usize * self.words;
        let (mut all_written, mut several) = self.masks[record as usize];
        all_written |= written;
        let mut left = touched & !several;
        while left != 0 {
            let w = left.trailing_zeros();
            left &= left - 1;
            let held = self.get(base + w as usize);
            if held == NOBODY {
                self.set(base + w as usize, code);
            } else if held != code {
                several |= 1 << w;
            }
        }
        self.masks[record as usize] = (all_written, several);
        several & all_written != 0
    }
    #[inline]
    fn get(&self, i: usize) -> u32 {
        if self.is_wide { self.wide[i] } else { self.narrow[i].into() }
    }
    #[inline]
    fn set(&mut self, i: usize, code: u32) {
        match self.is_wide {
            true => self.wide[i] = code,
            false => self.narrow[i] = code as u16,
        }
    }
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.narrow.capacity() * 2 + self.wide.capacity() * 4 + self.free.capacity() * 4 + self.masks.capacity() * 16
    }
    /// A record like another pool's with `parts` words for each of its words.
    fn copy_of(&mut self, other: &WordPool, record: u32, parts: usize) -> u32 {
        let mine = self.alloc();
        let held: Vec<u32> = (0..self.words).map(|w| other.get(record as usize * other.words + w / parts)).collect();
        if other.is_wide {
            self.widen();
        }
        held.into_iter().enumerate().for_each(|(w, code)| self.set(mine as usize * self.words + w, code));
        let (written, several) = other.masks[record as usize];
        self.masks[mine as usize] = (fine(written), fine(several));
        mine
    }
    fn widen(&mut self) {
        if !self.is_wide {
            self.wide = self.narrow.drain(..).map(u32::from).collect();
            self.narrow = Vec::new();
            self.is_wide = true;
        }
    }
}

/// Words of a group: most data is in pieces of four bytes, and what is not takes a finer record.
const GROUP: u32 = 4;
/// Marks the records of the finer pool.
const FINE: u32 = 1 << 31;

/// The first word of each group in use.
fn firsts(mask: u64) -> u64 {
    (mask | mask >> 1 | mask >> 2 | mask >> 3) & 0x1111_1111_1111_1111
}
/// Bit g = group g is in use.
fn coarse(mask: u64) -> u64 {
    let mut m = firsts(mask);
    m = (m | m >> 3) & 0x0303_0303_0303_0303;
    m = (m | m >> 6) & 0x000F_000F_000F_000F;
    m = (m | m >> 12) & 0x0000_00FF_0000_00FF;
    (m | m >> 24) & 0xFFFF
}
/// All words of these groups.
fn fine(groups: u64) -> u64 {
    (0..u64::BITS / GROUP).filter(|g| groups >> g & 1 == 1).map(|g| 0xF_u64 << (GROUP * g)).sum()
}

/// Records of units: of their groups of words as long as whole groups are used, then of their words.
#[derive(Debug)]
pub(crate) struct UnitWords {
    groups: WordPool,
    words: WordPool,
}

impl UnitWords {
    /// For units of so many words, a multiple of four.
    pub(crate) fn new(words: usize) -> UnitWords {
        UnitWords { groups: WordPool::new(words / GROUP as usize), words: WordPool::new(words) }
    }
    /// A record of untouched words.
    pub(crate) fn alloc(&mut self) -> u32 {
        self.groups.alloc()
    }
    /// Gives a record back.
    pub(crate) fn release(&mut self, record: u32) {
        if record & FINE == 0 { self.groups.release(record) } else { self.words.release(record & !FINE) }
    }
    /// As [`WordPool::touch`]; the record may become another one.
    pub(crate) fn touch(&mut self, record: &mut u32, thread: u32, touched: u64, written: u64) -> bool {
        let is_whole = |mask: u64| firsts(mask) * 0xF == mask;
        if *record & FINE == 0 {
            if is_whole(touched) && is_whole(written) {
                return self.groups.touch(*record, thread, coarse(touched), coarse(written));
            }
            let finer = self.words.copy_of(&self.groups, *record, GROUP as usize);
            self.groups.release(*record);
            *record = finer | FINE;
        }
        self.words.touch(*record & !FINE, thread, touched, written)
    }
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.bytes() + self.words.bytes()
    }
}
