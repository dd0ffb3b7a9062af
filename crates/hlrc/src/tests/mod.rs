//! The protocol on a simulated cluster.
mod broken;
mod explored;
mod programs;
mod sim;
mod world;
