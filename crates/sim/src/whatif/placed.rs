//! The placement of a what-if: first touch, except for blocks with a home or with copies.
use super::Transform;
use crate::SimError;
use crate::blocks::NumberMap;
use crate::lanes::Lane;
use hashbrown::HashSet;
use homenode_machine::{Location, Machine};
use homenode_placement::policies::{ALL, Choice};
use homenode_placement::{BlockEngine, Step, Tally};

/// First touch with exceptions. Two engines see all blocks, each is asked about its own.
pub(crate) struct PlacedLane<'m> {
    resident: Box<dyn BlockEngine + 'm>,
    copied: Box<dyn BlockEngine + 'm>,
    homes: NumberMap<Location>,
    replicate: HashSet<u64>,
    /// By slot: whether the block is replicated.
    replicated: Vec<bool>,
    mine: Vec<Step>,
    theirs: Vec<Step>,
    pub(crate) tally: Tally,
}

impl<'m> PlacedLane<'m> {
    /// # Errors
    /// The machine cannot leave blocks in place.
    pub(crate) fn new(
        transforms: &[Transform],
        machine: &'m Machine,
        block_bytes: u64,
    ) -> Result<PlacedLane<'m>, SimError> {
        let engine = |name: &str, values: &[u32]| -> Result<Box<dyn BlockEngine + 'm>, SimError> {
            let spec = ALL.iter().find(|s| s.name == name).expect("policy of the registry");
            let choice: Choice = spec.choose(values)?;
            Ok(choice.engine(machine, block_bytes)?)
        };
        let (mut homes, mut replicate) = (NumberMap::default(), HashSet::new());
        for transform in transforms {
            match transform {
                Transform::Rehome { homes: list } => homes.extend(list.iter().copied()),
                Transform::Replicate { blocks } => replicate.extend(blocks.iter().copied()),
                Transform::InitialiseInParallel { .. } | Transform::PadElements { .. } => {}
            }
        }
        Ok(PlacedLane {
            // Without a home a block of this policy lives where it is first touched.
            resident: engine("best-static", &[])?,
            copied: engine("ace", &[u32::MAX])?,
            homes,
            replicate,
            replicated: Vec::new(),
            mine: Vec::new(),
            theirs: Vec::new(),
            tally: Tally::default(),
        })
    }
}

impl Lane for PlacedLane<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.replicated.len()..] {
            self.resident.open(*number, self.homes.get(number).copied());
            self.copied.open(*number, None);
            self.replicated.push(self.replicate.contains(number));
        }
        let (mine, theirs) = (&mut self.mine, &mut self.theirs);
        mine.clear();
        theirs.clear();
        for step in steps {
            if self.replicated[step.slot as usize] { theirs.push(*step) } else { mine.push(*step) }
        }
        self.resident.run_total(mine, &mut self.tally);
        self.copied.run_total(theirs, &mut self.tally);
    }
}
