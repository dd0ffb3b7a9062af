//! The on-line policies, one file each, and their names on the command line.
use crate::engine::{BlockEngine, Table};
use crate::policy::{Policy, Sink};
use homenode_base::NodeId;
use homenode_base::named::{self, ParamError};
use homenode_machine::{Location, Machine};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use homenode_base::named::Param;

mod copies;
mod resident;

/// Makes the engine of a policy for parameters that [`Spec::choose`] has checked against their ranges.
type MakeRegistered = for<'m> fn(&[u32], &'m Machine, u64) -> Result<Box<dyn BlockEngine + 'm>, PolicyError>;

/// What makes the engine of a policy.
enum Make {
    /// That of one of the registry.
    Registered(MakeRegistered),
    /// That of a policy from elsewhere.
    Owned(Arc<dyn MakeEngine>),
}

/// What makes the engine of a policy that is not in the registry, such as one written in another language.
pub trait MakeEngine: Send + Sync {
    /// An engine without blocks for a machine and a block size in bytes (at least 1).
    ///
    /// # Errors
    /// The policy cannot run on the machine.
    fn engine<'m>(&self, machine: &'m Machine, block_bytes: u64) -> Result<Box<dyn BlockEngine + 'm>, PolicyError>;
}

/// A policy: one of the registry, or an owned one.
#[derive(Clone)]
pub enum Member {
    /// One of [`ALL`].
    Registered(&'static Spec),
    /// One that its user brought.
    Owned(Arc<Spec>),
}

impl Deref for Member {
    type Target = Spec;
    fn deref(&self) -> &Spec {
        match self {
            Member::Registered(spec) => spec,
            Member::Owned(spec) => spec,
        }
    }
}

/// What is to be known of a policy.
pub struct Spec {
    /// Name on the command line.
    pub name: Cow<'static, str>,
    /// One line for lists and reports.
    pub summary: Cow<'static, str>,
    /// Parameters in the order written: `name(1,2)`.
    pub params: &'static [Param],
    /// Whether the policy needs a home per block from an earlier pass over the trace
    /// ([`BlockContext::home`](crate::BlockContext::home)); without one a block lives where it is first touched.
    pub needs_homes: bool,
    /// Whether reports run it unless others are named. The others are for studies: they answer no question about where a
    /// program's memory should live that a reported one does not answer too.
    pub reported: bool,
    /// What its decisions look at beside the accesses of the block, their order, and what a machine is made of (nodes,
    /// processors, global memory, remote access, words). An engine may share one pass among machines that differ in
    /// nothing else. Empty for most.
    pub decides_by: &'static [By],
    /// Virtual time at whose multiples the policy may treat an access unlike an equal one just before it, for these
    /// parameters: equal accesses of a block in a row may be folded into one between such multiples, not across. `None`
    /// for never.
    period: fn(&[u32]) -> Option<u64>,
    make: Make,
}

/// What a decision may look at: [`Spec::decides_by`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// What references and copies cost on the machine.
    Cost,
    /// When an access happens ([`Access::t`](crate::Access::t)), and not only after which others of its block.
    Time,
}

homenode_base::registry!(
    /** Every policy, in the order of reports. */ Spec;
    first_touch, interleave, fixed, random, global, best_static, phase_static, migrate_on_write, dsm, ace, delay, platinum,
    affinity
);

pub use platinum::{REFERENCES_PER_SECOND, platinum_windows};

/// A policy with its parameters: what `--policy` names.
#[derive(Clone)]
pub struct Choice {
    /// The policy.
    pub spec: Member,
    /// One value per [`Spec::params`].
    pub values: Vec<u32>,
}

/// Why a policy cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The name is not in the registry.
    #[error("unknown policy '{given}'; known are: {known}")]
    Unknown {
        /// What was written.
        given: String,
        /// Names of the registry.
        known: String,
    },
    /// No name for a policy that its user brings.
    #[error("cannot call a policy '{given}': write letters, digits and dashes, and no name of a known policy")]
    Name {
        /// What was given.
        given: String,
    },
    /// Not of the form `name` or `name(1,2)`.
    #[error("cannot read policy '{given}': write name or name(value), for instance ace(4)")]
    Syntax {
        /// What was written.
        given: String,
    },
    /// More values than parameters.
    #[error("policy {policy} takes {takes} parameter(s), not {given}")]
    TooMany {
        /// Policy.
        policy: &'static str,
        /// Parameters it has.
        takes: usize,
        /// Values given.
        given: usize,
    },
    /// A value outside its range.
    #[error("policy {policy}: {param} is {value}, allowed are {min} to {max}")]
    Range {
        /// Policy.
        policy: &'static str,
        /// Parameter.
        param: &'static str,
        /// What was written.
        value: String,
        /// Least allowed.
        min: u32,
        /// Largest allowed.
        max: u32,
    },
    /// The policy keeps blocks in global memory, and this machine has none.
    #[error("policy {policy} needs global memory, which machine {machine} does not have")]
    NoGlobalMemory {
        /// Policy.
        policy: &'static str,
        /// Machine.
        machine: String,
    },
    /// The policy leaves blocks on other nodes, and this machine cannot reference those.
    #[error("policy {policy} needs references to other nodes' memory, which machine {machine} does not have")]
    NoRemoteAccess {
        /// Policy.
        policy: &'static str,
        /// Machine.
        machine: String,
    },
}

impl Spec {
    /// The policy with these parameters, missing ones at their defaults.
    pub fn choose(&'static self, given: &[u32]) -> Result<Choice, PolicyError> {
        let values = named::choose(self.params, given).map_err(|e| self.refused("", e))?;
        Ok(Choice { spec: Member::Registered(self), values })
    }

