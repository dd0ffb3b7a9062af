//! What is asked of a trace.
use homenode_machine::Machine;
use homenode_placement::Start;
use homenode_placement::policies::Choice;
use homenode_sim::ReplayOptions;

/// What is wanted of the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// Nothing.
    None,
    /// Its cost: the fast way, for many machines at once.
    #[default]
    Cost,
    /// Its cost and what it consists of, with moves and copies: slower.
    Parts,
}

/// What is asked. Every machine is evaluated at every block size it can have; machines differ in their parameters at will.
#[derive(Clone)]
pub struct Question {
    /// Machines, validated; their order is that of the rows.
    pub machines: Vec<Machine>,
    /// Block sizes in bytes, powers of two from 4 B to 2 MiB, ascending. A machine whose word or line is larger than a
    /// block has no rows for it.
    pub blocks: Vec<u64>,
    /// Policies. One that a machine cannot carry out has no rows there.
    pub policies: Vec<Choice>,
    /// Optimum without replication.
    pub without_replication: Want,
    /// Optimum with replication (a lower bound where [`Row::exact`](crate::Row::exact) says so).
    pub with_replication: Want,
    /// Where blocks are before their first access, for the optimum.
    pub start: Start,
    /// Spins, samples.
    pub options: ReplayOptions,
}
