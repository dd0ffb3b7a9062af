//! The protocols, one file each, and their names on the command line.
//!
//! The state of a page and a processor is N (unmapped), R (mapped remotely, with a counter) or L (own copy). All pages
//! begin with everybody in N: even the first processor to read a page pays for its copy.
//!
//! | event | `upt` | `inv` | `upt-del` | `inv-del` |
//! |---|---|---|---|---|
//! | read in L | local | local | local | local |
//! | read in N | fetch, to L | fetch, to L | to R with counter c, then as in R | same |
//! | read in R | fetch, to L | - | counter falls; at 0 fetch, to L; else a remote read | same |
//! | write in L | local; an update to each other holder | local; every other L to N | as `upt` | as `inv` |
//! | write in N | remote write; updates; to R | remote write; every L to N | as `upt`, with counter c | as `inv`, and to R with counter c |
//! | write in R | remote write; updates | - | as `upt` | as `inv` |
//!
//! `inv-freez` and `inv-freez-del` say in their files what freezing adds. Source: Markatos and Chronaki, sections 2 to 4,
//! and their tables where the text leaves something open.
use crate::protocol::{PageEngine, Pages, Protocol};
use homenode_base::named::{self, ParamError};
use std::fmt;

mod copies;
mod counters;
mod freezer;

pub use homenode_base::named::Param;

/// What a protocol must know of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Nothing: the order of a page's accesses is enough.
    Order,
    /// Between which multiples of so many shared references an access happens, and of the first of equal ones in a row when;
    /// and of the others in some cases ([`Clocks`](crate::history::Clocks)).
    Period(u64),
}

/// A protocol of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// As the source calls it.
    pub printed: &'static str,
    /// One line for lists and reports.
    pub summary: &'static str,
    /// Parameters in the order written: `name(1,2)`.
    pub params: &'static [Param],
    timing: fn(&[u32]) -> Timing,
    make: fn(&[u32], u64) -> Box<dyn PageEngine>,
}

homenode_base::registry!(
    /** Every protocol, in the order of tables. */ Spec;
    upt, inv, inv_freez, upt_del, inv_del, inv_freez_del
);

pub use inv::Inv;
pub use inv_del::InvDel;
pub use inv_freez::InvFreez;
pub use inv_freez_del::InvFreezDel;
pub use upt::Upt;
pub use upt_del::UptDel;

pub use counters::Counter;
pub use freezer::Windows;

/// A parameter that is 0 or 1.
const fn switch(name: &'static str, summary: &'static str) -> Param {
    Param::variant(name, summary, 0, 1)
}

/// Whether a holder's write sends the master copy a packet.
static MASTER: Param = switch("master", "1: a write to the own copy also sends the master copy a packet");

/// A protocol with its parameters: what `--protocols` names.
#[derive(Clone)]
pub struct Choice {
    /// The registry entry.
    pub spec: &'static Spec,
    /// One value per [`Spec::params`].
    pub values: Vec<u32>,
}

/// Why a protocol cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The name is not in the registry.
    #[error("unknown protocol '{given}'; known are: {known}")]
    Unknown {
        /// What was written.
        given: String,
        /// Names of the registry.
        known: String,
    },
    /// Not of the form `name` or `name(1,2)`.
    #[error("cannot read protocol '{given}': write name or name(value), for instance upt-del(8)")]
    Syntax {
        /// What was written.
        given: String,
    },
    /// More values than parameters.
    #[error("protocol {protocol} takes {takes} parameter(s), not {given}")]
    TooMany {
        /// Protocol.
        protocol: &'static str,
        /// Parameters it has.
        takes: usize,
        /// Values given.
        given: usize,
    },
    /// A value outside its range.
    #[error("protocol {protocol}: {param} is {value}, allowed are {min} to {max}")]
    Range {
        /// Protocol.
        protocol: &'static str,
        /// Parameter.
        param: &'static str,
        /// What was written.
        value: String,
        /// Least allowed.
        min: u32,
        /// Largest allowed.
        max: u32,
    },
}

impl Spec {
    /// The protocol with these parameters, missing ones at their defaults.
    ///
    /// # Errors
    /// Too many of them, or one out of range.
    pub fn choose(&'static self, given: &[u32]) -> Result<Choice, ProtocolError> {
        let values = named::choose(self.params, given).map_err(|e| self.refused("", e))?;
        Ok(Choice { spec: self, values })
    }

    /// What is wrong with the parameters; `text` is what was written.
    fn refused(&self, text: &str, e: ParamError) -> ProtocolError {
        match e {
            ParamError::Syntax => ProtocolError::Syntax { given: text.into() },
            ParamError::TooMany { takes, given } => ProtocolError::TooMany { protocol: self.name, takes, given },
            ParamError::Range { param: p, value } => {
                ProtocolError::Range { protocol: self.name, param: p.name, value, min: p.min, max: p.max }
            }
        }
    }
}

impl Choice {
    /// Reads `upt`, `inv-del(8)`, `inv-freez(100000,1000000)`.
    ///
    /// # Errors
    /// No such protocol, or a parameter that it cannot have.
    pub fn parse(text: &str) -> Result<Choice, ProtocolError> {
        let text = text.trim();
        let (name, list) = named::split(text).map_err(|_| ProtocolError::Syntax { given: text.into() })?;
        let known = || ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        let spec = ALL.iter().find(|s| s.name == name);
        let spec = spec.ok_or_else(|| ProtocolError::Unknown { given: name.into(), known: known() })?;
        let values = named::read(spec.params, list).map_err(|e| spec.refused(text, e))?;
        Ok(Choice { spec, values })
    }

    /// The engine for pages of so many bytes, a power of two.
    pub fn engine(&self, page_bytes: u64) -> Box<dyn PageEngine> {
        (self.spec.make)(&self.values, page_bytes)
    }

    /// What it must know of time.
    pub fn timing(&self) -> Timing {
        (self.spec.timing)(&self.values)
    }
}

impl fmt::Display for Choice {
    /// As [`Choice::parse`] reads it; parameters are written up to the last one that is not the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named::write(f, self.spec.name, self.spec.params, &self.values)
    }
}

/// The common end of every `make`.
fn pages<P: Protocol + 'static>(protocol: P) -> Box<dyn PageEngine> {
    Box::new(Pages::new(protocol))
}
