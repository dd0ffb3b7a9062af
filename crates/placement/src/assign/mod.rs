//! Pages to nodes when nodes are full: capacity exactly, indivisible huge pages and bandwidth by stated heuristics.
//!
//! Pages of one size under capacities are a transportation problem, so its optimum is a whole-number one and
//! [`assign`] is exact. `docs/design/affinity.md` has the models, their bounds and what they leave out.
mod bandwidth;
mod flow;
mod mixed;
mod split;

use homenode_base::TotalCost;

pub use bandwidth::{Limits, Spread, spread};
pub use flow::assign;
pub use mixed::{Item, Mixed, assign_mixed};
pub use split::{Split, SplitTerms, split};

/// Pages that cost the same at every home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Price of one page at each home.
    pub prices: Vec<TotalCost>,
    /// Number of pages.
    pub pages: u64,
}

/// Who goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assigned {
    /// Pages of each class at each home.
    pub pages: Vec<Vec<u64>>,
    /// Sum of prices.
    pub cost: TotalCost,
}

/// Why there is no assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// More pages than room.
    #[error("{pages} pages do not fit into the {room} that all nodes together can hold")]
    Full {
        /// Pages.
        pages: u64,
        /// Room of all homes.
        room: u64,
    },
    /// The heuristic found no room for an indivisible item, though the pages would fit one by one.
    #[error("no node has room left for a block of {pages} pages: split it, or leave more memory free")]
    Fragmented {
        /// Pages of the item.
        pages: u64,
    },
    /// Not every class names a price for each home.
    #[error("class {class} has {prices} prices for {homes} homes")]
    Shape {
        /// Class.
        class: usize,
        /// Number of prices that the class names.
        prices: usize,
        /// Homes.
        homes: usize,
    },
}

/// Sum of prices of an assignment: what [`Assigned::cost`] claims.
pub fn cost_of(classes: &[Class], pages: &[Vec<u64>]) -> TotalCost {
    let cell = |c: &Class, at: &Vec<u64>| -> TotalCost {
        c.prices.iter().zip(at).map(|(p, n)| TotalCost(p.0 * i128::from(*n))).sum()
    };
    classes.iter().zip(pages).map(|(c, at)| cell(c, at)).sum()
}
