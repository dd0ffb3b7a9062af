//! What a study asks: `STUDY.toml`, or the same on a command line.
//!
//! Reading order: [`Study`], `file` (the text), `numbers`, `blocks`, `protocols`, `realign` (values), [`machines`], [`families`], [`clusters`], `error`.
mod blocks;
pub mod clusters;
mod error;
pub mod families;
mod file;
pub mod machines;
mod numbers;
mod protocols;
mod realign;
#[cfg(test)]
mod tests;

pub use blocks::{BLOCKS, blocks, policies};
pub use clusters::ClusterSet;
pub use error::{SpecError, nearest};
pub use file::Resolve;
pub use machines::{Base, MachineSet, PARAMS, Param, Point};
pub use numbers::Values;
pub use protocols::protocols;
pub use realign::realigns;

use homenode_coherence::Choice as Protocol;
use homenode_machine::MapRule;
use homenode_placement::Start;
use homenode_placement::policies::Choice;
use homenode_realign::Rule;
use homenode_study::Want;
use homenode_study::analyses::{Filter, Sync};

/// Rows of counters in hindsight at a page size: of two protocols one for all pages, and one of the best of each page.
const COUNTER_ROWS: usize = 4;
/// Machines of a study with analyses, at most: their tables are for people.
const ANALYSED_MACHINES_MAX: u128 = 64;

/// A change to the order of references: see [`Perturber`](homenode_study::analyses::Perturber).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Filter by which references change places.
    pub filter: Filter,
    /// Whether synchronisation is kept.
    pub sync: Sync,
    /// Equal seeds give equal orders.
    pub seed: u64,
}

/// A study: everything but the traces themselves.
#[derive(Clone)]
pub struct Study {
    /// Name, for files and titles.
    pub name: String,
    /// Datasets, as written.
    pub traces: Vec<String>,
    /// Block sizes in bytes, ascending.
    pub blocks: Vec<u64>,
    /// Machines.
    pub machines: Vec<MachineSet>,
    /// Policies.
    pub policies: Vec<Choice>,
    /// Protocols of page coherence.
    pub protocols: Vec<Protocol>,
    /// Whether the best counters of protocols in hindsight are wanted too.
    pub counters: bool,
    /// Realignments on which protocols are asked about too, beside the references as they are.
    pub realign: Vec<Rule>,
    /// Each block at its cheapest home for ever.
    pub best_static: Want,
    /// Optimum with replication.
    pub with_replication: Want,
    /// Optimum without.
    pub without_replication: Want,
    /// Where blocks are before their first access, for the optimum.
    pub start: Start,
    /// Seeds of the merges of the recorded order; absent for the model order.
    pub seeds: Option<Vec<u64>>,
    /// Threads to processors; absent for the default, which gives way to what the program asked for.
    pub map: Option<MapRule>,
    /// Threads to processors, as written.
    pub map_text: String,
    /// Whether busy-wait references are charged.
    pub charge_spins: bool,
    /// Analyses to run on each trace, on all machines, with all block sizes and policies.
    pub analyses: Vec<&'static homenode_study::analyses::Spec>,
    /// Changes to the order under which everything is asked again, beside the order as it is.
    pub disturbances: Vec<Disturbance>,
    /// Clusters in virtual time; with them, nothing else is asked.
    pub clusters: Vec<ClusterSet>,
}

impl Study {
    /// Reads `STUDY.toml`. `name` is what it is called if it does not say.
    ///
    /// # Errors
    /// With line, key and, for a name that does not exist, the nearest that does.
    pub fn from_toml(text: &str, name: &str, resolve: &Resolve<'_>) -> Result<Study, SpecError> {
        let study = file::study(text, name, resolve)?;
        study.check_rows()?;
        Ok(study)
    }

    /// A study that asks nothing.
    fn nothing(name: String) -> Study {
        Study {
            name,
            traces: Vec::new(),
            blocks: Vec::new(),
            machines: Vec::new(),
            policies: Vec::new(),
            protocols: Vec::new(),
            counters: false,
            realign: Vec::new(),
            best_static: Want::None,
            with_replication: Want::None,
            without_replication: Want::None,
            start: Start::FreeSet,
            seeds: None,
            map: None,
            map_text: String::new(),
            charge_spins: false,
            analyses: Vec::new(),
            disturbances: Vec::new(),
            clusters: Vec::new(),
        }
    }

    fn check_rows(&self) -> Result<(), SpecError> {
        if !self.clusters.is_empty() {
            return Ok(());
        }
        if self.rows_each() == 0 && self.analyses.is_empty() {
            return Err(SpecError::new(
                "nothing is asked: name policies, protocols, analyses, or an optimum other than none",
            ));
        }
        if self.counters && self.protocols.is_empty() {
            return Err(SpecError::new("counters go with protocols: name some, or all"));
        }
        if !self.realign.is_empty() && self.protocols.is_empty() {
            return Err(SpecError::new("realign goes with protocols: name some, or all"));
        }
        if !self.analyses.is_empty() && self.machine_count() > ANALYSED_MACHINES_MAX {
            let (n, most) = (self.machine_count(), ANALYSED_MACHINES_MAX);
            return Err(SpecError::new(format!("analyses take at most {most} machines, and the study has {n}")));
        }
        Ok(())
    }

    /// Machines, over all sets.
    pub fn machine_count(&self) -> u128 {
        self.machines.iter().map(MachineSet::count).fold(0, u128::saturating_add)
    }
    /// Rows of one trace on one machine at one block size, at most.
    fn rows_each(&self) -> u128 {
        let wanted = [self.best_static, self.with_replication, self.without_replication];
        let wanted = wanted.iter().filter(|w| **w != Want::None).count();
        let counters = if self.counters { COUNTER_ROWS } else { 0 };
        let protocols = self.protocols.len() + usize::from(!self.protocols.is_empty()) + counters;
        (self.policies.len() + wanted + protocols * (1 + self.realign.len())) as u128
    }
    /// Whether policies or an optimum are asked about, and not protocols of page coherence alone.
    pub fn asks_placement(&self) -> bool {
        let wanted = [self.best_static, self.with_replication, self.without_replication];
        !self.policies.is_empty() || wanted != [Want::None; 3]
    }
    /// Replays of one trace: each merge, as it is and with each disturbance.
    pub fn replays_each(&self) -> usize {
        self.seeds.as_ref().map_or(1, Vec::len) * (1 + self.disturbances.len())
    }
    /// Rows of the result, at most: machines have no rows at blocks smaller than their words, nor for policies that they
    /// cannot carry out.
    pub fn points(&self) -> u128 {
        let traces = (self.traces.len() * self.replays_each()) as u128;
        [traces, self.blocks.len() as u128, self.rows_each()]
            .into_iter()
            .fold(self.machine_count(), u128::saturating_mul)
    }

    /// Rows of one trace on all clusters.
    pub fn cluster_rows(&self) -> u128 {
        let rows = |s: &ClusterSet| s.points().saturating_mul((s.clusters().count() * s.steps.len()) as u128);
        self.clusters.iter().map(rows).fold(0, u128::saturating_add)
    }

    /// The machine with this number, over all sets.
    ///
    /// # Errors
    /// The machine cannot be, at some block size.
    pub fn point(&self, number: u128) -> Result<Point, SpecError> {
        let mut rest = number;
        for set in &self.machines {
            if rest < set.count() {
                let point = set.point(rest)?;
                self.blocks.iter().try_for_each(|b| machines::check_copies(&point.machine, *b))?;
                return Ok(point);
            }
            rest -= set.count();
        }
        Err(SpecError::new(format!("there is no machine {number}")))
    }
}
