//! A recording as accesses to memory by page and tick.
use super::{TierError, TierMachine};
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use homenode_machine::{AccessClass, Machine, MapRule};
use homenode_placement::tiers::{Gain, Pages};
use homenode_sim::{Filtered, Passed, ReplayOptions, Setup, bindings, thread_map};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Sampling};

/// Accesses to a page in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The page, numbered by first access.
    pub page: u32,
    /// Accesses that reach memory: weights, where the recording is sampled.
    pub accesses: u64,
    /// What they cost in the expander less what they cost in DRAM.
    pub gain: TotalCost,
}

/// A recording on a machine, behind its caches.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What pages are accessed in each tick, in order of first access.
    pub ticks: Vec<Vec<Use>>,
    /// Gains by page.
    pub pages: Pages,
    /// Cost with everything in DRAM.
    pub in_dram: TotalCost,
    /// Cost with everything in the expander.
    pub in_expander: TotalCost,
    /// Accesses that reach memory.
    pub accesses: u64,
    /// Samples behind them, if the recording is a sampled one.
    pub samples: Option<u64>,
}

impl Recorded {
    /// Goes over a recording once; `progress` is told how many references are done.
    ///
    /// # Errors
    /// A map that does not fit, a damaged dataset, caches that do not fit the page; nothing that reaches memory.
    pub fn of(
        data: &DatasetReader,
        machine: &Machine,
        tiers: &TierMachine,
        map: Option<&MapRule>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recorded, TierError> {
        let bindings = bindings(&thread_map(data, machine, map)?, |thread| data.address_space(thread));
        let sampled = data.manifest().sampling.as_ref().map(Sampling::counting);
        let options = ReplayOptions { sampled, ..ReplayOptions::default() };
        let setup = Setup { machine, bindings: &bindings, block_bytes: tiers.page_bytes, options, waits: &[] };
        let mut filtered = Filtered::new(setup)?;
        let mut gather = Gather::new(machine, tiers);
        let mut order = Order::new(data, OrderKind::Model)?;
        let mut refs = 0;
        while let Some(piece) = order.pull()? {
            for some in piece.refs.chunks(4096) {
                filtered.refs(some).iter().try_for_each(|passed| gather.access(passed))?;
                refs += some.len() as u64;
                progress(refs);
            }
        }
        filtered.finish()?;
        gather.finish(options.sampled.is_some())
    }
}

const NOWHERE: u32 = u32::MAX;

struct Gather<'m> {
    machine: &'m Machine,
    tiers: &'m TierMachine,
    shift: u32,
    numbers: HashMap<(u32, u64), u32>,
    /// The page of the last access.
    last: Option<((u32, u64), u32)>,
    /// Where each page stands in the tick of now.
    place: Vec<u32>,
    now: Vec<Use>,
    ticks: Vec<Vec<Use>>,
    /// Accesses left in the tick.
    left: u64,
    total: [TotalCost; 2],
    accesses: u64,
    samples: u64,
}

impl<'m> Gather<'m> {
    fn new(machine: &'m Machine, tiers: &'m TierMachine) -> Gather<'m> {
        Gather {
            machine,
            tiers,
            shift: tiers.page_bytes.trailing_zeros(),
            numbers: HashMap::new(),
            last: None,
            place: Vec::new(),
            now: Vec::new(),
            ticks: Vec::new(),
            left: tiers.tick,
            total: [TotalCost::ZERO; 2],
            accesses: 0,
            samples: 0,
        }
    }

    fn access(&mut self, passed: &Passed) -> Result<(), TierError> {
        let page = self.page((passed.space, passed.addr >> self.shift))?;
        if self.place[page as usize] == NOWHERE {
            self.place[page as usize] = self.now.len() as u32;
            self.now.push(Use { page, accesses: 0, gain: TotalCost::ZERO });
        }
        let class = passed.access.class;
        if class == AccessClass::Free {
            return Ok(());
        }
        let weight = u64::from(passed.access.weight);
        let costs: [Cost; 2] = self.tiers.access(self.machine, class, passed.access.node);
        let [near, far] = costs.map(|c| c.times(weight));
        let entry = &mut self.now[self.place[page as usize] as usize];
        entry.accesses += weight;
        entry.gain += far - near;
        self.total = [self.total[0] + near, self.total[1] + far];
        (self.accesses, self.samples) = (self.accesses + weight, self.samples + 1);
        self.left = self.left.saturating_sub(weight);
        if self.left == 0 {
            self.tick()?;
        }
        Ok(())
    }

    fn page(&mut self, key: (u32, u64)) -> Result<u32, TierError> {
        if let Some((last, page)) = self.last
            && last == key
        {
            return Ok(page);
        }
        let next = self.place.len() as u32;
        let page = *self.numbers.entry(key).or_insert(next);
        if page == next {
            if next == NOWHERE {
                return Err(TierError::TooMany("pages"));
            }
            self.place.push(NOWHERE);
        }
        self.last = Some((key, page));
        Ok(page)
    }

    fn tick(&mut self) -> Result<(), TierError> {
        self.now.iter().for_each(|u| self.place[u.page as usize] = NOWHERE);
        self.ticks.push(std::mem::take(&mut self.now));
        self.left = self.tiers.tick;
        if self.ticks.len() >= NOWHERE as usize { Err(TierError::TooMany("ticks")) } else { Ok(()) }
    }

    fn finish(mut self, sampled: bool) -> Result<Recorded, TierError> {
        if !self.now.is_empty() {
            self.tick()?;
        }
        if self.accesses == 0 {
            return Err(TierError::Nothing);
        }
        let mut gains: Vec<Vec<Gain>> = vec![Vec::new(); self.place.len()];
        for (uses, tick) in self.ticks.iter().zip(0..) {
            uses.iter().for_each(|u| gains[u.page as usize].push(Gain { tick, gain: u.gain }));
        }
        Ok(Recorded {
            pages: Pages { ticks: self.ticks.len() as u32, gains },
            ticks: self.ticks,
            in_dram: self.total[0],
            in_expander: self.total[1],
            accesses: self.accesses,
            samples: sampled.then_some(self.samples),
        })
    }
}
