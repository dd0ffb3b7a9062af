//! Accesses of a block in order, as far as order matters.
//!
//! A *run* is a stretch of reads by anybody, of writes by one node, or of updates by one node. Whatever part of the block
//! is looked at, the order within a run does not matter there: reads and writes are only counted, and an update, a read and
//! then a write of the same `1 << grain` units, is followed by equal ones. So equal accesses of a run are added up, and
//! neighbours that are used equally often become one access of both.

/// What an entry is: a read, a write, a write that costs nothing, or an update with its grain beyond [`UPDATE`].
pub(super) const READ: u8 = 0;
pub(super) const WRITE: u8 = 1;
pub(super) const FREE_WRITE: u8 = 2;
/// An entry that has become part of another one.
const GONE: u8 = 3;
pub(super) const UPDATE: u8 = 4;

/// Accesses of units `unit` to `unit + (1 << span)`, each `count` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) unit: u32,
    pub(super) count: u32,
    pub(super) node: u16,
    pub(super) kind: u8,
    /// `unit` is a multiple of `1 << span`.
    pub(super) span: u8,
}

impl Entry {
    /// What an access must have in common with its neighbour to be of the same run.
    #[inline(always)]
    fn run(&self) -> u32 {
        if self.kind == READ { u32::MAX } else { u32::from(self.kind) << 16 | u32::from(self.node) }
    }
    #[inline(always)]
    fn is_like(&self, o: &Entry) -> bool {
        (self.unit, self.node, self.kind, self.span) == (o.unit, o.node, o.kind, o.span)
    }
    /// What is left of it in a part of `1 << bits` units.
    #[inline(always)]
    fn cut(mut self, bits: u32) -> Entry {
        if u32::from(self.span) > bits {
            self.span = bits as u8;
        }
        if self.kind > UPDATE {
            self.kind = self.kind.min(UPDATE + self.span);
        }
        self
    }
}

/// Bits of a place in the table: what fits into a first-level cache many times over.
const TABLE_BITS: u32 = 10;

/// Where entries may be in their list. A place is a guess: the entry that is there says whether it is right.
pub(super) struct Table([u32; 1 << TABLE_BITS]);

impl Default for Table {
    fn default() -> Table {
        Table([0; 1 << TABLE_BITS])
    }
}

impl Table {
    #[inline(always)]
    fn place(&mut self, e: &Entry) -> &mut u32 {
        let what = e.unit ^ u32::from(e.span) << 20 ^ u32::from(e.node) << 24;
        &mut self.0[(what.wrapping_mul(0x9E37_79B1) >> (32 - TABLE_BITS)) as usize]
    }
}

#[derive(Default)]
pub(super) struct List {
    pub(super) entries: Vec<Entry>,
    /// The last access, if it is a read that a write may make an update of.
    pending: Option<Entry>,
    /// The current run, and its first entry.
    run: u32,
    begin: usize,
    first: u16,
    /// Whether two nodes or more use it.
    pub(super) shared: bool,
    pub(super) written: bool,
}

impl List {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        *self = List { entries: std::mem::take(&mut self.entries), ..List::default() };
    }

    /// Appends what is left of an access in a list of `1 << bits` units.
    #[inline(always)]
    pub(super) fn push_cut(&mut self, e: Entry, bits: u32, table: &mut Table) {
        self.push(e.cut(bits), table);
    }

    #[inline(always)]
    fn push(&mut self, e: Entry, table: &mut Table) {
        if let Some(read) = self.pending.take() {
            let like = e.kind == WRITE && read.is_like(&Entry { kind: READ, ..e });
            if like && e.count == 1 {
                return self.put(Entry { kind: UPDATE + e.span, ..e }, table);
            }
            self.put(read, table);
        }
        if e.kind == READ && e.count == 1 {
            self.pending = Some(e);
        } else {
            self.put(e, table);
        }
    }

    /// No more accesses come.
    pub(super) fn end(&mut self, table: &mut Table) {
        if let Some(read) = self.pending.take() {
            self.put(read, table);
        }
    }

    #[inline(always)]
    fn put(&mut self, e: Entry, table: &mut Table) {
        if self.entries.is_empty() {
            self.first = e.node;
        }
        self.shared |= e.node != self.first;
        let run = e.run();
        if run == self.run && self.begin < self.entries.len() {
            return self.add(e, table);
        }
        self.written |= e.kind != READ;
        (self.run, self.begin) = (run, self.entries.len());
        *table.place(&e) = self.begin as u32;
        self.entries.push(e);
    }

    /// Adds an access to the current run.
    #[inline(always)]
    fn add(&mut self, mut e: Entry, table: &mut Table) {
        loop {
            if let Some(at) = self.find(&e, table)
                && let Some(count) = self.entries[at].count.checked_add(e.count)
            {
                self.entries[at].count = count;
                return;
            }
            let buddy = Entry { unit: e.unit ^ 1 << e.span, ..e };
            match self.find(&buddy, table) {
                Some(at) if self.entries[at].count == e.count => self.remove(at),
                _ => break,
            }
            e = Entry { unit: e.unit & buddy.unit, span: e.span + 1, ..e };
        }
        *table.place(&e) = self.entries.len() as u32;
        self.entries.push(e);
    }

    /// Where the current run has such an entry, if the table still knows.
    #[inline(always)]
    fn find(&self, e: &Entry, table: &mut Table) -> Option<usize> {
        let at = *table.place(e) as usize;
        let found = at >= self.begin && self.entries.get(at).is_some_and(|known| known.is_like(e));
        found.then_some(at)
    }

    /// Takes an entry of the current run out.
    #[inline(always)]
    fn remove(&mut self, at: usize) {
        if at + 1 == self.entries.len() {
            self.entries.pop();
        } else {
            self.entries[at].kind = GONE;
        }
    }

    /// Whether all accesses are of all of the `1 << bits` units.
    pub(super) fn is_whole(&self, bits: u32) -> bool {
        self.entries.iter().all(|e| u32::from(e.span) >= bits || e.kind == GONE)
    }

    /// Fills both halves, of `1 << half` units each.
    pub(super) fn split(&self, half: u32, halves: &mut [List; 2], table: &mut Table) {
        for e in self.entries.iter().filter(|e| e.kind != GONE) {
            if u32::from(e.span) > half {
                let first = e.cut(half);
                halves[0].push(first, table);
                halves[1].push(Entry { unit: first.unit | 1 << half, ..first }, table);
            } else {
                halves[(e.unit >> half & 1) as usize].push(*e, table);
            }
        }
        halves.iter_mut().for_each(|list| list.end(table));
    }
}
