//! The placement of a what-if: first touch, except for blocks with a home.
use crate::SimError;
use crate::blocks::NumberMap;
use crate::consumers::AccessConsumer;
use homenode_analysis::Transform;
use homenode_machine::{Location, Machine};
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::policies::{ALL, Choice};
use homenode_placement::{BlockEngine, EventCounts, Step, Tally};
use std::sync::Arc;

/// First touch with exceptions.
pub(crate) struct PlacedConsumer<'m> {
    engine: Box<dyn BlockEngine + 'm>,
    machine: &'m Machine,
    block_bytes: u64,
    homes: NumberMap<Location>,
    counts: EventCounts,
}

impl<'m> PlacedConsumer<'m> {
    /// # Errors
    /// The machine cannot leave blocks in place.
    pub(crate) fn new(
        transforms: &[Transform],
        machine: &'m Machine,
        block_bytes: u64,
    ) -> Result<PlacedConsumer<'m>, SimError> {
        // Without a home a block of this policy lives where it is first touched.
        let spec = ALL.iter().find(|s| s.name == "best-static").expect("policy of the registry");
        let choice: Choice = spec.choose(&[])?;
        let engine = choice.engine(machine, block_bytes)?;
        let mut homes = NumberMap::default();
        for transform in transforms {
            if let Transform::Rehome { homes: list } = transform {
                homes.extend(list.iter().copied());
            }
        }
        let paths = Arc::new(Paths::new(&POLICIES, &[machine], block_bytes));
        Ok(PlacedConsumer { engine, machine, block_bytes, homes, counts: EventCounts::new(&POLICIES, paths) })
    }
    /// What it costs.
    pub(crate) fn finish(&self) -> Tally {
        self.counts.priced(self.machine, self.block_bytes)
    }
}

impl AccessConsumer for PlacedConsumer<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.engine.blocks()..] {
            self.engine.open(*number, self.homes.get(number).copied());
        }
        self.engine.run(steps, &mut self.counts);
    }
}
