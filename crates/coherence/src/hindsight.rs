//! The best counter in hindsight: UPT.DEL and INV.DEL with all counters that are powers of two, and with none that ever runs
//! out, in one pass over a page.
use crate::effects::{Effect, Effects};
use homenode_base::{NodeSet, TotalCost};
use homenode_machine::Coherence;
use homenode_placement::{Access, AccessKind, Step};

/// Counters that are tried: 1 to 65,536, and never.
pub const STARTS: [u32; LANES] = {
    let mut starts = [NEVER; LANES];
    let mut i = 0;
    while i + 1 < LANES {
        starts[i] = 1 << i;
        i += 1;
    }
    starts
};
/// Number of [`STARTS`].
pub const LANES: usize = 18;
/// More reads than a page has between two invalidations, as far as anybody counts.
const NEVER: u32 = u32::MAX;

/// A number for each counter.
type Lanes = [u64; LANES];

/// A processor of the page at hand.
#[derive(Clone, Copy)]
struct Processor {
    /// Reads until the copy, by counter; 0 with a copy.
    left: [u32; LANES],
}

const BEGINNING: Processor = Processor { left: STARTS };

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delayed {
    /// UPT.DEL.
    Update = 0,
    /// INV.DEL.
    Invalidate = 1,
}

/// What a protocol does with every counter, page after page.
pub struct AllCounters {
    protocol: Delayed,
    processors: Vec<Processor>,
    touched: NodeSet,
    /// Processors that have a copy with some counter.
    holding: NodeSet,
    /// How many have, by counter.
    copies: Lanes,
    local: Lanes,
    reads: Lanes,
    writes: Lanes,
    updates: Lanes,
    fetches: Lanes,
}

impl AllCounters {
    /// One that has seen nothing.
    pub fn new(protocol: Delayed) -> AllCounters {
        let none = [0; LANES];
        AllCounters {
            protocol,
            processors: Vec::new(),
            touched: NodeSet::new(),
            holding: NodeSet::new(),
            copies: none,
            local: none,
            reads: none,
            writes: none,
            updates: none,
            fetches: none,
        }
    }

    /// Effects of the whole history of a page, by counter; invalidations and multicasts, which cost nothing, are not counted.
    pub fn page(&mut self, steps: &[Step]) -> [Effects; LANES] {
        for step in steps {
            let node = step.access.node;
            if self.processors.len() <= node.index() {
                self.processors.resize(node.index() + 1, BEGINNING);
            }
            self.touched.insert(node);
            match step.access.kind {
                AccessKind::Read => self.read(&step.access),
                AccessKind::Write => self.write(&step.access),
            }
        }
        let effects = std::array::from_fn(|i| {
            let mut effects = Effects::default();
            effects.add(Effect::Local, self.local[i]);
            effects.add(Effect::RemoteRead, self.reads[i]);
            effects.add(Effect::RemoteWrite, self.writes[i]);
            effects.add(Effect::Update, self.updates[i]);
            effects.add(Effect::FetchMapped, self.fetches[i]);
            effects
        });
        self.touched.iter().for_each(|node| self.processors[node.index()] = BEGINNING);
        *self = AllCounters { processors: std::mem::take(&mut self.processors), ..AllCounters::new(self.protocol) };
        effects
    }

    fn read(&mut self, access: &Access) {
        let (left, weight) = (&mut self.processors[access.node.index()].left, access.weight);
        let mut copied = false;
        for (i, left) in left.iter_mut().enumerate() {
            let fetches = (1..=weight).contains(&*left);
            let remote = if fetches { *left - 1 } else { weight } * u32::from(*left > 0);
            self.reads[i] += u64::from(remote);
            self.local[i] += u64::from(weight - remote - u32::from(fetches));
            self.fetches[i] += u64::from(fetches);
            self.copies[i] += u64::from(fetches);
            *left -= weight.min(*left);
            copied |= fetches;
        }
        if copied {
            self.holding.insert(access.node);
        }
    }

    fn write(&mut self, access: &Access) {
        let (left, weight) = (&self.processors[access.node.index()].left, u64::from(access.weight));
        let (mut own, mut others) = ([0; LANES], false);
        for i in 0..LANES {
            let holds = u64::from(left[i] == 0);
            own[i] = holds;
            others |= self.copies[i] > holds;
            self.local[i] += weight * holds;
            self.writes[i] += weight * (1 - holds);
        }
        match self.protocol {
            Delayed::Update => {
                (0..LANES).for_each(|i| self.updates[i] += weight * (self.copies[i] - own[i]));
            }
            Delayed::Invalidate if others => self.invalidate(access, own),
            Delayed::Invalidate => {}
        }
    }

    /// Takes the copies of all but the writer away.
    fn invalidate(&mut self, access: &Access, own: Lanes) {
        for node in self.holding.iter().filter(|node| *node != access.node) {
            let left = &mut self.processors[node.index()].left;
            left.iter_mut().zip(STARTS).filter(|(left, _)| **left == 0).for_each(|(left, start)| *left = start);
        }
        self.copies = own;
        let holds = own.contains(&1);
        self.holding.clear();
        if holds {
            self.holding.insert(access.node);
        }
    }
}

/// Costs of the counters over pages: of each for all, and of the best of each page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hindsight {
    /// By [`STARTS`].
    pub each: [TotalCost; LANES],
    /// With the best counter on every page.
    pub by_page: TotalCost,
}

impl Hindsight {
    /// Adds a page of so many bytes, at these prices.
    pub fn add(&mut self, page: &[Effects; LANES], prices: &Coherence, page_bytes: u64) {
        let costs = page.map(|effects| effects.cost(prices, page_bytes));
        self.each.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost);
        self.by_page += costs.into_iter().min().unwrap_or_default();
    }
}
