//! The best counter in hindsight of protocols of page coherence that have one.
use super::{Job, priced};
use crate::{Row, What};
use homenode_coherence::hindsight::{AllCounters, Delayed, Hindsight, LANES};
use homenode_machine::{Coherence, Machine};
use homenode_placement::Step;

/// Both protocols with all counters, on machines with prices, with pages of one size.
pub(crate) struct CountersJob<'m> {
    page_bytes: u64,
    /// With the sums of each protocol.
    machines: Vec<(u32, &'m Coherence, [Hindsight; 2])>,
    protocols: [(Delayed, AllCounters); 2],
}

impl<'m> CountersJob<'m> {
    /// `None` if no machine has prices.
    pub(crate) fn new(page_bytes: u64, machines: Vec<(u32, &'m Machine)>) -> Option<CountersJob<'m>> {
        let priced = |(at, m): (u32, &'m Machine)| Some((at, m.sections.coherence.as_ref()?, Default::default()));
        let machines: Vec<_> = machines.into_iter().filter_map(priced).collect();
        let protocols = [Delayed::Update, Delayed::Invalidate].map(|p| (p, AllCounters::new(p)));
        (!machines.is_empty()).then_some(CountersJob { page_bytes, machines, protocols })
    }
}

impl Job for CountersJob<'_> {
    fn block(&mut self, _: u64, steps: &[Step]) {
        for (protocol, counters) in &mut self.protocols {
            let page = counters.page(steps);
            for (_, prices, sums) in &mut self.machines {
                sums[*protocol as usize].add(&page, prices, self.page_bytes);
            }
        }
    }
    fn rows(&self, page_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let rows = self.machines.iter().flat_map(|(machine, _, sums)| {
            self.protocols
                .iter()
                .flat_map(move |(protocol, _)| rows(*machine, page_bytes, *protocol, &sums[*protocol as usize]))
        });
        rows.collect()
    }
}

/// A row a counter, and one of the best of each page.
pub(super) fn rows(machine: u32, page_bytes: u64, protocol: Delayed, sums: &Hindsight) -> Vec<Row> {
    let lanes = (0..LANES).map(|lane| (Some(lane), sums.each[lane]));
    let all = lanes.chain([(None, sums.by_page)]);
    all.map(|(lane, cost)| priced(machine, page_bytes, What::counter(protocol, lane), cost, true)).collect()
}
