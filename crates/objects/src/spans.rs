//! Ranges with lifetimes, searched by address and position.

/// A range of addresses that belonged to an object for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) object: u32,
    pub(crate) mapping: bool,
    /// Positions of events: from after `born` to before `died`.
    pub(crate) born: u64,
    pub(crate) died: u64,
}

/// Spans in order of first byte under a tree of largest last bytes, so that those which cover an address are found
/// without looking at the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    sorted: Vec<Span>,
    /// Largest last byte below each node of an implicit binary tree over `sorted`; 1 is the root.
    largest: Vec<u64>,
    leaves: usize,
}

impl Spans {
    pub(crate) fn new(mut sorted: Vec<Span>) -> Spans {
        sorted.sort_by_key(|s| s.first);
        let leaves = sorted.len().next_power_of_two();
        let mut largest = vec![0; 2 * leaves];
        for (i, s) in sorted.iter().enumerate() {
            largest[leaves + i] = s.last;
        }
        for i in (1..leaves).rev() {
            largest[i] = largest[2 * i].max(largest[2 * i + 1]);
        }
        Spans { sorted, largest, leaves }
    }

    /// The object at an address when the event at `position` is about to happen.
    pub(crate) fn find(&self, addr: u64, position: u64) -> Option<u32> {
        let candidates = self.sorted.partition_point(|s| s.first <= addr);
        let mut best: Option<Span> = None;
        self.visit(1, 0, self.leaves, candidates, addr, &mut |s| {
            let lives = s.born < position && position <= s.died;
            if lives && best.is_none_or(|b| (s.mapping, b.born) < (b.mapping, s.born)) {
                best = Some(s);
            }
        });
        best.map(|s| s.object)
    }

    fn visit(&self, node: usize, from: usize, width: usize, until: usize, addr: u64, f: &mut impl FnMut(Span)) {
        if from >= until || self.largest.get(node).is_none_or(|&l| l < addr) {
            return;
        }
        if width == 1 {
            f(self.sorted[from]);
            return;
        }
        self.visit(2 * node, from, width / 2, until, addr, f);
        self.visit(2 * node + 1, from + width / 2, width / 2, until, addr, f);
    }
}
