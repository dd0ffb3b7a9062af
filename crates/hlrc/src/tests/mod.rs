//! The protocol on a simulated cluster.
mod broken;
mod explored;
mod generated;
mod journals;
mod litmus;
mod options;
mod parties;
mod prefetched;
mod programs;
mod sim;
mod world;
