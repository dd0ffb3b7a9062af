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

/// A block's accesses: reads, write, reads, write, and reads at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ops {
    pub(crate) reads: Vec<Reads>,
    pub(crate) writes: Vec<Write>,
    /// How many blocks have just these accesses.
    pub(crate) blocks: u64,
    /// Place of each node in `reads`, right if that is of the current run and names the node.
    place: Vec<u32>,
    /// First of the reads since the last write.
    begin: u32,
}

impl Ops {
    /// For nodes below `nodes`.
    pub(super) fn new(nodes: usize) -> Ops {
        Ops { place: vec![0; nodes], ..Ops::default() }
    }

    /// Reads after the last write.
    pub(crate) fn tail(&self) -> &[Reads] {
        &self.reads[self.begin as usize..]
    }

    /// Of `blocks` blocks of `1 << bits` units.
    pub(super) fn gather(&mut self, entries: &[Entry], bits: u32, blocks: u64) {
        self.reads.clear();
        self.writes.clear();
        (self.begin, self.blocks) = (0, blocks);
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
