//! What protocols do, counted; and what each costs.
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{Coherence, Location, Machine};
use homenode_placement::Tally;
use homenode_placement::events::{EventCounts, Family, Kind, Part, Paths};
use std::sync::Arc;

/// Something that a protocol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A reference, read or write, to the own copy.
    Local = 0,
    /// A word read from the master copy.
    RemoteRead = 1,
    /// A word written to the master copy by a processor without a copy.
    RemoteWrite = 2,
    /// A word sent to another holder of a copy, or to the master copy beside a local write.
    Update = 3,
    /// A copy made at a read, by one page fault. The read itself costs nothing besides.
    Fetch = 4,
    /// A copy made at a read of a page that was mapped remotely: by two page faults.
    FetchMapped = 5,
    /// A copy of another processor given up because of a write.
    Invalidation = 6,
    /// A write that sends updates to one holder at least, beside what each of them costs.
    Multicast = 7,
}

/// Number of [`Effect`]s.
pub const EFFECTS: usize = 8;

/// The events of protocols of page coherence, by [`Effect`]; a machine without prices
/// ([`Sections::coherence`](homenode_machine::Sections::coherence)) cannot do them.
pub static PROTOCOLS: Family = Family {
    name: "protocols",
    kinds: &[
        Kind { name: "local", part: Part::Served, price: |m, b, _, _| on(m, Effect::Local, b) },
        Kind { name: "remote read", part: Part::Served, price: |m, b, _, _| on(m, Effect::RemoteRead, b) },
        Kind { name: "remote write", part: Part::Served, price: |m, b, _, _| on(m, Effect::RemoteWrite, b) },
        Kind { name: "update", part: Part::Served, price: |m, b, _, _| on(m, Effect::Update, b) },
        Kind { name: "fetch", part: Part::Copy, price: |m, b, _, _| on(m, Effect::Fetch, b) },
        Kind { name: "fetch of a mapped page", part: Part::Copy, price: |m, b, _, _| on(m, Effect::FetchMapped, b) },
        Kind { name: "invalidation", part: Part::Served, price: |m, b, _, _| on(m, Effect::Invalidation, b) },
        Kind { name: "multicast", part: Part::Served, price: |m, b, _, _| on(m, Effect::Multicast, b) },
    ],
};

const ALL: [Effect; EFFECTS] = [
    Effect::Local,
    Effect::RemoteRead,
    Effect::RemoteWrite,
    Effect::Update,
    Effect::Fetch,
    Effect::FetchMapped,
    Effect::Invalidation,
    Effect::Multicast,
];

fn on(machine: &Machine, effect: Effect, page_bytes: u64) -> Cost {
    machine.sections.coherence.as_ref().map_or(Cost::INFINITE, |prices| effect.price(prices, page_bytes))
}

impl Effect {
    /// What one costs with pages of so many bytes: the charging rules that the printed tables follow.
    pub fn price(self, prices: &Coherence, page_bytes: u64) -> Cost {
        match self {
            Effect::Local => prices.local,
            Effect::RemoteRead => prices.remote_read,
            Effect::RemoteWrite | Effect::Update => prices.remote_write,
            Effect::Fetch => transfer(prices, page_bytes) + prices.fault,
            Effect::FetchMapped => transfer(prices, page_bytes) + prices.fault * 2,
            Effect::Invalidation | Effect::Multicast => Cost::ZERO,
        }
    }
}

/// The data of a page of so many bytes, over the network, without faults.
pub fn transfer(prices: &Coherence, page_bytes: u64) -> Cost {
    prices.round_trip + prices.word * words(page_bytes) as i64
}

/// Words of a page: of four bytes, as in the source; at least one.
pub fn words(page_bytes: u64) -> u64 {
    page_bytes.div_ceil(WORD_BYTES)
}

/// Bytes of a word.
pub const WORD_BYTES: u64 = 4;

/// How often what happened. Sums panic rather than wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects(pub [u64; EFFECTS]);

impl Effects {
    /// So many more of an effect.
    #[inline]
    pub fn add(&mut self, effect: Effect, times: u64) {
        self.0[effect as usize] += times;
    }
    /// How many of an effect there are.
    pub fn of(&self, effect: Effect) -> u64 {
        self.0[effect as usize]
    }
    /// Copies made, in either way.
    pub fn fetches(&self) -> u64 {
        self.of(Effect::Fetch) + self.of(Effect::FetchMapped)
    }
    /// References that they are the effects of: each is served locally, from afar, or makes a copy.
    pub fn references(&self) -> u64 {
        self.of(Effect::Local) + self.of(Effect::RemoteRead) + self.of(Effect::RemoteWrite) + self.fetches()
    }
    /// Adds others.
    pub fn merge(&mut self, other: &Effects) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
    /// What they cost at these prices with pages of so many bytes.
    pub fn cost(&self, prices: &Coherence, page_bytes: u64) -> TotalCost {
        ALL.iter().map(|e| e.price(prices, page_bytes).times(self.of(*e))).sum()
    }
    /// What they cost on a machine, in parts: `local`; `remote` with updates; `movement`, which is copies with their faults.
    pub fn tally(&self, machine: &Machine, page_bytes: u64) -> Tally {
        let mut counts = EventCounts::new(&PROTOCOLS, Arc::new(Paths::new(&PROTOCOLS, &[machine], page_bytes)));
        let here = Location::Node(NodeId(0));
        let elsewhere = if machine.nodes() > 1 { Location::Node(NodeId(1)) } else { here };
        for effect in ALL {
            let from = if effect == Effect::Local { here } else { elsewhere };
            counts.add(effect as usize, here, from, self.of(effect));
        }
        counts.priced(machine, page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::models;

    #[test]
    fn kinds_stand_where_effects_say_and_parts_add_up() {
        let machine = models::find("markatos").expect("in the registry");
        let prices = machine.sections.coherence.clone().expect("prices");
        assert_eq!(PROTOCOLS.kinds.len(), EFFECTS);
        for (i, effect) in ALL.into_iter().enumerate() {
            assert_eq!(effect as usize, i);
            let mut one = Effects::default();
            one.add(effect, 7);
            let cost = effect.price(&prices, 4096).times(7);
            assert_eq!((one.cost(&prices, 4096), one.tally(&machine, 4096).total()), (cost, cost));
        }
        let mut all = Effects([1; EFFECTS]);
        all.merge(&Effects([2; EFFECTS]));
        let tally = all.tally(&machine, 64);
        assert_eq!(tally.local, TotalCost(15));
        assert_eq!(tally.remote, TotalCost(3 * (100 + 10 + 10)));
        assert_eq!((tally.movement, tally.copies), (TotalCost(3 * (654 + 1154)), 6));
        assert_eq!((all.references(), all.fetches()), (15, 6));
    }

    #[test]
    fn a_machine_without_prices_cannot() {
        let machine = models::find("numa").expect("in the registry");
        let mut one = Effects::default();
        one.add(Effect::Local, 1);
        assert!(one.tally(&machine, 64).total().is_infinite());
    }
}