    /// What is wrong with the parameters; `text` is what was written.
    fn refused(&'static self, text: &str, e: ParamError) -> PolicyError {
        match e {
            ParamError::Syntax => PolicyError::Syntax { given: text.into() },
            ParamError::TooMany { takes, given } => PolicyError::TooMany { policy: &self.name, takes, given },
            ParamError::Range { param: p, value } => {
                PolicyError::Range { policy: &self.name, param: p.name, value, min: p.min, max: p.max }
            }
        }
    }
}

impl Choice {
    /// Reads `first-touch`, `ace(4)`, `fixed(1)`.
    pub fn parse(text: &str) -> Result<Choice, PolicyError> {
        let text = text.trim();
        let (name, list) = named::split(text).map_err(|_| PolicyError::Syntax { given: text.into() })?;
        let known = || ALL.iter().map(|s| &*s.name).collect::<Vec<_>>().join(", ");
        let spec = ALL.iter().find(|s| s.name == name);
        let spec = spec.ok_or_else(|| PolicyError::Unknown { given: name.into(), known: known() })?;
        let values = named::read(spec.params, list).map_err(|e| spec.refused(text, e))?;
        Ok(Choice { spec: Member::Registered(spec), values })
    }

    /// A policy that is not in the registry. It may look at all that there is: costs, times and the order of accesses, each of
    /// which it is asked about by itself.
    ///
    /// # Errors
    /// The name is none, or that of a registered policy.
    pub fn owned(name: String, summary: String, make: Arc<dyn MakeEngine>) -> Result<Choice, PolicyError> {
        let is_named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_named || ALL.iter().any(|s| s.name == name) {
            return Err(PolicyError::Name { given: name });
        }
        let spec = Spec {
            name: name.into(),
            summary: summary.into(),
            params: &[],
            needs_homes: false,
            reported: false,
            decides_by: &[By::Cost, By::Time],
            period: |_| Some(1),
            make: Make::Owned(make),
        };
        Ok(Choice { spec: Member::Owned(Arc::new(spec)), values: Vec::new() })
    }

    /// Names that were cut at every comma put together again: `ace(2)`, `delay(100` and `4)` are two.
    pub fn whole(pieces: &[String]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for piece in pieces {
            match names.last_mut().filter(|name| name.contains('(') && !name.contains(')')) {
                Some(open) => *open = format!("{open},{piece}"),
                None => names.push(piece.clone()),
            }
        }
        names
    }

    /// The engine for a machine and a block size in bytes (at least 1).
    pub fn engine<'m>(&self, machine: &'m Machine, block_bytes: u64) -> Result<Box<dyn BlockEngine + 'm>, PolicyError> {
        match &self.spec.make {
            Make::Registered(make) => make(&self.values, machine, block_bytes),
            Make::Owned(make) => make.engine(machine, block_bytes),
        }
    }

    /// Virtual time at whose multiples the policy may treat an access unlike an equal one just before it: equal accesses
    /// of a block in a row may be folded into one between such multiples, not across. `None` for never.
    pub fn period(&self) -> Option<u64> {
        (self.spec.period)(&self.values)
    }

    /// Virtual time of a phase, if the policy needs a home per phase ([`BlockContext::phases`](crate::BlockContext::phases))
    /// and not one for ever.
    pub fn phase(&self) -> Option<u64> {
        self.period().filter(|_| self.spec.needs_homes)
    }
}

impl fmt::Display for Choice {
    /// As [`Choice::parse`] reads it; parameters are always written out, those that choose variants up to the last one
    /// that is not the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named::write(f, &self.spec.name, self.spec.params, &self.values)
    }
}

/// The common end of every `make`.
fn table<'m, P: Policy + 'm>(
    policy: P,
    machine: &'m Machine,
    block_bytes: u64,
) -> Result<Box<dyn BlockEngine + 'm>, PolicyError> {
    Ok(Box::new(Table::new(policy, machine, block_bytes)))
}

/// Refuses machines on which a block that stays on one node is out of reach for the others.
fn needs_remote_access(policy: &'static str, machine: &Machine) -> Result<(), PolicyError> {
    if machine.cost.remote_access || machine.nodes() == 1 {
        return Ok(());
    }
    Err(PolicyError::NoRemoteAccess { policy, machine: machine.name.clone() })
}

/// Refuses machines without global memory.
fn needs_global(policy: &'static str, machine: &Machine) -> Result<(), PolicyError> {
    match machine.cost.global {
        Some(_) => Ok(()),
        None => Err(PolicyError::NoGlobalMemory { policy, machine: machine.name.clone() }),
    }
}

/// The policies that a report on this machine shows unless others are named, with their defaults: all that are meant for
/// reports and that the machine can carry out at this block size.
pub fn reported(machine: &Machine, block_bytes: u64) -> Vec<Choice> {
    let choices = ALL.iter().filter(|s| s.reported).filter_map(|s| s.choose(&[]).ok());
    choices.filter(|c| c.engine(machine, block_bytes).is_ok()).collect()
}

/// First placement at `wanted`, or where it succeeds: the nodes in ascending order, then global memory.
fn place_somewhere(machine: &Machine, wanted: Location, sink: &mut impl Sink) -> Option<Location> {
    let nodes = (0..machine.nodes()).map(|n| Location::Node(NodeId(n as u16)));
    let global = machine.cost.global.map(|_| Location::Global);
    std::iter::once(wanted)
        .chain(nodes.chain(global).filter(|l| *l != wanted))
        .find(|at| sink.place(*at) == crate::policy::Outcome::Done)
}
