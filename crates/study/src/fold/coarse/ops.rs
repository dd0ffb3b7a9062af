//! The accesses of a block as the kernels take them.
use super::list::{Entry, FREE_WRITE, READ, UPDATE, WRITE};

/// Reads by one node between two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) node: u16,
    pub(crate) count: u64,
}

/// A write, or several equal ones in a row, and where its reads end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The reads since the write before end here in [`Ops::reads`].
    pub(crate) reads_end: u32,
    pub(crate) count: u64,
    pub(crate) node: u16,
    pub(crate) free: bool,
    /// If the write before is by the same node and that node alone read since: how often it read. Else 0.
    pub(crate) own: u64,
    /// How many times over, reads and write; more than once only where `own` is not 0.
    pub(crate) times: u64,
}

/// A block's accesses, or some of them: reads, write, reads, write, and reads at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ops {
    pub(crate) reads: Vec<Reads>,
    writes: Vec<Write>,
    /// How many blocks have just these accesses.
    pub(crate) blocks: u64,
    /// Which of several blocks of a level that are worked on by turns it is; 0 if it is the only one.
    pub(crate) slot: usize,
    /// Whether nothing came before.
    pub(crate) first: bool,
    /// Whether nothing comes after. Else the last write is not given yet, since it may go on.
    pub(crate) last: bool,
    /// Place of each node in `reads`, right if that is of the current run and names the node.
    place: Vec<u32>,
    /// First of the reads since the last write.
    begin: u32,
}

/// Writes that are given at a time.
const GIVEN_WRITES: usize = 512;

/// What goes from one part of a block's accesses to the next.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    reads: Vec<Reads>,
    write: Option<Write>,
    begin: u32,
    first: bool,
}

/// Nothing came before.
pub(super) const NOTHING: Rest = Rest { reads: Vec::new(), write: None, begin: 0, first: true };

impl Ops {
    /// For nodes below `nodes`.
    pub(super) fn new(nodes: usize) -> Ops {
        Ops { place: vec![0; nodes], ..Ops::default() }
    }

    /// Reads after the last write.
    pub(crate) fn tail(&self) -> &[Reads] {
        &self.reads[self.begin as usize..]
    }

    /// The writes that are given, each after its reads.
    pub(crate) fn writes(&self) -> &[Write] {
        &self.writes[..if self.last { self.writes.len() } else { self.writes.len() - 1 }]
    }

    /// For `blocks` blocks, worked on in this slot, of which that much is there already.
    pub(super) fn begin(&mut self, blocks: u64, slot: usize, rest: &Rest) {
        (self.blocks, self.slot, self.first, self.last) = (blocks, slot, rest.first, false);
        self.reads.clone_from(&rest.reads);
        self.writes.clear();
        self.writes.extend(rest.write);
        self.begin = rest.begin;
        self.find_places();
    }

    /// What [`Ops::begin`] goes on from, once nearly all is given.
    pub(super) fn rest(&self) -> Rest {
        Rest { reads: self.reads.clone(), write: self.writes.last().copied(), begin: self.begin, first: self.first }
    }

    /// Whether there is enough to give.
    pub(super) fn is_full(&self) -> bool {
        self.writes.len() > GIVEN_WRITES
    }

    /// Whether there is anything to give.
    pub(super) fn has_given(&self) -> bool {
        self.writes.len() > 1
    }

    /// Forgets what was given, all but the last write.
    pub(super) fn forget(&mut self) {
        let Some((mut last, given)) = self.writes.split_last().map(|(last, rest)| (*last, rest)) else { return };
        let Some(end) = given.last().map(|w| w.reads_end) else { return };
        self.reads.drain(..end as usize);
        last.reads_end -= end;
        self.begin -= end;
        self.writes.clear();
        self.writes.push(last);
        self.first = false;
        self.find_places();
    }

    fn find_places(&mut self) {
        for (at, r) in self.reads.iter().enumerate().skip(self.begin as usize) {
            self.place[usize::from(r.node)] = at as u32;
        }
    }

    /// More accesses of a block of `1 << bits` units.
    pub(super) fn gather(&mut self, entries: &[Entry], bits: u32) {
        for e in entries {
            let span = u32::from(e.span).min(bits);
            let count = u64::from(e.count) << span;
            match e.kind {
                READ => self.read(e.node, count),
                WRITE => self.write(e.node, count, false),
                FREE_WRITE => self.write(e.node, count, true),
                kind if kind >= UPDATE => {
                    let grain = u32::from(kind - UPDATE).min(span);
                    self.update(e.node, 1 << grain, count >> grain);
                }
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, node: u16, count: u64) {
        let at = &mut self.place[usize::from(node)];
        match self.reads.get_mut(*at as usize) {
            Some(known) if *at >= self.begin && known.node == node => known.count = known.count.saturating_add(count),
            _ => {
                *at = self.reads.len() as u32;
                self.reads.push(Reads { node, count });
            }
        }
    }

    #[inline(always)]
    fn write(&mut self, node: u16, count: u64, free: bool) {
        let goes_on = self.goes_on(node, free);
        match self.reads[self.begin as usize..] {
            [] if goes_on => return self.more(count),
            [only] if goes_on && !free && only.node == node && only.count > 0 => {
                self.reads.pop();
                return self.own(node, only.count, count, 1);
            }
            _ => {}
        }
        self.begin = self.reads.len() as u32;
        self.writes.push(Write { reads_end: self.begin, count, node, free, own: 0, times: 1 });
    }

    /// Whether the last write was one of these.
    #[inline(always)]
    fn goes_on(&self, node: u16, free: bool) -> bool {
        self.writes.last().is_some_and(|last| (last.node, last.free) == (node, free))
    }

    /// The last write was of more.
    fn more(&mut self, count: u64) {
        let Some(last) = self.writes.last_mut() else { return };
        let more = Write { count: last.count.saturating_add(count), times: 1, ..*last };
        if last.times > 1 {
            last.times -= 1;
            self.writes.push(more);
        } else {
            *last = more;
        }
    }

    /// The node that wrote last reads and writes so often, so many times over.
    #[inline(always)]
    fn own(&mut self, node: u16, own: u64, count: u64, times: u64) {
        match self.writes.last_mut() {
            Some(last) if (last.own, last.count) == (own, count) => last.times = last.times.saturating_add(times),
            _ => self.writes.push(Write { reads_end: self.begin, count, node, free: false, own, times }),
        }
    }

    /// Reads and writes by one node in turn, `each` of them, so many times over.
    #[inline(always)]
    fn update(&mut self, node: u16, each: u64, mut times: u64) {
        if self.begin as usize != self.reads.len() || !self.goes_on(node, false) {
            self.read(node, each);
            self.write(node, each, false);
            times -= 1;
        }
        if times > 0 {
            self.own(node, each, each, times);
        }
    }
}
