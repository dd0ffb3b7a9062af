//! The two kinds of cache array. Both are flat tables; a private set is kept in order of recency (so its most recent line
//! is found first), a last-level set carries stamps (so that a line's slot never changes while it is there and private
//! lines can point at it).
use super::Mesi;
use homenode_machine::CacheGeometry;

/// Set index of a line: modulo, by mask where that is the same.
#[derive(Clone, Copy, Debug)]
struct SetIndex {
    sets: u64,
    mask: Option<u64>,
}

impl SetIndex {
    fn new(sets: u64) -> SetIndex {
        SetIndex { sets, mask: sets.is_power_of_two().then(|| sets - 1) }
    }
    #[inline]
    fn of(self, key: u64) -> usize {
        (match self.mask {
            Some(mask) => key & mask,
            None => key % self.sets,
        }) as usize
    }
}

/// Number of sets of a geometry, if it is one: at least one way and one set, and at most 2^27 lines.
pub(super) fn sets_of(geometry: CacheGeometry, line_bytes: u32) -> Option<u64> {
    let sets = geometry.bytes.checked_div(u64::from(geometry.ways).checked_mul(u64::from(line_bytes))?)?;
    let lines = sets.checked_mul(u64::from(geometry.ways))?;
    (sets > 0 && lines <= 1 << 27).then_some(sets)
}

/// A line in a private cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PrivateLine {
    /// Line key.
    pub(super) key: u64,
    /// Slot of the same line in the node's last level.
    pub(super) slot: u32,
    /// State; invalid lines stand last in their set.
    pub(super) state: Mesi,
}

/// The private cache of one processor.
#[derive(Clone, Debug)]
pub(super) struct Private {
    index: SetIndex,
    ways: usize,
    /// Nothing until the first line: machines have more processors than programs have threads.
    lines: Vec<PrivateLine>,
}

impl Private {
    pub(super) fn new(sets: u64, ways: u32) -> Private {
        Private { index: SetIndex::new(sets), ways: ways as usize, lines: Vec::new() }
    }
    /// The lines of a set, most recent first; none before the first line of all.
    #[inline]
    fn set(&mut self, key: u64) -> &mut [PrivateLine] {
        let from = self.index.of(key) * self.ways;
        self.lines.get_mut(from..from + self.ways).unwrap_or_default()
    }
    /// Finds the line and makes it the most recent of its set.
    #[inline]
    pub(super) fn touch(&mut self, key: u64) -> Option<&mut PrivateLine> {
        let set = self.set(key);
        let way = set.iter().position(|l| l.key == key && l.state != Mesi::Invalid)?;
        if way > 0 {
            let line = set[way];
            set.copy_within(..way, 1);
            set[0] = line;
        }
        Some(&mut set[0])
    }
    /// Finds the line without changing its recency.
    pub(super) fn find(&mut self, key: u64) -> Option<&mut PrivateLine> {
        self.set(key).iter_mut().find(|l| l.key == key && l.state != Mesi::Invalid)
    }
    /// Puts a line that is not there in front; returns the line that had to leave.
    pub(super) fn insert(&mut self, line: PrivateLine) -> Option<PrivateLine> {
        if self.lines.is_empty() {
            self.lines = vec![PrivateLine::default(); self.index.sets as usize * self.ways];
        }
        let set = self.set(line.key);
        let last = set.len() - 1;
        let victim = set[last];
        set.copy_within(..last, 1);
        set[0] = line;
        (victim.state != Mesi::Invalid).then_some(victim)
    }
    /// Removes the line; valid lines keep their order.
    pub(super) fn remove(&mut self, key: u64) {
        let set = self.set(key);
        if let Some(way) = set.iter().position(|l| l.key == key && l.state != Mesi::Invalid) {
            set[way] = PrivateLine::default();
            set[way..].rotate_left(1);
        }
    }
}

/// A line in a last level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedLine {
    /// Dense block index given with the most recent reference.
    pub(super) block: u32,
    /// State among nodes: `Modified` if memory is stale.
    pub(super) state: Mesi,
    /// Whether one private cache of the node has it exclusive or modified; that one is then the only sharer.
    pub(super) owned: bool,
}

