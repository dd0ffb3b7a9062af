//! Finds the key of (program counter, size and operation) when the successor was not predicted.

/// Open addressing with generations: a new frame invalidates every slot by counting up, without touching them.
#[derive(Debug)]
pub(super) struct KeyIndex {
    slots: Vec<Slot>,
    generation: u32,
    used: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    pc: u64,
    meta: u64,
    generation: u32,
    key: u16,
}

impl Default for KeyIndex {
    fn default() -> KeyIndex {
        KeyIndex { slots: vec![Slot::default(); 1024], generation: 1, used: 0 }
    }
}

impl KeyIndex {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }

    /// The key of this pair, or `Err` after entering it as `new`.
    pub(super) fn find_or_insert(&mut self, pc: u64, meta: u64, new: u16) -> Result<u16, ()> {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.locate(pc, meta);
        if self.slots[at].generation == self.generation {
            return Ok(self.slots[at].key);
        }
        self.slots[at] = Slot { pc, meta, generation: self.generation, key: new };
        self.used += 1;
        Err(())
    }

    /// The slot that holds the pair, or the free one where it belongs; there is one since at most half are used.
    fn locate(&self, pc: u64, meta: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = (pc ^ meta.rotate_left(40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (mixed >> 40) as usize & mask;
        loop {
            let s = &self.slots[at];
            if s.generation != self.generation || (s.pc == pc && s.meta == meta) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![Slot::default(); old.len() * 2];
        for s in old.into_iter().filter(|s| s.generation == self.generation) {
            let at = self.locate(s.pc, s.meta);
            self.slots[at] = s;
        }
    }
}
