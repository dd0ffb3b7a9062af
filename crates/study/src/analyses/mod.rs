//! Questions about a trace that need more than costs: what a TLB adds, how far the recording disturbed a result, how much
//! is false sharing, how good a policy is, how sure an estimate is.
//!
//! Each is a family member with a [`Spec`]: [`ALL`] feeds the command line and the conformance test. Behind each `run` are
//! ordinary functions and accumulators for those who want more than its tables.
mod input;
mod printed;
mod table;

pub use input::{AnalysisError, Ask, Input, Need, sum};
pub use printed::{Figure43, Printed, PrintedRow, figure_4_3};
pub use table::Series;

use homenode_table::Table;

/// An analysis of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What the input must have; without it [`run`](Spec::run) refuses.
    pub needs: &'static [Need],
    /// Repetitions of what is random ([`Input::repeats`]) that are enough for most; 1 if nothing is.
    pub repeats: u32,
    run: fn(&mut Input<'_>) -> Result<Vec<Table>, AnalysisError>,
}

homenode_base::registry!(
    /** Every analysis, in the order of lists. */ Spec;
    tlb, perturb, false_sharing, alpha_beta_gamma, savings, phases, confidence
);

pub use alpha_beta_gamma::{Costs, Model, Overhead, Times, misprints};
pub use confidence::{Bootstrap, Estimate, Judged, PARTS_MIN, judge, window_answers};
pub use false_sharing::*;
pub use perturb::*;
pub use phases::{Marks, PhaseBy, phase_costs};
pub use savings::*;
pub use tlb::*;

impl Spec {
    /// The analysis of this name, if there is one.
    pub fn find(name: &str) -> Option<&'static Spec> {
        ALL.iter().find(|s| s.name == name).copied()
    }

    /// Runs it.
    ///
    /// # Errors
    /// The input lacks something of [`needs`](Spec::needs), the trace cannot be read, or the question cannot be asked.
    pub fn run(&self, input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
        match self.needs.iter().find(|need| !input.has(**need)) {
            Some(need) => Err(AnalysisError::Needs { analysis: self.name, what: need.words() }),
            None => (self.run)(input),
        }
    }
}