/// The last level of one node, with the directory of its private caches.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    index: SetIndex,
    ways: usize,
    /// Words of a sharer set.
    words: usize,
    keys: Vec<u64>,
    stamps: Vec<u64>,
    lines: Vec<SharedLine>,
    sharers: Vec<u64>,
}

impl Shared {
    pub(super) fn new(sets: u64, ways: u32, cores: u16) -> Shared {
        let (n, words) = (sets as usize * ways as usize, usize::from(cores).div_ceil(64).max(1));
        Shared {
            index: SetIndex::new(sets),
            ways: ways as usize,
            words,
            keys: vec![0; n],
            stamps: vec![0; n],
            lines: vec![SharedLine::default(); n],
            sharers: vec![0; n * words],
        }
    }
    /// Slot of the line.
    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let from = self.index.of(key) * self.ways;
        let hit = |way: &usize| self.keys[*way] == key && self.lines[*way].state != Mesi::Invalid;
        (from..from + self.ways).find(hit).map(|slot| slot as u32)
    }
    /// The slot that a new line of this key goes into: an empty one, else the least recently used one.
    pub(super) fn victim(&self, key: u64) -> u32 {
        let from = self.index.of(key) * self.ways;
        let age = |slot: &usize| if self.lines[*slot].state == Mesi::Invalid { 0 } else { self.stamps[*slot] };
        (from..from + self.ways).min_by_key(age).expect("a set has at least one way") as u32
    }
    /// Key of the line in a slot.
    pub(super) fn key(&self, slot: u32) -> u64 {
        self.keys[slot as usize]
    }
    /// The line in a slot.
    #[inline]
    pub(super) fn line(&mut self, slot: u32) -> &mut SharedLine {
        &mut self.lines[slot as usize]
    }
    /// Makes the slot the most recent; stamps start at 1.
    pub(super) fn stamp(&mut self, slot: u32, now: u64) {
        self.stamps[slot as usize] = now;
    }
    /// Fills a slot that holds no line.
    pub(super) fn fill(&mut self, slot: u32, key: u64, line: SharedLine) {
        self.keys[slot as usize] = key;
        self.lines[slot as usize] = line;
        self.sharer_words(slot).fill(0);
    }
    /// Empties a slot.
    pub(super) fn clear(&mut self, slot: u32) {
        self.lines[slot as usize] = SharedLine::default();
        self.sharer_words(slot).fill(0);
    }
    /// Sets or clears a processor (numbered within the node) as sharer.
    #[inline]
    pub(super) fn set_sharer(&mut self, slot: u32, core: u16, present: bool) {
        let word = &mut self.sharer_words(slot)[usize::from(core) / 64];
        let bit = 1 << (core % 64);
        *word = if present { *word | bit } else { *word & !bit };
    }
    /// Whether a private cache of the node has the line.
    pub(super) fn has_sharer(&mut self, slot: u32) -> bool {
        self.sharer_words(slot).iter().any(|w| *w != 0)
    }
    /// Takes one sharer out of the set, lowest number first.
    pub(super) fn pop_sharer(&mut self, slot: u32) -> Option<u16> {
        let words = self.sharer_words(slot);
        let i = words.iter().position(|w| *w != 0)?;
        let bit = words[i].trailing_zeros();
        words[i] &= words[i] - 1;
        Some((i as u32 * 64 + bit) as u16)
    }
    /// The sharer with the lowest number.
    pub(super) fn first_sharer(&mut self, slot: u32) -> Option<u16> {
        let words = self.sharer_words(slot);
        let i = words.iter().position(|w| *w != 0)?;
        Some((i as u32 * 64 + words[i].trailing_zeros()) as u16)
    }
    #[inline]
    fn sharer_words(&mut self, slot: u32) -> &mut [u64] {
        let from = slot as usize * self.words;
        &mut self.sharers[from..from + self.words]
    }
}
