//! The analyses against slow and obvious oracles, closed forms and printed tables.
mod alpha_beta_gamma;
mod attribution;
mod common;
mod confidence;
mod conformance;
mod false_sharing;
mod intervals;
mod perturb;
mod phases;
mod printed;
mod savings;
mod tlb;
