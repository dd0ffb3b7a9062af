//! Reductions of the program.
use crate::current::here;
use crate::locks::{named, others_live};
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_hlrc::operation::Operation;
pub use homenode_hlrc::reduce::Reduction;
use homenode_hlrc::slots::Use;

/// Name of all reductions: all threads take part in each.
const NAME: u64 = 1;

/// Brings a value, as bits, and waits for what comes of the values of all threads. `function` is what the program called.
///
/// # Errors
/// No other thread exists, or threads called different functions.
pub fn reduce(function: &str, what: Reduction, value: u64) -> Result<u64, Trouble> {
    let node = here()?;
    others_live(node, function)?;
    let _inside = node.enter(Class::Barrier);
    let it = named(node, function, Use::Reduction, NAME)?;
    it.used(false);
    let mixed =
        |_| Trouble::of(format!("{function}: another thread called another reduction: all must call the same one"));
    node.run(Operation::Reduce { slot: it.slot, what, value }).map_err(mixed)
}
