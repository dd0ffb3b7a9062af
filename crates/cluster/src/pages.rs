//! Which pages nodes share: those that two of them touch, and what the program allocated as shared. They alone are the protocol's.
use crate::ClusterError;
use hashbrown::HashMap;
use homenode_base::spaces::tag;
use homenode_threads::ThreadBinding;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Op};

/// Bytes of all nodes for pages, at most.
const BYTES_MAX: usize = 1 << 33;
/// Bytes of a page at a node that has seen it: its states, and words of the few that write it.
const PAGE_BYTES: usize = 600;

/// Shared pages, numbered in ascending order of their addresses, so that neighbours stay neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Page size as a power of two.
    pub(crate) shift: u32,
    numbers: HashMap<u64, u32>,
    /// Flat page number of each.
    pub(crate) flats: Vec<u64>,
    /// How many pages one node uses alone.
    pub(crate) private: u64,
}

/// Who uses a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Users {
    One(u16),
    More,
}

impl Pages {
    /// Finds out by going once over a dataset.
    pub(crate) fn find(
        data: &DatasetReader,
        bindings: &[ThreadBinding],
        (shift, nodes, checks): (u32, usize, bool),
    ) -> Result<Pages, ClusterError> {
        let mut users: HashMap<u64, Users> = HashMap::new();
        let mut last = vec![u64::MAX; bindings.len()];
        let mut order = Order::new(data, OrderKind::Model)?;
        while let Some(piece) = order.pull()? {
            for r in piece.refs.iter().filter(|r| r.op != Op::Spin) {
                let Some(binding) = bindings.get(r.thread as usize) else { continue };
                let flat = tag(binding.space);
                let ends = r.addr.saturating_add(u64::from(r.size.max(1)) - 1) ^ flat;
                let (first, end) = ((r.addr ^ flat) >> shift, ends >> shift);
                if first == end && last[r.thread as usize] == first {
                    continue;
                }
                last[r.thread as usize] = end;
                for page in first..=end {
                    let me = Users::One(binding.node.0);
                    let found = users.entry(page).or_insert(me);
                    if *found != me {
                        *found = Users::More;
                    }
                }
            }
        }
        for (first, last) in declared(data, shift) {
            users.iter_mut().filter(|(page, _)| (first..=last).contains(*page)).for_each(|(_, u)| *u = Users::More);
        }
        let mut flats: Vec<u64> = users.iter().filter(|(_, u)| **u == Users::More).map(|(page, _)| *page).collect();
        flats.sort_unstable();
        let contents = if checks { 1 << shift } else { 0 };
        let most = BYTES_MAX / (nodes * (PAGE_BYTES + contents));
        if flats.len() > most {
            return Err(ClusterError::ManyPages { pages: flats.len(), most, nodes });
        }
        let numbers = (0..).zip(&flats).map(|(number, flat)| (*flat, number)).collect();
        Ok(Pages { shift, numbers, private: (users.len() - flats.len()) as u64, flats })
    }

    /// Number of a shared page; `None` if one node has it alone.
    #[inline]
    pub(crate) fn number(&self, flat: u64) -> Option<u32> {
        self.numbers.get(&flat).copied()
    }
}

/// Pages that the program allocated as shared: first and last.
fn declared(data: &DatasetReader, shift: u32) -> Vec<(u64, u64)> {
    let range = |e: &homenode_trace::Event| match e.kind {
        EventKind::Alloc { addr, bytes, source: AllocSource::Shared, .. } => {
            let flat = tag(data.address_space(e.thread));
            let last = addr.saturating_add(bytes.max(1) - 1);
            Some(((addr ^ flat) >> shift, (last ^ flat) >> shift))
        }
        _ => None,
    };
    data.events().iter().filter_map(|e| range(&e)).collect()
}
