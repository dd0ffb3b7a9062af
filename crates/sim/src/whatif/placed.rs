//! The placement of a what-if: first touch, except for blocks with a home.
use crate::SimError;
use crate::blocks::NumberMap;
use crate::consumers::AccessConsumer;
use crate::traffic::{TrafficOptions, Windows};
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
    /// What it asks of memories, where somebody wants to know.
    windows: Option<Windows<'m>>,
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
        let homes = transforms.iter().filter_map(|transform| match transform {
            Transform::Rehome { homes } => Some(homes),
            _ => None,
        });
        let homes = homes.flatten().copied().collect();
        let counts = EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &[machine], block_bytes)));
        Ok(PlacedConsumer { engine, machine, block_bytes, homes, counts, windows: None })
    }
    /// As [`PlacedConsumer::new`], and what it asks of memories is counted.
    pub(crate) fn watched(
        options: TrafficOptions,
        homes: Transform,
        machine: &'m Machine,
        block_bytes: u64,
    ) -> Result<PlacedConsumer<'m>, SimError> {
        let paths = Arc::new(Paths::apart(machine.nodes()));
        let windows = Some(Windows::new(options, machine, block_bytes, &paths));
        let counts = EventCounts::new(&POLICIES, paths);
        Ok(PlacedConsumer { windows, counts, ..PlacedConsumer::new(&[homes], machine, block_bytes)? })
    }
    /// What it asks of memories.
    pub(crate) fn into_windows(self) -> Option<Windows<'m>> {
        self.windows
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
        match &mut self.windows {
            Some(windows) => windows.run(&mut *self.engine, steps, &mut self.counts),
            None => self.engine.run(steps, &mut self.counts),
        }
    }
    fn periods(&self) -> Vec<u64> {
        self.windows.iter().map(Windows::period).collect()
    }
}
