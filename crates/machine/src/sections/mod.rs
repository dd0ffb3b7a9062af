//! Optional parts of machines, one file each: a table of a machine file that may be absent.
//!
//! A new section is a file (with its `mod` line) whose type implements [`Section`], and a line in `sections`: machine files then read and
//! write its table, and its rules are checked with the machine's.
use crate::limits::MachineError;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

mod bandwidth;
mod caches;
mod capacity;
mod coherence;
mod hits;
mod hybrid;
mod measured;
mod misses;
mod network;
mod tiers;

pub use bandwidth::{Bandwidth, Rates, ReadWrite};
pub use caches::{CacheGeometry, Caches};
pub use capacity::Capacity;
pub use coherence::Coherence;
pub use hits::{HitCosts, Hits};
pub use hybrid::{Hybrid, Reading};
pub use measured::{Measured, Table};
pub use misses::Misses;
pub use network::{Handlers, Network};
pub use tiers::Tiers;

/// What a section must be able to do beside being read and written.
pub(crate) trait Section {
    /// Whether it is sound on a machine of this shape; the error names the key with that of its table.
    fn validate(&self, shape: &Shape) -> Result<(), MachineError>;
}

/// Hands the list of sections to a macro, each with its key in machine files, its type, and how journals write it.
macro_rules! sections {
    ($declare:ident) => {
        $declare! {
            /// What the memory of the nodes serves; without, what was measured, or any demand. Nothing that a placement costs.
            #[serde(skip)]
            bandwidth: crate::sections::Bandwidth,
            /// Caches; without, every reference is charged.
            #[serde(default)]
            caches: crate::sections::Caches,
            /// How much each node's memory holds; without, as much as there is. Nothing that a placement costs.
            #[serde(skip)]
            capacity: crate::sections::Capacity,
            /// What protocols of page coherence cost; without, none can be asked about. Nothing that a placement costs.
            #[serde(skip)]
            coherence: crate::sections::Coherence,
            /// What hits in last levels cost where misses have classes; without, nothing. Nothing that a placement costs.
            #[serde(skip)]
            hits: crate::sections::Hits,
            /// What virtual time needs: caches, buses, engines and page caches of nodes.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            hybrid: crate::sections::Hybrid,
            /// Raw measurements that the costs were made of. Machine files keep them; journals, whose decisions rest on
            /// the costs alone, do not.
            #[serde(skip)]
            measured: crate::sections::Measured,
            /// What misses cost that nobody waits for one by one; without, each costs its latency.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            misses: crate::sections::Misses,
            /// What virtual time needs of a cluster whose nodes share no memory. Nothing that a placement costs.
            #[serde(skip)]
            network: crate::sections::Network,
            /// DRAM and an expander: capacities, and what moving pages between them costs. Nothing that a placement costs.
            #[serde(skip)]
            tiers: crate::sections::Tiers,
        }
    };
}
pub(crate) use sections;

macro_rules! declare {
    ($($(#[$attribute:meta])* $key:ident: $section:ty,)+) => {
        /// The sections that a machine has.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Sections {
            $($(#[$attribute])* pub $key: Option<$section>,)+
        }

        impl Sections {
            pub(crate) fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
                $(self.$key.as_ref().map_or(Ok(()), |section| Section::validate(section, shape))?;)+
                Ok(())
            }
        }
    };
}
sections!(declare);
