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
    masks: Vec<(u32, u32)>,
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
    pub(crate) fn touch(&mut self, record: u32, thread: u32, touched: u32, written: u32) -> bool {
        // Thread ids are dense, so the code lost at the end of the range names no thread of any real dataset.
        let code = thread.saturating_add(FIRST);
        if !self.is_wide && code > u32::from(u16::MAX) {
            self.wide = self.narrow.drain(..).map(u32::from).collect();
            self.narrow = Vec::new();
            self.is_wide = true;
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
        self.narrow.capacity() * 2 + self.wide.capacity() * 4 + self.free.capacity() * 4 + self.masks.capacity() * 8
    }
}
