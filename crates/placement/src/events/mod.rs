//! Counts before money: engines count what happens, by kind and by path, and a machine prices the counts.
//!
//! A [`Family`] is an open list of [`Kind`]s of events: those of page policies are [`POLICIES`]; a family of another sort
//! of memory management declares its own. A path is a way between two places (from a processor to the memory that serves
//! it, from one holder of a block to another); [`Paths`] numbers them so that all paths of one number cost the same on
//! all machines given. [`EventCounts`] counts kind by path, in whole numbers. Cost is counts times prices: exact, and one
//! pass prices every machine on which the same things happen.
//!
//! ```
//! use homenode_base::{NodeId, TotalCost};
//! use homenode_machine::{Location, models};
//! use homenode_placement::events::{COPY, EventCounts, POLICIES, Paths};
//! use std::sync::Arc;
//!
//! let machines = ["butterfly", "opteron8"].map(|name| models::find(name).expect("in the registry"));
//! let both: Vec<_> = machines.iter().collect();
//! let [here, there] = [0, 1].map(|n| Location::Node(NodeId(n)));
//! let mut counts = EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &both, 4096)));
//! counts.add(COPY, here, there, 3);
//! for machine in &machines {
//!     let copy = machine.copy_cost(4096, here, there);
//!     assert_eq!(counts.priced(machine, 4096).total(), copy.times(3));
//! }
//! ```
mod counts;
mod paths;
mod policies;
mod tally;

pub use counts::EventCounts;
pub use paths::Paths;
pub use policies::{COPY, MOVE, POLICIES};
pub use tally::Tally;

use homenode_base::Cost;
use homenode_machine::{Location, Machine};

/// Events that one sort of engine counts.
#[derive(Debug)]
pub struct Family {
    /// What they are events of, in the plural.
    pub name: &'static str,
    /// The kinds; their places here are what [`EventCounts::add`] takes.
    pub kinds: &'static [Kind],
}

/// A kind of event.
#[derive(Debug)]
pub struct Kind {
    /// Name, for lists.
    pub name: &'static str,
    /// The part of a [`Tally`] that it adds to.
    pub part: Part,
    /// What one of them costs on a machine, with blocks of so many bytes, from one place to another: from the processor's
    /// node to the memory that serves it, or from the memory that holds a block to the one that gets it.
    /// [`Cost::INFINITE`] where the machine cannot do it.
    pub price: fn(&Machine, u64, Location, Location) -> Cost,
}

/// What an event adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Tally::local`], [`Tally::remote`] or [`Tally::global`], as the path says.
    Served,
    /// [`Tally::movement`] and [`Tally::moves`].
    Move,
    /// [`Tally::movement`] and [`Tally::copies`].
    Copy,
}
