//! What is asked of a trace.
use crate::{StudyError, Vectors};
use homenode_coherence::protocols::Timing;
use homenode_machine::Machine;
use homenode_placement::Start;
use homenode_placement::policies::{By, Choice};
use homenode_sim::{ReplayOptions, ThreadBinding};

/// Smallest block that can be asked for, in bytes.
pub const BLOCK_BYTES_MIN: u64 = 4;
/// Largest block that can be asked for, in bytes.
pub const BLOCK_BYTES_MAX: u64 = 2 << 20;

/// What folding may take unless told otherwise.
const FOLD_BYTES: usize = 64 << 20;

/// What is wanted of the best static placement or of an optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// Nothing.
    None,
    /// Cost alone: the fast way, for many machines at once.
    #[default]
    Cost,
    /// Cost and what it consists of, with moves and copies: slower.
    Parts,
}

/// What is asked. Every machine is evaluated at every block size it can have; machines differ in their parameters at will.
#[derive(Clone)]
pub struct Question {
    /// Machines, validated; their order is that of the rows.
    pub machines: Vec<Machine>,
    /// Where each thread of the dataset sits, machine by machine. The address spaces of threads are those of the dataset
    /// and therefore the same on all machines.
    pub bindings: Vec<Vec<ThreadBinding>>,
    /// Block sizes in bytes, powers of two from 4 B to 2 MiB, ascending. A machine whose word or line is larger than a
    /// block has no rows for it.
    pub blocks: Vec<u64>,
    /// Policies. One that a machine cannot carry out has no rows there.
    pub policies: Vec<Choice>,
    /// Protocols of page coherence, of machines with prices for them ([`Coherence`](homenode_machine::Coherence)), with
    /// their optimum beside them. A question about protocols is about nothing else: they count each reference once, at its
    /// first byte, and are meant for references to shared memory alone ([`SharedRefs`](crate::SharedRefs)).
    pub protocols: Vec<homenode_coherence::Choice>,
    /// Whether the best counter in hindsight is asked about too, with protocols.
    pub counters: bool,
    /// Each block at its cheapest home for ever.
    pub best_static: Want,
    /// Optimum without replication.
    pub without_replication: Want,
    /// Optimum with replication (a lower bound where [`Row::exact`](crate::Row::exact) says so).
    pub with_replication: Want,
    /// Where blocks are before their first access, for the optimum.
    pub start: Start,
    /// Spins, samples.
    pub options: ReplayOptions,
    /// Memory in bytes that folding a region for the costs of optima with replication may take, about. Answers do not
    /// depend on it.
    pub fold_bytes: usize,
    /// How the optimum is computed: nothing that an answer depends on.
    pub vectors: Vectors,
}

impl Question {
    /// A question about machines with their bindings and block sizes; nothing is wanted yet.
    pub fn new(machines: Vec<Machine>, bindings: Vec<Vec<ThreadBinding>>, blocks: Vec<u64>) -> Question {
        Question {
            machines,
            bindings,
            blocks,
            policies: Vec::new(),
            protocols: Vec::new(),
            counters: false,
            best_static: Want::None,
            without_replication: Want::None,
            with_replication: Want::None,
            start: Start::default(),
            options: ReplayOptions::default(),
            fold_bytes: FOLD_BYTES,
            vectors: Vectors::default(),
        }
    }

    /// Whether it can be answered: block sizes in order, sound machines, one list of bindings for each, all of the same
    /// threads and on processors that exist.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn check(&self) -> Result<(), StudyError> {
        let bad = |b: &&u64| !b.is_power_of_two() || !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(*b);
        if let Some(b) = self.blocks.iter().find(bad) {
            return Err(StudyError::Block(*b));
        }
        if self.blocks.is_empty() || !self.blocks.is_sorted_by(|a, b| a < b) {
            return Err(StudyError::Blocks);
        }
        if self.machines.is_empty() || self.machines.len() != self.bindings.len() {
            return Err(StudyError::Machines(self.machines.len(), self.bindings.len()));
        }
        let wants = [self.best_static, self.without_replication, self.with_replication];
        if !self.protocols.is_empty() && (!self.policies.is_empty() || wants != [Want::None; 3]) {
            return Err(StudyError::ProtocolsAndMore);
        }
        if !self.protocols.is_empty() && self.options.sampled.is_some() {
            return Err(StudyError::ProtocolsOfSamples);
        }
        if !self.vectors.available() {
            return Err(StudyError::Vectors(self.vectors.name()));
        }
        for (machine, bindings) in self.machines.iter().zip(&self.bindings) {
            self.check_machine(machine, bindings)?;
        }
        Ok(())
    }

    /// Whether anything that is asked looks at when accesses happen.
    pub(crate) fn timed(&self) -> bool {
        let policy = |p: &Choice| p.spec.decides_by.contains(&By::Time);
        self.policies.iter().any(policy) || self.protocols.iter().any(|p| p.timing() != Timing::Order)
    }

    fn check_machine(&self, machine: &Machine, bindings: &[ThreadBinding]) -> Result<(), StudyError> {
        machine.validate().map_err(|e| StudyError::Machine(machine.name.clone(), e.to_string()))?;
        if !machine.shape.word_bytes.is_power_of_two() {
            return Err(StudyError::Machine(machine.name.clone(), "a word is a power of two of bytes".into()));
        }
        let first = &self.bindings[0];
        if bindings.len() != first.len() || bindings.iter().zip(first).any(|(a, b)| a.space != b.space) {
            return Err(StudyError::Threads(machine.name.clone()));
        }
        let processors: usize = machine.shape.cores.iter().map(|c| usize::from(*c)).sum();
        if bindings.iter().any(|s| usize::from(s.cpu) >= processors || s.node.index() >= machine.nodes()) {
            return Err(StudyError::ThreadBinding(machine.name.clone()));
        }
        Ok(())
    }

    /// Whether this machine can have blocks of this many bytes: they hold a word, and a line where there are lines.
    pub fn usable(&self, machine: usize, block_bytes: u64) -> bool {
        let m = &self.machines[machine];
        let line = m.sections.caches.as_ref().map_or(1, |c| c.line_bytes);
        u64::from(m.shape.word_bytes.max(line)) <= block_bytes
    }
}
